//! The floating-point tensor-core instructions.

use super::{
    arch::{Accumulator, Datapath, TensorArch},
    fp8,
    fused::fused_dot_add,
    tile,
};
use crate::arith::Float;

/// The instruction families whose arithmetic differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `mma` and `mma.sp`.
    #[doc(alias = "mma.sync")]
    Mma,
    /// `wgmma.mma_async`.
    #[doc(alias = "wgmma.mma_async")]
    Wgmma,
}

/// The properties that determine the results of a floating-point tensor-core instruction, in addition to its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorOp {
    /// The hardware.
    pub arch: TensorArch,
    /// The instruction family.
    pub instruction: Instruction,
    /// The types of A and B: f16, bf16, tf32, e4m3 or e5m2.
    pub ty: (Float, Float),
    /// The type of C and D.
    pub acc: Accumulator,
}

/// The extents of a product; the lengths of the slices determine M.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The number of columns of B, C and D.
    pub n: usize,
    /// The number of rows of B: the K in the instruction's name.
    pub k: usize,
}

impl TensorOp {
    /// Computes one element of `A · B + C`, where `a` is the element's row of A and `b` is its column of B. Elements past the end of the
    /// shorter slice are ignored.
    ///
    /// For `wgmma`, pass 0 as `c` if `scale-d` is 0, and flip the signs of `a` or `b` if its `imm-scale` is negative.
    pub fn dot(&self, a: &[u32], b: &[u32], c: u32) -> u32 {
        if self.unpacks_fp8() {
            return fp8::dot(self, a, b, c);
        }
        let datapath = self.datapath(a.len().min(b.len()));
        a.chunks(datapath.step)
            .zip(b.chunks(datapath.step))
            .fold(c, |c, (a, b)| fused_dot_add(datapath, self.ty, self.acc, a, b, c))
    }

    /// Computes `C ← A · B + C`, with the same bits as [`TensorOp::dot`] for every element.
    ///
    /// `a` contains the M rows of A, and `b` contains the N columns of B, with K elements each; `c` is M×N, row-major. Elements of C whose
    /// operands are missing from the slices keep their values.
    pub fn rows(&self, shape: Shape, a: &[u32], b: &[u32], c: &mut [u32]) {
        if self.unpacks_fp8() {
            fp8::rows(self, shape, a, b, None, c);
        } else {
            tile::fused_rows(self.datapath(shape.k), self.ty, self.acc, shape, a, b, None, c);
        }
    }

    /// Computes [`TensorOp::rows`] with a sparse A (`mma.sp`): the rows in `a` have K/2 elements, and `k_of` contains, for each element of
    /// `a`, the index k of the element of B that it multiplies.
    ///
    /// Elements of B that are not multiplied by an element of A have no effect, even if they are infinite or NaN.
    #[doc(alias = "mma.sp")]
    pub fn sparse_rows(&self, shape: Shape, a: &[u32], k_of: &[u16], b: &[u32], c: &mut [u32]) {
        if self.unpacks_fp8() {
            fp8::rows(self, shape, a, b, Some(k_of), c);
        } else {
            tile::fused_rows(self.datapath(shape.k / 2), self.ty, self.acc, shape, a, b, Some(k_of), c);
        }
    }

    /// Returns the datapath of a fused dot-add with `products` products.
    pub(super) fn datapath(&self, products: usize) -> Datapath {
        self.arch.datapath(self.ty.0, products)
    }

    /// Returns whether ptxas unpacks fp8 to f16: on Hopper, `wgmma` has an fp8 datapath, but `mma` does not.
    fn unpacks_fp8(&self) -> bool {
        let fp8 = matches!(self.ty.0, Float::E4m3 | Float::E5m2);
        fp8 && self.arch == TensorArch::Sm90 && self.instruction == Instruction::Mma
    }
}

/// Computes one element of a dense `mma`: [`TensorOp::dot`].
#[doc(alias = "mma.sync")]
pub fn dot(arch: TensorArch, ty: (Float, Float), acc: Accumulator, a: &[u32], b: &[u32], c: u32) -> u32 {
    TensorOp { arch, instruction: Instruction::Mma, ty, acc }.dot(a, b, c)
}

/// Computes a dense f16 or bf16 `mma`: `D = A · B + C`.
///
/// `a` contains the M rows of A, `b` contains the N columns of B, and `c` and `d` contain the M rows of C and D (f16 in the low half of a
/// word).
#[doc(alias = "mma.sync")]
pub fn mma_tile<const M: usize, const N: usize, const K: usize>(
    arch: TensorArch,
    ty: Float,
    acc: Accumulator,
    a: &[[u16; K]; M],
    b: &[[u16; K]; N],
    c: &[[u32; N]; M],
    d: &mut [[u32; N]; M],
) {
    *d = *c;
    mma_rows(arch, ty, acc, Shape { n: N, k: K }, a.as_flattened(), b.as_flattened(), d.as_flattened_mut());
}

/// Computes a dense f16 or bf16 `mma` like [`mma_tile`], but with dynamic extents and in place: `C ← A · B + C`.
pub fn mma_rows(
    arch: TensorArch,
    ty: Float,
    acc: Accumulator,
    shape: Shape,
    a: &[u16],
    b: &[u16],
    c: &mut [u32],
) {
    let words = |x: &[u16]| x.iter().map(|&bits| u32::from(bits)).collect::<Vec<_>>();
    let op = TensorOp { arch, instruction: Instruction::Mma, ty: (ty, ty), acc };
    op.rows(shape, &words(a), &words(b), c);
}
