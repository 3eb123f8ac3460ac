//! Kernels that several tests launch.

use warpwright::{prelude::*, ptx::BuildError};

pub(super) type Double = (In<f32>, Out<f32>, u32);

/// y[i] = 2·x[i] for i < n, in blocks of 32.
pub(super) fn double(target: Target) -> Result<Kernel<Double>, BuildError> {
    Kernel::<Double>::build("kernel(x, y, n)", target, |k, (x, y, n)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let (x, y) = (k.slice(x, n), k.slice(y, n));
        let i = k.ctaid_x() * 32 + k.tid_x();
        y.at(i).store(x.at(i).load() * 2.0);
    })
}

/// The same for a multiple of 8 elements.
pub(super) fn double_eights() -> Result<Kernel<Double>, BuildError> {
    Kernel::<Double>::build("kernel(x, y, n)", Target::SM_80, |k, (x, y, n)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let n = n.multiple_of(8);
        let (x, y) = (k.slice(x, n), k.slice(y, n));
        let i = k.ctaid_x() * 32 + k.tid_x();
        y.at(i).store(x.at(i).load() * 2.0);
    })
}
