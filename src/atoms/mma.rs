//! Matrix multiply-accumulate instructions as data: `mma.sync`, `mma.sp`, `wgmma`, and multiply-add instructions of a single thread.

mod layouts;
mod operand;
mod scale;
mod sparse;
mod table;

use std::{fmt, sync::OnceLock};

use super::{error::NotInRegisters, mma_type::MmaType};
use crate::{
    layout::{Layout, TvLayout},
    ptx::{RegClass, Target, Version, table as instructions},
};

pub use operand::{Major, MmaOperand, Source};
pub use scale::{BlockScale, ScaleVector};
pub use sparse::Sparsity;
pub use table::{UnknownAtom, mma_atom, mma_atoms, mma_with_mnemonic};

use operand::Registers;

/// An instruction that computes D = A·B + C, as data: shape, types, and the owner of each element.
///
/// A is M×K, B is N×K (transposed, as in CuTe), and C and D are M×N. Layouts map (thread, value) to `row + col · rows`. Values are numbered
/// in register order, starting with the lowest bits of a register. [`mma_atoms`] lists all atoms, and [`mma_atom`] looks one up by name.
///
/// ```
/// use warpwright::atoms::mma_atom;
/// let atom = mma_atom("SM80_16x8x16_F32BF16BF16F32_TN")?;
/// assert_eq!(atom.mnemonic(), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
/// assert_eq!(atom.shape(), (16, 8, 16));
/// assert_eq!(atom.layout_a().to_string(), "((4,8),(2,2,2)):((32,1),(16,8,128))");
/// let owner = atom.fragment_c().owner((9, 3))?;
/// assert_eq!((owner.thread, owner.register), (5, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "MMA_Atom")]
#[doc(alias = "MMA_Traits")]
pub struct MmaAtom {
    name: String,
    mnemonic: String,
    cute_mnemonic: String,
    shape: (u32, u32, u32),
    group: Group,
    operands: [Registers; 4],
    saturates: bool,
    bit_op: Option<BitOp>,
    sparsity: Option<Sparsity>,
    block_scale: Option<BlockScale>,
    /// The version and target, if the instruction is not in the instruction table.
    support: Option<(Version, Target)>,
    layouts: [OnceLock<Layout>; 4],
    threads: OnceLock<Layout>,
}

/// The threads that execute an atom together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// A single thread.
    Thread,
    /// Eight threads of a warp, four from each half-warp. One instruction computes four matrix products, one for each of the four quad
    /// pairs of the warp.
    QuadPair,
    /// 32 threads.
    Warp,
    /// Four warps.
    Warpgroup,
}

impl Group {
    /// Returns the number of threads.
    #[must_use]
    pub const fn threads(self) -> u32 {
        match self {
            Group::Thread => 1,
            Group::QuadPair => 8,
            Group::Warp => 32,
            Group::Warpgroup => 128,
        }
    }
}

/// The operation that replaces multiplication for 1-bit elements. A dot product is the number of bits that are set in the result of this
/// operation on a row of A and a row of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// Exclusive or: a bit of the result is set if the bits of the operands differ.
    Xor,
    /// And: a bit of the result is set if the bits of both operands are set.
    And,
}

impl MmaAtom {
    /// Returns CuTe's name for the atom. If CuTe does not define the atom, the name follows the same rules. C++ types are replaced by Rust
    /// types: `UniversalFMA<f32>` instead of `UniversalFMA<float>`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mnemonic in the PTX manual's spelling. The mnemonic is empty for complex multiplications, which consist of several
    /// instructions.
    #[must_use]
    pub fn mnemonic(&self) -> &str {
        &self.mnemonic
    }

    /// Returns the mnemonic in CuTe's spelling. This spelling orders some qualifiers differently from the PTX manual (ptxas accepts both
    /// orders) and omits the `.lo` of `dp2a`.
    #[must_use]
    pub fn cute_mnemonic(&self) -> &str {
        &self.cute_mnemonic
    }

    /// Returns (M, N, K): A has M rows, B has N rows, and both have K columns. The product is M×N.
    #[must_use]
    pub fn shape(&self) -> (u32, u32, u32) {
        self.shape
    }

    /// Returns the threads that execute the instruction together.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// Returns the lowest target that supports the instruction. For instructions introduced before sm_75, this is sm_75, the lowest target
    /// that the crate supports.
    #[must_use]
    pub fn target(&self) -> Target {
        self.support().1
    }

    /// Returns the lowest PTX version that supports the instruction.
    #[must_use]
    pub fn version(&self) -> Version {
        self.support().0
    }

