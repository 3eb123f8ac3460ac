//! A plain copy, which serves as the bandwidth reference for other kernels.

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::{TensorElement, copy},
};

/// The arguments of the kernel that [`copy_elements`] builds: `(x, y, n)`, where x and y each have n elements.
pub type CopyArgs<T> = (In<T>, Out<T>, u32);

/// The number of threads per block.
const THREADS: u32 = 256;
/// The number of 16-byte accesses in flight per thread.
const IN_FLIGHT: u32 = 4;

/// Builds the kernel that copies n elements of type `T` from x to y, for any n. Each thread has four 16-byte accesses in flight. Elements
/// after the last complete group of 16 bytes are copied one at a time.
///
/// The kernel's name contains the type, for example `copy_f32`.
///
/// # Errors
/// Building the kernel succeeds for all supported targets.
pub fn copy_elements<T: TensorElement>(target: Target) -> Result<Kernel<CopyArgs<T>>, BuildError> {
    let vector = 16 / T::SIZE;
    let tile = THREADS * IN_FLIGHT * vector;
    Kernel::<CopyArgs<T>>::build(&format!("copy_{}(x, y, n)", T::NAME), target, |k, (x, y, n)| {
        k.describe(format!("y = x: n elements of {}", T::NAME));
        k.block([THREADS]);
        k.grid([n.tiles(tile)]);
        let (block, thread) = (k.ctaid_x(), k.tid_x());

        // The number of elements in whole vectors; the first threads copy the remainder.
        let whole = n & !(vector - 1);
        let (x_tile, y_tile) = (
            k.tensor(x, [whole], [1.into()]).local_tile((tile,), (block,)),
            k.tensor(y, [whole], [1.into()]).local_tile((tile,), (block,)),
        );
        let tiled =
            k.tiled_copy::<T>("UniversalCopy<u128>", &format!("({THREADS}):(1)"), &format!("({vector}):(1)"));
        let tiled = tiled.thread(thread);
        let (from, to) = (tiled.partition_s(&x_tile), tiled.partition_d(&y_tile));
        let held = k.fragment_of_shape::<T>(from.shape());
        copy(&held, &from);
        copy(&to, &held);

        let (x, y) = (k.slice(x, n), k.slice(y, n));
        let at = whole + thread;
        k.if_(block.eq(0) & at.lt(n), || y.at(at).store(x.at(at).load()));
    })
}
