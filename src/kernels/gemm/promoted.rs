//! Products of 8-bit floats with sums that are promoted to f32, because tensor cores accumulate with fewer bits.

use super::{Epilogue, FusedGemmArgs, Gemm, GemmArgs, GemmResult, GemmTile, MatrixOrder, problem::Problem};
use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Read, Val},
    tensor::TensorElement,
    tiles::{ColVec, Consumer, Convert, Gl, InFlight, Product, Ring, Rt, St, consumers, producer, row_major},
};

/// The arguments of the kernel that [`Gemm::block_scaled_kernel`] builds: `(a, lda, a_scales, b, ldb, b_scales, d, ldd, m, n, k)`. See
/// [`Gemm::block_scaled_kernel`] for `a_scales` and `b_scales`, and [`GemmArgs`] for the other arguments.
pub type BlockScaledGemmArgs<T, D> = (In<T>, u32, In<f32>, In<T>, u32, In<f32>, Out<D>, u32, u32, u32, u32);

/// The number of elements along k, and of columns of B, that share a scale.
const BLOCK: u32 = 128;

impl Gemm {
    /// Builds the kernel that multiplies matrices of 8-bit floats with promoted sums: after every 128 elements along k, the partial sums
    /// are added to f32 accumulators. In kernels without promotion, such as those of [`kernel`](Self::kernel), tensor cores accumulate the
    /// products of 8-bit floats with a precision of only about 14 bits, so errors grow with k.
    ///
    /// # Errors
    /// Returns an error unless the target is sm_90a, `T` is an 8-bit float, A is row-major, B is column-major, the tile is 128×128 or
    /// 128×192, `cluster` is `[1, 1]`, `parts` is 1, and `any_size` is `false`.
    #[doc(alias = "CUBLASLT_MATMUL_DESC_FAST_ACCUM")]
    pub fn promoted_kernel<T, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        let signature = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name::<T, D>("_promoted"));
        Kernel::<GemmArgs<T, D>>::build(
            &signature,
            self.target,
            |k, (a, lda, b, ldb, d, ldd, m, n, length)| {
                let problem = Problem::one(*self, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
                k.describe(format!("D = A·B, sums promoted to f32: {}", self.matrices::<T, D>()));
                if self.check_promoted::<T>(k) {
                    match self.tile {
                        GemmTile::T128x128 => D::emit_promoted(&problem, None),
                        // 4-byte results leave shared memory only for slots of one column of subtiles.
                        _ if const { D::SIZE == 4 } => in_halves::<T, D, 1>(&problem),
                        _ => in_halves::<T, D, 2>(&problem),
                    }
                }
            },
        )
    }

    /// Builds the kernel that computes a product with [promoted sums](Self::promoted_kernel) and applies an epilogue to it. The kernel
    /// always uses 128×128 tiles, because the sums of 128×192 tiles leave no registers for the operands of the epilogue.
    ///
    /// # Errors
    /// Returns the same errors as [`promoted_kernel`](Self::promoted_kernel), except that any tile is accepted.
    pub fn fused_promoted_kernel<T, D>(
        &self,
        epilogue: Epilogue,
    ) -> Result<Kernel<FusedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        let gemm = Self { tile: GemmTile::T128x128, ..*self };
        let name = gemm.name::<T, D>(&format!("_promoted{}", epilogue.suffix()));
        let signature = format!(
            "{name}(a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales)"
        );
        Kernel::<FusedGemmArgs<T, D>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, b, ldb, d, ldd, m, n, length, alpha, beta, c, ldc, bias, row_scales, col_scales) =
                parameters;
            let operands = epilogue.operands((alpha, beta, c, ldc, bias, row_scales, col_scales), [m, n]);
            let product = Problem::one(gemm, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
            let problem = Problem { epilogue: Some(operands), ..product };
            k.describe(format!("D = A·B, sums promoted to f32: {}", gemm.matrices::<T, D>()));
            if gemm.check_promoted::<T>(k) {
                D::emit_promoted(&problem, None);
            }
        })
    }

    /// Builds the kernel that multiplies block-scaled matrices of 8-bit floats, as in [DeepSeek-V3](https://arxiv.org/abs/2412.19437): Dᵢⱼ
    /// = f(Σₛ rᵢₛ · cⱼₛ · (Aₛ·Bₛ)ᵢⱼ). Aₛ consists of columns 128·s to 128·s + 127 of A, and Bₛ of the rows of B with the same indices. The
    /// kernel always uses 128×128 tiles.
    ///
    /// `a_scales[s·m + i]` is rᵢₛ, the scale of row i of Aₛ. `b_scales[⌊j/128⌋·⌈k/128⌉ + s]` is cⱼₛ, which is shared by a 128×128 block of
    /// B.
    ///
    /// # Errors
    /// Returns the same errors as [`promoted_kernel`](Self::promoted_kernel), except that any tile is accepted.
    #[doc(alias = "DeepGEMM")]
    pub fn block_scaled_kernel<T, D>(&self) -> Result<Kernel<BlockScaledGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        let gemm = Self { tile: GemmTile::T128x128, ..*self };
        let name = gemm.name::<T, D>("_block_scaled");
        let signature = format!("{name}(a, lda, a_scales, b, ldb, b_scales, d, ldd, m, n, k)");
        Kernel::<BlockScaledGemmArgs<T, D>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, a_scales, b, ldb, b_scales, d, ldd, m, n, length) = parameters;
            let blocks = length.ceil_div(BLOCK);
            let scales = BlockScales {
                a: k.global(a_scales, row_major(blocks, m)),
                b: k.global(b_scales, row_major(n.ceil_div(BLOCK), blocks)),
            };
            let problem = Problem::one(gemm, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
            k.describe(format!("D = A·B with scales of blocks of 128: {}", gemm.matrices::<T, D>()));
            if gemm.check_promoted::<T>(k) {
                D::emit_promoted(&problem, Some(&scales));
            }
        })
    }

    /// Checks that this kernel supports promoted sums. Rejects it and returns `false` if it does not.
    fn check_promoted<T: TensorElement>(&self, k: Builder<'_>) -> bool {
        if let Err(why) = self.check_wgmma("promoted sums") {
            k.refuse(why);
            return false;
        }
        let plain = Self {
            a: MatrixOrder::Row,
            b: MatrixOrder::Col,
            any_ldd: self.any_ldd,
            schedule: self.schedule,
            activation: self.activation,
            ..Self::new(self.tile)
        };
        let fits =
            T::SIZE == 1 && *self == plain && matches!(self.tile, GemmTile::T128x128 | GemmTile::T128x192);
        if !fits {
            k.refuse(format!(
                "expected factors of 8 bits, row-major A, column-major B, whole tiles of 128×128 or 128×192 without clusters, found {} of {}",
                self.name::<T, T>(""),
                T::NAME
            ));
        }
        fits
    }
}

