//! Shared tiles as operands of `wgmma` and tensor copies: consecutive blocks of swizzled rows.

use std::{fmt, marker::PhantomData};

use crate::{
    ptx::{Builder, Lease, MatrixDescriptor, MatrixLayout, Ptr, Shared, SwizzleMode, Val},
    tensor::{SUBTILE_SIDE, TensorElement},
    tiles::{Allocate, Filled, SharedSwizzle, St},
};

/// The distribution of a shared tile's rows over memory: consecutive column blocks, each with one swizzled row per row of the tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) swizzle: SwizzleMode,
    /// The size in bytes of a row of a block: the width of the swizzle.
    pub(super) row_bytes: u32,
    /// The size of a block in bytes.
    pub(super) block_bytes: u32,
    /// The number of blocks.
    pub(super) count: u32,
}

impl Blocks {
    /// Returns the blocks of a tile of type `St<T, H, W, S>`, or the reason why tensor copies and `wgmma` do not support its layout.
    pub(super) fn of<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>()
    -> Result<Self, String> {
        let (rows, row) = (St::<'_, T, H, W, S>::ROWS, St::<'_, T, H, W, S>::COLS * T::SIZE);
        if S::PADDED {
            return Err("expected a tile without padding between its rows, found `Padded`".into());
        }
        let (swizzle, row_bytes) = S::of_row(row);
        let swizzle = match swizzle.bits() {
            0 => SwizzleMode::None,
            1 => SwizzleMode::B32,
            2 => SwizzleMode::B64,
            _ => SwizzleMode::B128,
        };
        Ok(Self { swizzle, row_bytes, block_bytes: rows * row_bytes, count: row / row_bytes })
    }
}

/// A matrix of `H`×`W` subtiles in shared memory as an operand of a warpgroup MMA: a [`Filled`] tile, a part of its [rows](Filled::rows) or
/// [columns](Filled::cols), or the [transpose](Self::transposed) of any of these.
#[derive(Clone, Copy)]
pub struct SharedMatrix<'k, T, const H: usize, const W: usize> {
    start: Ptr<'k, u8, Shared>,
    blocks: Result<Blocks, &'static str>,
    /// Whether the shared tile is the transpose of this matrix.
    transposed: bool,
    /// The lease of the shared tile.
    lease: Option<Lease>,
    element: PhantomData<T>,
}

impl<T: TensorElement, const H: usize, const W: usize> fmt::Debug for SharedMatrix<'_, T, H, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedMatrix<{}, {H}, {W}> at {:?}", T::NAME, self.start)
    }
}

/// The order of an operand's elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The rows of the tile extend along k.
    KMajor,
    /// The rows of the tile extend along m or n.
    MnMajor,
}

impl Order {
    /// Returns the immediate that transposes an operand.
    pub(super) fn immediate(self) -> i32 {
        i32::from(self == Self::MnMajor)
    }
}

/// The descriptors of an operand.
pub(super) struct Descriptors<'k> {
    pub(super) order: Order,
    /// One descriptor per step of 32 bytes along k (16 rows if the operand is MN-major); none if the operand was rejected.
    pub(super) steps: Vec<MatrixDescriptor<'k>>,
    /// The distance in bytes between blocks of 64 rows or columns along m.
    pub(super) rows_64: u32,
}

impl<'k, T: TensorElement, const H: usize, const W: usize> SharedMatrix<'k, T, H, W> {
    pub(super) fn kernel(&self) -> Builder<'k> {
        self.start.kernel()
    }

    /// Returns the transpose, without emitting instructions. `wgmma` supports MN-major operands, whose rows in memory extend along m or n,
    /// only for 16-bit types.
    #[must_use]
    pub fn transposed(self) -> SharedMatrix<'k, T, W, H> {
        let Self { start, blocks, transposed, lease, element } = self;
        SharedMatrix { start, blocks, transposed: !transposed, lease, element }
    }

    /// Returns the descriptors of this matrix as A, m×k.
    #[track_caller]
    pub(super) fn left(&self) -> Descriptors<'k> {
        if self.transposed { self.descriptors(Order::MnMajor, W) } else { self.descriptors(Order::KMajor, W) }
    }

    /// Returns the descriptors of this matrix as B, k×n.
    #[track_caller]
    pub(super) fn right(&self) -> Descriptors<'k> {
        if self.transposed { self.descriptors(Order::KMajor, H) } else { self.descriptors(Order::MnMajor, H) }
    }

    /// Returns the descriptors of the operand, which extends over `depth` subtiles along k.
    #[track_caller]
    fn descriptors(&self, order: Order, depth: usize) -> Descriptors<'k> {
        if let Some(lease) = self.lease {
            self.kernel().check_lease(lease);
        }
        let blocks = match self.blocks {
            Ok(_) if order == Order::MnMajor && T::SIZE != 2 => {
                Err("expected rows along k for types other than those of 16 bits, found rows along m or n")
            }
            Ok(blocks) if blocks.swizzle != SwizzleMode::None => Ok(blocks),
            Ok(_) => Err(
                "expected a swizzled tile, found one without a swizzle, whose rows are not in core matrices",
            ),
            Err(why) => Err(why),
        };
        let blocks = match blocks {
            Ok(blocks) => blocks,
            Err(why) => {
                self.kernel().refuse(format!("wgmma: {why}"));
                return Descriptors { order, steps: Vec::new(), rows_64: 0 };
            }
        };
        let Blocks { swizzle, row_bytes, block_bytes, .. } = blocks;
        // The stride separates core matrices of 8 rows; the leading offset separates blocks. K-major operands advance the address instead.
        let leading_bytes = if order == Order::MnMajor { block_bytes } else { 0 };
        let layout = MatrixLayout { leading_bytes, stride_bytes: 8 * row_bytes, base_offset: 0, swizzle };
        let first = MatrixDescriptor::new(self.start, layout);
        let offset = |step: u32| match order {
            Order::KMajor => (step * K_BYTES / row_bytes) * block_bytes + step * K_BYTES % row_bytes,
            Order::MnMajor => step * SUBTILE_SIDE * row_bytes,
        };
        let steps = match order {
            Order::KMajor => depth as u32 * T::SUBTILE_LENGTH * T::SIZE / K_BYTES,
            Order::MnMajor => depth as u32,
        };
        let rows_64 = match order {
            Order::KMajor => 64 * row_bytes,
            Order::MnMajor => 64 * T::SIZE / row_bytes * block_bytes,
        };
        Descriptors { order, steps: (0..steps).map(|step| first.advance(offset(step))).collect(), rows_64 }
    }
}

