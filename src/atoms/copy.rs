//! Instructions that move data, as data: which thread moves which bits from where to where.

mod table;

use std::{fmt, ops::Range};

use crate::{
    layout::{AccessError, BankConflicts, Layout, LayoutError, TvError, TvLayout, bank_conflicts},
    ptx::{Target, Version, table as instructions},
};

pub use table::{copy_atom, copy_atoms};

/// An instruction that moves data, as three (thread, bit) layouts: what each thread gives, what it gets, and the numbering
/// that both refer to.
///
/// As in CuTe, bits are numbered by the data, not by addresses. For `ldmatrix` and `stmatrix` bit `1024 i + 128 r + 16 c` is
/// where element `c` of row `r` of 8×8 matrix `i` begins; a thread's row is the one whose address it gives.
///
/// ```
/// use warpwright::atoms::copy_atom;
/// let load = copy_atom("SM75_U32x4_LDSM_N")?;
/// assert_eq!(load.mnemonic(), "ldmatrix.sync.aligned.m8n8.x4.shared.b16");
/// assert_eq!(load.src().to_string(), "(32,128):(128,1)");
/// assert_eq!(load.dst().to_string(), "(32,(32,4)):(32,(1,1024))");
/// // In elements of 16 bits, lane 5 holds a pair of row 1 of each matrix.
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

/// What an atom does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// A load and a store of so many bytes, from any memory or register to any other.
    Universal {
        /// 1, 2, 4, 8 or 16.
        bytes: u32,
    },
    /// `cp.async`, from global to shared memory.
    CpAsync {
        /// 4, 8 or 16; 16 if it bypasses L1.
        bytes: u32,
        /// Whether it bypasses L1: `.cg` instead of `.ca`.
        bypass_l1: bool,
        /// Whether the bytes past the valid ones become zero.
        zero_fill: bool,
    },
    /// `ldmatrix`, from shared memory to registers.
    LdMatrix(Matrices),
    /// `stmatrix`, from registers to shared memory.
    StMatrix(Matrices),
    /// `movmatrix`, from registers to registers: the 8×8 matrix transposed.
    MovMatrix,
    /// A `shfl.bfly` between selections: transposes 2×2 blocks of 32 bits that two lanes hold, a row each
    /// ([`Builder::transpose_2x2`](crate::ptx::Builder::transpose_2x2)).
    Transpose2x2 {
        /// The bit in which the lanes differ: 1 or 4.
        lane_bit: u32,
    },
}

/// The matrices that `ldmatrix` or `stmatrix` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrices {
    /// 1, 2 or 4.
    pub count: u32,
    /// Whether they are transposed on the way.
    pub transposed: bool,
    /// Bits of an element in registers: 16, or 8 for the forms of sm_100a.
    pub element_bits: u32,
    /// Bits of an element in shared memory: less than in registers where it is expanded.
    pub memory_bits: u32,
    /// Rows of 16 bytes (8 or 12 of packed narrow elements) whose addresses lanes give.
    pub rows: u32,
}

/// A side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopySide {
    /// What each thread gives: registers, or the bytes at the address that it passes.
    Source,
    /// What each thread gets.
    Destination,
    /// The side that holds every bit once, by which others tile.
    Reference,
}

impl CopyAtom {
    /// CuTe's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instruction as the PTX manual spells it; empty where the memory decides (a universal copy) and for shuffles.
    #[must_use]
    pub fn mnemonic(&self) -> &str {
        &self.mnemonic
    }

    /// The instruction as CuTe spells it: some qualifiers stand elsewhere, which ptxas takes too.
    #[must_use]
    pub fn cute_mnemonic(&self) -> &str {
        &self.cute_mnemonic
    }

    /// What it does.
    #[must_use]
    pub fn kind(&self) -> CopyKind {
        self.kind
    }

    /// The lowest target that has it.
    #[must_use]
    pub fn target(&self) -> Target {
        instructions::find(&self.mnemonic).map_or(Target::SM_75, |form| form.needs.lowest_target())
    }

    /// Whether a target has it.
    #[must_use]
    pub fn is_on(&self, target: Target) -> bool {
        instructions::find(&self.mnemonic).is_none_or(|form| target.features().contains(form.needs))
    }

