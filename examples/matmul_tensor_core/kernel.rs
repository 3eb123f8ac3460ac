//! C = A·Bᵀ on tensor cores in tf32, double-buffered.

use warpwright::{
    atoms::MmaOperand,
    layout::Swizzle,
    prelude::*,
    tensor::{SharedLayout, copy, copy_tiled, fill, gemm},
};

use super::product::Args;

/// C = A·Bᵀ: A m×k column-major, B n×k row-major, C m×n column-major. The inputs are f32, of which the low 13 bits are ignored; sums are
/// f32. m and k must be multiples of 4.
///
/// A block of 2×2 warps computes a 128×128 tile of C from slices of depth 16: one slice is loaded while another is processed. A's slice is
/// padded to avoid bank conflicts; B's slice has swizzled rows of 64 bytes for `ldmatrix`.
pub(crate) fn matmul(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("matmul_tensor_core(a, b, c, m, n, k)", target, |k, (a, b, c, m, n, depth)| {
        k.block([128]);
        k.grid([m.tiles(128), n.tiles(128)]);
        let (m, depth) = (m.multiple_of(4), depth.multiple_of(4));
        let (row, col, thread) = (k.ctaid_x(), k.ctaid_y(), k.tid_x());
        let a = k.tensor(a, [m, depth], [1.into(), m]);
        let b = k.tensor(b, [n, depth], [depth, 1.into()]);
        let c = k.tensor(c, [m, n], [1.into(), m]).local_tile((128, 128), (row, col));
        // Two slices of each, indexed by the last mode.
        let a_slabs = k.shared_tensor::<f32>(k.layout("(128,16,2):(1,136,2176)"));
        let b_layout = SharedLayout::swizzled(k.layout("(128,16,2):(16,1,2048)"), Swizzle::BYTES_64);
        let b_slabs = k.shared_tensor::<f32>(b_layout);

        let vectors = "SM80_CP_ASYNC_CACHEGLOBAL<u128>";
        let a_copy = k.tiled_copy::<f32>(vectors, "(32,4):(1,32)", "(4,1):(1,0)");
        let b_copy = k.tiled_copy::<f32>(vectors, "(32,4):(4,1)", "(1,4):(0,1)");
        let (a_part, b_part) = (a_copy.thread(thread), b_copy.thread(thread));
        let fetch = |i, slab| {
            let a_to = a_part.partition_d(&a_slabs.slice((.., .., slab)));
            let b_to = b_part.partition_d(&b_slabs.slice((.., .., slab)));
            let a_from = a_part.partition_s(&a.local_tile((128, 16), (row, i)));
            let b_from = b_part.partition_s(&b.local_tile((128, 16), (col, i)));
            copy_tiled(&a_copy, &a_to, &a_from).and(copy_tiled(&b_copy, &b_to, &b_from))
        };

        let mma = k.tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", "(2,2,1):(2,1,1)", (32, 32, 8));
        let product = mma.thread(k, thread);
        let sum = product.fragment::<f32>(MmaOperand::C, 128, 128);
        fill(&sum, 0.0);

        let first = fetch(Val::from(0), Val::from(0));
        let last = k.fold(depth.ceil_div(16), first, |i, in_flight| {
            let (a, b) = in_flight.wait(); // and all threads have finished reading the other slices
            let next = fetch(i + 1, (i + 1) & 1); // past the last slice, nothing is read
            let (a, b) = (product.load(MmaOperand::A, &a), product.load(MmaOperand::B, &b));
            gemm(&mma, &sum, &a, &b, &sum);
            next
        });
        last.wait_own();
        copy(&product.partition_c(&c), &sum);
    })
}
