//! Integer and single-bit `mma`: exact sums.

use super::Shape;

/// Computes `C ← A · B + C` on integers.
///
/// `a` contains the M rows of A, and `b` contains the N columns of B, with K elements each, extended from s8, u8, s4 or u4; `c` is M×N,
/// row-major. Sums wrap; with `satfinite`, each sum including C is clamped once.
#[doc(alias = "mma.sync.s32.s8.s8.s32")]
#[doc(alias = "wgmma.mma_async.s32.s8.s8")]
pub fn rows(satfinite: bool, shape: Shape, a: &[i16], b: &[i16], c: &mut [i32]) {
    if shape.k == 0 || shape.n == 0 {
        return;
    }
    for (a, c) in a.chunks_exact(shape.k).zip(c.chunks_exact_mut(shape.n)) {
        for (b, c) in b.chunks_exact(shape.k).zip(c) {
            *c = accumulate(satfinite, *c, dot(a.iter().zip(b).map(|(&a, &b)| (a, b))));
        }
    }
}

/// Computes [`rows`] with a sparse A (`mma.sp`): the rows in `a` have K/2 elements, and `k_of` contains, for each element of `a`, the index
/// k of the element of B that it multiplies.
#[doc(alias = "mma.sp.s32.s8.s8.s32")]
pub fn sparse_rows(satfinite: bool, shape: Shape, a: &[i16], k_of: &[u16], b: &[i16], c: &mut [i32]) {
    let products = shape.k / 2;
    if products == 0 || shape.n == 0 {
        return;
    }
    let rows = a.chunks_exact(products).zip(k_of.chunks_exact(products));
    for ((a, k_of), c) in rows.zip(c.chunks_exact_mut(shape.n)) {
        for (b, c) in b.chunks_exact(shape.k).zip(c) {
            let products =
                a.iter().zip(k_of).map(|(&a, &k)| i32::from(a) * i32::from(b[usize::from(k)])).sum();
            *c = accumulate(satfinite, *c, products);
        }
    }
}

/// Returns the wrapped sum of products. Sums of at most 64 products of bytes do not overflow 32 bits.
fn dot(pairs: impl Iterator<Item = (i16, i16)>) -> i32 {
    pairs.map(|(a, b)| i32::from(a) * i32::from(b)).fold(0, i32::wrapping_add)
}

fn accumulate(satfinite: bool, c: i32, products: i32) -> i32 {
    if satfinite { c.saturating_add(products) } else { c.wrapping_add(products) }
}

/// The operation of a single-bit `mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `.xor.popc`: counts the bits in which A and B differ.
    Xor,
    /// `.and.popc`: counts the bits that are set in both.
    And,
}

/// Computes `C ← popc(A op B) + C` on single bits, 32 per word.
///
/// `shape.k` counts words; `a` contains the M rows of A, and `b` contains the N columns of B, with K words each.
#[doc(alias = "mma.sync.s32.b1.b1.s32")]
#[doc(alias = "wgmma.mma_async.s32.b1.b1")]
pub fn bit_rows(op: BitOp, shape: Shape, a: &[u32], b: &[u32], c: &mut [i32]) {
    if shape.k == 0 || shape.n == 0 {
        return;
    }
    for (a, c) in a.chunks_exact(shape.k).zip(c.chunks_exact_mut(shape.n)) {
        for (b, c) in b.chunks_exact(shape.k).zip(c) {
            let combine = |(a, b): (&u32, &u32)| match op {
                BitOp::Xor => a ^ b,
                BitOp::And => a & b,
            };
            let count: u32 = a.iter().zip(b).map(combine).map(u32::count_ones).sum();
            *c = c.wrapping_add(count as i32);
        }
    }
}
