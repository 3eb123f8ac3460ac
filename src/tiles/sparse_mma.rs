//! MMAs of a sparse and a dense register tile on tensor cores.

use std::panic::Location;

use super::{
    element::{Col, Row, register_layout},
    exchange::Exchange,
    mma::{Operand, Product},
    registers::Registers,
    rt::Rt,
    sparse::{SparseElement, SparseRt, Steps, mnemonic},
};
use crate::{
    atoms::MmaOperand,
    layout::TvLayout,
    ptx::{Builder, RegId, Scalar, Val, bf16, e4m3, e5m2, f16, tf32},
    tensor::TensorElement,
};

/// An element type of a sparse operand A that `mma.sp` can multiply by dense elements of type `B`, accumulating the products in type `C`.
///
/// | A            | B            | C          | instruction | requires |
/// | ---          | ---          | ---        | ---         | ---      |
/// | bf16         | bf16         | f32        | `m16n8k32`  | sm_80    |
/// | f16          | f16          | f32 or f16 | `m16n8k32`  | sm_80    |
/// | tf32         | tf32         | f32        | `m16n8k16`  | sm_80    |
/// | e4m3 or e5m2 | e4m3 or e5m2 | f32        | `m16n8k64`  | sm_89    |
/// | i8 or u8     | i8 or u8     | i32        | `m16n8k64`  | sm_80    |
///
/// The instructions and their targets are documented in the PTX ISA, "Multiply-and-Accumulate Instruction: mma.sp".
#[diagnostic::on_unimplemented(
    message = "no `mma.sp` multiplies a sparse tile of `{Self}` by `{B}` and accumulates in `{C}`",
    label = "A is `{Self}`, B is `{B}`, the sum is `{C}`",
    note = "sparse products accumulate bf16, tf32, e4m3 and e5m2 in f32, f16 in f32 or f16, i8 and u8 in i32"
)]
pub trait SparseProduct<B: TensorElement, C: TensorElement>: Product<B, C> + SparseElement {}

macro_rules! products {
    ($($a:ident $b:ident $c:ident;)*) => {$( impl SparseProduct<$b, $c> for $a {} )*};
}

products! {
    bf16 bf16 f32;
    f16  f16  f32;
    f16  f16  f16;
    tf32 tf32 f32;
    e4m3 e4m3 f32;
    e4m3 e5m2 f32;
    e5m2 e4m3 f32;
    e5m2 e5m2 f32;
    i8   i8   i32;
    i8   u8   i32;
    u8   i8   i32;
    u8   u8   i32;
}

/// Returns the exchange that converts `subtiles` subtiles of B, adjacent along k, to operand B of the instruction, for the left and right 8
/// columns.
fn exchange_of_b<A: SparseElement>(subtiles: usize) -> Exchange {
    let operand = A::atom().fragment_b().expect("B of `mma.sp` is in registers");
    let both = TvLayout::tiled(&operand, 2, 1).expect("two operands have few elements");
    // Both are layouts of Bᵀ.
    Exchange::plan(&register_layout::<A, Row>(1, subtiles), &both)
}

impl<'k, C: TensorElement, const M: usize, const N: usize> Rt<'k, C, M, N, Row> {
    /// Returns this tile plus A·B, where A is sparse.
    ///
    /// A represents `M`×2`W` subtiles and stores half of their elements; B has `K`×`N` subtiles. The call does not compile unless `K` =
    /// 2`W`. [`SparseProduct`] lists the types and instructions.
    ///
    /// The result is accumulated in place, as in [`mma_ab`](Self::mma_ab), but with half as many instructions as for a dense A. All lanes
    /// of the warp must take part. For tf32, the elements of B are first exchanged between the lanes of each quad.
    ///
    /// The builder rejects the call if the target has no instruction for these types, or if this tile was created before the innermost
    /// emitted loop and the loop does not carry it.
    ///
    /// ```
    /// # use warpwright::{prelude::*, tiles::SparseRt};
    /// # Kernel::<(In<bf16>, In<u16>, In<bf16>, Out<f32>)>::build("f", Target::SM_80, |k, (values, metadata, b, d)| {
    /// # k.block([32]);
    /// # k.grid([1]);
    /// # let (b, d) = (k.global(b, row_major(64, 32)), k.global(d, row_major(16, 32)));
    /// let a = k.sparse(values, metadata, 16, 64);
    /// let a: SparseRt<bf16, 1, 2> = a.tile(0, 0).load();
    /// let b: Rt<bf16, 4, 2, Col> = b.tile(0, 0).load();
    /// d.tile(0, 0).store(&k.zeros::<Rt<f32, 1, 2>>().mma_ab_sparse(&a, &b));
    /// # })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[doc(alias = "mma.sp")]
    #[must_use]
    #[track_caller]
    pub fn mma_ab_sparse<A, B, const W: usize, const K: usize>(
        self,
        a: &SparseRt<'k, A, M, W>,
        b: &Rt<'k, B, K, N, Col>,
    ) -> Self
    where
        A: SparseProduct<B, C>,
        B: TensorElement,
    {
        const { assert_depth(W, K) };
        self.accumulate_sparse(a, &|k, j| b.subtile_registers(k, j))
    }

