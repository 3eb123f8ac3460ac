//! Warp-level matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma` (PTX ISA, "Warp Level Matrix Multiply-Accumulate
//! Instructions").
//!
//! All 32 lanes must execute these instructions together. [`crate::atoms`] defines which lane owns which element.

use super::{pack::HalfPair, product::Addition};
use crate::ptx::{
    kernel::Builder,
    operand::Operand,
    ptr::{Ptr, Readable, Shared, Writable},
    types::{Element, Scalar, bf16x2, f16x2},
    val::Val,
};

/// A type in which `mma` can accumulate products of `P` inputs: `f32` or, if `P` is [`f16x2`], also [`f16x2`].
#[diagnostic::on_unimplemented(
    message = "no `mma` accumulates products of `{P}` in `{Self}`",
    note = "bf16 accumulates in f32; f16 in f32 or f16"
)]
pub trait Accumulator<P>: Scalar {
    /// The name of the accumulator's element type, such as `"f32"`.
    const ELEMENT: &'static str;
    /// The number of registers per lane of a 16×8 accumulator.
    const REGISTERS: usize;
}

impl Accumulator<f16x2> for f32 {
    const ELEMENT: &'static str = "f32";
    const REGISTERS: usize = 4;
}

impl Accumulator<bf16x2> for f32 {
    const ELEMENT: &'static str = "f32";
    const REGISTERS: usize = 4;
}

impl Accumulator<f16x2> for f16x2 {
    const ELEMENT: &'static str = "f16";
    const REGISTERS: usize = 2;
}

/// Formats the mnemonic of the `mma` with the given shape, input pair type and accumulator type.
macro_rules! mnemonic {
    ($shape:expr, $pair:ident, $sum:ident) => {
        format_args!(
            "mma.sync.aligned.{shape}.row.col.{acc}.{half}.{half}.{acc}",
            shape = $shape,
            acc = $sum::ELEMENT,
            half = <$pair::Half as Scalar>::PTX
        )
    };
}

impl<'k, T: Element, A: Readable> Ptr<'k, T, Shared, A> {
    /// Loads `N` (1, 2 or 4) 8×8 matrices of 16-bit elements. `P` must be a 32-bit type. Lane `8i + r` provides the address of row `r` of
    /// matrix `i`. All addresses must be known to be aligned to 16 bytes. From each matrix, every lane receives two elements of row
    /// `lane / 4`: those in columns `2 (lane % 4)` and `2 (lane % 4) + 1`. All 32 lanes must execute the instruction.
    #[track_caller]
    pub fn ldmatrix<const N: usize, P: Scalar>(self) -> [Val<'k, P>; N] {
        self.load_matrices("")
    }

    /// Loads matrices as [`ldmatrix`](Self::ldmatrix) does, but transposes each matrix.
    #[doc(alias = "ldmatrix.trans")]
    #[track_caller]
    pub fn ldmatrix_trans<const N: usize, P: Scalar>(self) -> [Val<'k, P>; N] {
        self.load_matrices(".trans")
    }

