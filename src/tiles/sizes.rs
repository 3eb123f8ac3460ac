//! ThunderKittens' names for tile types and sizes, as type aliases.
//!
//! Element types use their Rust names: `rt_fl` is [`RtF32`], `rt_bf` is [`RtBf16`], `rt_hf` is [`RtF16`], `rt_fp8e4m3` is [`RtE4m3`], and
//! `rt_fp8e5m2` is [`RtE5m2`]. The same applies to `st`, `rv` and `sv`. Sizes are in subtiles, as in the names of ThunderKittens' first
//! version: `rt_fl_1x4` is [`RtF32_1x4`]. The module is not part of the prelude.
//!
//! ```
//! use warpwright::{prelude::*, tiles::sizes::{RtBf16_1x4, RtF32_1x4}};
//!
//! // rt_bf_1x4<> has 16 registers per lane, rt_fl_1x4<> 32.
//! assert_eq!((RtBf16_1x4::<Row>::REGISTERS, RtF32_1x4::<Row>::REGISTERS), (16, 32));
//! ```

use super::{element::Row, rt::Rt, st::St, sv::Sv, swizzle::Auto, vector::Rv, vector_layout::Orthogonal};
use crate::ptx::{bf16, e4m3, e5m2, f16};

macro_rules! families {
    ($($element:ident: $rt:ident $rt_name:literal, $rv:ident $rv_name:literal, $st:ident $st_name:literal, $sv:ident $sv_name:literal;)*) => {$(
        #[doc = concat!("A register tile of ", stringify!($element), ".")]
        #[doc(alias = $rt_name)]
        pub type $rt<'k, const H: usize, const W: usize, L = Row> = Rt<'k, $element, H, W, L>;
        #[doc = concat!("A register vector of ", stringify!($element), ".")]
        #[doc(alias = $rv_name)]
        pub type $rv<'k, const N: usize, V = Orthogonal> = Rv<'k, $element, N, V>;
        #[doc = concat!("A shared tile of ", stringify!($element), ".")]
        #[doc(alias = $st_name)]
        pub type $st<'k, const H: usize, const W: usize, S = Auto> = St<'k, $element, H, W, S>;
        #[doc = concat!("A shared vector of ", stringify!($element), ".")]
        #[doc(alias = $sv_name)]
        pub type $sv<'k, const N: usize> = Sv<'k, $element, N>;
    )*};
}

families! {
    f32:  RtF32 "rt_fl", RvF32 "rv_fl", StF32 "st_fl", SvF32 "sv_fl";
    bf16: RtBf16 "rt_bf", RvBf16 "rv_bf", StBf16 "st_bf", SvBf16 "sv_bf";
    f16:  RtF16 "rt_hf", RvF16 "rv_hf", StF16 "st_hf", SvF16 "sv_hf";
    e4m3: RtE4m3 "rt_fp8e4m3", RvE4m3 "rv_fp8e4m3", StE4m3 "st_fp8e4m3", SvE4m3 "sv_fp8e4m3";
    e5m2: RtE5m2 "rt_fp8e5m2", RvE5m2 "rv_fp8e5m2", StE5m2 "st_fp8e5m2", SvE5m2 "sv_fp8e5m2";
}

macro_rules! sizes {
    ($($height:literal $width:literal $registers:literal $packed:literal: $single:ident $single_name:literal, $brain:ident $brain_name:literal, $half:ident $half_name:literal;)*) => {$(
        #[doc = concat!("A register tile of ", $height, "×", $width, " subtiles of f32: ", $registers, " registers per lane.")]
        #[doc(alias = $single_name)]
        pub type $single<'k, L = Row> = Rt<'k, f32, $height, $width, L>;
        #[doc = concat!("A register tile of ", $height, "×", $width, " subtiles of bf16: ", $packed, " registers per lane.")]
        #[doc(alias = $brain_name)]
        pub type $brain<'k, L = Row> = Rt<'k, bf16, $height, $width, L>;
        #[doc = concat!("A register tile of ", $height, "×", $width, " subtiles of f16: ", $packed, " registers per lane.")]
        #[doc(alias = $half_name)]
        pub type $half<'k, L = Row> = Rt<'k, f16, $height, $width, L>;
    )*};
}

sizes! {
    1 1  8  4: RtF32_1x1 "rt_fl_1x1", RtBf16_1x1 "rt_bf_1x1", RtF16_1x1 "rt_hf_1x1";
    1 2 16  8: RtF32_1x2 "rt_fl_1x2", RtBf16_1x2 "rt_bf_1x2", RtF16_1x2 "rt_hf_1x2";
    1 4 32 16: RtF32_1x4 "rt_fl_1x4", RtBf16_1x4 "rt_bf_1x4", RtF16_1x4 "rt_hf_1x4";
    1 8 64 32: RtF32_1x8 "rt_fl_1x8", RtBf16_1x8 "rt_bf_1x8", RtF16_1x8 "rt_hf_1x8";
    2 1 16  8: RtF32_2x1 "rt_fl_2x1", RtBf16_2x1 "rt_bf_2x1", RtF16_2x1 "rt_hf_2x1";
    2 2 32 16: RtF32_2x2 "rt_fl_2x2", RtBf16_2x2 "rt_bf_2x2", RtF16_2x2 "rt_hf_2x2";
    2 4 64 32: RtF32_2x4 "rt_fl_2x4", RtBf16_2x4 "rt_bf_2x4", RtF16_2x4 "rt_hf_2x4";
    4 1 32 16: RtF32_4x1 "rt_fl_4x1", RtBf16_4x1 "rt_bf_4x1", RtF16_4x1 "rt_hf_4x1";
    4 2 64 32: RtF32_4x2 "rt_fl_4x2", RtBf16_4x2 "rt_bf_4x2", RtF16_4x2 "rt_hf_4x2";
    8 1 64 32: RtF32_8x1 "rt_fl_8x1", RtBf16_8x1 "rt_bf_8x1", RtF16_8x1 "rt_hf_8x1";
}
