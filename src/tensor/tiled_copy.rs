//! A copy instruction tiled over threads and values.

use std::fmt;

use super::{
    error::TensorError,
    partition::{At, Partition, unzip_rest},
    tiled_mma::TiledMma,
};
use crate::{
    atoms::CopyAtom,
    layout::{Codomain, Layout, Shape, Slicer, Slot, Tiler, Tuple, TvLayout},
};

/// A copy atom repeated over the threads and values of a tile (CuTe's `TiledCopy`).
///
/// ```
/// use warpwright::{atoms::copy_atom, layout::Layout, tensor::TiledCopy};
/// let copy = TiledCopy::new(
///     copy_atom("UniversalCopy<u64>")?, 64, &Layout::new((2, 3), (3, 1))?, &Layout::new((2, 3), (1, 2))?,
/// )?;
/// assert_eq!(copy.layout_tv().to_string(), "((3,2),(2,3)):((12,2),(1,4))");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TiledCopy {
    atom: &'static CopyAtom,
    value_bits: u32,
    /// The source, destination and reference of one instruction, as (thread, value) layouts in elements.
    src: Layout,
    dst: Layout,
    reference: Layout,
    /// The layout that maps (thread, value) to a column-major index in the tile.
    layout_tv: Layout,
    tile: Shape,
}

/// One thread's view of a [`TiledCopy`].
#[derive(Debug, Clone)]
pub struct CopyThreadLayout<'a> {
    copy: &'a TiledCopy,
    thread: i64,
}

impl TiledCopy {
    /// Creates a copy in which `values` is the layout of each thread's elements and `threads` is the layout of the threads.
    ///
    /// Elements are `value_bits` bits wide.
    ///
    /// # Errors
    /// Returns [`TensorError::Values`] or [`TensorError::Threads`] if the number of values or threads is not a multiple of the number per
    /// instruction, or [`TensorError::Layout`] if a layout operation has no valid result.
    #[doc(alias = "make_tiled_copy")]
    pub fn new(
        atom: &'static CopyAtom,
        value_bits: u32,
        threads: &Layout,
        values: &Layout,
    ) -> Result<Self, TensorError> {
        let mn = threads.raked_product(values)?;
        let tv = mn.right_inverse().with_shape((threads.size(), values.size()))?;
        Self::from_tv(atom, value_bits, tv, mn.shape().product_each())
    }

    /// Creates a copy from `layout_tv`, which maps (thread, value) to a column-major index in a tile with the extents `shape`.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    #[doc(alias = "make_tiled_copy_impl")]
    pub fn from_tv(
        atom: &'static CopyAtom,
        value_bits: u32,
        layout_tv: Layout,
        shape: Shape,
    ) -> Result<Self, TensorError> {
        let bits = i64::from(value_bits);
        let in_values = |layout: &Layout| layout.upcast(bits);
        let copy = Self {
            src: in_values(atom.src())?,
            dst: in_values(atom.dst())?,
            reference: in_values(atom.reference())?,
            atom,
            value_bits,
            layout_tv,
            tile: shape,
        };
        let what = || copy.name();
        let (threads, values) = copy.atom_size()?;
        let (all_threads, all_values) = (copy.layout_tv.mode(0)?.size(), copy.layout_tv.mode(1)?.size());
        if all_values % values != 0 {
            return Err(TensorError::Values { what: what(), values: all_values, instruction: values });
        }
        if all_threads % threads != 0 {
            return Err(TensorError::Threads { what: what(), threads: all_threads, instruction: threads });
        }
        Ok(copy)
    }

    /// Creates a copy to operand A of a tiled MMA: each thread receives the elements that it passes to the instruction.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    #[doc(alias = "make_tiled_copy_A")]
    pub fn for_a(atom: &'static CopyAtom, value_bits: u32, mma: &TiledMma) -> Result<Self, TensorError> {
        let [m, _, k] = mma.tile();
        Self::from_tv(atom, value_bits, mma.layout_a_tv()?, (m, k).into())
    }

    /// Creates a copy to operand B of a tiled MMA; see [`for_a`](Self::for_a).
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    #[doc(alias = "make_tiled_copy_B")]
    pub fn for_b(atom: &'static CopyAtom, value_bits: u32, mma: &TiledMma) -> Result<Self, TensorError> {
        let [_, n, k] = mma.tile();
        Self::from_tv(atom, value_bits, mma.layout_b_tv()?, (n, k).into())
    }

    /// Creates a copy to or from the accumulator of a tiled MMA; see [`for_a`](Self::for_a).
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    #[doc(alias = "make_tiled_copy_C")]
    pub fn for_c(atom: &'static CopyAtom, value_bits: u32, mma: &TiledMma) -> Result<Self, TensorError> {
        let [m, n, _] = mma.tile();
        Self::from_tv(atom, value_bits, mma.layout_c_tv()?, (m, n).into())
    }