    fn support(&self) -> (Version, Target) {
        let stated = || (Version::new(6, 3), Target::SM_75);
        self.support.unwrap_or_else(|| {
            instructions::find(&self.mnemonic)
                .map_or_else(stated, |form| (form.version, form.needs.lowest_target()))
        })
    }

    /// Returns whether a target supports the instruction.
    #[must_use]
    pub fn is_supported_on(&self, target: Target) -> bool {
        match (self.support, instructions::find(&self.mnemonic)) {
            (Some((_, lowest)), _) => target == lowest || !lowest.is_specific() && target.sm() >= lowest.sm(),
            (None, form) => form.is_some_and(|form| target.features().contains(form.needs)),
        }
    }

    /// Returns whether [`Builder::mma`](crate::ptx::Builder::mma) and its variants can emit the instruction. They do not support `wgmma`
    /// (see [`Builder::wgmma`](crate::ptx::Builder::wgmma)), complex multiplications, or instructions that require a PTX version later than
    /// 9.0.
    #[must_use]
    pub fn is_emitted(&self) -> bool {
        self.group != Group::Warpgroup && instructions::find(&self.mnemonic).is_some()
    }

    /// Returns whether sums that overflow s32 are clamped (`.satfinite`) instead of wrapping around.
    #[must_use]
    pub fn saturates(&self) -> bool {
        self.saturates
    }

    /// Returns the operation that replaces multiplication for 1-bit elements, or `None` for other types.
    #[must_use]
    pub fn bit_op(&self) -> Option<BitOp> {
        self.bit_op
    }

    /// Returns the sparsity of A, or `None` if A is dense.
    #[must_use]
    pub fn sparsity(&self) -> Option<&Sparsity> {
        self.sparsity.as_ref()
    }

    /// Returns the block scaling of A and B, or `None` if A and B are not scaled.
    #[must_use]
    pub fn block_scale(&self) -> Option<&BlockScale> {
        self.block_scale.as_ref()
    }

    // ── Operands ─────────────────────────────────────────────────────────────────────────────────────────────────

    fn registers_of(&self, operand: MmaOperand) -> &Registers {
        &self.operands[operand as usize]
    }

    /// Returns the number format of an operand.
    #[must_use]
    pub fn operand_type(&self, operand: MmaOperand) -> MmaType {
        self.registers_of(operand).ty
    }

    /// Returns where an operand is stored: in registers or in shared memory.
    #[must_use]
    pub fn source(&self, operand: MmaOperand) -> Source {
        self.registers_of(operand).source
    }

