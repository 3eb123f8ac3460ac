//! A matrix instruction tiled over threads and values.

use std::fmt;

use super::{
    error::TensorError,
    local::thread_digits,
    partition::{At, Partition, unzip_rest},
};
use crate::{
    atoms::{MmaAtom, MmaOperand},
    layout::{Codomain, Coord, Layout, Tile, Tiler, Tuple, TvLayout},
};

/// Returns the positions of an operand's modes in (M, N, K).
pub(super) const fn modes(operand: MmaOperand) -> [usize; 2] {
    match operand {
        MmaOperand::A => [0, 2],
        MmaOperand::B => [1, 2],
        MmaOperand::C | MmaOperand::D => [0, 1],
    }
}

/// An MMA atom repeated over threads and values to cover a tile, optionally with permuted modes (CuTe's `TiledMMA`).
#[derive(Debug, Clone, PartialEq)]
pub struct TiledMma {
    atom: &'static MmaAtom,
    shape: [i64; 3],
    /// The layout that maps (V, M, N, K) to a thread index.
    thr_layout_vmnk: Layout,
    /// The tilers that divide M, N and K before the atom is applied.
    permutation: [Tiler; 3],
}

/// One thread's view of a [`TiledMma`].
#[derive(Debug, Clone)]
pub struct MmaThreadLayout<'a> {
    mma: &'a TiledMma,
    /// The thread's coordinate (V, M, N, K).
    coord: [i64; 4],
}

impl TiledMma {
    /// Creates a tiled MMA.
    ///
    /// `atom_layout` maps coordinates along M, N and K to atom indices; missing modes have extent 1. `permutation` is a tuple of at most
    /// three entries, for M, N and K. The entry `..` leaves the mode unchanged, an extent enlarges the tile to this extent by repeating
    /// values, and a layout permutes the coordinates of the mode.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result (for example, if the permutation does not match the
    /// atoms), [`TensorError::Modes`] if there are more than three modes, or [`TensorError::Atoms`] if atoms share threads or if their
    /// threads are spread over more warps than they fill.
    #[doc(alias = "make_tiled_mma")]
    pub fn new(
        atom: &'static MmaAtom,
        atom_layout: &Layout,
        permutation: impl Into<Tiler>,
    ) -> Result<Self, TensorError> {
        let (m, n, k) = atom.shape();
        let shape = [i64::from(m), i64::from(n), i64::from(k)];
        let permutation: Tiler = permutation.into();
        let rank = atom_layout.rank().max(permutation.rank());
        if rank > 3 {
            let found = format!("{atom_layout} and {permutation}");
            return Err(TensorError::Modes { what: "tiled mma".into(), expected: 3, found });
        }
        let atoms = atom_layout.append(3);
        let thr_layout_vmnk = atom.thread_ids().tiled_product(&atoms)?;
        let permutation = std::array::from_fn(|mode| match permutation.mode(mode) {
            None | Some(Tuple::Leaf(Tile::Keep)) => {
                (shape[mode] * thr_layout_vmnk.shape().modes()[mode + 1].size()).into()
            }
            Some(tiler) => tiler.clone(),
        });
        let warps = (thr_layout_vmnk.size() + 31) / 32;
        if !thr_layout_vmnk.is_injective() || thr_layout_vmnk.cosize() > 32 * warps {
            let (atoms, ids) = (atoms.to_string(), thr_layout_vmnk.to_string());
            return Err(TensorError::Atoms { what: format!("tiled mma {}", atom.name()), atoms, ids, warps });
        }
        let mma = Self { atom, shape, thr_layout_vmnk, permutation };
        for operand in [MmaOperand::A, MmaOperand::B, MmaOperand::C] {
            mma.layout_tv(operand)?;
        }
        Ok(mma)
    }

    fn name(&self) -> String {
        format!("tiled mma {}", self.atom.name())
    }

