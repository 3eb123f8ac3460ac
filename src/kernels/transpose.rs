//! Transpose of a matrix through shared memory.

use crate::{
    layout::Swizzle,
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::{SharedLayout, TensorElement, copy},
};

/// `(x, y, m, n)`: x m×n, y n×m, both row-major.
pub type TransposeArgs<T> = (In<T>, Out<T>, u32, u32);

/// `y = xᵀ`: x m×n and y n×m of `T`, row-major and of any size from 1.
///
/// `divisor` is a number that divides both m and n of every launch, which a launch checks: with 4, elements of 4 bytes are moved
/// 16 bytes at a time; 1 takes any sizes, element by element.
///
/// A block of 256 threads moves a tile of 64×64, 16 elements a thread, all in flight at once. Wide accesses want each thread to
/// read four rows of the tile in shared memory: a swizzle of 16-byte chunks by the row's number over four keeps the lanes of a
/// warp in banks of their own. Narrow ones have rows padded by a word.
///
/// The kernel is called `transpose_f32`, or `transpose_f32_by4` for a divisor of 4.
///
/// # Errors
/// None for the targets there are.
pub fn transpose<T: TensorElement>(
    target: Target,
    divisor: u32,
) -> Result<Kernel<TransposeArgs<T>>, BuildError> {
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("transpose_{}{suffix}(x, y, m, n)", T::NAME);
    Kernel::<TransposeArgs<T>>::build(&signature, target, |k, (x, y, m, n)| {
        let sizes = if divisor == 1 { "any sizes".to_string() } else { format!("{divisor} divides m and n") };
        k.describe(format!("y = x transposed: x m×n, y n×m ({}), row-major; {sizes}", T::NAME));
        k.block([256]);
        k.grid([n.tiles(64), m.tiles(64)]);
        let (m, n) = (m.multiple_of(divisor), n.multiple_of(divisor));
        let wide = T::SIZE == 4 && divisor.is_multiple_of(4);
        let pad = 64 + (4 / T::SIZE).max(1);
        let (threads_in, values_in, threads_out, values_out, tile) = if wide {
            // Bits of the row's number from the third on, into those of the chunk's.
            let chunks = Swizzle::new(3, 4, 6).unwrap_or(Swizzle::NONE);
            let tile = SharedLayout::swizzled(k.layout("(64,64):(64,1)"), chunks);
            ("(16,16):(16,1)", "(1,4):(0,1)", "((8,2),(4,4)):((1,32),(8,64))", "(4,1):(1,0)", tile)
        } else {
            let tile = k.layout(&format!("(64,64):({pad},1)")).into();
            ("(4,64):(64,1)", "(1,1):(0,0)", "(64,4):(1,64)", "(1,1):(0,0)", tile)
        };

        // Both matrices by the coordinates of x.
        let at = (k.ctaid_y(), k.ctaid_x());
        let x = k.tensor(x, [m, n], [n, 1.into()]).local_tile((64, 64), at);
        let y = k.tensor(y, [m, n], [1.into(), m]).local_tile((64, 64), at);
        let tile = k.shared_tensor::<T>(tile);

        let plain = format!("UniversalCopy<u{}>", 8 * T::SIZE);
        let thread = k.tid_x();
        let rows = k.tiled_copy::<T>(&plain, threads_in, values_in);
        let rows = rows.thread(thread);
        let arrived = copy(&rows.partition_d(&tile), &rows.partition_s(&x)).wait();

        let columns = k.tiled_copy::<T>(&plain, threads_out, values_out);
        let columns = columns.thread(thread);
        let (from, to) = (columns.partition_s(&tile.filled(&arrived)), columns.partition_d(&y));
        let held = k.fragment_of_shape::<T>(to.shape());
        copy(&held, &from);
        copy(&to, &held);
    })
}