    /// Returns this tile plus A·Bᵀ, where A is sparse and B has `N`×`K` subtiles; see [`mma_ab_sparse`](Self::mma_ab_sparse).
    #[doc(alias = "mma.sp")]
    #[must_use]
    #[track_caller]
    pub fn mma_abt_sparse<A, B, const W: usize, const K: usize>(
        self,
        a: &SparseRt<'k, A, M, W>,
        b: &Rt<'k, B, N, K, Row>,
    ) -> Self
    where
        A: SparseProduct<B, C>,
        B: TensorElement,
    {
        const { assert_depth(W, K) };
        self.accumulate_sparse(a, &|k, j| b.subtile_registers(j, k))
    }

    /// Accumulates the products; `b` returns the registers of subtile (k, j) of B.
    #[track_caller]
    fn accumulate_sparse<'t, A, B, const W: usize>(
        self,
        a: &SparseRt<'k, A, M, W>,
        b: &dyn Fn(usize, usize) -> &'t [RegId],
    ) -> Self
    where
        A: SparseProduct<B, C>,
        B: TensorElement,
    {
        let (k, steps, atom) = (self.kernel(), Steps::of::<A>(W), A::atom());
        let (values, metadata) = (a.values.all_registers(), a.metadata.all_registers());
        let subtiles = 2 * W / steps.count;
        let exchange = exchange_of_b::<A>(subtiles);
        let mnemonic = mnemonic::<A, B, C>();
        let [of_a, of_b] = [MmaOperand::A, MmaOperand::B].map(|operand| atom.registers(operand) as usize);
        {
            let _located = k.locate(Location::caller());
            for (step, j) in (0..steps.count).flat_map(|step| (0..N).map(move |j| (step, j))) {
                let b: Vec<_> = (0..subtiles).flat_map(|subtile| b(step * subtiles + subtile, j)).collect();
                let b = exchanged::<B::Word>(k, &exchange, &b);
                for i in 0..M {
                    let at = i * steps.count + step;
                    let (a, metadata) = (&values[at * of_a..][..of_a], metadata[at / steps.per_register]);
                    for (right, b) in b.chunks(of_b).enumerate() {
                        let c = Operand(self.subtile_registers(i, j)).sum(&[0, 1], right);
                        k.check_carried(&c);
                        let selector = step % steps.per_register;
                        k.sparse_product_of_words(&mnemonic, [&c, a, b, &c], metadata, selector as u32);
                    }
                }
            }
        }
        self
    }
}

/// Returns the registers of an operand after an exchange between lanes.
#[track_caller]
fn exchanged<W: Scalar>(k: Builder<'_>, exchange: &Exchange, registers: &[&RegId]) -> Vec<RegId> {
    let words: Vec<Val<'_, W>> =
        registers.iter().map(|&&register| Val::from_reg(k.current(register), k)).collect();
    exchange.emit(k, &words).into_iter().map(|word| word.in_register(k)).collect()
}

/// Asserts that B has as many rows as A has columns.
const fn assert_depth(stored: usize, depth: usize) {
    assert!(
        2 * stored == depth,
        "B must have as many rows of subtiles as the sparse A has columns: twice the stored ones"
    );
}
