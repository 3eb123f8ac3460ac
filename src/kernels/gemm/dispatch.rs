//! The code for each combination of operand orders, tile and result type.

use super::{
    Gemm, GemmResult, GemmSum, GemmTile,
    MatrixOrder::{Col, Row},
    kernel::{gated, in_turns, split, together},
    mma_sync::{by_warps, gated_by_warps},
    problem::Problem,
    stages::{ColCol, ColRow, RowCol, RowRow},
};
use crate::{
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// Expands `$kernels` for the orders that operands of `$t` may have; no code is compiled for other orders.
macro_rules! for_orders {
    ($t:ident, $kernels:ident) => {
        if const { $t::SIZE == 2 } {
            $kernels! { Row Row RowRow; Row Col RowCol; Col Row ColRow; Col Col ColCol; }
        } else {
            $kernels! { Row Col RowCol; }
        }
    };
}

impl Gemm {
    /// Emits the products of a launch.
    pub(super) fn emit<T, C, D>(&self, problem: Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let (k, activation) = (problem.k, self.activation);
        k.describe(format!("D = A·B: {}", self.matrices::<T, D>()));
        if let Err(why) = self.check(T::SIZE) {
            return k.refuse(why);
        }
        if let Some(function) = activation.filter(|&function| problem.epilogue.is_none() && !C::has(function))
        {
            return k.refuse(format!("expected an activation of {}, found {function}", C::NAME));
        }
        D::emit(self, &problem);
    }

    /// Emits the products for a target with `wgmma`, with stages that are `K` subtiles deep. Results are stored `W` columns of subtiles at
    /// a time, or `V` columns for tiles of 160 columns and tiles that several blocks compute together.
    pub(super) fn of_depth<T, C, D, const K: usize, const W: usize, const V: usize>(
        &self,
        problem: &Problem<'_, T, D>,
    ) where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{
            T16x64, T16x128, T64x64, T64x128, T128x128, T128x160, T128x192, T128x256, T192x192, T256x128,
            T256x160, T256x192,
        };
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile, self.parts) {
                    //                                                                        M  N   K  H  stages W slots
                    $(
                        ($a, $b, T16x64 | T64x64, 1) => in_turns::<$stages, T, C, D, 4, 4,  K, 1, 8, W, 1>(problem),
                        ($a, $b, T16x128 | T64x128, 1) => in_turns::<$stages, T, C, D, 4, 8,  K, 1, 8, W, 2>(problem),
                        ($a, $b, T128x128, 1) => in_turns::<$stages, T, C, D, 8, 8,  K, 2, 6, W, 2>(problem),
                        ($a, $b, T128x160, 1) => in_turns::<$stages, T, C, D, 8, 10, K, 2, 5, V, 2>(problem),
                        ($a, $b, T128x192, 1) => in_turns::<$stages, T, C, D, 8, 12, K, 2, 4, W, 3>(problem),
                    )*
                    //                                                                 groups M   P  N   K  H  stages W slots
                    $(
                        ($a, $b, T192x192, 1) => together::<$stages, T, C, D, 3, 12, 4, 12, K, 1, 4, W, 1>(problem),
                        ($a, $b, T128x256, 1) => together::<$stages, T, C, D, 2, 8,  4, 16, K, 1, 4, W, 2>(problem),
                        ($a, $b, T256x128, 1) => together::<$stages, T, C, D, 2, 16, 8, 8,  K, 2, 4, W, 2>(problem),
                        // 4-byte results leave shared memory for only one slot.
                        ($a, $b, T256x160, 1) if const { D::SIZE == 4 } => together::<$stages, T, C, D, 2, 16, 8, 10, K, 2, 4, V, 1>(problem),
                        ($a, $b, T256x160, 1) => together::<$stages, T, C, D, 2, 16, 8, 10, K, 2, 4, V, 2>(problem),
                        ($a, $b, T256x192, 1) => together::<$stages, T, C, D, 2, 16, 8, 12, K, 2, 3, W, 3>(problem),
                    )*
                    //                                                                  M  N  K  H  stages parts P  W
                    $(
                        ($a, $b, T16x64 | T64x64, 2) => split::<$stages, T, C, D, 4, 4, K, 1, 10, 2, 2, V>(problem),
                        ($a, $b, T64x128, 4) => split::<$stages, T, C, D, 4, 8, K, 1, 7, 4, 2, V>(problem),
                    )*
                    // Rejected by `check`.
                    _ => {}
                }
            };
        }
        for_orders!(T, kernels);
    }

    /// Emits the products for a target with `wgmma`, with tiles of 128×176 and stages that are `K` subtiles deep.
    pub(super) fn of_176_columns<T, C, D, const K: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::T128x176;
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile) {
                    //                                                        M  N   K  H  stages W slots
                    $(($a, $b, T128x176) => in_turns::<$stages, T, C, D, 8, 11, K, 2, 5, 1, 2>(problem),)*
                    // Rejected by `check`.
                    _ => {}
                }
            };
        }
        for_orders!(T, kernels);
    }

    /// Emits the products for a target without `wgmma`, with stages that are `K` subtiles deep for the largest tiles, and `L` for other
    /// tiles, which fit in the shared memory of sm_86. Results are stored in `R` parts of `Q` columns of subtiles, which correspond to `P`
    /// columns of subtiles of sums.
    #[rustfmt::skip]
    pub(super) fn by_warps_of_depth<T, C, D, const K: usize, const L: usize, const P: usize, const R: usize, const Q: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{T64x64, T128x128, T128x256};
        // Copies of single elements pass through registers, which leaves too few for fragments of two slices; fragments of 4-byte elements
        // are larger.
        let ahead = !self.any_size && T::SIZE < 4;
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile) {
                    //                                                            M  N   K  H  W  stages
                    $(
                        ($a, $b, T64x64) => by_warps::<$stages, T, C, D, 4, 4, L, 1, 4, 4, P, R, Q>(problem, ahead),
                        ($a, $b, T128x128) => by_warps::<$stages, T, C, D, 8, 8, L, 2, 4, 3, P, R, Q>(problem, ahead),
                        ($a, $b, T128x256) => by_warps::<$stages, T, C, D, 8, 16, K, 4, 4, 3, P, R, Q>(problem, ahead),
                    )*
                    // Rejected by `check`.
                    _ => {}
                }
            };
        }
        for_orders!(T, kernels);
    }

    /// Emits a gated product for a target without `wgmma`, like [`by_warps_of_depth`](Self::by_warps_of_depth). Half of the columns of a
    /// tile are products with B₁, and half are products with B₂.
    #[rustfmt::skip]
    pub(super) fn gated_by_warps_of_depth<T, C, D, const K: usize, const L: usize, const P: usize, const R: usize, const Q: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{T128x128, T128x256};
        let ahead = !self.any_size && T::SIZE < 4;
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile) {
                    //                                                                   M  G  K  H  W  stages
                    $(
                        ($a, $b, T128x128) => gated_by_warps::<$stages, T, C, D, 8, 4, L, 2, 4, 3, P, R, Q>(problem, ahead),
                        ($a, $b, T128x256) => gated_by_warps::<$stages, T, C, D, 8, 8, K, 2, 4, 3, P, R, Q>(problem, ahead),
                    )*
                    (_, _, tile) => problem.k.refuse(format!(
                        "expected tiles of 128x128 or 128x256 for a gated product, found {tile}"
                    )),
                }
            };
        }
        for_orders!(T, kernels);
    }

    /// Emits a gated product with stages that are `K` subtiles deep, and with results stored `W` columns of subtiles at a time.
    pub(super) fn gated_of_depth<T, C, D, const K: usize, const W: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{T64x128, T128x128};
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile, self.parts) {
                    //                                                               M  N  G  K  H  stages
                    $(
                        ($a, $b, T64x128, 1) => gated::<$stages, T, C, D, 4, 8, 4, K, 1, 8, W>(problem),
                        ($a, $b, T128x128, 1) => gated::<$stages, T, C, D, 8, 8, 4, K, 2, 6, W>(problem),
                    )*
                    (_, _, tile, parts) => problem.k.refuse(format!(
                        "expected whole tiles of 64x128 or 128x128 for a gated product, found {tile} in {parts} parts"
                    )),
                }
            };
        }
        for_orders!(T, kernels);
    }
}
