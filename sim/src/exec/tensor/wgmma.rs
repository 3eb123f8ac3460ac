//! `wgmma.mma_async`: each warp of a warpgroup computes 16 of the 64 rows.
//!
//! Products are computed when they are issued. The checks assume that they read shared memory until a thread waits for their group. A
//! product belongs to the whole warpgroup: it is complete for each of the four warps when all four have issued their part.

use crate::arith::mma::Instruction;
use crate::exec::tensor::descriptor::Descriptor;
use crate::exec::tensor::{fragment, product, sparse};
use crate::lanes::FULL;
use crate::machine::warp::Warp;
use crate::machine::{Cluster, Shared};
use crate::program::code::{D, Numbers, Wgmma, WgmmaA};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::clocks::WARPGROUP;
use crate::shadow::place::Place;
use crate::shadow::undefined::Partial;

/// The number of rows that one warp computes.
const ROWS: usize = 16;

/// A matrix operand in shared memory.
struct Source {
    descriptor: Descriptor,
    first: usize,
    rows: usize,
    k: usize,
    bits: u32,
    mn_major: bool,
}

impl Source {
    fn new(warp: &Warp, descriptor: D, op: &Wgmma, a: bool) -> Outcome<Self> {
        let descriptor = Descriptor::new(warp.regs.d(descriptor)[0])?;
        let (a_bits, b_bits) = op.numbers.bits();
        let k = op.extents.k;
        Ok(if a {
            let first = ROWS * (warp.index as usize % WARPGROUP);
            let k = op.stored_k();
            Self { descriptor, first, rows: ROWS, k, bits: a_bits, mn_major: op.transposed.0 }
        } else {
            Self { descriptor, first: 0, rows: op.extents.n, k, bits: b_bits, mn_major: op.transposed.1 }
        })
    }

    /// Returns the row and the index k of the first element of each 16-byte unit, and the address of the unit.
    fn units(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let per_unit = 128 / self.bits as usize;
        let (outer, inner) = if self.mn_major { (self.k, self.rows) } else { (self.rows, self.k) };
        (0..outer).flat_map(move |o| (0..inner).step_by(per_unit).map(move |i| (o, i))).map(move |(o, i)| {
            let (row, k) = if self.mn_major { (i, o) } else { (o, i) };
            (row, k, self.address(row, k))
        })
    }

    fn address(&self, row: usize, k: usize) -> usize {
        self.descriptor.address(self.first + row, k, self.bits as usize, self.mn_major)
    }

    /// Returns the rows with undefined elements, and the address of an undefined byte, if any.
    fn undefined(&self, shared: &Shared) -> (Vec<bool>, Option<u64>) {
        let mut rows = vec![false; self.rows];
        let mut first = None;
        let written = &shared.written;
        for (row, _, address) in self.units() {
            if address + 16 > shared.bytes as usize || written.known_defined_unit(address as u64) {
                continue;
            }
            for byte in 0..16 {
                let at = (address + byte) as u64;
                if written.undefined(0, at, 1).0 != 0 {
                    let along = if self.mn_major { 8 * byte / self.bits as usize } else { 0 };
                    rows[row + along] = true;
                    first = first.or(Some(at));
                }
            }
        }
        (rows, first)
    }

    /// Announces all bytes that will be read.
    fn announce(&self, cluster: &mut Cluster<'_>, warp: &Warp) -> Outcome<()> {
        let limit = cluster.ctas[warp.cta].shared.bytes as usize;
        for (_, _, address) in self.units() {
            if address + 16 <= limit {
                let place = Place { rank: warp.cta, offset: address };
                cluster.before_engine_read(place, 16, 0, true)?;
                if cluster.racing() {
                    let groups = &mut cluster.ctas[warp.cta].wgmma[warp.index as usize / WARPGROUP];
                    groups.reads.push((place, 16, groups.committed(warp.index)));
                }
            }
        }
        Ok(())
    }

