//! Data-movement instructions as data: which thread moves which bits.

mod table;

use std::{fmt, ops::Range};

use crate::{
    layout::{AccessError, BankConflicts, Layout, LayoutError, TvError, TvLayout, bank_conflicts},
    ptx::{Target, Version, table as instructions},
};

pub use table::{copy_atom, copy_atoms};

/// An instruction that moves data, described by three (thread, bit) layouts. The source layout specifies the bits that each thread
/// provides, the destination layout specifies the bits that each thread receives, and the reference layout contains every bit exactly once.
///
/// As in CuTe, bits are numbered by their position in the data, not by address. For `ldmatrix` and `stmatrix`, element `c` of row `r` of
/// 8×8 matrix `i` starts at bit `1024 i + 128 r + 16 c`. In shared memory, a thread's bits are those of the row whose address the thread
/// provides.
///
/// ```
/// use warpwright::atoms::copy_atom;
/// let load = copy_atom("SM75_U32x4_LDSM_N")?;
/// assert_eq!(load.mnemonic(), "ldmatrix.sync.aligned.m8n8.x4.shared.b16");
/// assert_eq!(load.src().to_string(), "(32,128):(128,1)");
/// assert_eq!(load.dst().to_string(), "(32,(32,4)):(32,(1,1024))");
/// // In units of 16-bit elements, lane 5 owns a pair of row 1 of each matrix.
/// let held = load.value_layout(warpwright::atoms::CopySide::Destination, 16)?;
/// assert_eq!((0..8).map(|v| held.index(5 + 32 * v)).collect::<Vec<_>>(), [10, 11, 74, 75, 138, 139, 202, 203]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Copy_Atom")]
#[doc(alias = "Copy_Traits")]
pub struct CopyAtom {
    name: String,
    mnemonic: String,
    cute_mnemonic: String,
    kind: CopyKind,
    threads: Layout,
    src: Layout,
    dst: Layout,
    reference: Layout,
}

/// The operation that a copy atom performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// A copy of `bytes` bytes by an ordinary load and store.
    Universal {
        /// The number of bytes: 1, 2, 4, 8 or 16.
        bytes: u32,
    },
    /// `cp.async`, from global to shared memory.
    CpAsync {
        /// The number of bytes: 4, 8 or 16; always 16 if the copy bypasses L1.
        bytes: u32,
        /// Whether the copy bypasses L1 (`.cg`) or not (`.ca`).
        bypass_l1: bool,
        /// Whether the instruction has the operand `src-size`, the number of bytes to read. The remaining bytes are filled with zeros.
        zero_fill: bool,
    },
    /// `ldmatrix`, from shared memory to registers.
    LdMatrix(Matrices),
    /// `stmatrix`, from registers to shared memory.
    StMatrix(Matrices),
    /// `movmatrix`, from registers to registers, which transposes an 8×8 matrix.
    MovMatrix,
    /// A transposition of 2×2 blocks of 32-bit words with `selp` and `shfl.bfly`. Each of two lanes owns one row of a block; see
    /// [`Builder::transpose_2x2`](crate::ptx::Builder::transpose_2x2).
    Transpose2x2 {
        /// The mask of the bit that differs between the indices of the two lanes: 1 or 4.
        lane_bit: u32,
    },
}

/// The matrices that `ldmatrix` or `stmatrix` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrices {
    /// The number of matrices: 1, 2 or 4.
    pub count: u32,
    /// Whether the instruction transposes the matrices.
    pub transposed: bool,
    /// The number of bits per element in registers: 16, or 8 for the forms that require Blackwell (sm_100a or sm_120a).
    pub element_bits: u32,
    /// The number of bits per element in shared memory: 4 or 6 if the instruction expands each element to 8 bits, otherwise equal to
    /// `element_bits`.
    pub memory_bits: u32,
    /// The number of row addresses that the lanes provide. A row is 16 bytes long, or 8 or 12 bytes if it contains packed 4-bit or 6-bit
    /// elements.
    pub rows: u32,
}

/// A side of a copy atom, or its reference layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopySide {
    /// The bits that each thread provides: registers, or the bytes at its address.
    Source,
    /// The bits that each thread receives.
    Destination,
    /// The layout that contains every bit exactly once, which is the basis for tiling.
    Reference,
}

impl CopyAtom {
    /// Returns CuTe's name for the atom. C++ types are replaced by Rust types: `UniversalCopy<u32>` instead of `UniversalCopy<uint32_t>`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mnemonic in the PTX manual's spelling. The mnemonic is empty for universal copies, whose instructions depend on the
    /// state spaces, and for [`CopyKind::Transpose2x2`], which consists of several instructions.
    #[must_use]
    pub fn mnemonic(&self) -> &str {
        &self.mnemonic
    }

    /// Returns the mnemonic in CuTe's spelling. This spelling orders some qualifiers differently from the PTX manual (ptxas accepts both
    /// orders) and requests an L2 prefetch in `cp.async`.
    #[must_use]
    pub fn cute_mnemonic(&self) -> &str {
        &self.cute_mnemonic
    }

    /// Returns the operation that the atom performs.
    #[must_use]
    pub fn kind(&self) -> CopyKind {
        self.kind
    }

    /// Returns the lowest target that supports the instruction. For instructions introduced before sm_75, this is sm_75, the lowest target
    /// that the crate supports.
    #[must_use]
    pub fn target(&self) -> Target {
        instructions::find(&self.mnemonic).map_or(Target::SM_75, |form| form.needs.lowest_target())
    }

    /// Returns whether a target supports the instruction.
    #[must_use]
    pub fn is_supported_on(&self, target: Target) -> bool {
        instructions::find(&self.mnemonic).is_none_or(|form| target.features().contains(form.needs))
    }

