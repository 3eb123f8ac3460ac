//! Warpgroup-level matrix instructions: `wgmma`, and the descriptors of its operands in shared memory (PTX ISA, "Asynchronous Warpgroup
//! Level Matrix Instructions").

use std::fmt;

use arrayvec::ArrayVec;

use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Ptr, Shared},
    types::{Element, Scalar},
    val::Val,
};

/// A swizzle mode of tensor copies and `wgmma`: a permutation of 16-byte chunks in shared memory (PTX ISA, "Swizzling Modes").
///
/// With [`B128`](Self::B128), bits 7 to 9 of an address are XORed into bits 4 to 6, which contain the index of the chunk.
/// [`B64`](Self::B64) uses only bits 7 and 8, and [`B32`](Self::B32) only bit 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SwizzleMode {
    /// No permutation.
    #[default]
    None,
    /// Permutes the chunks of each 32-byte row.
    B32,
    /// Permutes the chunks of each 64-byte row.
    B64,
    /// Permutes the chunks of each 128-byte row.
    B128,
}

impl SwizzleMode {
    /// Returns the encoding of the mode in a matrix descriptor.
    const fn layout_type(self) -> u32 {
        match self {
            Self::None => 0,
            Self::B128 => 1,
            Self::B64 => 2,
            Self::B32 => 3,
        }
    }
}

/// The layout of an operand of `wgmma` in shared memory (PTX ISA, "Matrix Descriptor Format", "Strides").
///
/// The operand consists of core matrices of eight rows. A row is 16 bytes wide or, with a swizzle, 32, 64 or 128 bytes wide. In a K-major
/// operand, a row contains consecutive elements along k; in an M-major or N-major operand, it contains consecutive elements along m or n.
///
/// The fields contain the distances between adjacent core matrices, in bytes:
/// - K-major: `stride_bytes` is the distance along m or n. Without a swizzle, `leading_bytes` is the distance along k.
/// - M-major or N-major, without a swizzle: `stride_bytes` is the distance along m or n, and `leading_bytes` is the distance along k.
/// - M-major or N-major, with a swizzle: `leading_bytes` is the distance along m or n, and `stride_bytes` is the distance along k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MatrixLayout {
    /// The leading dimension byte offset. It must be a multiple of 16 and less than 2¹⁸.
    pub leading_bytes: u32,
    /// The stride dimension byte offset. It must be a multiple of 16 and less than 2¹⁸.
    pub stride_bytes: u32,
    /// The index (0 to 7) of the 128-byte row in which the swizzle pattern starts. It is 0 if the address of the operand is a multiple of
    /// the pattern size (256, 512 or 1024 bytes).
    pub base_offset: u32,
    /// The swizzle mode.
    pub swizzle: SwizzleMode,
}

impl MatrixLayout {
    /// Returns the low and high words of a descriptor for address 0, or an error message if a field is out of range.
    fn words(self) -> Result<[u32; 2], String> {
        for (name, bytes) in [("leading", self.leading_bytes), ("stride", self.stride_bytes)] {
            if !bytes.is_multiple_of(16) || bytes >= 1 << 18 {
                return Err(format!(
                    "matrix descriptor: expected a {name} byte offset that is a multiple of 16 below 262144, found {bytes}"
                ));
            }
        }
        if self.base_offset > 7 {
            return Err(format!(
                "matrix descriptor: expected a base offset of 0 to 7, found {}",
                self.base_offset
            ));
        }
        let high = self.stride_bytes >> 4 | self.base_offset << 17 | self.swizzle.layout_type() << 30;
        Ok([self.leading_bytes >> 4 << 16, high])
    }
}

/// A 64-bit descriptor that contains the address and the [layout](MatrixLayout) of a `wgmma` operand in shared memory.
#[derive(Clone, Copy)]
#[doc(alias = "GmmaDescriptor")]
pub struct MatrixDescriptor<'k> {
    /// The address in units of 16 bytes, and the leading dimension byte offset.
    low: Val<'k, u32>,
    high: Val<'k, u32>,
}

