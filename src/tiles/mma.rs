//! MMAs of register tiles on tensor cores.

use arrayvec::ArrayVec;

use super::{
    element::{Col, Row},
    registers::Registers,
    rt::Rt,
};
use crate::{
    ptx::{Builder, Features, RegId, bf16, e4m3, e5m2, f16, matrix_mnemonic, tf32},
    tensor::TensorElement,
};

/// An element type of operand A that `mma` can multiply by elements of type `B`, accumulating the products in type `C`.
///
/// | A            | B            | C           | instruction                               | requires |
/// | ---          | ---          | ---         | ---                                       | ---      |
/// | bf16         | bf16         | f32         | `m16n8k16`                                | sm_80    |
/// | f16          | f16          | f32 or f16  | `m16n8k16`; before sm_80 `m16n8k8`        | sm_75    |
/// | tf32         | tf32         | f32         | `m16n8k8`                                 | sm_80    |
/// | f64          | f64          | f64         | `m16n8k16`; before sm_90 `m8n8k4`         | sm_80    |
/// | e4m3 or e5m2 | e4m3 or e5m2 | f32 or f16  | `m16n8k32`                                | sm_89    |
/// | i8 or u8     | i8 or u8     | i32         | `m16n8k32`; before sm_80 `m8n8k16`        | sm_75    |
///
/// Integer sums wrap around. The instructions and their targets are documented in the PTX ISA, "Multiply-and-Accumulate Instruction: mma".
#[diagnostic::on_unimplemented(
    message = "no `mma` multiplies `{Self}` by `{B}` and accumulates in `{C}`",
    label = "A is `{Self}`, B is `{B}`, the sum is `{C}`",
    note = "products accumulate bf16 and tf32 in f32, f16, e4m3 and e5m2 in f32 or f16, i8 and u8 in i32, f64 in f64; \
            `convert` converts tiles of other types"
)]
pub trait Product<B: TensorElement, C: TensorElement>: TensorElement {
    /// The instructions, preferred first.
    #[doc(hidden)]
    const INSTRUCTIONS: &'static [Instruction];
    /// The types of D, A, B and C in the mnemonic.
    #[doc(hidden)]
    const TYPES: &'static str;
}

/// A shape of `mma`: `m`×8 elements of C, each of which is a sum of `k` products.
#[derive(Debug)]
pub struct Instruction {
    m: usize,
    k: usize,
    needs: Features,
}

const fn instruction(m: usize, k: usize, needs: Features) -> Instruction {
    Instruction { m, k, needs }
}

const M16N8K32: Instruction = instruction(16, 32, Features::AMPERE);
const M16N8K16: Instruction = instruction(16, 16, Features::AMPERE);
const M16N8K8: Instruction = instruction(16, 8, Features::TURING);
const M8N8K16: Instruction = instruction(8, 16, Features::TURING);
const M8N8K4: Instruction = instruction(8, 4, Features::AMPERE);
const HOPPER_M16N8K16: Instruction = instruction(16, 16, Features::HOPPER);

macro_rules! products {
    ($($a:ident $b:ident $c:ident $types:literal [$($instruction:ident)*];)*) => {$(
        impl Product<$b, $c> for $a {
            const INSTRUCTIONS: &'static [Instruction] = &[$($instruction),*];
            const TYPES: &'static str = $types;
        }
    )*};
}

