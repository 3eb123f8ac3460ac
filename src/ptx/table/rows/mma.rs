//! `mma` and `mma.sp` (PTX ISA, "Multiply-and-Accumulate Instruction: mma" and "mma.sp::ordered_metadata").
//!
//! `mma.sp` without `::ordered_metadata` is omitted, because ptxas advises against it on every target.

use super::{ANY, BLOCK_SCALE, Form, SM_80, SM_89, SM_90, SM_100, row};

const MMA: &str = "mma";
const SP: &str = "mma.sp";
const BY: &str = "Builder::mma";
const BY_SP: &str = "Builder::mma_sparse";
const BY_SCALED: &str = "Builder::mma_scaled";
const BY_SP_SCALED: &str = "Builder::mma_sparse_scaled";

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                    operands                                     PTX     needs  PTX ISA
    row("mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f16.f16.f16.f16",             "{4}d:b32 {2}a:b32 {2}b:b32 {4}c:b32",       (6, 4), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f32.f16.f16.f16",             "{8}d:f32 {2}a:b32 {2}b:b32 {4}c:b32",       (6, 4), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f32.f16.f16.f32",             "{8}d:f32 {2}a:b32 {2}b:b32 {8}c:f32",       (6, 4), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",                          "{2}d:b32 {2}a:b32 {1}b:b32 {2}c:b32",       (6, 5), ANY,   MMA).by("Builder::mma, Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",                          "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32",       (6, 5), ANY,   MMA).by("Builder::mma, Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",                        "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32",       (7, 0), SM_80, MMA).by("Builder::mma, Builder::mma_m16n8k8"),
    row("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",                         "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32",       (7, 0), SM_80, MMA).by("Builder::mma, Builder::mma_m16n8k16"),
    row("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",                         "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32",       (7, 0), SM_80, MMA).by("Builder::mma, Builder::mma_m16n8k16"),
    row("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",                       "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32",       (7, 0), SM_80, MMA).by("Builder::mma, Builder::mma_m16n8k16"),
    row("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",                        "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",                        "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",                           "{2}d:f64 {1}a:f64 {1}b:f64 {2}c:f64",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",                          "{4}d:f64 {2}a:f64 {1}b:f64 {4}c:f64",       (7, 8), SM_90, MMA).by(BY),
    row("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",                          "{4}d:f64 {4}a:f64 {2}b:f64 {4}c:f64",       (7, 8), SM_90, MMA).by(BY),
    row("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",                         "{4}d:f64 {8}a:f64 {4}b:f64 {4}c:f64",       (7, 8), SM_90, MMA).by(BY),
    row("mma.sync.aligned.m8n8k16.row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32",    "{2}d:s32 {1}a:b32 {1}b:b32 {2}c:s32",       (6, 5), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m16n8k16.row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32",   "{4}d:s32 {2}a:b32 {1}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32",   "{4}d:s32 {4}a:b32 {2}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m8n8k32.row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32",    "{2}d:s32 {1}a:b32 {1}b:b32 {2}c:s32",       (6, 5), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32",   "{4}d:s32 {2}a:b32 {1}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k64.row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32",   "{4}d:s32 {4}a:b32 {2}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",                  "{2}d:s32 {1}a:b32 {1}b:b32 {2}c:s32",       (7, 0), ANY,   MMA).by(BY),
    row("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc",                  "{2}d:s32 {1}a:b32 {1}b:b32 {2}c:s32",       (7, 1), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc",                 "{4}d:s32 {2}a:b32 {1}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc",                 "{4}d:s32 {2}a:b32 {1}b:b32 {4}c:s32",       (7, 1), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",                 "{4}d:s32 {4}a:b32 {2}b:b32 {4}c:s32",       (7, 0), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",                 "{4}d:s32 {4}a:b32 {2}b:b32 {4}c:s32",       (7, 1), SM_80, MMA).by(BY),
    row("mma.sync.aligned.m16n8k16.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",       "{4}d:f32 {2}a:b32 {1}b:b32 {4}c:f32",       (8, 7), SM_89, MMA).by(BY),
    row("mma.sync.aligned.m16n8k16.row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16",       "{2}d:b32 {2}a:b32 {1}b:b32 {2}c:b32",       (8, 7), SM_89, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",       "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32",       (8, 4), SM_89, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16",       "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32",       (8, 7), SM_89, MMA).by(BY),

    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",                                   "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32", (8, 6), SM_100,      MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16(.e4m3|.e5m2)(.e4m3|.e5m2).f16",                                   "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32", (8, 7), SM_100,      MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32(.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f32",           "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32", (8, 7), BLOCK_SCALE, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e3m2|.e2m3|.e2m1).f32",                             "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32", (8, 7), BLOCK_SCALE, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16(.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f16",           "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32", (8, 7), BLOCK_SCALE, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16(.e4m3|.e5m2)(.e3m2|.e2m3|.e2m1).f16",                             "{2}d:b32 {4}a:b32 {2}b:b32 {2}c:b32", (8, 7), BLOCK_SCALE, MMA).by(BY),
    row("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f32.ue8m0", SCALED, (8, 7), BLOCK_SCALE, MMA).by(BY_SCALED),
    row("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",                     SCALED,                            (8, 7), BLOCK_SCALE, MMA).by(BY_SCALED),
    row("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",                 SCALED,                            (8, 7), BLOCK_SCALE, MMA).by(BY_SCALED),
    row("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",                 SCALED,                            (8, 7), BLOCK_SCALE, MMA).by(BY_SCALED),

    row("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",                                             "{2}d:b32 {2}a:b32 {2}b:b32 {2}c:b32 e:b32 #0|1|2|3", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",                                             "{4}d:f32 {2}a:b32 {2}b:b32 {4}c:f32 e:b32 #0|1|2|3", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",                                           "{4}d:f32 {2}a:b32 {2}b:b32 {4}c:f32 e:b32 #0|1|2|3", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",                                             "{2}d:b32 {4}a:b32 {4}b:b32 {2}c:b32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",                                             "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",                                           "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",                                            "{4}d:f32 {2}a:b32 {2}b:b32 {4}c:f32 e:b32 #0|1|2|3", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",                                           "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32",                       "{4}d:s32 {2}a:b32 {2}b:b32 {4}c:s32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col{.satfinite}.s32(.s8|.u8)(.s8|.u8).s32",                       "{4}d:s32 {4}a:b32 {4}b:b32 {4}c:s32 e:b32 #0",   (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32",                       "{4}d:s32 {2}a:b32 {2}b:b32 {4}c:s32 e:b32 #0|1", (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col{.satfinite}.s32(.s4|.u4)(.s4|.u4).s32",                      "{4}d:s32 {4}a:b32 {4}b:b32 {4}c:s32 e:b32 #0",   (8, 5), SM_80, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",                           "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0",   (8, 5), SM_89, SP).by(BY_SP),

    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e4m3|.e5m2).f32",              "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0",   (8, 6), SM_100,      SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32(.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f32", "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0", (8, 7), BLOCK_SCALE, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32(.e4m3|.e5m2)(.e3m2|.e2m3|.e2m1).f32",        "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0",   (8, 7), BLOCK_SCALE, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f16", "{2}d:b32 {4}a:b32 {4}b:b32 {2}c:b32 e:b32 #0", (8, 7), BLOCK_SCALE, SP).by(BY_SP),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1)(.e4m3|.e5m2|.e3m2|.e2m3|.e2m1).f32.ue8m0", SP_SCALED, (8, 7), BLOCK_SCALE, SP).by(BY_SP_SCALED),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",     SP_SCALED, (8, 7), BLOCK_SCALE, SP).by(BY_SP_SCALED),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", SP_SCALED, (8, 7), BLOCK_SCALE, SP).by(BY_SP_SCALED),
    row("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", SP_SCALED, (8, 7), BLOCK_SCALE, SP).by(BY_SP_SCALED),
];

/// The operands of a block-scaled `mma`, including the byte and thread selectors of each scale.
const SCALED: &str = "{4}d:f32 {4}a:b32 {2}b:b32 {4}c:f32 sfa:b32 {#0,#0} sfb:b32 {#0,#0}";
const SP_SCALED: &str = "{4}d:f32 {4}a:b32 {4}b:b32 {4}c:f32 e:b32 #0 sfa:b32 {#0,#0} sfb:b32 {#0,#0}";