    /// Returns the supported storage orders of A or B. For `mma`, a `.row` A and a `.col` B are K-major. The list is empty for C and D, and
    /// for all operands of a single-thread atom.
    #[must_use]
    pub fn majors(&self, operand: MmaOperand) -> &'static [Major] {
        self.registers_of(operand).majors
    }

    /// Returns the class of the registers that contain an operand or its descriptor.
    #[must_use]
    pub fn register_class(&self, operand: MmaOperand) -> RegClass {
        self.registers_of(operand).class
    }

    /// Returns the number of elements of an operand per register. For a sparse A, only stored elements are counted. For complex numbers,
    /// the result is 1, although each number occupies several registers.
    #[must_use]
    pub fn per_register(&self, operand: MmaOperand) -> u32 {
        self.registers_of(operand).per_register
    }

    /// Returns the number of registers per thread that an operand occupies. An operand in shared memory occupies one register, which
    /// contains its descriptor.
    #[must_use]
    pub fn registers(&self, operand: MmaOperand) -> u32 {
        let registers = self.registers_of(operand);
        if registers.source == Source::Shared {
            return 1;
        }
        let (rows, cols) = self.stored_size(operand);
        (rows * cols * registers.parts).div_ceil(self.group.threads() * registers.per_register)
    }

    /// Returns the number of rows and columns of an operand: M×K for A, N×K for B, and M×N for C and D.
    #[must_use]
    pub fn operand_size(&self, operand: MmaOperand) -> (u32, u32) {
        let (m, n, k) = self.shape;
        match operand {
            MmaOperand::A => (m, k),
            MmaOperand::B => (n, k),
            MmaOperand::C | MmaOperand::D => (m, n),
        }
    }

    /// Returns [`operand_size`](Self::operand_size), compressed for a sparse A.
    fn stored_size(&self, operand: MmaOperand) -> (u32, u32) {
        let (rows, cols) = self.operand_size(operand);
        let halves = operand == MmaOperand::A && self.sparsity.is_some();
        (rows, if halves { cols / 2 } else { cols })
    }

    // ── Layouts ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the layout that maps logical threads to lanes, or to the threads of a warpgroup. It is `1:0` for a single thread, `32:1` for
    /// a warp, `128:1` for a warpgroup, and `(4,2):(1,16)` for the quad pair of lanes 0–3 and 16–19.
    #[doc(alias = "ThrID")]
    #[must_use]
    pub fn thread_ids(&self) -> &Layout {
        self.threads.get_or_init(|| layouts::thread_ids(self.group))
    }

    /// Returns the layout of an operand, which maps (thread, value) to the index `row + col · rows`.
    ///
    /// For a sparse A, the layout covers the uncompressed M×K matrix, as in CuTe. The values of a register are then all elements of the
    /// matrix that the register's stored elements can represent. For an operand in shared memory, the layout assigns all elements to every
    /// thread.
    #[must_use]
    pub fn layout(&self, operand: MmaOperand) -> &Layout {
        self.layouts[operand as usize].get_or_init(|| {
            let registers = self.registers_of(operand);
            let sparse = if operand == MmaOperand::A && self.sparsity.is_some() { 2 } else { 1 };
            registers.layout(self.group, self.operand_size(operand), sparse)
        })
    }

    /// Returns the layout of A, which maps (thread, value) to the index `m + k · M`.
    #[doc(alias = "ALayout")]
    #[must_use]
    pub fn layout_a(&self) -> &Layout {
        self.layout(MmaOperand::A)
    }

    /// Returns the layout of B, which maps (thread, value) to the index `n + k · N`.
    #[doc(alias = "BLayout")]
    #[must_use]
    pub fn layout_b(&self) -> &Layout {
        self.layout(MmaOperand::B)
    }

    /// Returns the layout of C, which maps (thread, value) to the index `m + n · M`.
    #[doc(alias = "CLayout")]
    #[must_use]
    pub fn layout_c(&self) -> &Layout {
        self.layout(MmaOperand::C)
    }

    /// Returns the layout of D, which maps (thread, value) to the index `m + n · M`. It equals the layout of C, except for the quad-pair
    /// instruction with f16 C and f32 D.
    #[must_use]
    pub fn layout_d(&self) -> &Layout {
        self.layout(MmaOperand::D)
    }

    /// Returns the fragment of an operand, which determines the thread and the register that contain each element. For a sparse A, the
    /// elements are those of the compressed M×K/2 matrix. The threads of the fragment are logical; [`thread_ids`](Self::thread_ids) maps
    /// them to lanes.
    ///
    /// # Errors
    /// Returns [`NotInRegisters`] for an operand in shared memory.
    pub fn fragment(&self, operand: MmaOperand) -> Result<TvLayout, NotInRegisters> {
        let registers = self.registers_of(operand);
        let name = format!("{} {operand:?}", self.name);
        if registers.source == Source::Shared {
            return Err(NotInRegisters { operand: name });
        }
        let size = self.stored_size(operand);
        let layout = registers.layout(self.group, size, 1);
        let values = layout.shape().modes().last().map_or(1, |values| values.size());
        let per_register = u32::try_from(values).map_or(1, |values| values.min(registers.per_register));
        let fragment = TvLayout::new(name, size, layout).and_then(|fragment| fragment.packed(per_register));
        Ok(fragment.expect("the rules stay within the operand and fill registers, as the tests check"))
    }

    /// Returns the [`fragment`](Self::fragment) of A.
    ///
    /// # Errors
    /// Returns [`NotInRegisters`] if A is in shared memory.
    pub fn fragment_a(&self) -> Result<TvLayout, NotInRegisters> {
        self.fragment(MmaOperand::A)
    }

    /// Returns the [`fragment`](Self::fragment) of B.
    ///
    /// # Errors
    /// Returns [`NotInRegisters`] if B is in shared memory.
    pub fn fragment_b(&self) -> Result<TvLayout, NotInRegisters> {
        self.fragment(MmaOperand::B)
    }

    /// Returns the [`fragment`](Self::fragment) of C, which is always in registers.
    #[must_use]
    pub fn fragment_c(&self) -> TvLayout {
        self.sum_fragment(MmaOperand::C)
    }

    /// Returns the [`fragment`](Self::fragment) of D, which is always in registers.
    #[must_use]
    pub fn fragment_d(&self) -> TvLayout {
        self.sum_fragment(MmaOperand::D)
    }

    fn sum_fragment(&self, operand: MmaOperand) -> TvLayout {
        self.fragment(operand).expect("C and D are in registers")
    }
}

impl fmt::Debug for MmaAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MmaAtom").field(&self.name).finish()
    }
}

impl fmt::Display for MmaAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for MmaAtom {
    /// Compares the names, which are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for MmaAtom {}