impl fmt::Debug for MatrixDescriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixDescriptor({:?}, {:?})", self.low, self.high)
    }
}

impl<'k> MatrixDescriptor<'k> {
    /// Creates the descriptor of the operand at `start`. The builder rejects addresses that are not known to be aligned to 16 bytes, and
    /// layouts with fields out of range.
    #[track_caller]
    pub fn new<T: Element, A>(start: Ptr<'k, T, Shared, A>, layout: MatrixLayout) -> Self {
        start.check_aligned(16);
        let [low, high] = layout.words().unwrap_or_else(|why| {
            start.kernel().refuse(why);
            [0; 2]
        });
        let units = (start.address() & 0x3_ffff) >> 4;
        Self { low: units | low, high: high.into() }
    }

    /// Returns a descriptor with the same layout whose address is `bytes` bytes higher. `bytes` must be a multiple of 16.
    #[must_use]
    #[track_caller]
    pub fn advance(self, bytes: u32) -> Self {
        Self { low: self.low + (bytes >> 4), ..self }
    }

    /// Returns the bits of the descriptor.
    #[track_caller]
    pub fn bits(self) -> Val<'k, u64> {
        Val::pack(self.low, self.high)
    }

    /// Returns the descriptor with the given bits.
    #[track_caller]
    pub fn from_bits(bits: impl Into<Val<'k, u64>>) -> Self {
        let bits = bits.into();
        Self { low: bits.cast(), high: (bits >> 32).cast() }
    }
}

/// Operand A of a `wgmma`, in registers or in shared memory.
#[derive(Clone, Copy, Debug)]
pub enum WgmmaA<'v, 'k, T: Scalar = u32> {
    /// This thread's fragment of A. Its registers must not be overwritten until a wait guarantees that the `wgmma` is complete.
    Registers(&'v [Val<'k, T>]),
    /// The descriptor of A in shared memory.
    Shared(MatrixDescriptor<'k>),
}

impl<'k> From<MatrixDescriptor<'k>> for WgmmaA<'_, 'k> {
    fn from(descriptor: MatrixDescriptor<'k>) -> Self {
        Self::Shared(descriptor)
    }
}

impl<'v, 'k, T: Scalar> From<&'v [Val<'k, T>]> for WgmmaA<'v, 'k, T> {
    fn from(registers: &'v [Val<'k, T>]) -> Self {
        Self::Registers(registers)
    }
}

/// The operands of `wgmma.mma_async` after B.
#[derive(Clone, Debug)]
pub(crate) struct WgmmaTail<'k> {
    /// The metadata of a sparse A, and the selector.
    pub(crate) sparse: Option<(Val<'k, u32>, u32)>,
    /// Whether to add the product to D. If false, the product replaces D.
    pub(crate) accumulate: Val<'k, bool>,
    /// The scales of A and B (1 or −1) for floating-point types, followed by any transposition flags (0 or 1).
    pub(crate) immediates: ArrayVec<i32, 4>,
}

/// The maximum number of accumulator registers per thread, which f32 with N = 256 requires.
const MOST: usize = 128;

impl<'k> Builder<'k> {
    /// Orders this thread's register accesses before later `wgmma` instructions. The fence is required before the first `wgmma` and after
    /// writes to accumulators or registers of A. It is also required before the `wgmma`s of each iteration of a loop, where ptxas would
    /// otherwise insert a fence. All threads of the warpgroup must execute the instruction. Requires sm_90a.
    #[doc(alias = "wgmma.fence")]
    #[doc(alias = "warpgroup_arrive")]
    #[track_caller]
    pub fn wgmma_fence(self) {
        self.emit(format_args!("wgmma.fence.sync.aligned"), &[]);
    }

    /// Commits, as one group, all `wgmma`s that the warpgroup has issued since its last commit. All threads of the warpgroup must execute
    /// the instruction. Requires sm_90a.
    #[doc(alias = "wgmma.commit_group")]
    #[doc(alias = "warpgroup_commit_batch")]
    #[track_caller]
    pub fn wgmma_commit_group(self) {
        self.emit(format_args!("wgmma.commit_group.sync.aligned"), &[]);
        self.body().wgmma_groups += 1;
    }