    /// Returns the MMA atom.
    #[must_use]
    pub fn atom(&self) -> &'static MmaAtom {
        self.atom
    }

    /// Returns the layout that maps (V, M, N, K) to a thread index, where V is the index of a thread within one instruction.
    #[must_use]
    pub fn thr_layout_vmnk(&self) -> &Layout {
        &self.thr_layout_vmnk
    }

    /// Returns the number of participating threads.
    #[must_use]
    pub fn threads(&self) -> i64 {
        self.thr_layout_vmnk.size()
    }

    /// Returns the extents of the tile along M, N and K.
    #[doc(alias = "tile_size_mnk")]
    #[must_use]
    pub fn tile(&self) -> [i64; 3] {
        std::array::from_fn(|mode| {
            let atoms = self.thr_layout_vmnk.shape().modes()[mode + 1].size();
            (self.shape[mode] * atoms).max(tiler_size(&self.permutation[mode]))
        })
    }

    /// Divides an operand, given by its layout `tensor`, into `((ThrV, (ThrM, ThrK)), (values, (RestM, RestK, …)))`.
    ///
    /// These are the modes for A. For B, N replaces M; for C, N replaces K.
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer than two modes, or [`TensorError::Layout`] if a layout operation has no valid
    /// result.
    #[doc(alias = "thrfrg_A")]
    #[doc(alias = "thrfrg_B")]
    #[doc(alias = "thrfrg_C")]
    pub fn thrfrg<D: Codomain>(
        &self,
        operand: MmaOperand,
        tensor: &Layout<D>,
    ) -> Result<Layout<D>, TensorError> {
        if tensor.rank() < 2 {
            return Err(TensorError::Rank { what: self.name(), expected: 2, found: tensor.to_string() });
        }
        let modes = modes(operand);
        let permutation: Tiler = modes.iter().map(|&mode| self.permutation[mode].clone()).collect();
        let permuted = tensor.logical_divide(permutation)?;
        let extents: Tiler = modes.iter().map(|&mode| Tiler::from(self.shape[mode])).collect();
        // ((AtomM, AtomK), (RestM, RestK, …))
        let atoms = permuted.zipped_divide(extents)?;
        // ((ThrV, values), (RestM, RestK, …))
        let tv = Layout::concat([atoms.mode(0)?.compose(self.atom.layout(operand))?, atoms.mode(1)?]);
        let threads: Tiler = modes
            .iter()
            .map(|&mode| Tiler::from(self.thr_layout_vmnk.shape().modes()[mode + 1].size()))
            .collect();
        Ok(tv.zipped_divide(Tiler::from(vec![Tiler::from(..), threads]))?)
    }

    /// Returns [`thrfrg`](Self::thrfrg) as `(thread, values, (RestM, RestK, …))`.
    pub(super) fn divide<D: Codomain>(
        &self,
        operand: MmaOperand,
        tensor: &Layout<D>,
    ) -> Result<Layout<D>, TensorError> {
        let divided = self.thrfrg(operand, tensor)?;
        let fragment = divided.mode(1)?;
        Ok(Layout::concat([divided.mode(0)?, fragment.mode(0)?, fragment.mode(1)?]))
    }

    /// Returns the layout that maps (thread, value) of A to a column-major index in the tile `(m, k)`. Threads whose coordinates differ
    /// only in N own the same elements.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result.
    #[doc(alias = "get_layoutA_TV")]
    pub fn layout_a_tv(&self) -> Result<Layout, TensorError> {
        self.layout_tv(MmaOperand::A)
    }

    /// Returns the layout that maps (thread, value) of B to a column-major index in the tile `(n, k)`. Threads whose coordinates differ
    /// only in M own the same elements.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result.
    #[doc(alias = "get_layoutB_TV")]
    pub fn layout_b_tv(&self) -> Result<Layout, TensorError> {
        self.layout_tv(MmaOperand::B)
    }

    /// Returns the layout that maps (thread, value) of C to a column-major index in the tile `(m, n)`. Threads whose coordinates differ
    /// only in K own the same elements; in CuTe, the layout maps such threads past the tile.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result.
    #[doc(alias = "get_layoutC_TV")]
    pub fn layout_c_tv(&self) -> Result<Layout, TensorError> {
        self.layout_tv(MmaOperand::C)
    }

    /// Returns the extents of an operand's tile.
    #[must_use]
    pub fn operand_tile(&self, operand: MmaOperand) -> [i64; 2] {
        modes(operand).map(|mode| self.tile()[mode])
    }

    fn layout_tv(&self, operand: MmaOperand) -> Result<Layout, TensorError> {
        let [rows, cols] = self.operand_tile(operand);
        let divided = self.thrfrg(operand, &Layout::column_major((rows, cols))?)?;
        let threads = divided.mode(0)?;
        let (v, mut by_mode) = (threads.mode(0)?, Vec::with_capacity(4));
        by_mode.push(v);
        let own = modes(operand);
        for mode in 0..3 {
            by_mode.push(match own.iter().position(|&m| m == mode) {
                Some(position) => threads.mode(1)?.mode(position)?,
                None => Layout::new(self.thr_layout_vmnk.shape().modes()[mode + 1].size(), 0)?,
            });
        }
        let thr_idx_to_vmnk = self.thr_layout_vmnk.right_inverse();
        let by_index = Layout::concat(by_mode).compose(&thr_idx_to_vmnk)?;
        Ok(Layout::concat([by_index, divided.mode(1)?]))
    }

    /// Returns the (thread, value) layout of an operand's tile, which determines the owner of each element.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result, or the same errors as [`TvLayout::new`].
    pub fn map(&self, operand: MmaOperand) -> Result<TvLayout, TensorError> {
        let [rows, cols] = self.operand_tile(operand);
        let name = format!("{}, {operand:?}", self.name());
        Ok(TvLayout::new(name, (rows, cols), self.layout_tv(operand)?)?)
    }

    /// Returns one thread's view of the tiled MMA.
    ///
    /// # Errors
    /// Returns [`TensorError::Thread`] if `thread` is negative or past the last thread of the tiled MMA.
    #[doc(alias = "get_thread_slice")]
    pub fn get_slice(&self, thread: i64) -> Result<MmaThreadLayout<'_>, TensorError> {
        let threads = self.threads();
        if !(0..threads.max(self.thr_layout_vmnk.cosize())).contains(&thread) {
            return Err(TensorError::Thread { what: self.name(), thread, threads });
        }
        let digits = thread_digits(&self.thr_layout_vmnk);
        let coord = std::array::from_fn(|mode| digits[mode].of(thread));
        Ok(MmaThreadLayout { mma: self, coord })
    }

    /// Returns the shape of a fragment of `operand` for a tensor of `rows`×`cols` elements.
    ///
    /// For A, the shape is `(values, RestM, RestK)`.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a layout operation has no valid result.
    #[doc(alias = "partition_shape_C")]
    pub fn fragment_shape(&self, operand: MmaOperand, rows: i64, cols: i64) -> Result<Coord, TensorError> {
        let part = self.get_slice(0)?.partition(operand, &Layout::column_major((rows, cols))?)?;
        Ok(part.layout.shape().clone())
    }
}

