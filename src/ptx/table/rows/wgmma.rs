//! `wgmma` (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").

use super::{Form, WGMMA, row};

const MMA: &str = "wgmma.mma_async";
const SP: &str = "wgmma.mma_async.sp";
const BY: &str = "Builder::wgmma";

/// The `wgmma`s with the given K and types, for every N: the multiples of 8 up to 256.
macro_rules! every_n {
    ($instruction:literal, $k:literal, $types:literal) => {
        concat!(
            $instruction,
            ".sync.aligned(",
            ".m64n8",
            $k,
            "|.m64n16",
            $k,
            "|.m64n24",
            $k,
            "|.m64n32",
            $k,
            "|.m64n40",
            $k,
            "|.m64n48",
            $k,
            "|.m64n56",
            $k,
            "|.m64n64",
            $k,
            "|.m64n72",
            $k,
            "|.m64n80",
            $k,
            "|.m64n88",
            $k,
            "|.m64n96",
            $k,
            "|.m64n104",
            $k,
            "|.m64n112",
            $k,
            "|.m64n120",
            $k,
            "|.m64n128",
            $k,
            "|.m64n136",
            $k,
            "|.m64n144",
            $k,
            "|.m64n152",
            $k,
            "|.m64n160",
            $k,
            "|.m64n168",
            $k,
            "|.m64n176",
            $k,
            "|.m64n184",
            $k,
            "|.m64n192",
            $k,
            "|.m64n200",
            $k,
            "|.m64n208",
            $k,
            "|.m64n216",
            $k,
            "|.m64n224",
            $k,
            "|.m64n232",
            $k,
            "|.m64n240",
            $k,
            "|.m64n248",
            $k,
            "|.m64n256",
            $k,
            ")",
            $types
        )
    };
}

/// The `wgmma`s with the given K and integer types, for every N: the multiples of 8 up to 32, and the multiples of 16 from 48 to 256.
macro_rules! integer_n {
    ($instruction:literal, $k:literal, $types:literal) => {
        concat!(
            $instruction,
            ".sync.aligned(",
            ".m64n8",
            $k,
            "|.m64n16",
            $k,
            "|.m64n24",
            $k,
            "|.m64n32",
            $k,
            "|.m64n48",
            $k,
            "|.m64n64",
            $k,
            "|.m64n80",
            $k,
            "|.m64n96",
            $k,
            "|.m64n112",
            $k,
            "|.m64n128",
            $k,
            "|.m64n144",
            $k,
            "|.m64n160",
            $k,
            "|.m64n176",
            $k,
            "|.m64n192",
            $k,
            "|.m64n208",
            $k,
            "|.m64n224",
            $k,
            "|.m64n240",
            $k,
            "|.m64n256",
            $k,
            ")",
            $types
        )
    };
}