    /// The lowest PTX version that has it.
    #[must_use]
    pub fn version(&self) -> Version {
        instructions::find(&self.mnemonic).map_or(Version::new(6, 3), |form| form.version)
    }

    /// Logical thread to lane: `1:0` or `32:1`.
    #[doc(alias = "ThrID")]
    #[must_use]
    pub fn thread_ids(&self) -> &Layout {
        &self.threads
    }

    /// What each thread gives: (thread, bit) → bit.
    #[doc(alias = "SrcLayout")]
    #[must_use]
    pub fn src(&self) -> &Layout {
        &self.src
    }

    /// What each thread gets: (thread, bit) → bit.
    #[doc(alias = "DstLayout")]
    #[must_use]
    pub fn dst(&self) -> &Layout {
        &self.dst
    }

    /// The side that holds every bit once: (thread, bit) → bit.
    #[doc(alias = "RefLayout")]
    #[must_use]
    pub fn reference(&self) -> &Layout {
        &self.reference
    }

    /// The layout of a side.
    #[must_use]
    pub fn layout(&self, side: CopySide) -> &Layout {
        match side {
            CopySide::Source => &self.src,
            CopySide::Destination => &self.dst,
            CopySide::Reference => &self.reference,
        }
    }

    /// The layout of a side in elements of `bits` bits: (thread, element) → element.
    ///
    /// # Errors
    /// [`LayoutError::Upcast`] if threads hold parts of such elements.
    #[doc(alias = "ValLayoutSrc")]
    #[doc(alias = "ValLayoutDst")]
    pub fn value_layout(&self, side: CopySide, bits: u32) -> Result<Layout, LayoutError> {
        self.layout(side).recast(1, bits.into())
    }

    /// The most bits that stay together on every side.
    #[must_use]
    pub fn unit_bits(&self) -> u32 {
        let sides = [CopySide::Source, CopySide::Destination, CopySide::Reference];
        let whole = |bits: u32| sides.iter().all(|&side| holds_whole(self.layout(side), bits));
        (0..=7).map(|log| 128 >> log).find(|&bits| whole(bits)).unwrap_or(1)
    }

    /// Returns which thread owns which unit of [`unit_bits`](Self::unit_bits). Where several threads give the same unit (idle
    /// lanes of `ldmatrix`), the layout is covering but not bijective.
    ///
    /// # Errors
    /// None for the atoms of the table.
    pub fn fragment(&self, side: CopySide) -> Result<TvLayout, TvError> {
        let bits = self.unit_bits();
        let layout = self.value_layout(side, bits)?;
        let units = self.reference.size() / i64::from(bits);
        let values = layout.shape().modes().last().map_or(1, |values| values.size());
        let per_register = i64::from((32 / bits).max(1)).min(values);
        TvLayout::new(format!("{} {side:?}", self.name), units, layout)?.packed(per_register as u32)
    }

    /// The units of [`unit_bits`](Self::unit_bits) that a thread holds on a side, in order.
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

    /// What the access to shared memory of `ldmatrix` or `stmatrix` costs, given the byte addresses of the rows that it
    /// moves, eight to a matrix: a phase for each matrix.
    ///
    /// # Errors
    /// [`AccessError::Misaligned`] if an address is no multiple of 16, [`AccessError::Lanes`] past 32.
    ///
    /// ```
    /// use warpwright::atoms::copy_atom;
    /// let load = copy_atom("SM75_U32x4_LDSM_N")?;
    /// // 32 rows of a bf16 tile 64 wide: all in the same banks.
    /// assert_eq!(load.conflicts((0..32).map(|row| row * 128))?.passes, [8; 4]);
    /// assert_eq!(load.conflicts((0..32).map(|row| row * 144))?.passes, [1; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conflicts(&self, rows: impl IntoIterator<Item = u64>) -> Result<BankConflicts, AccessError> {
        bank_conflicts(rows, 16)
    }
}

/// Whether a layout of bits moves `bits` neighbours together, wherever they start.
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
    /// Atoms are told apart by their names.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CopyAtom {}
