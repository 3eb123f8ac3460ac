//! Undefined values in matrix products. An undefined element of A makes its row of D undefined, an undefined element of B makes its column
//! of D undefined, and an undefined element of C makes the same element of D undefined.

use crate::lanes::Lanes64;
use crate::program::code::{Extents, Mma, Reg, Watched, Wgmma, WgmmaA};
use crate::shadow::undefined::{Origin, Taint, Undefined};

/// The undefined parts of the operands of a product, for each element of D.
pub(super) struct Operands {
    n: usize,
    rows: Vec<bool>,
    columns: Vec<bool>,
    /// The undefined elements of C, row by row.
    sums: Vec<bool>,
    /// The registers of D, and the number of bits per element.
    d: Vec<Reg>,
    d_bits: u32,
}

impl Operands {
    fn new(extents: Extents, d: Vec<Reg>, d_bits: u32) -> Self {
        let Extents { m, n, .. } = extents;
        Self { n, rows: vec![false; m], columns: vec![false; n], sums: vec![false; m * n], d, d_bits }
    }

    /// Returns the operands of an `mma` whose registers have the undefined bits that `of` returns.
    pub(super) fn of_mma(op: &Mma, of: impl Fn(Reg) -> Lanes64) -> Self {
        let (c_bits, d_bits) = op.numbers.sum_bits();
        let mut operands = Self::new(op.extents, op.d.to_vec(), d_bits);
        operands.add_a(op.a.iter().map(|&reg| of(reg)));
        for bits in op.b.iter().map(|&reg| of(reg)) {
            (0..32).for_each(|lane| operands.columns[lane / 4] |= bits[lane] != 0);
        }
        operands.add_c(c_bits, op.c.iter().map(|&reg| of(reg)));
        operands
    }

    /// Returns the register operands of a `wgmma`. The old D is included only if `kept` is set.
    pub(super) fn of_wgmma(op: &Wgmma, kept: bool, of: impl Fn(Reg) -> Lanes64) -> Self {
        let (_, d_bits) = op.numbers.sum_bits();
        let d = op.d.iter().map(|&reg| Reg::R(reg)).collect();
        let mut operands = Self::new(op.extents, d, d_bits);
        if let WgmmaA::Registers(a) = &op.a {
            operands.add_a(a.iter().map(|&reg| of(Reg::R(reg))));
        }
        if kept {
            operands.add_c(d_bits, op.d.iter().map(|&reg| of(Reg::R(reg))));
        }
        operands
    }

    /// Adds rows of A and columns of B in shared memory.
    pub(super) fn add(&mut self, rows: &[bool], columns: &[bool]) {
        self.rows.iter_mut().zip(rows).for_each(|(row, new)| *row |= new);
        self.columns.iter_mut().zip(columns).for_each(|(column, new)| *column |= new);
    }

    /// Adds the registers of A. A lane's registers belong to row lane / 4; with 16 rows, every second register belongs to row lane / 4 + 8.
    fn add_a(&mut self, registers: impl Iterator<Item = Lanes64>) {
        let groups = self.rows.len() / 8;
        for (i, bits) in registers.enumerate() {
            (0..32).for_each(|lane| self.rows[lane / 4 + 8 * (i % groups)] |= bits[lane] != 0);
        }
    }

    fn add_c(&mut self, c_bits: u32, registers: impl Iterator<Item = Lanes64>) {
        let per = elements(c_bits);
        for (i, bits) in registers.enumerate() {
            for (lane, part) in (0..32).flat_map(|lane| (0..per).map(move |part| (lane, part))) {
                let element = if per == 2 { bits[lane] >> (16 * part) & 0xffff } else { bits[lane] };
                self.sums[place(lane, per * i + part, self.n)] |= element != 0;
            }
        }
    }

    /// Returns the undefined bits of a register of D: either all bits of an element or none.
    fn of_d(&self, register: usize) -> Lanes64 {
        let per = elements(self.d_bits);
        let element = u64::MAX >> (64 - self.d_bits);
        std::array::from_fn(|lane| {
            (0..per).fold(0, |bits, part| {
                let at = place(lane, per * register + part, self.n);
                let undefined = self.rows[at / self.n] || self.columns[at % self.n] || self.sums[at];
                bits | if undefined { element << (16 * part) } else { 0 }
            })
        })
    }
}

/// Returns the number of elements of C or D in a register.
fn elements(bits: u32) -> usize {
    (32 / bits).max(1) as usize
}

/// Returns the position in C and D, row by row, of element `i` of a lane (PTX ISA, "Matrix Fragments for mma.…").
fn place(lane: usize, i: usize, n: usize) -> usize {
    (lane / 4 + 8 * (i / 2 % 2)) * n + 2 * (lane % 4) + i % 2 + 8 * (i / 4)
}

/// Marks the undefined bits of the registers of D.
pub(super) fn mark(watched: &Watched, undefined: &mut Undefined, operands: &Operands, origin: Origin) {
    for (i, &reg) in operands.d.iter().enumerate() {
        let Some(register) = watched.number(reg) else { continue };
        for (lane, bits) in operands.of_d(i).into_iter().enumerate() {
            undefined.set(register, lane, Taint { bits, origin: Some(origin) });
        }
    }
}
