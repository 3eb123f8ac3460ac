//! Compressed tiles of sparse matrices in registers, and sparse matrices in global memory.

use std::{fmt, panic::Location, sync::OnceLock};

use super::{
    element::{Row, register_layout},
    exchange::Exchange,
    gl::{Gl, GlTile},
    gl_layout::row_major,
    mma::Product,
    registers::Registers,
    rt::Rt,
    sparse_matrix::{ALL_ZERO, WORD_BITS, columns_per_word},
};
use crate::{
    atoms::{MmaAtom, Sparsity, mma_with_mnemonic},
    layout::{Layout, LayoutError, TvLayout},
    ptx::{
        Builder, Global, Ptr, Readable, Scalar, State, Val, Visitor, bf16, e4m3, e5m2, f16, matrix_mnemonic,
        tf32,
    },
    tensor::{Fragment, SUBTILE_SIDE, Tensor, TensorElement, copy_or, in_order, words_of},
};

/// An element type of a sparse operand A: bf16, f16, tf32, e4m3, e5m2, `i8` or `u8`. In each chunk of 4 elements of a row (2 for tf32),
/// half of the elements are stored; the other half are zero.
#[diagnostic::on_unimplemented(
    message = "`mma.sp` has no sparse matrices of `{Self}`",
    note = "the element types of sparse matrices are `bf16`, `f16`, `tf32`, `e4m3`, `e5m2`, `i8` and `u8`"
)]
pub trait SparseElement: TensorElement {
    /// Returns an instruction with a sparse A of this type. All such instructions use the same fragment and metadata layouts for A.
    #[doc(hidden)]
    fn atom() -> &'static MmaAtom;
}

macro_rules! elements {
    ($($t:ident $sum:ident;)*) => {$(
        impl SparseElement for $t {
            fn atom() -> &'static MmaAtom {
                static ATOM: OnceLock<&MmaAtom> = OnceLock::new();
                ATOM.get_or_init(|| {
                    mma_with_mnemonic(&mnemonic::<$t, $t, $sum>()).expect("the table of atoms has it")
                })
            }
        }
    )*};
}

elements! {
    bf16 f32;
    f16  f32;
    tf32 f32;
    e4m3 f32;
    e5m2 f32;
    i8   i32;
    u8   i32;
}

/// Returns the mnemonic of the instruction with 32 stored bytes per row of A, which correspond to 64 bytes of B.
pub(super) fn mnemonic<A: Product<B, C>, B: TensorElement, C: TensorElement>() -> String {
    matrix_mnemonic::sparse_mma((16, 8, 64 / A::SIZE), "", A::TYPES)
}

/// Returns how elements of a type are compressed.
pub(super) fn sparsity<T: SparseElement>() -> &'static Sparsity {
    T::atom().sparsity().expect("the atom is sparse")
}

/// The steps along k of a tile with a width of `W` stored subtiles. Each step is one instruction.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The number of steps.
    pub(super) count: usize,
    /// The number of steps that share a register of metadata. A selector determines which lanes provide the metadata of a step.
    pub(super) per_register: usize,
}

impl Steps {
    pub(super) fn of<T: SparseElement>(width: usize) -> Self {
        let selectors = sparsity::<T>().selectors() as usize;
        let count = 2 * width * T::SUBTILE_LENGTH as usize / T::atom().shape().2 as usize;
        Self { count, per_register: if count.is_multiple_of(selectors) { selectors } else { 1 } }
    }
}

/// A compressed tile of a sparse matrix in the registers of a warp, for use as operand A of [`mma_ab_sparse`](super::Rt::mma_ab_sparse).
///
/// The tile contains `H`×`W` subtiles of stored elements and the positions of these elements, and represents `H`×2`W` subtiles of the
/// matrix. A subtile has 16×16 elements, or 16×32 if they are 8 bits wide.
///
/// A lane owns as many registers of stored elements as it would in an [`Rt`](super::Rt) of `H`×`W` subtiles, and one register of metadata
/// per 16×64 elements of the matrix (per 16×32 for tf32, and for 16-bit elements if `W` is odd).
pub struct SparseRt<'k, T: TensorElement, const H: usize, const W: usize> {
    pub(super) values: Fragment<'k, T>,
    pub(super) metadata: Fragment<'k, u16>,
}

impl<T: TensorElement, const H: usize, const W: usize> fmt::Debug for SparseRt<'_, T, H, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseRt<{}, {H}, {W}> {:?}, metadata {:?}", T::NAME, self.values, self.metadata)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize> SparseRt<'k, T, H, W> {
    /// The number of rows.
    pub const ROWS: u32 = SUBTILE_SIDE * H as u32;
    /// The number of columns that the tile represents: twice the number of stored columns.
    pub const COLS: u32 = 2 * Self::STORED;
    /// The number of stored columns.
    const STORED: u32 = T::SUBTILE_LENGTH * W as u32;
}

impl<'k, T: TensorElement, const H: usize, const W: usize> State<'k> for SparseRt<'k, T, H, W> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        visit_fragment(&mut self.values, visitor);
        visit_fragment(&mut self.metadata, visitor);
    }
}

