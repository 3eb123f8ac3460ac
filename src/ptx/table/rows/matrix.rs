//! `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").

use super::{ANY, Form, SM_90, SM_100, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                            operands                   PTX     needs   PTX ISA
    row("ldmatrix.sync.aligned.m8n8.x1{.trans}.shared.b16",                  "{1}d:b32 [a:shared]",     (6, 5), ANY,    "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("ldmatrix.sync.aligned.m8n8.x2{.trans}.shared.b16",                  "{2}d:b32 [a:shared]",     (6, 5), ANY,    "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16",                  "{4}d:b32 [a:shared]",     (6, 5), ANY,    "ldmatrix").by("Ptr::ldmatrix, Ptr::ldmatrix_trans"),
    row("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",                   "{2}d:b32 [a:shared]",     (8, 6), SM_100, "ldmatrix").by("Builder::raw"),
    row("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8",                   "{4}d:b32 [a:shared]",     (8, 6), SM_100, "ldmatrix").by("Builder::raw"),
    row("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16(.b4x16_p64|.b6x16_p32)", "{1}d:b32 [a:shared]",    (8, 6), SM_100, "ldmatrix").by("Builder::raw"),
    row("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16(.b4x16_p64|.b6x16_p32)", "{2}d:b32 [a:shared]",    (8, 6), SM_100, "ldmatrix").by("Builder::raw"),
    row("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16(.b4x16_p64|.b6x16_p32)", "{4}d:b32 [a:shared]",    (8, 6), SM_100, "ldmatrix").by("Builder::raw"),
    row("stmatrix.sync.aligned.m8n8.x1{.trans}.shared.b16",                  "[a:shared] {1}b:b32",     (7, 8), SM_90,  "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("stmatrix.sync.aligned.m8n8.x2{.trans}.shared.b16",                  "[a:shared] {2}b:b32",     (7, 8), SM_90,  "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("stmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16",                  "[a:shared] {4}b:b32",     (7, 8), SM_90,  "stmatrix").by("Ptr::stmatrix, Ptr::stmatrix_trans"),
    row("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8",                    "[a:shared] {1}b:b32",     (8, 6), SM_100, "stmatrix").by("Builder::raw"),
    row("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8",                    "[a:shared] {2}b:b32",     (8, 6), SM_100, "stmatrix").by("Builder::raw"),
    row("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8",                    "[a:shared] {4}b:b32",     (8, 6), SM_100, "stmatrix").by("Builder::raw"),
    row("movmatrix.sync.aligned.m8n8.trans.b16",                             "d:b32 a:b32",             (7, 8), ANY,    "movmatrix").by("Builder::movmatrix"),
];