products! {
    // A   B     C    D, A, B, C              instructions
    bf16   bf16  f32  "f32.bf16.bf16.f32"     [M16N8K16];
    f16    f16   f32  "f32.f16.f16.f32"       [M16N8K16 M16N8K8];
    f16    f16   f16  "f16.f16.f16.f16"       [M16N8K16 M16N8K8];
    tf32   tf32  f32  "f32.tf32.tf32.f32"     [M16N8K8];
    f64    f64   f64  "f64.f64.f64.f64"       [HOPPER_M16N8K16 M8N8K4];
    e4m3   e4m3  f32  "f32.e4m3.e4m3.f32"     [M16N8K32];
    e4m3   e5m2  f32  "f32.e4m3.e5m2.f32"     [M16N8K32];
    e5m2   e4m3  f32  "f32.e5m2.e4m3.f32"     [M16N8K32];
    e5m2   e5m2  f32  "f32.e5m2.e5m2.f32"     [M16N8K32];
    e4m3   e4m3  f16  "f16.e4m3.e4m3.f16"     [M16N8K32];
    e4m3   e5m2  f16  "f16.e4m3.e5m2.f16"     [M16N8K32];
    e5m2   e4m3  f16  "f16.e5m2.e4m3.f16"     [M16N8K32];
    e5m2   e5m2  f16  "f16.e5m2.e5m2.f16"     [M16N8K32];
    i8     i8    i32  "s32.s8.s8.s32"         [M16N8K32 M8N8K16];
    i8     u8    i32  "s32.s8.u8.s32"         [M16N8K32 M8N8K16];
    u8     i8    i32  "s32.u8.s8.s32"         [M16N8K32 M8N8K16];
    u8     u8    i32  "s32.u8.u8.s32"         [M16N8K32 M8N8K16];
}

/// The number of halves of a subtile, each of 8 rows or columns. The halves are in different words.
const HALVES: usize = 2;

/// The registers of a subtile as an operand of `mma`.
///
/// In lane 4g + t, the register of element `e` of pair `p + 2q` contains, in row 8p + g, element 2t + e + 8q along k. If a register
/// contains a whole pair, `e` does not apply. A *step* along k is a pair (e, q), which selects one register per half `p`. In each step,
/// each of the four lanes of a quad provides one register of A per half, and one of B. A and B use the same order along k, so the order
/// does not affect the products. The operands of `mma` list registers by step and, within a step, by half.
#[derive(Clone, Copy)]
pub(super) struct Operand<'t>(pub(super) &'t [RegId]);

impl<'t> Operand<'t> {
    fn register(self, half: usize, step: usize) -> RegId {
        let per_pair = self.0.len() / 4;
        self.0[step % per_pair + per_pair * (half + HALVES * (step / per_pair))]
    }

    fn steps(self) -> usize {
        self.0.len() / HALVES
    }

    /// Returns the registers of A or B.
    fn factor(self, halves: &[usize], steps: std::ops::Range<usize>) -> ArrayVec<RegId, 8> {
        steps.flat_map(|step| halves.iter().map(move |&half| self.register(half, step))).collect()
    }

    /// Returns the registers of C for the 8 columns that start at column 8·`right`.
    pub(super) fn sum(self, halves: &[usize], right: usize) -> ArrayVec<RegId, 8> {
        let per_pair = self.0.len() / 4;
        let pairs = halves.iter().map(|half| half + HALVES * right);
        pairs.flat_map(|pair| &self.0[pair * per_pair..][..per_pair]).copied().collect()
    }
}

impl Instruction {
    /// Returns the first instruction in `of` that the target supports. If the target supports none, returns the last one, which the builder
    /// rejects when it is emitted.
    fn select(of: &'static [Self], k: Builder<'_>) -> &'static Self {
        let features = k.target().features();
        of.iter().find(|form| features.contains(form.needs)).unwrap_or(&of[of.len() - 1])
    }

    /// Returns the groups of row halves; each instruction multiplies one group.
    fn halves(&self) -> &'static [&'static [usize]] {
        if self.m == 16 { &[&[0, 1]] } else { &[&[0], &[1]] }
    }
}