    /// Returns the number of instructions emitted so far that may load from shared memory into registers.
    pub(crate) fn shared_loads(self) -> u32 {
        self.body().shared_loads
    }

    /// Returns the number of `wgmma` groups committed so far.
    pub(crate) fn wgmma_groups(self) -> u32 {
        self.body().wgmma_groups
    }

    /// Waits until at most the `pending` (0 to 7) most recent `wgmma` groups are in flight; the accumulators of the other groups may then
    /// be read. All threads of the warpgroup must execute the instruction. Requires sm_90a.
    #[doc(alias = "wgmma.wait_group")]
    #[doc(alias = "warpgroup_wait")]
    #[track_caller]
    pub fn wgmma_wait_group(self, pending: u32) {
        if pending > 7 {
            self.refuse(format!("wgmma.wait_group: expected 0 to 7 groups, found {pending}"));
            return;
        }
        self.emit(format_args!("wgmma.wait_group.sync.aligned"), &[Operand::Imm(Immediate::new(pending))]);
        let mut body = self.body();
        if !body.is_guarded() {
            let complete = body.wgmma_groups.checked_sub(pending);
            body.wgmma_complete = body.wgmma_complete.max(complete);
        }
    }

    /// Waits until the `wgmma` group `group` is complete. Emits nothing if the group is known to be complete.
    #[track_caller]
    pub(crate) fn wgmma_wait_for(self, group: u32) {
        // After a wait for fewer groups, ptxas considers the others to be in flight again (C7517).
        if self.body().wgmma_complete.is_some_and(|complete| group <= complete) {
            return;
        }
        // The instruction can leave at most 7 groups in flight.
        self.wgmma_wait_group(self.wgmma_groups().saturating_sub(group).min(7));
    }

    /// Returns the emitted loops that overwrite `values` in the next iteration, without duplicates.
    pub(crate) fn loops_of<A: Scalar>(self, values: &[Val<'k, A>]) -> Vec<u32> {
        let body = self.body();
        let mut loops: Vec<_> = values.iter().filter_map(|value| body.loop_of(value.reg()?.0)).collect();
        loops.sort_unstable();
        loops.dedup();
        loops
    }

    /// Emits `mnemonic d, a, b, …` and updates D in place. The innermost loop must carry the registers of D.
    #[track_caller]
    pub(crate) fn wgmma_in_place<D: Scalar, A: Scalar>(
        self,
        mnemonic: &str,
        d: &mut [Val<'k, D>],
        a: WgmmaA<'_, 'k, A>,
        b: MatrixDescriptor<'k>,
        tail: WgmmaTail<'k>,
    ) {
        let mut accumulators = ArrayVec::<Operand<'_>, MOST>::new();
        for d in d.iter() {
            let reg = d.in_register(self);
            self.check_carried(&[reg]);
            accumulators.push(Operand::Reg(reg));
        }
        let mut registers = ArrayVec::<Operand<'_>, 4>::new();
        let a = match a {
            WgmmaA::Registers(values) => {
                registers.extend(values.iter().map(|value| Operand::Reg(value.in_register(self))));
                Operand::Vector(&registers)
            }
            WgmmaA::Shared(descriptor) => Operand::Reg(descriptor.bits().in_register(self)),
        };
        let mut operands = ArrayVec::<Operand<'_>, 10>::new();
        operands.extend([Operand::Vector(&accumulators), a, Operand::Reg(b.bits().in_register(self))]);
        if let Some((metadata, selector)) = tail.sparse {
            operands
                .extend([Operand::Reg(metadata.in_register(self)), Operand::Imm(Immediate::new(selector))]);
        }
        operands.push(Operand::Reg(tail.accumulate.in_register(self)));
        operands.extend(tail.immediates.iter().map(|&value| Operand::Imm(Immediate::new(value))));
        self.emit(mnemonic, &operands);
        for d in d {
            let reg = d.in_register(self);
            *d = Val::from_reg(self.body().overwrite(reg), self);
        }
    }
}
