//! Copy and transpose through shared memory, as in MoYe's tutorial: 32×32 tiles, 32×8 threads.

use warpwright::{layout::Layout, prelude::*, tensor::copy};

/// `(dst, src, m, n)`: column-major.
pub(crate) type Args = (Out<f32>, In<f32>, u32, u32);

/// The copy method.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// Through registers.
    Registers,
    /// By the instruction that [`copy`] selects: `cp.async`.
    Chosen,
}

/// `dst = src`, m×n, with each tile passing through shared memory with layout `tile`.
pub(crate) fn copy_kernel(target: Target, way: Way, tile: &Layout) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("copy_kernel(dst, src, m, n)", target, |k, (dst, src, m, n)| {
        k.block([256]);
        k.grid([m.tiles(32), n.tiles(32)]);
        let block = (k.ctaid_x(), k.ctaid_y());
        let threads = k.layout("(32,8):(1,32)");
        let src = k.tensor(src, [m, n], [1.into(), m]).local_tile((32, 32), block);
        let dst = k.tensor(dst, [m, n], [1.into(), m]).local_tile((32, 32), block);
        let tile = k.shared_tensor::<f32>(tile);

        let thread = k.tid_x();
        let (from, to) = (src.local_partition(&threads, thread), dst.local_partition(&threads, thread));
        let mine = tile.local_partition(&threads, thread);
        let pending = match way {
            Way::Chosen => copy(&mine, &from),
            Way::Registers => {
                let held = k.fragment_of_shape::<f32>(from.shape());
                copy(&held, &from);
                copy(&mine, &held)
            }
        };
        // Each thread reads only data that it wrote itself.
        let tile = pending.wait_own();
        copy(&to, &tile.local_partition(&threads, thread));
    })
}

/// `dst = srcᵀ`: src m×n, dst n×m.
pub(crate) fn transpose_kernel(target: Target, tile: &Layout) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("transpose_kernel(dst, src, m, n)", target, |k, (dst, src, m, n)| {
        k.block([256]);
        k.grid([m.tiles(32), n.tiles(32)]);
        let (i, j) = (k.ctaid_x(), k.ctaid_y());
        let threads = k.layout("(32,8):(1,32)");
        let src = k.tensor(src, [m, n], [1.into(), m]).local_tile((32, 32), (i, j));
        let dst = k.tensor(dst, [n, m], [1.into(), n]).local_tile((32, 32), (j, i));
        let tile = k.shared_tensor::<f32>(tile);

        let thread = k.tid_x();
        let tile =
            copy(&tile.local_partition(&threads, thread), &src.local_partition(&threads, thread)).wait();
        let transposed = tile.transpose().local_partition(&threads, thread);
        copy(&dst.local_partition(&threads, thread), &transposed);
    })
}
