//! `ldmatrix`, `stmatrix`, `movmatrix`, `mma` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").

use super::{ANY, Form, SM_80, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                     operands                   PTX     needs  PTX ISA
    row("ldmatrix.sync.aligned.m8n8.x1{.trans}.shared.b16",           "{1}d:b32 [a:shared]",     (6, 5), ANY,   "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("ldmatrix.sync.aligned.m8n8.x2{.trans}.shared.b16",           "{2}d:b32 [a:shared]",     (6, 5), ANY,   "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16",           "{4}d:b32 [a:shared]",     (6, 5), ANY,   "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("stmatrix.sync.aligned.m8n8.x1{.trans}.shared.b16",           "[a:shared] {1}b:b32",     (7, 8), SM_90, "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("stmatrix.sync.aligned.m8n8.x2{.trans}.shared.b16",           "[a:shared] {2}b:b32",     (7, 8), SM_90, "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("stmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16",           "[a:shared] {4}b:b32",     (7, 8), SM_90, "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("movmatrix.sync.aligned.m8n8.trans.b16",                      "d:b32 a:b32",             (7, 8), ANY,   "movmatrix").by("Builder::movmatrix"),
    row("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",           "{2}d:b32 {2}a:b32 {1}b:b32 {2}c:b32", (6, 5), ANY,   "mma").by("Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",           "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32", (6, 5), ANY,   "mma").by("Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",         "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32", (7, 0), SM_80, "mma").by("Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",          "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32", (7, 0), SM_80, "mma").by("Builder::mma_m16n8k16"),
    row("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",          "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32", (7, 0), SM_80, "mma").by("Builder::mma_m16n8k16"),
    row("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",        "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32", (7, 0), SM_80, "mma").by("Builder::mma_m16n8k16"),
];