    fn name(&self) -> String {
        format!("tiled copy {}", self.atom.name())
    }

    /// Returns the number of threads and of values of one instruction, according to its reference layout.
    fn atom_size(&self) -> Result<(i64, i64), TensorError> {
        Ok((self.reference.mode(0)?.size(), self.reference.mode(1)?.size()))
    }

    /// Returns the copy atom.
    #[must_use]
    pub fn atom(&self) -> &'static CopyAtom {
        self.atom
    }

    /// Returns the number of bits per element.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.value_bits
    }

    /// Returns the extents of the tile.
    #[doc(alias = "Tiler_MN")]
    #[must_use]
    pub fn tile(&self) -> &Shape {
        &self.tile
    }

    /// Returns the number of participating threads.
    #[must_use]
    pub fn threads(&self) -> i64 {
        self.layout_tv.shape().modes()[0].size()
    }

    /// Returns the layout that maps (thread, value) to a column-major index in the tile.
    #[doc(alias = "TiledLayout_TV")]
    #[must_use]
    pub fn layout_tv(&self) -> &Layout {
        &self.layout_tv
    }

    /// Returns the layout that determines the owner of each source element.
    ///
    /// This is the tiled layout composed with the source layout of the instruction.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result, or [`TensorError::Tv`] if [`TvLayout::new`] returns an
    /// error.
    #[doc(alias = "get_layoutS_TV")]
    pub fn source(&self) -> Result<TvLayout, TensorError> {
        self.side(&self.src, "source")
    }

    /// Returns the layout that determines the owner of each destination element.
    ///
    /// This is the tiled layout composed with the destination layout of the instruction.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result, or [`TensorError::Tv`] if [`TvLayout::new`] returns an
    /// error.
    #[doc(alias = "get_layoutD_TV")]
    pub fn destination(&self) -> Result<TvLayout, TensorError> {
        self.side(&self.dst, "destination")
    }

    fn side(&self, side: &Layout, name: &str) -> Result<TvLayout, TensorError> {
        let tile = Layout::column_major(Shape::from(vec![self.tile.clone(), Tuple::Leaf(1)]))?;
        let divided = self.thread_fragment(&tile, side)?;
        let tv = Layout::concat([divided.mode(0)?, divided.mode(1)?]);
        Ok(TvLayout::new(format!("{}, {name}", self.name()), self.tile.clone(), tv)?)
    }

    /// Converts `((TileM, TileN, …), (RestM, RestN, …))` to `(thread, value, (RestM, RestN, …))`.
    #[doc(alias = "tile2thrfrg")]
    fn thread_fragment<D: Codomain>(
        &self,
        tiled: &Layout<D>,
        side: &Layout,
    ) -> Result<Layout<D>, TensorError> {
        // ((atom thread, atom value), (rest thread, rest value))
        let atoms = self.layout_tv.zipped_divide(Tiler::from(self.atom_tiler()?))?;
        let ref_to_side = self.reference.right_inverse().compose(side)?;
        // ((thread of the side, value of the side), (rest thread, rest value))
        let seen = Layout::concat([atoms.mode(0)?.compose(&ref_to_side)?, atoms.mode(1)?]);
        let (inner, rest) = (seen.mode(0)?, seen.mode(1)?);
        let threads = Layout::concat([inner.mode(0)?, rest.mode(0)?]).coalesce();
        let values = Layout::concat([inner.mode(1)?.coalesce(), rest.mode(1)?.coalesce()]);
        let tv = tiled.mode(0)?.compose(Layout::concat([threads, values]))?;
        Ok(Layout::concat([tv.mode(0)?, tv.mode(1)?, tiled.mode(1)?]))
    }

    fn atom_tiler(&self) -> Result<Tiler, TensorError> {
        let (threads, values) = self.atom_size()?;
        Ok((threads, values).into())
    }

    /// Divides a tensor by the tile, into `((TileM, TileN, …), (RestM, RestN, …))`.
    fn tiled<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Layout<D>, TensorError> {
        let tiler: Tiler = self.tile.modes().iter().map(|mode| Tiler::from(mode.size())).collect();
        if tensor.rank() < tiler.rank() {
            let (what, found) = (self.name(), tensor.to_string());
            return Err(TensorError::Rank { what, expected: tiler.rank(), found });
        }
        Ok(tensor.zipped_divide(tiler)?)
    }

    /// Divides a source into `(thread, value, (RestM, RestN, …))`.
    ///
    /// [`CopyThreadLayout::partition_s`] returns the slice for one thread.
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer modes than the tile, or [`TensorError::Layout`] if a layout operation has no
    /// valid result.
    #[doc(alias = "tidfrg_S")]
    pub fn divide_s<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Layout<D>, TensorError> {
        self.thread_fragment(&self.tiled(tensor)?, &self.src)
    }

    /// Divides a destination into `(thread, value, (RestM, RestN, …))`.
    ///
    /// [`CopyThreadLayout::partition_d`] returns the slice for one thread.
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer modes than the tile, or [`TensorError::Layout`] if a layout operation has no
    /// valid result.
    #[doc(alias = "tidfrg_D")]
    pub fn divide_d<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Layout<D>, TensorError> {
        self.thread_fragment(&self.tiled(tensor)?, &self.dst)
    }

    /// Returns one thread's view of the copy.
    ///
    /// # Errors
    /// Returns [`TensorError::Thread`] if `thread` is negative or past the last thread of the copy.
    #[doc(alias = "get_thread_slice")]
    pub fn get_slice(&self, thread: i64) -> Result<CopyThreadLayout<'_>, TensorError> {
        let threads = self.threads();
        if !(0..threads).contains(&thread) {
            return Err(TensorError::Thread { what: self.name(), thread, threads });
        }
        Ok(CopyThreadLayout { copy: self, thread })
    }

    /// Returns the layout of a fragment in the order of this copy, with the modes `(copy values, rest …)`.
    ///
    /// No data is moved.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result, for example if the fragment's values do not match the
    /// values of this copy.
    #[doc(alias = "retile_S")]
    #[doc(alias = "retile_D")]
    pub fn retile(&self, fragment: &Layout) -> Result<Layout, TensorError> {
        let values = fragment.mode(0)?.size();
        // Maps (m, n) to an index among the values of an `mma` fragment of a tile.
        let inverse = self.layout_tv.right_inverse().with_shape(self.tile.clone())?;
        let mn = inverse.upcast(self.threads() * values)?;
        let order = Layout::new(values, 1)?.logical_product(mn.right_inverse())?;
        let (_, atom_values) = self.atom_size()?;
        let order = order.zipped_divide(Layout::new(atom_values, 1)?)?;
        let mut tile: Vec<Tiler> = vec![values.into()];
        tile.extend(mn.shape().product_each().modes().iter().map(|mode| Tiler::from(mode.size())));
        let tiled = fragment.zipped_divide(Tiler::from(tile))?;
        let seen = Layout::concat([tiled.mode(0)?.compose(&order)?, tiled.mode(1)?]);
        let mut at = vec![Slicer::Leaf(Slot::Keep); fragment.rank()];
        at[0] = Slicer::Leaf(Slot::At(0));
        Ok(seen.slice(Slicer::from(vec![Slicer::Leaf(Slot::Keep), Slicer::from(at)]))?)
    }
}