impl<'k, C: TensorElement, const M: usize, const N: usize> Rt<'k, C, M, N, Row> {
    /// Returns this tile plus A·B, where A has `M`×`K` subtiles and B has `K`×`N` subtiles. [`Product`] lists the types and instructions.
    ///
    /// The result is accumulated in place: the tile's registers are overwritten. All lanes of the warp must take part.
    ///
    /// The builder rejects the call if the target has no instruction for these types, or if this tile was created before the innermost
    /// emitted loop and the loop does not carry it.
    #[doc(alias = "mma_AB")]
    #[doc(alias = "mma.sync")]
    #[must_use]
    #[track_caller]
    pub fn mma_ab<A, B, const K: usize>(self, a: &Rt<'k, A, M, K, Row>, b: &Rt<'k, B, K, N, Col>) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        self.accumulate::<A, B, K>(|i, k| a.subtile_registers(i, k), |k, j| b.subtile_registers(k, j))
    }

    /// Returns this tile plus A·Bᵀ, where A has `M`×`K` subtiles and B has `N`×`K` subtiles; see [`mma_ab`](Self::mma_ab).
    #[doc(alias = "mma_ABt")]
    #[must_use]
    #[track_caller]
    pub fn mma_abt<A, B, const K: usize>(self, a: &Rt<'k, A, M, K, Row>, b: &Rt<'k, B, N, K, Row>) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        // A row-layout subtile has the same registers as the column-layout subtile of its transpose.
        self.accumulate::<A, B, K>(|i, k| a.subtile_registers(i, k), |k, j| b.subtile_registers(j, k))
    }

    /// Returns this tile plus Aᵀ·B, where A has `K`×`M` subtiles and B has `K`×`N` subtiles; see [`mma_ab`](Self::mma_ab).
    #[doc(alias = "mma_AtB")]
    #[must_use]
    #[track_caller]
    pub fn mma_atb<A, B, const K: usize>(self, a: &Rt<'k, A, K, M, Col>, b: &Rt<'k, B, K, N, Col>) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        self.accumulate::<A, B, K>(|i, k| a.subtile_registers(k, i), |k, j| b.subtile_registers(k, j))
    }

    /// Returns this tile plus Aᵀ·Bᵀ, where A has `K`×`M` subtiles and B has `N`×`K` subtiles; see [`mma_ab`](Self::mma_ab).
    #[doc(alias = "mma_AtBt")]
    #[must_use]
    #[track_caller]
    pub fn mma_atbt<A, B, const K: usize>(self, a: &Rt<'k, A, K, M, Col>, b: &Rt<'k, B, N, K, Row>) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        self.accumulate::<A, B, K>(|i, k| a.subtile_registers(k, i), |k, j| b.subtile_registers(j, k))
    }

    /// Adds A·B to this tile. `a(i, k)` returns the registers of subtile (i, k) of A, and `b(k, j)` those of subtile (k, j) of B.
    #[track_caller]
    fn accumulate<'t, A, B, const K: usize>(
        self,
        a: impl Fn(usize, usize) -> &'t [RegId],
        b: impl Fn(usize, usize) -> &'t [RegId],
    ) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        let kernel = self.kernel();
        let form = Instruction::select(A::INSTRUCTIONS, kernel);
        let mnemonic = matrix_mnemonic::mma((form.m as u32, 8, form.k as u32), "", A::TYPES);
        // In a step, each of the four lanes of a quad provides one word.
        let steps = form.k / (4 * A::PER_WORD);
        for k in 0..K {
            for start in (0..Operand(a(0, k)).steps()).step_by(steps) {
                for i in 0..M {
                    let a = Operand(a(i, k));
                    for j in 0..N {
                        let (b, c) = (Operand(b(k, j)), Operand(self.subtile_registers(i, j)));
                        for right in 0..HALVES {
                            for halves in form.halves() {
                                let a = a.factor(halves, start..start + steps);
                                let b = b.factor(&[right], start..start + steps);
                                kernel.multiply(&mnemonic, &a, &b, &c.sum(halves, right));
                            }
                        }
                    }
                }
            }
        }
        self
    }
}

impl Builder<'_> {
    /// Emits one `mma` that overwrites C with C + A·B. Inside an emitted loop, the innermost loop must carry the registers of C.
    #[track_caller]
    fn multiply(self, mnemonic: &str, a: &[RegId], b: &[RegId], c: &[RegId]) {
        self.check_carried(c);
        self.product_of_words(mnemonic, false, [c, a, b, c]);
    }
}