    /// Returns the lowest PTX version that supports the instruction.
    #[must_use]
    pub fn version(&self) -> Version {
        instructions::find(&self.mnemonic).map_or(Version::new(6, 3), |form| form.version)
    }

    /// Returns the layout that maps logical threads to lanes: `1:0` for a single thread or `32:1` for a warp.
    #[doc(alias = "ThrID")]
    #[must_use]
    pub fn thread_ids(&self) -> &Layout {
        &self.threads
    }

    /// Returns the source layout, which maps (thread, bit) to the index of the bit that the thread provides.
    #[doc(alias = "SrcLayout")]
    #[must_use]
    pub fn src(&self) -> &Layout {
        &self.src
    }

    /// Returns the destination layout, which maps (thread, bit) to the index of the bit that the thread receives.
    #[doc(alias = "DstLayout")]
    #[must_use]
    pub fn dst(&self) -> &Layout {
        &self.dst
    }

    /// Returns the reference layout: the source or destination layout, whichever contains every bit exactly once.
    #[doc(alias = "RefLayout")]
    #[must_use]
    pub fn reference(&self) -> &Layout {
        &self.reference
    }

    /// Returns the source, destination or reference layout.
    #[must_use]
    pub fn layout(&self, side: CopySide) -> &Layout {
        match side {
            CopySide::Source => &self.src,
            CopySide::Destination => &self.dst,
            CopySide::Reference => &self.reference,
        }
    }

    /// Returns the layout of a side for `bits`-bit elements, which maps (thread, value) to the index of an element.
    ///
    /// `bits` should divide [`unit_bits`](Self::unit_bits). Otherwise, an element may be split between threads, and the layout treats these
    /// threads as one.
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::recast`].
    #[doc(alias = "ValLayoutSrc")]
    #[doc(alias = "ValLayoutDst")]
    pub fn value_layout(&self, side: CopySide, bits: u32) -> Result<Layout, LayoutError> {
        self.layout(side).recast(1, bits.into())
    }

    /// Returns the size in bits of the largest unit that no layout splits. It is the largest power of two up to 128 for which the bits of
    /// each unit are contiguous in all three layouts.
    #[must_use]
    pub fn unit_bits(&self) -> u32 {
        let sides = [CopySide::Source, CopySide::Destination, CopySide::Reference];
        let whole = |bits: u32| sides.iter().all(|&side| holds_whole(self.layout(side), bits));
        (0..=7).map(|log| 128 >> log).find(|&bits| whole(bits)).unwrap_or(1)
    }

    /// Returns the fragment of a side, which determines the owner of each unit of [`unit_bits`](Self::unit_bits) bits.
    ///
    /// If several threads provide the same unit, the fragment is not bijective. For example, lanes whose addresses `ldmatrix` ignores
    /// repeat the units of other lanes.
    ///
    /// # Errors
    /// Never returns an error for the atoms in [`copy_atoms`].
    pub fn fragment(&self, side: CopySide) -> Result<TvLayout, TvError> {
        let bits = self.unit_bits();
        let layout = self.value_layout(side, bits)?;
        let units = self.reference.size() / i64::from(bits);
        let values = layout.shape().modes().last().map_or(1, |values| values.size());
        let per_register = i64::from((32 / bits).max(1)).min(values);
        TvLayout::new(format!("{} {side:?}", self.name), units, layout)?.packed(per_register as u32)
    }

    /// Returns the indices of the units of [`unit_bits`](Self::unit_bits) bits that a thread owns on a side, in the order of the thread's
    /// values.
    #[must_use]
    pub fn units(&self, side: CopySide, thread: u32) -> Vec<u32> {
        let layout = self.layout(side);
        let bits = self.unit_bits();
        let [threads, values] = layout.shape().modes() else { return Vec::new() };
        let starts: Range<i64> = 0..values.size() / i64::from(bits);
        starts
            .map(|unit| layout.index(i64::from(thread) + unit * i64::from(bits) * threads.size()))
            .map(|bit| (bit / i64::from(bits)) as u32)
            .collect()
    }

    /// Returns the bank conflicts of an `ldmatrix` or `stmatrix` whose 16-byte rows start at the byte addresses `rows`. Each phase accesses
    /// eight consecutive rows, which form one 8×8 matrix of 16-bit elements.
    ///
    /// # Errors
    /// Returns [`AccessError::Misaligned`] if an address is not a multiple of 16, or [`AccessError::Lanes`] for more than 32 rows.
    ///
    /// ```
    /// use warpwright::atoms::copy_atom;
    /// let load = copy_atom("SM75_U32x4_LDSM_N")?;
    /// // 32 rows of a bf16 tile 64 columns wide: all in the same banks.
    /// assert_eq!(load.conflicts((0..32).map(|row| row * 128))?.passes, [8; 4]);
    /// assert_eq!(load.conflicts((0..32).map(|row| row * 144))?.passes, [1; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conflicts(&self, rows: impl IntoIterator<Item = u64>) -> Result<BankConflicts, AccessError> {
        bank_conflicts(rows, 16)
    }
}

/// Returns whether a layout of bits keeps the bits of each aligned `bits`-bit unit together.
fn holds_whole(layout: &Layout, bits: u32) -> bool {
    let Ok(units) = layout.recast(1, bits.into()) else { return false };
    let ([threads, values], [unit_threads, unit_values]) = (layout.shape().modes(), units.shape().modes())
    else {
        return false;
    };
    unit_threads == threads && unit_values.size() * i64::from(bits) == values.size()
}

impl fmt::Debug for CopyAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CopyAtom").field(&self.name).finish()
    }
}

impl fmt::Display for CopyAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for CopyAtom {
    /// Compares the names, which are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CopyAtom {}
