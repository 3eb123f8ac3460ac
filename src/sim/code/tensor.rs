//! Tensor-core instructions.

use super::{Addr, D, P, R, Reg, Space};
use crate::sim::arith::mma::Accumulator;
use crate::sim::arith::mma::integer::BitOp;
use crate::sim::arith::{Float, Round};

/// Tensor-core instructions.
#[derive(Debug)]
pub(in crate::sim) enum Tensor {
    Mma(Mma),
    QuadPair(QuadPair),
    WmmaLoad(WmmaAccess),
    WmmaStore(WmmaAccess),
    Wmma(Wmma),
    Wgmma(Wgmma),
}

/// The number formats of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Numbers {
    /// Floats of up to 32 bits; the types of A and B, C and D.
    Float {
        ab: (Float, Float),
        c: Accumulator,
        d: Accumulator,
    },
    F64,
    /// Integers; bits and signs of A and B.
    Int {
        ab: (SmallInt, SmallInt),
        satfinite: bool,
    },
    /// Single bits, in words of 32.
    Bits(BitOp),
}

/// An integer of 4 or 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct SmallInt {
    pub(in crate::sim) bits: u32,
    pub(in crate::sim) signed: bool,
}

impl Numbers {
    /// Bits of an element of A and of B; single bits count as words.
    pub(in crate::sim) fn bits(&self) -> (u32, u32) {
        match self {
            Numbers::Float { ab: (a, b), .. } => (a.bits(), b.bits()),
            Numbers::F64 => (64, 64),
            Numbers::Int { ab: (a, b), .. } => (a.bits, b.bits),
            Numbers::Bits(_) => (32, 32),
        }
    }

    /// Bits of an element of C and of D.
    pub(in crate::sim) fn sum_bits(&self) -> (u32, u32) {
        match self {
            Numbers::Float { c, d, .. } => (c.float().bits(), d.float().bits()),
            Numbers::F64 => (64, 64),
            Numbers::Int { .. } | Numbers::Bits(_) => (32, 32),
        }
    }
}

/// Extents of a product, K in elements as [`Numbers::bits`] counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Extents {
    pub(in crate::sim) m: usize,
    pub(in crate::sim) n: usize,
    pub(in crate::sim) k: usize,
}

/// `mma.sync`, `mma.sp`.
#[derive(Debug)]
pub(in crate::sim) struct Mma {
    pub(in crate::sim) extents: Extents,
    pub(in crate::sim) numbers: Numbers,
    pub(in crate::sim) sparse: Option<Sparse>,
    /// Of products of doubles.
    pub(in crate::sim) round: Round,
    pub(in crate::sim) d: Box<[Reg]>,
    pub(in crate::sim) a: Box<[Reg]>,
    pub(in crate::sim) b: Box<[Reg]>,
    pub(in crate::sim) c: Box<[Reg]>,
}

/// Where the metadata of a sparse A lies.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Sparse {
    pub(in crate::sim) metadata: R,
    pub(in crate::sim) selector: u32,
}

/// `mma.m8n8k4` on f16: four products of quad pairs.
#[derive(Debug)]
pub(in crate::sim) struct QuadPair {
    pub(in crate::sim) a_row_major: bool,
    pub(in crate::sim) b_column_major: bool,
    pub(in crate::sim) c: Accumulator,
    pub(in crate::sim) d: Accumulator,
    pub(in crate::sim) regs_d: Box<[R]>,
    pub(in crate::sim) regs_a: Box<[R]>,
    pub(in crate::sim) regs_b: Box<[R]>,
    pub(in crate::sim) regs_c: Box<[R]>,
}

/// Which matrix a `wmma.load` or `wmma.store` moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Matrix {
    A,
    B,
    C,
}

/// `wmma.load`, `wmma.store`.
#[derive(Debug)]
pub(in crate::sim) struct WmmaAccess {
    pub(in crate::sim) rows: usize,
    pub(in crate::sim) columns: usize,
    pub(in crate::sim) row_major: bool,
    /// Bits of an element in memory and in registers; single bits count as words.
    pub(in crate::sim) bits: u32,
    pub(in crate::sim) space: Space,
    pub(in crate::sim) addr: Addr,
    /// Elements from one row (column) to the next; packed if absent.
    pub(in crate::sim) stride: Option<R>,
    /// Elements that the stride counts in one unit of `bits`.
    pub(in crate::sim) stride_unit: u32,
    /// Where elements pass through.
    pub(in crate::sim) temporary: D,
    pub(in crate::sim) regs: Box<[Reg]>,
}

/// `wmma.mma`.
#[derive(Debug)]
pub(in crate::sim) struct Wmma {
    pub(in crate::sim) extents: Extents,
    pub(in crate::sim) numbers: Numbers,
    pub(in crate::sim) d: Box<[Reg]>,
    pub(in crate::sim) a: Box<[Reg]>,
    pub(in crate::sim) b: Box<[Reg]>,
    pub(in crate::sim) c: Box<[Reg]>,
}

/// Where `wgmma` takes A from.
#[derive(Debug)]
pub(in crate::sim) enum WgmmaA {
    Registers(Box<[R]>),
    Shared(D),
}

/// `wgmma.mma_async`.
#[derive(Debug)]
pub(in crate::sim) struct Wgmma {
    /// M is that of one warp: 16 of the warpgroup's 64 rows.
    pub(in crate::sim) extents: Extents,
    pub(in crate::sim) numbers: Numbers,
    pub(in crate::sim) d: Box<[R]>,
    pub(in crate::sim) a: WgmmaA,
    pub(in crate::sim) b: D,
    /// `scale-d`: false drops the old D.
    pub(in crate::sim) keep: Option<(P, bool)>,
    pub(in crate::sim) negate: (bool, bool),
    /// A and B are MN-major in shared memory.
    pub(in crate::sim) transposed: (bool, bool),
}
