//! C = A·Bᵀ with fused multiply-adds.

use warpwright::{
    prelude::*,
    tensor::{copy, copy_tiled, fill, gemm},
};

use super::product::Args;

/// The method of loading the tiles.
#[derive(Clone, Copy)]
pub(crate) enum Copies {
    /// Single elements.
    Elements,
    /// Vectors of four; m and n must be multiples of 4.
    Vectors,
}

/// C = A·Bᵀ: A m×k, B n×k and C m×n, column-major, of any size from 1 (with vectors, multiples of 4).
///
/// A block of 256 threads computes a 128×128 tile of C from slices of depth 8. While one slice in shared memory is processed, the
/// next is loaded into registers.
pub(crate) fn matmul(target: Target, copies: Copies) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("matmul_simt(a, b, c, m, n, k)", target, |k, (a, b, c, m, n, depth)| {
        k.block([256]);
        k.grid([m.tiles(128), n.tiles(128)]);
        let (atom, values, slab, multiple) = match copies {
            Copies::Elements => ("UniversalCopy<u32>", "(1,1):(0,0)", "(128,8):(1,129)", 1),
            Copies::Vectors => ("UniversalCopy<u128>", "(4,1):(1,0)", "(128,8):(1,132)", 4),
        };
        let (m, n) = (m.multiple_of(multiple), n.multiple_of(multiple));
        let (row, col, thread) = (k.ctaid_x(), k.ctaid_y(), k.tid_x());
        let a = k.tensor(a, [m, depth], [1.into(), m]);
        let b = k.tensor(b, [n, depth], [1.into(), n]);
        let c = k.tensor(c, [m, n], [1.into(), m]).local_tile((128, 128), (row, col));
        let (a_slab, b_slab) =
            (k.shared_tensor::<f32>(k.layout(slab)), k.shared_tensor::<f32>(k.layout(slab)));

        let tiled = k.tiled_copy::<f32>(atom, "(32,8):(1,32)", values);
        let part = tiled.thread(thread);
        let (a_in, b_in) = (part.partition_d(&a_slab), part.partition_d(&b_slab));
        let (a_next, b_next) = (k.fragment_of_shape(a_in.shape()), k.fragment_of_shape(b_in.shape()));
        let fetch = |i| {
            copy_tiled(&tiled, &a_next, &part.partition_s(&a.local_tile((128, 8), (row, i))));
            copy_tiled(&tiled, &b_next, &part.partition_s(&b.local_tile((128, 8), (col, i))));
        };

        let mma = k.tiled_mma("UniversalFMA<f32>", "(32,8):(1,32)", ..);
        let product = mma.thread(k, thread);
        let c = product.partition_c(&c);
        let sum = k.fragment_of_shape::<f32>(c.shape());
        fill(&sum, 0.0);

        fetch(Val::from(0));
        k.for_(depth.ceil_div(8), |i| {
            k.sync_threads(); // all threads have finished reading the slices
            let (a, b) = copy(&a_in, &a_next).and(copy(&b_in, &b_next)).wait();
            fetch(i + 1); // past the last slice, nothing is read
            gemm(&mma, &sum, &product.partition_a(&a), &product.partition_b(&b), &sum);
        });
        copy(&c, &sum);
    })
}
