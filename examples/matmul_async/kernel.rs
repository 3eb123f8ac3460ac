//! C = A·Bᵀ with asynchronous copies.

use warpwright::{
    prelude::*,
    tensor::{copy, copy_tiled, fill, gemm},
};

use super::product::Args;

/// The synchronization between copies and product.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    /// Wait for the thread's own copies, as in MoYe's documentation: a race, because each thread reads data that others copied.
    OwnCopies,
    /// Wait for all copies of the block.
    AllCopies,
}

/// C = A·Bᵀ: A m×k, B n×k and C m×n, column-major. A block of 256 threads computes a 128×128 tile of C from slices of depth 8.
///
/// Each copy moves `bytes` (4, 8 or 16); `pad` elements separate the columns of a slice and must keep them aligned.
pub(crate) fn matmul(target: Target, wait: Wait, bytes: u32, pad: u32) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("matmul_async(a, b, c, m, n, k)", target, |k, (a, b, c, m, n, depth)| {
        k.block([256]);
        k.grid([m.tiles(128), n.tiles(128)]);
        let vector = bytes / 4;
        let (m, n) = (m.multiple_of(vector), n.multiple_of(vector));
        let (row, col, thread) = (k.ctaid_x(), k.ctaid_y(), k.tid_x());
        let a = k.tensor(a, [m, depth], [1.into(), m]);
        let b = k.tensor(b, [n, depth], [1.into(), n]);
        let c = k.tensor(c, [m, n], [1.into(), m]).local_tile((128, 128), (row, col));
        let slab = k.layout(&format!("(128,8):(1,{})", 128 + pad));
        let (a_slab, b_slab) = (k.shared_tensor::<f32>(&slab), k.shared_tensor::<f32>(&slab));

        let atom = format!("SM80_CP_ASYNC_CACHEALWAYS<u{}>", 8 * bytes);
        let tiled = k.tiled_copy::<f32>(&atom, "(32,8):(1,32)", &format!("({vector},1):(1,0)"));
        let part = tiled.thread(thread);
        let (a_in, b_in) = (part.partition_d(&a_slab), part.partition_d(&b_slab));

        let mma = k.tiled_mma("UniversalFMA<f32>", "(32,8):(1,32)", ..);
        let product = mma.thread(k, thread);
        let c = product.partition_c(&c);
        let sum = k.fragment_of_shape::<f32>(c.shape());
        fill(&sum, 0.0);

        k.for_(depth.ceil_div(8), |i| {
            let a_from = part.partition_s(&a.local_tile((128, 8), (row, i)));
            let b_from = part.partition_s(&b.local_tile((128, 8), (col, i)));
            let pending = copy_tiled(&tiled, &a_in, &a_from).and(copy_tiled(&tiled, &b_in, &b_from));
            let (a, b) = if wait == Wait::AllCopies { pending.wait() } else { pending.wait_own() };
            gemm(&mma, &sum, &product.partition_a(&a), &product.partition_b(&b), &sum);
            k.sync_threads(); // all threads have finished reading the slices
        });
        copy(&c, &sum);
    })
}