#[track_caller]
fn visit_fragment<'k, T: TensorElement>(fragment: &mut Fragment<'k, T>, visitor: &mut Visitor<'_, 'k>) {
    let (k, mut words) = (fragment.kernel(), words_of(fragment));
    for word in &mut words {
        visitor.owned(word);
    }
    let registers = words.iter().map(|word| word.in_register(k)).collect();
    *fragment = Fragment::over(k, registers, fragment.layout().clone());
}

/// Returns the (lane, value) layout of the stored elements of 16 · `height` rows.
fn value_layout(atom: &MmaAtom, height: usize, steps: Steps) -> TvLayout {
    let fragment = atom.fragment_a().expect("A of `mma.sp` is in registers");
    TvLayout::tiled(&fragment, height as u32, steps.count as u32).expect("a register tile has few elements")
}

/// Returns the (lane, value) layout of the metadata of 16 · `height` rows, in words.
fn metadata_layout(sparsity: &Sparsity, height: usize, steps: Steps) -> TvLayout {
    let register = register_of_metadata(sparsity, steps.per_register as u32);
    let columns = i64::from(sparsity.metadata_bits() / WORD_BITS) * steps.per_register as i64;
    let tiled = register.map_err(Into::into).and_then(|layout| {
        let register = TvLayout::new("metadata", (i64::from(SUBTILE_SIDE), columns), layout)?.packed(2)?;
        TvLayout::tiled(&register, height as u32, (steps.count / steps.per_register) as u32)
    });
    tiled.expect("the metadata of a register are whole words of 16 rows")
}

/// Returns the layout of one register, which maps (lane, word of the register) to row + 16 · word of the row. Lanes that belong to a
/// selector without a step contain copies of the metadata of other lanes.
fn register_of_metadata(sparsity: &Sparsity, steps: u32) -> Result<Layout, LayoutError> {
    let (bits, selectors) = (sparsity.metadata_bits(), sparsity.selectors());
    // Convert bits to words: all bits of a word have the same index.
    let word_of_bit = Layout::new((16, WORD_BITS, bits / WORD_BITS), (1, 0, 16))?;
    let layout = word_of_bit.compose(sparsity.metadata_layout())?;
    let values = layout.mode(1)?.compose(Layout::new(2, WORD_BITS)?)?;
    // The lanes that provide the metadata of a step, then those of the other selectors.
    let step = if steps == 1 { 0 } else { bits };
    let of_thread = Layout::concat([layout.mode(0)?, Layout::new(selectors, step)?]);
    let lanes = Layout::concat([sparsity.metadata_threads(), Layout::new(selectors, 4 / selectors)?]);
    Ok(Layout::concat([of_thread.compose(lanes.right_inverse())?, values]))
}

/// A sparse matrix in global memory, compressed by [`SparseMatrix`](super::SparseMatrix).
#[derive(Clone, Debug)]
pub struct SparseGl<'k, T: TensorElement, A> {
    values: Gl<'k, T, A>,
    metadata: Gl<'k, u16, A>,
}

/// A tile of a sparse matrix in global memory. It has the size of the register tile that is loaded from it. Elements past the edges are
/// read as zero.
#[derive(Clone, Debug)]
pub struct SparseGlTile<'k, T: TensorElement, A> {
    values: GlTile<'k, T, A>,
    metadata: GlTile<'k, u16, A>,
}

impl<'k> Builder<'k> {
    /// Returns a view of the buffers of [`SparseMatrix::values`](super::SparseMatrix::values) and
    /// [`metadata`](super::SparseMatrix::metadata) as a sparse matrix. `rows` and `cols` are the dimensions of the matrix before
    /// compression.
    #[track_caller]
    pub fn sparse<T: SparseElement, A>(
        self,
        values: Ptr<'k, T, Global, A>,
        metadata: Ptr<'k, u16, Global, A>,
        rows: impl Into<Val<'k, u32>>,
        cols: impl Into<Val<'k, u32>>,
    ) -> SparseGl<'k, T, A> {
        let (rows, cols) = (rows.into(), cols.into());
        let _located = self.locate(Location::caller());
        let words = cols.ceil_div(columns_per_word(sparsity::<T>()));
        SparseGl {
            values: self.global(values, row_major(rows, cols.ceil_div(2))),
            metadata: self.global(metadata, row_major(rows, words)),
        }
    }
}

impl<'k, T: TensorElement, A> SparseGl<'k, T, A> {
    /// Returns the matrix of the stored elements, which has half as many columns as this matrix (rounded up). Its tiles of `H`×`W` subtiles
    /// can be copied to shared tiles for [`SparseGlTile::load_with`].
    #[must_use]
    pub fn values(&self) -> &Gl<'k, T, A> {
        &self.values
    }

    /// Returns tile (`row`, `col`), where `row` and `col` are in units of tiles, as in [`Gl::tile`].
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> SparseGlTile<'k, T, A> {
        let (row, col) = (row.into(), col.into());
        SparseGlTile { values: self.values.tile(row, col), metadata: self.metadata.tile(row, col) }
    }
}

