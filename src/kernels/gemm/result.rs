//! The element types of results.

use super::{
    Gemm, GemmSum, GemmTile,
    problem::Problem,
    promoted::{BlockScales, in_pairs},
};
use crate::{
    ptx::{Element, bf16, e4m3, e5m2, f16, tf32},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// An element type of the result D: [`bf16`], [`struct@f16`], `f32`, [`tf32`], [`e4m3`], [`e5m2`], `i32`, `i8` or `u8`.
pub trait GemmResult: TensorElement + Convert<f32> {
    /// Emits the code of a kernel that computes products.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn emit<T, C>(gemm: &Gemm, problem: &Problem<'_, T, Self>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<Self> + Convert<f32>;
    /// Emits the code of a kernel that computes gated products.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn emit_gated<T, C>(gemm: &Gemm, problem: &Problem<'_, T, Self>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>;
    /// Emits the code of a kernel that computes products with promoted sums, with 128×128 tiles.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn emit_promoted<'k, T>(problem: &Problem<'k, T, Self>, scales: Option<&BlockScales<'k>>)
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<Self>;
}

/// Emits the code for tiles of 11 columns of subtiles, which are stored one at a time.
macro_rules! of_176_columns {
    (odd, $gemm:ident, $problem:ident, $t:ty, $c:ty) => {
        if const { <$t>::SIZE == 4 } {
            $gemm.of_176_columns::<$t, $c, Self, 2>($problem)
        } else {
            $gemm.of_176_columns::<$t, $c, Self, 4>($problem)
        }
    };
    (even, $gemm:ident, $problem:ident, $t:ty, $c:ty) => {
        $problem
            .k
            .refuse(format!("expected results of 16 or 32 bits for tiles of 128x176, found {}", Self::NAME))
    };
}

macro_rules! results {
    ($($result:ty, $cols:literal, $of_part:literal, $of_sums:literal, $odd:ident;)*) => {$(
        impl GemmResult for $result {
            #[allow(private_interfaces, reason = "only called by the crate")]
            fn emit<T, C>(gemm: &Gemm, problem: &Problem<'_, T, Self>)
            where
                T: TensorElement + Product<T, C>,
                C: GemmSum + Convert<Self> + Convert<f32>,
            {
                if gemm.has_wgmma() && gemm.tile == GemmTile::T128x176 {
                    return of_176_columns!($odd, gemm, problem, T, C);
                }
                // Stages are 128 bytes deep: two columns of subtiles with 4-byte elements, or four otherwise.
                match (gemm.has_wgmma(), const { T::SIZE == 4 }) {
                    (true, true) => gemm.of_depth::<T, C, Self, 2, $cols, $of_part>(problem),
                    (true, false) => gemm.of_depth::<T, C, Self, 4, $cols, $of_part>(problem),
                    (false, true) => gemm.by_warps_of_depth::<T, C, Self, 2, 1, $of_sums, { 4 / $of_sums }, $cols>(problem),
                    (false, false) => gemm.by_warps_of_depth::<T, C, Self, 4, 2, $of_sums, { 4 / $of_sums }, $cols>(problem),
                }
            }

            #[allow(private_interfaces, reason = "only called by the crate")]
            fn emit_gated<T, C>(gemm: &Gemm, problem: &Problem<'_, T, Self>)
            where
                T: TensorElement + Product<T, C>,
                C: GemmSum + Convert<f32>,
            {
                match (gemm.has_wgmma(), const { T::SIZE == 4 }) {
                    (true, true) => gemm.gated_of_depth::<T, C, Self, 2, $cols>(problem),
                    (true, false) => gemm.gated_of_depth::<T, C, Self, 4, $cols>(problem),
                    (false, true) => {
                        gemm.gated_by_warps_of_depth::<T, C, Self, 2, 1, $of_sums, { 4 / $of_sums }, $cols>(problem);
                    }
                    (false, false) => {
                        gemm.gated_by_warps_of_depth::<T, C, Self, 4, 2, $of_sums, { 4 / $of_sums }, $cols>(problem);
                    }
                }
            }

            #[allow(private_interfaces, reason = "only called by the crate")]
            fn emit_promoted<'k, T>(problem: &Problem<'k, T, Self>, scales: Option<&BlockScales<'k>>)
            where
                T: TensorElement + Product<T, f32>,
                f32: Convert<Self>,
            {
                in_pairs::<T, Self, $cols>(problem, scales);
            }
        }
    )*};
}

results! {
    // Type; columns of subtiles that are stored at a time; the same for a part of a tile; columns of subtiles of sums that are stored at a
    // time; whether tiles may have an odd number of columns of subtiles of sums (not for 8-bit results, whose subtiles are as wide as two
    // subtiles of sums).
    bf16, 4, 2, 4, odd;
    f16,  4, 2, 4, odd;
    f32,  2, 2, 2, odd;
    tf32, 2, 2, 2, odd;
    i32,  2, 2, 2, odd;
    e4m3, 2, 1, 4, even;
    e5m2, 2, 1, 4, even;
    i8,   2, 1, 4, even;
    u8,   2, 1, 4, even;
}