/// The scales of the operands' blocks.
pub(super) struct BlockScales<'k> {
    /// For each step along k, the scales of the rows of A.
    pub(super) a: Gl<'k, f32, Read>,
    /// For each 128 columns of B, the scales of the steps along k.
    pub(super) b: Gl<'k, f32, Read>,
}

/// The scales of a step for the rows of a warp: one for each row of A, and one for B.
type StepScales<'k> = (ColVec<'k, f32, 1>, Val<'k, f32>);

impl<'k> BlockScales<'k> {
    #[track_caller]
    fn of_step(&self, step: Val<'k, u32>, row: Val<'k, u32>, col: Val<'k, u32>) -> StepScales<'k> {
        (self.a.row(step).col_vector(row), self.b.at(col, step).load_or(0.0))
    }
}

/// The stages of a kernel with tiles of 128×(16·`N`) elements: 128 rows of A and 16·`N` rows of B, 128 elements deep.
type PromotedRing<'k, T, const N: usize, const STAGES: usize> =
    Ring<'k, (St<'k, T, 8, 4>, St<'k, T, N, 4>), STAGES, 2>;

/// Emits the kernel in which each of two warpgroups computes 64 rows of a tile of 128×128 elements. The product of each step, 128 elements
/// deep, starts from zero. A warpgroup starts the products of two steps at a time, and adds the first to the sums in registers while the
/// second is computed. Results are stored `W` columns of subtiles at a time.
#[rustfmt::skip]
#[track_caller]
pub(super) fn in_pairs<'k, T, D, const W: usize>(
    problem: &Problem<'k, T, D>,
    scales: Option<&BlockScales<'k>>,
) where
    T: TensorElement + Product<T, f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    let k = problem.k;
    promoted::<T, D, 8, 6, W, 2>(problem, |c, ring, steps, row, col| {
        let start = || {
            let stage = c.receive(ring);
            let (a, b) = stage.tiles();
            (c.group().accumulate_from_zero::<Rt<f32, 1, 8>>().mma_abt(a.rows::<4>(c.rank()), b), stage)
        };
        let finish = |total: Rt<'k, f32, 1, 8>, scales: &Option<StepScales<'k>>, (product, stage): (InFlight<'k, Rt<'k, f32, 1, 8>>, _)| {
            let product = product.wait();
            c.release(ring, stage);
            match scales {
                None => total + &product,
                Some((of_a, of_b)) => total.add_product(&product, &(of_a * *of_b)),
            }
        };
        // The scales of the next two steps are loaded while these two are multiplied.
        let scales_from = |step: Val<'k, u32>| [0, 1].map(|i| scales.map(|scales| scales.of_step(step + i, row, col)));
        let state = (k.zeros(), scales_from(0.into()));
        let (total, [last, _]) = k.fold(steps / 2, state, |pair, (total, [first, second])| {
            let (of_first, of_second) = (start(), start());
            let next = scales_from((pair + 1) * 2);
            let total = finish(total, &first, of_first);
            (finish(total, &second, of_second), next)
        });
        // The last step, if the number of steps is odd.
        k.fold(steps & 1, (total, last), |_, (total, last)| (finish(total, &last, start()), last)).0
    });
}