impl<'k, T: SparseElement, A: Readable> SparseGlTile<'k, T, A> {
    /// Loads the stored elements and their positions into registers. Each lane loads the elements and positions that it owns.
    #[track_caller]
    pub fn load<const H: usize, const W: usize>(self) -> SparseRt<'k, T, H, W> {
        let k = self.values.kernel();
        let _located = k.locate(Location::caller());
        let stored = self.values.tensor([SparseRt::<T, H, W>::ROWS, SparseRt::<T, H, W>::STORED]);
        let layout = value_layout(T::atom(), H, Steps::of::<T>(W));
        SparseRt {
            values: load(&stored, &layout, T::from_mem_bits(0)),
            metadata: load_metadata::<T, A>(&self.metadata, H, W),
        }
    }

    /// Loads only the positions of the stored elements, and combines them with the stored elements in `values`.
    ///
    /// Load `values` from a shared copy of the same tile of [`SparseGl::values`], for example from a stage of a pipeline.
    ///
    /// For tf32, all lanes of the warp must take part, because the elements are first exchanged between the lanes of each quad.
    ///
    /// ```
    /// # use warpwright::{prelude::*, tiles::SparseRt};
    /// # type Args = (In<bf16>, In<u16>, In<bf16>, Out<f32>, u32);
    /// # Kernel::<Args>::build("f", Target::SM_80, |k, (values, metadata, b, d, depth)| {
    /// # k.block([32]);
    /// # k.grid([1]);
    /// # let (b, d) = (k.global(b, row_major(depth, 64)), k.global(d, row_major(32, 64)));
    /// let a = k.sparse(values, metadata, 32, depth);
    /// let stages = k.pipeline::<(St<bf16, 2, 2>, St<bf16, 4, 4>), 3>();
    /// let sum = stages.run_indexed(
    ///     depth.ceil_div(64),
    ///     k.zeros::<Rt<f32, 2, 4>>(),
    ///     |i, stage| stage.fill((a.values().tile(0, i), b.tile(i, 0))),
    ///     |i, sum, (values, b)| {
    ///         let a: SparseRt<bf16, 2, 2> = a.tile(0, i).load_with(values.load());
    ///         sum.mma_ab_sparse(&a, &b.load())
    ///     },
    /// );
    /// # d.tile(0, 0).store(&sum);
    /// # })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    pub fn load_with<const H: usize, const W: usize>(self, values: Rt<'k, T, H, W>) -> SparseRt<'k, T, H, W> {
        let k = self.values.kernel();
        let _located = k.locate(Location::caller());
        SparseRt { values: stored_in_order(&values), metadata: load_metadata::<T, A>(&self.metadata, H, W) }
    }
}

/// Returns the elements of a tile in the layout of operand A. If the tile already has this layout, the result uses the tile's registers.
#[track_caller]
fn stored_in_order<'k, T: SparseElement, const H: usize, const W: usize>(
    tile: &Rt<'k, T, H, W, Row>,
) -> Fragment<'k, T> {
    let (k, subtile) = (tile.kernel(), register_layout::<T, Row>(1, 1));
    let exchange = Exchange::plan(&subtile, &value_layout(T::atom(), 1, Steps::of::<T>(1)));
    let registers = if exchange.is_identity() {
        tile.fragment().all_registers().to_vec()
    } else {
        let subtiles = tile.words();
        let subtiles = subtiles.chunks(subtile.registers() as usize);
        k.all_owned(|| subtiles.flat_map(|words| exchange.emit(k, words)).collect())
    };
    let values = registers.len() * T::PER_WORD;
    Fragment::over(k, registers, in_order(values as i64))
}

/// Loads the metadata of a compressed tile of `height`×`width` subtiles of stored elements.
#[track_caller]
fn load_metadata<'k, T: SparseElement, A: Readable>(
    tile: &GlTile<'k, u16, A>,
    height: usize,
    width: usize,
) -> Fragment<'k, u16> {
    let sparsity = sparsity::<T>();
    let columns = 2 * T::SUBTILE_LENGTH * width as u32;
    let view = tile.tensor([SUBTILE_SIDE * height as u32, columns / columns_per_word(sparsity)]);
    load(&view, &metadata_layout(sparsity, height, Steps::of::<T>(width)), ALL_ZERO)
}

/// Loads a view into registers in a (lane, value) layout. Elements past the edges are `fill`.
#[track_caller]
fn load<'k, T: TensorElement, A: Readable>(
    view: &Tensor<'k, Global, T, A>,
    layout: &TvLayout,
    fill: T,
) -> Fragment<'k, T> {
    let k = view.kernel();
    k.check_warp_tile(view.coordinates(), false);
    let fragment = Fragment::uninitialized(k, &in_order(layout.values()), T::Word::CLASS);
    copy_or(&fragment, &view.lane_part(layout, k.lane().rank()), fill);
    fragment
}
