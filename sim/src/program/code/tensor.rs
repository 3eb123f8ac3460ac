//! Tensor-core instructions.

use crate::arith::mma::Accumulator;
use crate::arith::mma::integer::BitOp;
use crate::arith::{Float, Round};
use crate::program::code::properties::{Agent, Element, Passes, Properties};
use crate::program::code::{Addr, D, P, R, Reg, Space};

/// Tensor-core instructions.
#[derive(Clone, Debug)]
pub(crate) enum Tensor {
    Mma(Mma),
    QuadPair(QuadPair),
    WmmaLoad(WmmaAccess),
    WmmaStore(WmmaAccess),
    Wmma(Wmma),
    Wgmma(Wgmma),
}

/// The number formats of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Floating-point numbers of up to 32 bits: the types of A and B, and of C and D.
    Float {
        ab: (Float, Float),
        c: Accumulator,
        d: Accumulator,
    },
    /// Floating-point numbers of at most 8 bits on Blackwell: one per byte or, if `packed`, 4 bits each.
    Small {
        ab: (Float, Float),
        packed: bool,
        acc: Accumulator,
    },
    F64,
    /// Integers: the widths and signedness of A and B.
    Int {
        ab: (SmallInt, SmallInt),
        satfinite: bool,
    },
    /// Single bits, 32 per word.
    Bits(BitOp),
}

/// A 4-bit or 8-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SmallInt {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

impl Numbers {
    /// Returns the number of bits of an element of A and of B. Single bits count as words.
    pub(crate) fn bits(&self) -> (u32, u32) {
        match self {
            Numbers::Float { ab: (a, b), .. } => (a.bits(), b.bits()),
            Numbers::Small { packed: true, .. } => (4, 4),
            Numbers::Small { .. } => (8, 8),
            Numbers::F64 => (64, 64),
            Numbers::Int { ab: (a, b), .. } => (a.bits, b.bits),
            Numbers::Bits(_) => (32, 32),
        }
    }

    /// Returns the number of bits of an element of C and of D.
    pub(crate) fn sum_bits(&self) -> (u32, u32) {
        match self {
            Numbers::Float { c, d, .. } => (c.float().bits(), d.float().bits()),
            Numbers::Small { acc, .. } => (acc.float().bits(), acc.float().bits()),
            Numbers::F64 => (64, 64),
            Numbers::Int { .. } | Numbers::Bits(_) => (32, 32),
        }
    }
}

/// The extents of a product. K counts elements of the size that [`Numbers::bits`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extents {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// `mma.sync` or `mma.sp`.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub(crate) extents: Extents,
    pub(crate) numbers: Numbers,
    pub(crate) sparse: Option<Sparse>,
    pub(crate) scales: Option<BlockScales>,
    /// The rounding of f64 products.
    pub(crate) round: Round,
    pub(crate) d: Box<[Reg]>,
    pub(crate) a: Box<[Reg]>,
    pub(crate) b: Box<[Reg]>,
    pub(crate) c: Box<[Reg]>,
}

/// The scales of blocks along the rows of A and the columns of B (PTX ISA, "Block Scaling for mma.sync").
#[derive(Clone, Debug)]
pub(crate) struct BlockScales {
    /// The type of the scales: ue8m0, or e4m3 for ue4m3.
    pub(crate) ty: Float,
    /// The number of scales per row of A or column of B.
    pub(crate) count: usize,
    pub(crate) a: ScaleOperand,
    pub(crate) b: ScaleOperand,
}

/// The register that contains the scales, the first byte in the register, and the index of the lane, within each group of four, that
/// provides them.
#[derive(Clone, Debug)]
pub(crate) struct ScaleOperand {
    pub(crate) bits: R,
    pub(crate) byte: R,
    pub(crate) thread: R,
}

/// The register and the selector of the metadata of a sparse A.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparse {
    pub(crate) metadata: R,
    pub(crate) selector: u32,
}

/// The f16 `mma.m8n8k4`: four products, one for each pair of quads.
#[derive(Clone, Debug)]
pub(crate) struct QuadPair {
    pub(crate) a_row_major: bool,
    pub(crate) b_column_major: bool,
    pub(crate) c: Accumulator,
    pub(crate) d: Accumulator,
    pub(crate) regs_d: Box<[R]>,
    pub(crate) regs_a: Box<[R]>,
    pub(crate) regs_b: Box<[R]>,
    pub(crate) regs_c: Box<[R]>,
}

/// The matrix that a `wmma.load` or `wmma.store` moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matrix {
    A,
    B,
    C,
}

/// `wmma.load` or `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct WmmaAccess {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_major: bool,
    /// The number of bits of an element in memory and in registers. Single bits count as words.
    pub(crate) bits: u32,
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    /// The stride in elements between rows (columns), or `None` if they are contiguous.
    pub(crate) stride: Option<R>,
    /// The number of stride elements in one unit of `bits` bits.
    pub(crate) stride_unit: u32,
    /// A temporary slot for moving elements.
    pub(crate) temporary: D,
    pub(crate) regs: Box<[Reg]>,
}

/// `wmma.mma`.
#[derive(Clone, Debug)]
pub(crate) struct Wmma {
    pub(crate) extents: Extents,
    pub(crate) numbers: Numbers,
    /// The rounding of f64 sums.
    pub(crate) round: Round,
    pub(crate) d: Box<[Reg]>,
    pub(crate) a: Box<[Reg]>,
    pub(crate) b: Box<[Reg]>,
    pub(crate) c: Box<[Reg]>,
}

/// The location of operand A of `wgmma`.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Registers(Box<[R]>),
    Shared(D),
}

/// `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    /// The extents. M is that of one warp: 16 of the warpgroup's 64 rows.
    pub(crate) extents: Extents,
    pub(crate) numbers: Numbers,
    pub(crate) sparse: Option<Sparse>,
    pub(crate) d: Box<[R]>,
    pub(crate) a: WgmmaA,
    pub(crate) b: D,
    /// `scale-d`: if false, the old D is ignored.
    pub(crate) keep: Option<(P, bool)>,
    pub(crate) negate: (bool, bool),
    /// Whether A and B are MN-major in shared memory.
    pub(crate) transposed: (bool, bool),
}

impl Wgmma {
    /// Returns the number of stored elements per row of A, which is K/2 if A is sparse.
    pub(crate) fn stored_k(&self) -> usize {
        if self.sparse.is_some() { self.extents.k / 2 } else { self.extents.k }
    }
}

impl Tensor {
    /// Returns the properties of the instruction.
    pub(crate) fn properties(&self) -> Properties<'_> {
        let is = Properties { agent: Agent::TensorCores, ..Properties::DEFAULT };
        match self {
            // Elements of fragments may be single bytes.
            Tensor::WmmaLoad(access) | Tensor::WmmaStore(access) => Properties {
                element: Some(Element { space: None, bytes: (access.bits / 8).clamp(1, 4) as u8 }),
                ..is
            },
            Tensor::Wgmma(wgmma) => {
                let a: &[R] = if let WgmmaA::Registers(a) = &wgmma.a { a } else { &[] };
                Properties { passes: Passes::Words([a, &wgmma.d]), ..is }
            }
            Tensor::Mma(mma) => Properties { passes: Passes::Fragments([&mma.a, &mma.b, &mma.c]), ..is },
            Tensor::QuadPair(_) | Tensor::Wmma(_) => is,
        }
    }
}