/// Emits a kernel like that of [`in_pairs`] for tiles of 128×192 elements, whose sums leave no registers for two products: the product of a
/// step is divided into two halves of six columns of subtiles, and a warpgroup adds the first while the second is computed.
#[rustfmt::skip]
#[track_caller]
fn in_halves<'k, T, D, const W: usize>(
    problem: &Problem<'k, T, D>,
) where
    T: TensorElement + Product<T, f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    let k = problem.k;
    promoted::<T, D, 12, 5, W, 3>(problem, |c, ring, steps, _, _| {
        let halves = k.fold(steps, [(); 2].map(|()| k.zeros::<Rt<f32, 1, 6>>()), |_, [left, right]| {
            let stage = c.receive(ring);
            let (a, b) = stage.tiles();
            let [of_left, of_right] = [0, 1].map(|half| {
                let product = c.group().accumulate_from_zero::<Rt<f32, 1, 6>>();
                product.mma_abt(a.rows::<4>(c.rank()), b.rows::<6>(half))
            });
            let left = left + &of_left.wait();
            let of_right = of_right.wait();
            c.release(ring, stage);
            [left, right + &of_right]
        });
        Rt::hconcat(halves)
    });
}

/// Emits a kernel with tiles of 128×(16·`N`) elements. `sums` emits the code with which a warpgroup computes its 64 rows of a tile; it
/// receives the ring, the number of steps along k, and the index of the warp's first row and of the tile's first column, in subtiles and
/// in tiles.
#[rustfmt::skip]
#[track_caller]
fn promoted<'k, T, D, const N: usize, const STAGES: usize, const W: usize, const SLOTS: usize>(
    problem: &Problem<'k, T, D>,
    sums: impl FnOnce(Consumer<'k, 2>, &PromotedRing<'k, T, N, STAGES>, Val<'k, u32>, Val<'k, u32>, Val<'k, u32>) -> Rt<'k, f32, 1, N>,
) where
    T: TensorElement + Product<T, f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    let (k, height) = (problem.k, 128);
    problem.launch(384);
    let tiles = problem.tiles(height, 16 * N as u32);
    let steps = problem.size[2].ceil_div(4 * T::SUBTILE_LENGTH);
    let ring: PromotedRing<'k, T, N, STAGES> = tiles.ring();
    let outbox = problem.outbox::<W, SLOTS, 2>();
    k.programmatic_launch();

    k.specialize(
        producer(40, |p| {
            tiles.each(|i, j| {
                let (factors, i) = problem.factors(problem.row_of_tiles(i), height);
                p.run(&ring, steps, |step, stage| stage.fill((factors.a.tile(i, step), factors.b.tile(j, step))));
            });
        }),
        consumers::<2, _>(232, |c: Consumer<'k, 2>| {
            tiles.each(|i, j| {
                let row = (i * 2 + c.rank()) * 4 + c.warp();
                let total = sums(c, &ring, steps, row, j);
                problem.store_part(c, &outbox, [total], (problem.row_of_tiles(i), j), c.rank());
            });
        }),
    );
}