fn tiler_size(tiler: &Tiler) -> i64 {
    match tiler {
        Tuple::Leaf(Tile::Keep) => 1,
        Tuple::Leaf(Tile::Extent(extent)) => *extent,
        Tuple::Leaf(Tile::Layout(layout)) => layout.size(),
        Tuple::Node(modes) => modes.iter().map(tiler_size).product(),
    }
}

impl MmaThreadLayout<'_> {
    /// Returns the thread's coordinate (V, M, N, K): its index within an instruction, and the indices of the instruction along M, N and K.
    #[must_use]
    pub fn coord(&self) -> [i64; 4] {
        self.coord
    }

    fn at(&self, operand: MmaOperand) -> At {
        let [v, mnk @ ..] = self.coord;
        let own = modes(operand).map(|mode| Tuple::Leaf(mnk[mode]));
        Tuple::from(vec![Tuple::Leaf(v), Tuple::from(own.to_vec())])
    }

    /// Returns this thread's part of an operand, with a layout of shape `(values, Rest, Rest, …)`.
    ///
    /// `tensor` is the layout of the whole operand.
    ///
    /// # Errors
    /// Returns [`TensorError::Rank`] if `tensor` has fewer than two modes, or [`TensorError::Layout`] if a layout operation has no valid
    /// result.
    pub fn partition<D: Codomain>(
        &self,
        operand: MmaOperand,
        tensor: &Layout<D>,
    ) -> Result<Partition<D>, TensorError> {
        unzip_rest(&self.mma.divide(operand, tensor)?, &self.at(operand))
    }

    /// Returns this thread's part of A, with a layout of shape `(values, RestM, RestK, …)`.
    ///
    /// # Errors
    /// Returns the same errors as [`partition`](Self::partition).
    pub fn partition_a<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Partition<D>, TensorError> {
        self.partition(MmaOperand::A, tensor)
    }

    /// Returns this thread's part of B, with a layout of shape `(values, RestN, RestK, …)`.
    ///
    /// # Errors
    /// Returns the same errors as [`partition`](Self::partition).
    pub fn partition_b<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Partition<D>, TensorError> {
        self.partition(MmaOperand::B, tensor)
    }

    /// Returns this thread's part of C, with a layout of shape `(values, RestM, RestN, …)`.
    ///
    /// # Errors
    /// Returns the same errors as [`partition`](Self::partition).
    pub fn partition_c<D: Codomain>(&self, tensor: &Layout<D>) -> Result<Partition<D>, TensorError> {
        self.partition(MmaOperand::C, tensor)
    }

    /// Returns the register layout for a partition of A or B.
    ///
    /// The values of an instruction vary fastest, and the rest modes are ordered by the strides of the partition.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if [`Layout::fragment_like`] returns an error.
    #[doc(alias = "make_fragment_A")]
    #[doc(alias = "make_fragment_B")]
    pub fn fragment_ab(&self, partition: &Layout) -> Result<Layout, TensorError> {
        Ok(partition.fragment_like()?)
    }

    /// Returns the column-major register layout for a partition of C.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if [`Layout::column_major`] returns an error.
    #[doc(alias = "make_fragment_C")]
    pub fn fragment_c(&self, partition: &Layout) -> Result<Layout, TensorError> {
        Ok(Layout::column_major(partition.shape().clone())?)
    }
}

/// Prints the tiled MMA in the format of MoYe's `show`.
impl fmt::Display for TiledMma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [m, n, k] = self.shape;
        writeln!(f, "TiledMMA")?;
        writeln!(f, "  ThrLayoutVMNK:  {}", self.thr_layout_vmnk)?;
        let permutation: Tiler = self.permutation.iter().cloned().collect();
        writeln!(f, "  PermutationMNK: {permutation}")?;
        writeln!(f, "MMAAtom")?;
        writeln!(f, "  Thread ID:   {}", self.atom.thread_ids())?;
        writeln!(f, "  Shape_MNK:   ({m},{n},{k})")?;
        writeln!(f, "  Layout_A_TV: {}", self.atom.layout_a())?;
        writeln!(f, "  Layout_B_TV: {}", self.atom.layout_b())?;
        write!(f, "  Layout_C_TV: {}", self.atom.layout_c())
    }
}
