//! Matrix transpose through shared memory.

use std::iter::{successors, zip};

use crate::{
    layout::Swizzle,
    ptx::{BuildError, Builder, Global, In, IntoDim, Kernel, Out, Ptr, Read, Target, Val, Write},
    tensor::{SharedLayout, Tensor, TensorElement, copy},
    tiles::row_major,
};

/// The arguments of the kernel that [`transpose`] builds: `(x, y, m, n)`, where x is m×n and y is n×m, both row-major.
pub type TransposeArgs<T> = (In<T>, Out<T>, u32, u32);

/// The number of rows and columns of a block's tile if elements are moved one at a time.
const TILE: u32 = 64;
/// The number of bytes per sector, the access granularity of device memory.
const SECTOR: u32 = 32;

/// Builds the kernel that computes y = xᵀ, where x is m×n and y is n×m, with elements of type `T`. Both matrices are row-major, and m and n
/// must be at least 1.
///
/// `divisor` must divide both m and n, which is checked at every launch. With a divisor of 1, m and n may have any value. If elements are
/// at most 4 bytes wide and `divisor` is a multiple of the number of elements in 16 bytes, 16 bytes are moved at a time. Otherwise,
/// elements are moved one at a time.
///
/// A grid has at most 65,535 rows of blocks, which limits the size of x. If 16 bytes are moved at a time, m must be at most 4,194,240 for
/// 4-byte elements, 8,388,480 for 2-byte elements, and 16,776,960 for 1-byte elements; otherwise, n must be at most 4,194,240. The launch
/// rejects larger matrices. [`Permute`](super::Permute) has no such limit.
///
/// The kernel's name contains the type and, unless the divisor is 1, the divisor, for example `transpose_f32_by4`.
///
/// # Errors
/// Returns an error if `divisor` is 0.
pub fn transpose<T: TensorElement>(
    target: Target,
    divisor: u32,
) -> Result<Kernel<TransposeArgs<T>>, BuildError> {
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("transpose_{}{suffix}(x, y, m, n)", T::NAME);
    Kernel::<TransposeArgs<T>>::build(&signature, target, |k, (x, y, m, n)| {
        let sizes = if divisor == 1 { "any sizes".to_string() } else { format!("{divisor} divides m and n") };
        k.describe(format!("y = x transposed: x m×n, y n×m ({}), row-major; {sizes}", T::NAME));
        if divisor == 0 {
            k.refuse("expected a divisor of m and n, found 0".into());
        }
        let sizes = [m, n].map(|size| size.multiple_of(divisor));
        if wide_group::<T>().is_some_and(|group| divisor.is_multiple_of(group)) {
            wide(k, x, y, sizes);
        } else {
            narrow(k, x, y, sizes);
        }
    })
}

type Input<'k, T> = Ptr<'k, T, Global, Read>;
type Output<'k, T> = Ptr<'k, T, Global, Write>;

/// Emits the kernel that moves 16 bytes at a time.
fn wide<'k, T: TensorElement>(k: Builder<'k>, x: Input<'k, T>, y: Output<'k, T>, [m, n]: [Val<'k, u32>; 2]) {
    let [height, width] = wide_tile::<T>();
    k.grid([n.tiles(width), m.tiles(height)]);
    // Both matrices are indexed by the coordinates of x.
    let at = (k.ctaid_y(), k.ctaid_x());
    let x = k.tensor(x, [m, n], [n, 1.into()]).local_tile((height, width), at);
    let y = k.tensor(y, [m, n], [1.into(), m]).local_tile((height, width), at);
    transpose_wide(k, &x, &y);
}

/// The number of bytes that are moved at a time, if possible.
pub(super) const WIDEST: u32 = 16;

/// Returns the number of elements in the [16 bytes](WIDEST) that are moved at a time, or `None` if elements are wider than 4 bytes and are
/// therefore moved one at a time.
pub(super) fn wide_group<T: TensorElement>() -> Option<u32> {
    (T::SIZE <= 4).then_some(WIDEST / T::SIZE)
}

/// Returns the number of rows and columns of a tile of x whose elements are moved 16 bytes at a time. A row of the transposed tile occupies
/// 256 bytes, as does a row of the tile itself, unless elements are 8 bits wide.
pub(super) const fn wide_tile<T: TensorElement>() -> [u32; 2] {
    let side = 16 * (WIDEST / T::SIZE);
    [side, if T::SIZE == 1 { side / 2 } else { side }]
}

