//! The versions and targets that instructions require (PTX ISA, the "PTX ISA Notes" and "Target ISA Notes" of each instruction).
//!
//! A row specifies an opcode and conditions on its qualifiers and operands: `a|b` matches either qualifier, `!a` excludes a qualifier, and
//! `#3` requires three operands. All rows that match an instruction apply to it. Features that PTX 6.3 and sm_75 support are not listed.

use crate::text::ast::Instruction;
use crate::validate::target::Needs;
use crate::validate::target::Needs::{Family, Only, Sm, Specific};
use crate::validate::target::Version;

type Row = (&'static str, Version, Needs);

const fn v(major: u32, minor: u32) -> Version {
    Version(major, minor)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Integer, logic
    ("add|min|max u16x2|s16x2",                            v(8, 0), Sm(90)),
    ("min|max s32|s16x2 relu",                             v(8, 0), Sm(90)),
    ("szext|bmsk",                                         v(7, 6), Sm(75)),
    ("lop3 or|and",                                        v(8, 2), Sm(75)),
    // Floating point
    ("add|sub|mul bf16|bf16x2",                            v(7, 8), Sm(90)),
    ("add|sub|mul|fma f32x2",                              v(8, 6), Sm(100)),
    ("add|sub|fma f32 f16|bf16",                           v(8, 6), Sm(100)),
    ("fma f16|f16x2|bf16|bf16x2 relu",                     v(7, 0), Sm(80)),
    ("fma bf16|bf16x2",                                    v(7, 0), Sm(80)),
    ("fma oob",                                            v(8, 1), Sm(90)),
    ("neg|abs bf16|bf16x2",                                v(7, 0), Sm(80)),
    ("abs f16|f16x2",                                      v(6, 5), Sm(75)),
    ("min|max f16|f16x2|bf16|bf16x2",                      v(7, 0), Sm(80)),
    ("min|max NaN",                                        v(7, 0), Sm(80)),
    ("min|max xorsign",                                    v(7, 2), Sm(86)),
    ("min|max f32 #4",                                     v(8, 8), Sm(100)),
    ("ex2 f16|f16x2",                                      v(7, 0), Sm(75)),
    ("ex2 bf16|bf16x2",                                    v(7, 8), Sm(90)),
    ("tanh",                                               v(7, 0), Sm(75)),
    ("tanh bf16|bf16x2",                                   v(7, 8), Sm(90)),
    ("set|setp bf16|bf16x2",                               v(7, 8), Sm(90)),
    ("set u16|s16 f16|bf16",                               v(6, 5), Sm(75)),
    ("set u32|s32 f16|f16x2|bf16|bf16x2",                  v(6, 5), Sm(75)),
    // Conversions
    ("cvt bf16",                                           v(7, 0), Sm(80)),
    ("cvt bf16 f32 !rn !rz !rm !rp !rna !rs",              v(7, 1), Sm(80)),
    ("cvt bf16 f16|f64|s8|u8|s16|u16|s32|u32|s64|u64",     v(7, 8), Sm(90)),
    ("cvt bf16 !f16 !f32 !f64 !s16 !u16 !s32 !u32 !s64 !u64", v(7, 8), Sm(90)),
    ("cvt ftz bf16 f32 !rn !rz !rm !rp !rni !rzi !rmi !rpi", v(7, 8), Sm(90)),
    ("cvt relu",                                           v(7, 0), Sm(80)),
    ("cvt f16x2|bf16x2 f32",                               v(7, 0), Sm(80)),
    ("cvt tf32",                                           v(7, 0), Sm(80)),
    ("cvt tf32 rn|rz",                                     v(7, 8), Sm(90)),
    ("cvt tf32 satfinite",                                 v(8, 1), Sm(80)),
    ("cvt tf32 satfinite rn|rz",                           v(8, 6), Sm(100)),
    ("cvt f16|bf16|f16x2|bf16x2 f32 satfinite",            v(8, 1), Sm(75)),
    ("cvt e4m3x2|e5m2x2",                                  v(8, 1), Sm(89)),
    ("cvt ue8m0x2|e2m1x2|e2m3x2|e3m2x2",                   v(8, 6), Specific(100)),
    ("cvt rs",                                             v(8, 7), Family(100)),
    ("cvt pack",                                           v(6, 5), Sm(75)),
    // Addresses
    ("cvta param|param::entry",                            v(7, 7), Sm(75)),
    ("isspacep param|param::entry",                        v(7, 7), Sm(75)),
    ("mapa|getctarank",                                    v(7, 8), Sm(90)),
    // Memory
    ("ld|st|atom|red|cvta|isspacep|fence shared::cluster", v(7, 8), Sm(90)),
    ("ld|st|atom|red|cvta|isspacep|ldmatrix|mbarrier shared::cta", v(7, 8), Sm(75)),
    ("ld|st|cvta|isspacep param::entry|param::func",       v(8, 3), Sm(75)),
    ("ld|st|atom|red|fence cluster",                       v(7, 8), Sm(90)),
    ("ld|st mmio",                                         v(8, 2), Sm(75)),
    ("ld|st volatile local",                               v(9, 1), Sm(30)),
    ("ld|st L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate", v(7, 4), Sm(75)),
    ("ld L2::64B|L2::128B",                                v(7, 4), Sm(75)),
    ("ld L2::256B",                                        v(7, 4), Sm(80)),
    ("ld|st|atom|red L2::cache_hint",                      v(7, 4), Sm(80)),
    ("ld|st v8",                                           v(8, 8), Sm(100)),
    ("ld|st v4 b64|u64|s64|f64",                           v(8, 8), Sm(100)),
    ("ld|st L2::evict_last|L2::evict_first|L2::evict_normal", v(8, 8), Sm(100)),
    ("st bulk",                                            v(8, 6), Sm(100)),
    ("ld|st|mov|atom b128",                                v(8, 3), Sm(75)),
    ("atom b128",                                          v(8, 3), Sm(90)),
    ("atom|red bf16|bf16x2",                               v(7, 8), Sm(90)),
    ("atom|red v2|v4|v8",                                  v(8, 1), Sm(90)),
    ("prefetch L2::evict_last|L2::evict_normal",           v(7, 4), Sm(80)),
    ("prefetch tensormap",                                 v(8, 0), Sm(90)),
    ("createpolicy|applypriority|discard",                 v(7, 4), Sm(80)),
    // Asynchronous copies
    ("cp async",                                           v(7, 0), Sm(80)),
    ("cp L2::64B|L2::128B|L2::256B|L2::cache_hint",        v(7, 4), Sm(80)),
    ("cp mbarrier shared::cta !bulk",                      v(7, 8), Sm(80)),
    ("cp bulk",                                            v(8, 0), Sm(90)),
    ("cp bulk shared::cta global mbarrier::complete_tx::bytes", v(8, 6), Sm(90)),
    ("st|red async",                                       v(8, 1), Sm(90)),
    ("clusterlaunchcontrol",                               v(8, 6), Sm(100)),
    ("clusterlaunchcontrol multicast::cluster::all",       v(8, 6), Specific(100)),
    ("cp cp_mask",                                         v(8, 6), Sm(100)),
    // Barriers
    ("mbarrier",                                           v(7, 0), Sm(80)),
    ("mbarrier expect_tx|complete_tx",                     v(8, 0), Sm(90)),
    ("mbarrier shared::cluster",                           v(8, 0), Sm(90)),
    ("mbarrier arrive|arrive_drop !noComplete #3",         v(7, 8), Sm(90)),
    ("mbarrier parity",                                    v(7, 1), Sm(80)),
    ("mbarrier acquire|release",                           v(8, 0), Sm(80)),
    ("mbarrier relaxed !expect_tx !complete_tx",           v(8, 6), Sm(90)),
    ("mbarrier try_wait",                                  v(7, 8), Sm(90)),
    ("bar|barrier cta",                                    v(7, 8), Sm(75)),
    ("barrier cluster",                                    v(7, 8), Sm(90)),
    ("barrier cluster acquire|release|relaxed",            v(8, 0), Sm(90)),
    ("membar|fence proxy",                                 v(7, 5), Sm(75)),
    ("fence proxy async",                                  v(8, 0), Sm(90)),
    ("fence async::generic",                               v(8, 6), Sm(90)),
    ("fence mbarrier_init",                                v(8, 0), Sm(90)),
    ("tensormap replace",                                  v(8, 3), Specific(90)),
    ("tensormap swizzle_atomicity",                        v(8, 6), Specific(100)),
    ("tensormap cp_fenceproxy",                            v(8, 3), Sm(90)),
    ("fence tensormap::generic",                           v(8, 3), Sm(90)),
    ("fence sync_restrict::shared::cluster|sync_restrict::shared::cta", v(8, 6), Sm(90)),
    ("griddepcontrol",                                     v(7, 8), Sm(90)),
    ("alloca|stacksave|stackrestore",                      v(7, 3), Sm(75)),
    ("setmaxnreg",                                         v(8, 0), Specific(90)),
    // Warps
    ("redux",                                              v(7, 0), Sm(80)),
    ("redux f32",                                          v(8, 6), Family(100)),
    ("elect",                                              v(8, 0), Sm(90)),
    // Matrices
    ("ldmatrix",                                           v(6, 5), Sm(75)),
    ("stmatrix",                                           v(7, 8), Sm(90)),
    ("ldmatrix|stmatrix m16n16|m8n16|m16n8",               v(8, 6), Specific(100)),
    ("movmatrix",                                          v(7, 8), Sm(75)),
    ("mma m8n8k4",                                         v(6, 4), Sm(75)),
    ("mma m8n8k16|m8n8k32|m16n8k8",                        v(6, 5), Sm(75)),
    ("mma m8n8k128|m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256", v(7, 0), Sm(75)),
    ("mma bf16|tf32|f64",                                  v(7, 0), Sm(80)),
    ("mma m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256", v(7, 0), Sm(80)),
    ("mma f64 m16n8k4|m16n8k8|m16n8k16",                   v(7, 8), Sm(90)),
    ("mma b1 and",                                         v(7, 1), Sm(80)),
    ("mma e4m3|e5m2",                                      v(8, 4), Sm(89)),
    ("mma e4m3|e5m2 m16n8k16",                             v(8, 7), Sm(89)),
    ("mma e4m3|e5m2 f16",                                  v(8, 7), Sm(89)),
    ("mma sp|sp::ordered_metadata e4m3|e5m2 f16",          v(8, 7), Specific(120)),
    ("mma kind::f8f6f4|kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4", v(8, 7), Specific(100)),
    ("mma kind::f8f6f4|kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 m16n8k32|m16n8k64", v(8, 7), Family(120)),
    ("mma sp",                                             v(7, 1), Sm(80)),
    ("mma sp::ordered_metadata",                           v(8, 5), Sm(80)),
    ("wmma m16n16k8|m8n8k4",                               v(7, 0), Sm(80)),
    ("wmma bf16|tf32|f64",                                 v(7, 0), Sm(80)),
    ("wmma b1 and",                                        v(7, 1), Sm(80)),
    ("wgmma",                                              v(8, 0), Only(90)),
    ("wgmma sp",                                           v(8, 2), Only(90)),
    ("wgmma s8 u8",                                        v(8, 4), Only(90)),
];

/// The special registers, by name prefix.
#[rustfmt::skip]
const REGISTERS: &[Row] = &[
    ("%clusterid",             v(7, 8), Sm(90)),
    ("%nclusterid",            v(7, 8), Sm(90)),
    ("%cluster_",              v(7, 8), Sm(90)),
    ("%is_explicit_cluster",   v(7, 8), Sm(90)),
    ("%aggr_smem_size",        v(8, 1), Sm(90)),
    ("%reserved_smem_offset",  v(7, 6), Sm(80)),
    ("%current_graph_exec",    v(8, 0), Sm(75)),
];

/// The directives of functions.
#[rustfmt::skip]
const DIRECTIVES: &[Row] = &[
    ("explicitcluster",        v(7, 8), Sm(90)),
    ("reqnctapercluster",      v(7, 8), Sm(90)),
    ("maxclusterrank",         v(7, 8), Sm(90)),
    ("noreturn",               v(6, 4), Sm(30)),
    ("blocksareclusters",      v(9, 0), Sm(90)),
    ("abi_preserve",           v(9, 0), Sm(80)),
    ("abi_preserve_control",   v(9, 0), Sm(80)),
];

/// Returns all requirements of an instruction.
pub(super) fn of_instruction(i: &Instruction) -> impl Iterator<Item = (Version, Needs)> {
    ROWS.iter().filter(|(pattern, ..)| matches(pattern, i)).map(|&(_, version, needs)| (version, needs))
}

/// Returns the requirements of a special register.
pub(super) fn of_register(name: &str) -> Option<(Version, Needs)> {
    let row = REGISTERS.iter().find(|(start, ..)| name.starts_with(start));
    row.map(|&(_, version, needs)| (version, needs))
}

/// Returns the requirements of a directive of a function.
pub(super) fn of_directive(name: &str) -> Option<(Version, Needs)> {
    let row = DIRECTIVES.iter().find(|(known, ..)| *known == name);
    row.map(|&(_, version, needs)| (version, needs))
}

fn matches(pattern: &str, i: &Instruction) -> bool {
    let mut words = pattern.split(' ');
    let opcode = words.next().is_some_and(|opcodes| opcodes.split('|').any(|opcode| opcode == i.opcode()));
    let has = |word: &str| i.modifiers().iter().any(|m| m == word);
    opcode
        && words.all(|word| match (word.strip_prefix('!'), word.strip_prefix('#')) {
            (Some(forbidden), _) => !has(forbidden),
            (_, Some(count)) => count.parse() == Ok(i.operands.len()),
            _ => word.split('|').any(has),
        })
}