macro_rules! dense {
    ($n:ident, $k:literal, $types:literal) => {
        $n!("wgmma.mma_async", $k, $types)
    };
}
macro_rules! sparse {
    ($n:ident, $k:literal, $types:literal) => {
        $n!("wgmma.mma_async.sp", $k, $types)
    };
}

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                      operands                                                      PTX     needs  PTX ISA  Rust
    row("wgmma.fence.sync.aligned",                                    "",                                                           (8, 0), WGMMA, "wgmma.fence").by("Builder::wgmma_fence"),
    row("wgmma.commit_group.sync.aligned",                             "",                                                           (8, 0), WGMMA, "wgmma.commit_group").by("Builder::wgmma_commit_group"),
    row("wgmma.wait_group.sync.aligned",                               "#n",                                                         (8, 0), WGMMA, "wgmma.wait_group").by("Builder::wgmma_wait_group"),
    // In each pair of rows, A is in shared memory in the first row and in registers in the second.
    row(dense!(every_n, "k16", ".f16.f16.f16"),                        "{n/4}d:b32 a:b64 b:b64 s:pred #1|-1 #1 #0|1 #1",             (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k16", ".f16.f16.f16"),                        "{n/4}d:b32 {4}a:b32 b:b64 s:pred #1 #-1 #0|1",               (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k16", ".f32(.f16.f16|.bf16.bf16)"),           "{n/2}d:f32 a:b64 b:b64 s:pred #1|-1 #1 #0|1 #1",             (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k16", ".f32(.f16.f16|.bf16.bf16)"),           "{n/2}d:f32 {4}a:b32 b:b64 s:pred #1 #-1 #0|1",               (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k8", ".f32.tf32.tf32"),                       "{n/2}d:f32 a:b64 b:b64 s:pred #1|-1 #1",                     (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k8", ".f32.tf32.tf32"),                       "{n/2}d:f32 {4}a:b32 b:b64 s:pred #1 #-1",                    (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k32", ".f16(.e4m3|.e5m2)(.e4m3|.e5m2)"),      "{n/4}d:b32 a:b64 b:b64 s:pred #1 #-1",                       (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k32", ".f16(.e4m3|.e5m2)(.e4m3|.e5m2)"),      "{n/4}d:b32 {4}a:b32 b:b64 s:pred #-1 #1",                    (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k32", ".f32(.e4m3|.e5m2)(.e4m3|.e5m2)"),      "{n/2}d:f32 a:b64 b:b64 s:pred #1 #-1",                       (8, 0), WGMMA, MMA).by(BY),
    row(dense!(every_n, "k32", ".f32(.e4m3|.e5m2)(.e4m3|.e5m2)"),      "{n/2}d:f32 {4}a:b32 b:b64 s:pred #-1 #1",                    (8, 0), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k32", "{.satfinite}.s32(.s8.s8|.u8.u8)"),   "{n/2}d:s32 a:b64 b:b64 s:pred",                              (8, 0), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k32", "{.satfinite}.s32(.s8.s8|.u8.u8)"),   "{n/2}d:s32 {4}a:b32 b:b64 s:pred",                           (8, 0), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k32", "{.satfinite}.s32(.s8.u8|.u8.s8)"),   "{n/2}d:s32 a:b64 b:b64 s:pred",                              (8, 4), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k32", "{.satfinite}.s32(.s8.u8|.u8.s8)"),   "{n/2}d:s32 {4}a:b32 b:b64 s:pred",                           (8, 4), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k256", ".s32.b1.b1.and.popc"),              "{n/2}d:s32 a:b64 b:b64 s:pred",                              (8, 0), WGMMA, MMA).by(BY),
    row(dense!(integer_n, "k256", ".s32.b1.b1.and.popc"),              "{n/2}d:s32 {4}a:b32 b:b64 s:pred",                           (8, 0), WGMMA, MMA).by(BY),
    row(sparse!(every_n, "k32", ".f16.f16.f16"),                       "{n/4}d:b32 a:b64 b:b64 e:b32 #0|1 s:pred #1 #-1 #1 #0",      (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k32", ".f16.f16.f16"),                       "{n/4}d:b32 {4}a:b32 b:b64 e:b32 #0|1 s:pred #-1 #1 #1",      (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k32", ".f32(.f16.f16|.bf16.bf16)"),          "{n/2}d:f32 a:b64 b:b64 e:b32 #0|1 s:pred #1 #-1 #1 #0",      (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k32", ".f32(.f16.f16|.bf16.bf16)"),          "{n/2}d:f32 {4}a:b32 b:b64 e:b32 #0|1 s:pred #-1 #1 #1",      (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k16", ".f32.tf32.tf32"),                     "{n/2}d:f32 a:b64 b:b64 e:b32 #0|1 s:pred #1 #-1",            (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k16", ".f32.tf32.tf32"),                     "{n/2}d:f32 {4}a:b32 b:b64 e:b32 #0|1 s:pred #-1 #1",         (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k64", ".f16(.e4m3|.e5m2)(.e4m3|.e5m2)"),     "{n/4}d:b32 a:b64 b:b64 e:b32 #0 s:pred #1 #-1",              (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k64", ".f16(.e4m3|.e5m2)(.e4m3|.e5m2)"),     "{n/4}d:b32 {4}a:b32 b:b64 e:b32 #0 s:pred #-1 #1",           (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k64", ".f32(.e4m3|.e5m2)(.e4m3|.e5m2)"),     "{n/2}d:f32 a:b64 b:b64 e:b32 #0 s:pred #1 #-1",              (8, 2), WGMMA, SP).by(BY),
    row(sparse!(every_n, "k64", ".f32(.e4m3|.e5m2)(.e4m3|.e5m2)"),     "{n/2}d:f32 {4}a:b32 b:b64 e:b32 #0 s:pred #-1 #1",           (8, 2), WGMMA, SP).by(BY),
    row(sparse!(integer_n, "k64", "{.satfinite}.s32(.s8.s8|.u8.u8)"),  "{n/2}d:s32 a:b64 b:b64 e:b32 #0 s:pred",                     (8, 2), WGMMA, SP).by(BY),
    row(sparse!(integer_n, "k64", "{.satfinite}.s32(.s8.s8|.u8.u8)"),  "{n/2}d:s32 {4}a:b32 b:b64 e:b32 #0 s:pred",                  (8, 2), WGMMA, SP).by(BY),
    row(sparse!(integer_n, "k64", "{.satfinite}.s32(.s8.u8|.u8.s8)"),  "{n/2}d:s32 a:b64 b:b64 e:b32 #0 s:pred",                     (8, 4), WGMMA, SP).by(BY),
    row(sparse!(integer_n, "k64", "{.satfinite}.s32(.s8.u8|.u8.s8)"),  "{n/2}d:s32 {4}a:b32 b:b64 e:b32 #0 s:pred",                  (8, 4), WGMMA, SP).by(BY),
];