    /// Reads all elements row by row.
    fn read(&self, shared: &Shared, out: &mut [u32]) -> Outcome<()> {
        let mask = u32::MAX >> (32 - self.bits);
        let distance = if self.mn_major { self.k } else { 1 };
        for (row, k, address) in self.units() {
            if address + 16 > shared.bytes as usize {
                return Err(self.outside(shared));
            }
            let words = &shared.words[address / 4..][..4];
            let elements = words
                .iter()
                .flat_map(|word| (0..32).step_by(self.bits as usize).map(move |bit| word >> bit & mask));
            for (i, element) in elements.enumerate() {
                out[row * self.k + k + i * distance] = element;
            }
        }
        Ok(())
    }

    /// Returns the error for a matrix that extends past the end of shared memory.
    #[cold]
    fn outside(&self, shared: &Shared) -> Box<Fault> {
        let elements = (0..self.rows).flat_map(|row| (0..self.k).map(move |k| self.address(row, k)));
        let end = shared.bytes as usize;
        let address =
            elements.into_iter().find(|address| address + self.bits as usize / 8 > end).unwrap_or(end);
        Fault::new(
            FindingKind::SharedOutOfBounds,
            format!("shared memory out of bounds: wgmma reads {address:#x}; the block has {end} bytes"),
        )
    }
}

pub(super) fn execute<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Wgmma,
) -> Outcome<()> {
    let (n, k, stored_k) = (op.extents.n, op.extents.k, op.stored_k());
    let (a_bits, _) = op.numbers.bits();
    let (_, d_bits) = op.numbers.sum_bits();
    let a_source = match op.a {
        WgmmaA::Registers(_) => None,
        WgmmaA::Shared(descriptor) => Some(Source::new(warp, descriptor, op, true)?),
    };
    let b_source = Source::new(warp, op.b, op, false)?;
    if CHECKED {
        for source in a_source.iter().chain([&b_source]) {
            source.announce(cluster, warp)?;
        }
        let shared = &cluster.ctas[warp.cta].shared;
        let (columns, in_b) = b_source.undefined(shared);
        let (rows, in_a) = a_source.as_ref().map_or((vec![], None), |source| source.undefined(shared));
        if let Some(address) = in_a.or(in_b) {
            cluster.before_undefined_product(warp, op, (&rows, &columns), address);
        }
    }
    let shared = &cluster.ctas[warp.cta].shared;
    let scratch = &mut cluster.scratch;
    scratch.a.resize(ROWS * stored_k, 0);
    scratch.b.resize(n * k, 0);
    scratch.c.clear();
    scratch.c.resize(ROWS * n, 0);
    if let WgmmaA::Registers(regs) = &op.a {
        for (i, &reg) in regs.iter().enumerate() {
            fragment::put_a(warp.regs.r(reg), i, (ROWS, stored_k), a_bits, &mut scratch.a);
        }
    }
    if let Some(source) = a_source {
        source.read(shared, &mut scratch.a)?;
    }
    b_source.read(shared, &mut scratch.b)?;
    let keep = op.keep.is_none_or(|(p, negated)| warp.regs.predicate(p, negated) & 1 == 1);
    if keep {
        for (i, &reg) in op.d.iter().enumerate() {
            fragment::put_c(warp.regs.r(reg), i, n, d_bits, &mut scratch.c);
        }
    }
    if let Numbers::Float { ab: (a, b), .. } = op.numbers {
        let flip = |elements: &mut [u32], sign: u64| elements.iter_mut().for_each(|x| *x ^= sign as u32);
        if op.negate.0 {
            flip(&mut scratch.a, a.sign_bit());
        }
        if op.negate.1 {
            flip(&mut scratch.b, b.sign_bit());
        }
    }
    let k_of = match op.sparse {
        Some(sparse) => Some(sparse::k_of(&warp.regs, sparse, op.extents, &op.numbers)?),
        None => None,
    };
    let arch = cluster.machine.tensor;
    product::multiply(scratch, &op.numbers, op.extents, arch, Instruction::Wgmma, k_of.as_deref());
    for (i, &reg) in op.d.iter().enumerate() {
        let out = fragment::get_d(&scratch.c, i, n, d_bits);
        warp.regs.put_r(reg, FULL, &out);
    }
    Ok(())
}