/// The depth of every `wgmma` in bytes (PTX ISA, "Asynchronous Warpgroup Level Matrix Shape").
const K_BYTES: u32 = 32;

/// An operand of a warpgroup MMA in shared memory, with `H`×`W` subtiles: a reference to a [`Filled`] tile, or a [`SharedMatrix`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of {H}×{W} subtiles of `{T}` in shared memory",
    note = "expected a shared tile of this size and type by reference, or its `rows`, `cols` or `as_matrix().transposed()`"
)]
pub trait SharedFactor<'k, T: TensorElement, const H: usize, const W: usize>: sealed::Sealed {
    #[doc(hidden)]
    fn matrix(self) -> SharedMatrix<'k, T, H, W>;
}

/// Seals the traits of operands.
pub(super) mod sealed {
    pub trait Sealed {}
}

impl<T: TensorElement, const H: usize, const W: usize> sealed::Sealed for SharedMatrix<'_, T, H, W> {}
impl<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> sealed::Sealed
    for &Filled<St<'_, T, H, W, S>>
{
}

impl<'k, T: TensorElement, const H: usize, const W: usize> SharedFactor<'k, T, H, W>
    for SharedMatrix<'k, T, H, W>
{
    fn matrix(self) -> Self {
        self
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> SharedFactor<'k, T, H, W>
    for &Filled<St<'k, T, H, W, S>>
{
    fn matrix(self) -> SharedMatrix<'k, T, H, W> {
        self.as_matrix()
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Returns the tile as an operand of a warpgroup MMA.
    #[must_use]
    pub fn as_matrix(&self) -> SharedMatrix<'k, T, H, W> {
        self.part()
    }

    fn part<const H2: usize, const W2: usize>(&self) -> SharedMatrix<'k, T, H2, W2> {
        let blocks =
            Blocks::of::<T, H, W, S>().map_err(|_| "expected a tile without padding, found `Padded`");
        let lease = self.tile.tensor.lease();
        SharedMatrix { start: self.tile.address(), blocks, transposed: false, lease, element: PhantomData }
    }

    /// Divides the tile into parts of `H2` rows of subtiles and returns part `index` as an operand of a warpgroup MMA.
    ///
    /// For example, `a.rows(c.rank())` returns the rows of consumer `c`.
    ///
    /// The call does not compile unless `H2` divides `H`. The builder rejects a constant index past the last part.
    #[track_caller]
    pub fn rows<const H2: usize>(&self, index: impl Into<Val<'k, u32>>) -> SharedMatrix<'k, T, H2, W> {
        const { assert!(H2 > 0 && H.is_multiple_of(H2), "the parts must divide the rows of the tile") }
        let (index, mut part) = (index.into(), self.part());
        check_part(&part, index, H / H2);
        if let Ok(blocks) = &part.blocks {
            let bytes = H2 as u32 * SUBTILE_SIDE * blocks.row_bytes;
            part.start = part.start.advance(index * bytes);
        }
        part
    }

    /// Divides the tile into parts of `W2` columns of subtiles and returns part `index` as an operand of a warpgroup MMA.
    ///
    /// The call does not compile unless `W2` divides `W`. The builder rejects parts whose row length is not a multiple of the swizzle's
    /// width, and a constant index past the last part.
    #[track_caller]
    pub fn cols<const W2: usize>(&self, index: impl Into<Val<'k, u32>>) -> SharedMatrix<'k, T, H, W2> {
        const { assert!(W2 > 0 && W.is_multiple_of(W2), "the parts must divide the columns of the tile") }
        let (index, mut part) = (index.into(), self.part());
        check_part(&part, index, W / W2);
        if let Ok(blocks) = &part.blocks {
            let bytes = W2 as u32 * T::SUBTILE_LENGTH * T::SIZE;
            if !bytes.is_multiple_of(blocks.row_bytes) {
                let expected = blocks.row_bytes;
                part.kernel().refuse(format!(
                    "expected columns of a multiple of {expected} bytes, the width of the swizzle, found {bytes}"
                ));
            }
            part.start = part.start.advance(index * (bytes / blocks.row_bytes * blocks.block_bytes));
        }
        part
    }
}

/// Rejects a constant index past the last of `count` parts.
#[track_caller]
fn check_part<T: TensorElement, const H: usize, const W: usize>(
    part: &SharedMatrix<'_, T, H, W>,
    index: Val<'_, u32>,
    count: usize,
) {
    if let Some(found) = index.as_constant().filter(|&index| index as usize >= count) {
        part.kernel().refuse(format!("expected a part of a shared tile below {count}, found {found}"));
    }
}