/// Transposes a [`wide_tile`] in a block of 256 threads. All elements of the tile are in flight simultaneously. Both tensors are indexed by
/// the coordinates of x. Elements are at most 4 bytes wide.
///
/// A thread reads a group of elements from adjacent rows of the tile in shared memory and stores them next to each other. Because 16-byte
/// chunks are swizzled by the index of the group, the lanes of a warp access distinct banks.
#[track_caller]
pub(super) fn transpose_wide<'k, T: TensorElement>(
    k: Builder<'k>,
    x: &Tensor<'k, Global, T, Read>,
    y: &Tensor<'k, Global, T, Write>,
) {
    let (group, [height, width]) = (WIDEST / T::SIZE, wide_tile::<T>());
    let chunks = width / group;
    k.block([256]);
    // XORs the index of the group of rows into the chunk index; both are counted in bytes.
    let group_bit = (width * T::SIZE * group).ilog2() as i32;
    let swizzle = Swizzle::new(3, 4, group_bit - 4).unwrap_or(Swizzle::NONE);
    let layout = k.layout(&format!("({height},{width}):({width},1)"));
    let tile = k.shared_tensor::<T>(SharedLayout::swizzled(layout, swizzle));

    let thread = k.tid_x();
    let threads = format!("({},{chunks}):({chunks},1)", 256 / chunks);
    let rows = k.tiled_copy::<T>("UniversalCopy<u32>", &threads, &format!("(1,{group}):(0,1)"));
    let rows = rows.thread(thread);
    let tile = copy(&rows.partition_d(&tile), &rows.partition_s(x)).wait();

    let columns = "((8,2),(4,4)):((1,32),(8,64))";
    let columns = k.tiled_copy::<T>("UniversalCopy<u32>", columns, &format!("({group},1):(1,0)"));
    let columns = columns.thread(thread);
    let (from, to) = (columns.partition_s(&tile), columns.partition_d(y));
    let held = k.fragment_of_shape::<T>(to.shape());
    copy(&held, &from);
    copy(&to, &held);
}

/// Emits the kernel that moves single elements: 512 threads with 8 elements each.
///
/// If the pitch of y is odd, the rows of a tile start and end inside sectors. Two blocks would then write parts of the same sector at
/// different times, which costs a third of the bandwidth. Each row of y is therefore divided at sector boundaries: the block writes from
/// the last sector boundary at or before the start of the tile to the last one at or before its end. It therefore reads up to a sector's
/// worth of additional rows of x.
fn narrow<'k, T: TensorElement>(
    k: Builder<'k>,
    x: Input<'k, T>,
    y: Output<'k, T>,
    [m, n]: [Val<'k, u32>; 2],
) {
    const THREADS: u32 = 512;
    const AT_ONCE: u32 = THREADS / TILE;
    let sector = SECTOR / T::SIZE;
    k.block([THREADS]);
    // A multiprocessor with 2048 threads has 32 registers for each.
    k.max_registers(32);
    // Adjacent tiles along a row of y run consecutively: they share rows of x and the sectors at their edges.
    k.grid([(m.into_dim() + (sector - 1)).ceil_div(TILE), n.tiles(TILE)]);
    let passes = (sector + TILE).div_ceil(AT_ONCE);
    // Rows are padded by one word, so that the words of a column are in distinct banks.
    let pitch = TILE + (4 / T::SIZE).max(1);
    let tile = k.shared::<T>(passes * AT_ONCE * pitch);
    let (top, left) = (k.ctaid_x() * TILE, k.ctaid_y() * TILE);
    let (lane, group) = (k.tid_x() % TILE, k.tid_x() / TILE);

    let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(n, m)));
    // Row 0 of the tile is row `top − sector` of x. Row indices below 0 wrap around and exceed the last row.
    let (row, col) = (top + group - sector, left + lane);
    let held: Vec<_> = (0..passes).map(|pass| x.at(row + pass * AT_ONCE, col).load()).collect();
    let slot = tile.at(group * pitch + lane);
    for (pass, value) in zip(0.., held) {
        slot.at(pass * AT_ONCE * pitch).store(value);
    }
    k.sync_threads();

    let (row, col) = (top + lane, left + group);
    let (last, step) = ((lane + sector) * pitch + group, m * AT_ONCE);
    // The starts of the tile's rows of y, modulo 2^32, which is a multiple of the sector.
    let starts = successors(Some(col * m + top), |&start| Some(start + step));
    let held: Vec<_> = zip(0..TILE / AT_ONCE, starts)
        .map(|(pass, start)| {
            let before = start % sector;
            (before, tile.at(last - before * pitch).at(pass * AT_ONCE).load())
        })
        .collect();
    for (pass, (before, value)) in zip(0.., held) {
        y.at(col + pass * AT_ONCE, row - before).store(value);
    }
}