    #[track_caller]
    fn load_matrices<const N: usize, P: Scalar>(self, trans: &str) -> [Val<'k, P>; N] {
        const {
            assert!(
                matches!(N, 1 | 2 | 4) && P::BYTES == 4,
                "ldmatrix loads 1, 2 or 4 matrices into 32-bit registers"
            );
        };
        self.check_aligned(16);
        let k = self.kernel();
        let values: [Val<'k, P>; N] = std::array::from_fn(|_| Val::from_reg(k.fresh(P::CLASS), k));
        let registers = values.map(|v| v.operand(k));
        let mnemonic = format_args!("ldmatrix.sync.aligned.m8n8.x{N}{trans}.shared.b16");
        k.emit(mnemonic, &[Operand::Vector(&registers), self.operand()]);
        values
    }
}

impl<'k, T: Element, A: Writable> Ptr<'k, T, Shared, A> {
    /// Stores `N` (1, 2 or 4) 8×8 matrices of 16-bit elements. `P` must be a 32-bit type. Addresses and elements are assigned to lanes as
    /// in [`ldmatrix`](Ptr::ldmatrix). All 32 lanes must execute the instruction. Requires sm_90 or later.
    #[track_caller]
    pub fn stmatrix<const N: usize, P: Scalar>(self, values: [Val<'k, P>; N]) {
        self.store_matrices("", values);
    }

    /// Stores matrices as [`stmatrix`](Self::stmatrix) does, but transposes each matrix.
    #[doc(alias = "stmatrix.trans")]
    #[track_caller]
    pub fn stmatrix_trans<const N: usize, P: Scalar>(self, values: [Val<'k, P>; N]) {
        self.store_matrices(".trans", values);
    }

    #[track_caller]
    fn store_matrices<const N: usize, P: Scalar>(self, trans: &str, values: [Val<'k, P>; N]) {
        const {
            assert!(
                matches!(N, 1 | 2 | 4) && P::BYTES == 4,
                "stmatrix stores 1, 2 or 4 matrices from 32-bit registers"
            );
        };
        self.check_aligned(16);
        let k = self.kernel();
        // ptxas rejects vectors of integer constants.
        let registers = values.map(|v| Operand::Reg(v.in_register(k)));
        let mnemonic = format_args!("stmatrix.sync.aligned.m8n8.x{N}{trans}.shared.b16");
        k.emit(mnemonic, &[self.operand(), Operand::Vector(&registers)]);
    }
}

impl<'k> Builder<'k> {
    /// Returns the transpose of an 8×8 matrix of 16-bit elements. Elements are assigned to lanes as in [`ldmatrix`](Ptr::ldmatrix). All 32
    /// lanes must execute the instruction.
    #[track_caller]
    pub fn movmatrix<P: HalfPair>(self, matrix: Val<'k, P>) -> Val<'k, P> {
        self.transpose_matrix(matrix)
    }

    /// Transposes a matrix as [`movmatrix`](Self::movmatrix) does, but accepts any 32-bit type `W`.
    #[track_caller]
    pub(crate) fn transpose_matrix<W: Scalar>(self, matrix: Val<'k, W>) -> Val<'k, W> {
        self.result(format_args!("movmatrix.sync.aligned.m8n8.trans.b16"), &[matrix.operand(self)])
    }

    /// Returns `A·B + C`, where A is 16×16, B is 16×8, and C is 16×8. C and the result each occupy four `f32` or two [`f16x2`] registers
    /// per lane. All 32 lanes must execute the instruction. Requires sm_80 or later.
    #[doc(alias = "mma.m16n8k16")]
    #[track_caller]
    pub fn mma_m16n8k16<P: HalfPair, C: Accumulator<P>, const N: usize>(
        self,
        a: [Val<'k, P>; 4],
        b: [Val<'k, P>; 2],
        c: [Val<'k, C>; N],
    ) -> [Val<'k, C>; N] {
        self.mma_into_fresh("m16n8k16", &a, &b, c)
    }

    /// Returns `A·B + C`, where A is 16×8, B is 8×8, and C is 16×8. C and the result each occupy four `f32` or two [`f16x2`] registers per
    /// lane. All 32 lanes must execute the instruction. bf16 requires sm_80 or later.
    #[doc(alias = "mma.m16n8k8")]
    #[track_caller]
    pub fn mma_m16n8k8<P: HalfPair, C: Accumulator<P>, const N: usize>(
        self,
        a: [Val<'k, P>; 2],
        b: [Val<'k, P>; 1],
        c: [Val<'k, C>; N],
    ) -> [Val<'k, C>; N] {
        self.mma_into_fresh("m16n8k8", &a, &b, c)
    }

    #[track_caller]
    fn mma_into_fresh<P: HalfPair, C: Accumulator<P>, const N: usize>(
        self,
        shape: &str,
        a: &[Val<'k, P>],
        b: &[Val<'k, P>],
        c: [Val<'k, C>; N],
    ) -> [Val<'k, C>; N] {
        const { assert!(N == C::REGISTERS, "C takes four f32 or two f16x2 registers") };
        let d: [Val<'k, C>; N] = std::array::from_fn(|_| Val::from_reg(self.fresh(C::CLASS), self));
        self.product(mnemonic!(shape, P, C), &d, a, b, &c, Addition::default());
        d
    }
}