impl CopyThreadLayout<'_> {
    /// Returns the index of the thread.
    #[must_use]
    pub fn thread(&self) -> i64 {
        self.thread
    }

    /// Returns this thread's part of a source, with a layout of shape `(values, RestM, RestN, …)`.
    ///
    /// The mode `values` is `(values of one instruction, instructions)`.
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer modes than the tile, or [`TensorError::Layout`] if a layout operation has no
    /// valid result.
    #[doc(alias = "partition_S")]
    pub fn partition_s<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Partition<D>, TensorError> {
        unzip_rest(&self.copy.divide_s(tensor)?, &At::Leaf(self.thread))
    }

    /// Returns this thread's part of a destination; see [`partition_s`](Self::partition_s).
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer modes than the tile, or [`TensorError::Layout`] if a layout operation has no
    /// valid result.
    #[doc(alias = "partition_D")]
    pub fn partition_d<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Partition<D>, TensorError> {
        unzip_rest(&self.copy.divide_d(tensor)?, &At::Leaf(self.thread))
    }
}

/// Prints the copy in the format of MoYe's `show`.
impl fmt::Display for TiledCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "TiledCopy")?;
        writeln!(f, "  Tiler_MN:       {}", self.tile)?;
        writeln!(f, "  TiledLayout_TV: {}", self.layout_tv)?;
        writeln!(f, "CopyAtom")?;
        writeln!(f, "  Thread ID:    {}", self.atom.thread_ids())?;
        writeln!(f, "  ValLayoutSrc: {}", self.src)?;
        writeln!(f, "  ValLayoutDst: {}", self.dst)?;
        writeln!(f, "  ValLayoutRef: {}", self.reference)?;
        write!(f, "  ValueType:    {}b", self.value_bits)
    }
}
