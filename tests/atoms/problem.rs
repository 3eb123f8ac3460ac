//! A product of matrices, packed into the registers of an atom by its own layouts, and its exact result.

use warpwright::{
    atoms::{BitOp, Group, MmaAtom, MmaOperand, MmaType},
    layout::TvLayout,
};
use warpwright_reference::{Term, sum_of_terms};

use super::numbers::{decode, encode, range};

/// Random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn from(&mut self, range: std::ops::RangeInclusive<i64>) -> i64 {
        let count = (range.end() - range.start() + 1) as u64;
        range.start() + (self.next() % count) as i64
    }
}

/// Matrices of integers in row order. Elements of a sparse A that are not stored are zero.
#[derive(Clone)]
pub(crate) struct Problem {
    a: Vec<i64>,
    b: Vec<i64>,
    c: Vec<i64>,
    /// For a sparse A: for each row, the positions of the stored units in their chunks.
    places: Vec<Vec<u32>>,
}

impl Problem {
    /// Returns a problem in which both factors are zero and C contains the index of each element, which shows the layouts of C and D.
    pub(crate) fn indices(atom: &MmaAtom) -> Self {
        let (m, n, k) = sizes(atom);
        Self::new(atom, vec![0; m * k], vec![0; n * k], (0..(m * n) as i64).collect(), &mut Random(1))
    }

    /// Returns problems with a digit of each element's index in one factor, and single ones in the other, which select columns of the
    /// first. All digits and all columns together show the layout of the first factor.
    pub(crate) fn digits(atom: &MmaAtom) -> Vec<Self> {
        let (m, n, k) = sizes(atom);
        let mut problems = Vec::new();
        for (rows, others, is_a) in [(m, n, true), (n, m, false)] {
            let places = if rows * k == 1 { 1 } else { (rows * k - 1).ilog2() + 1 };
            for (digit, first) in
                (0..places).flat_map(|digit| (0..k).step_by(others).map(move |first| (digit, first)))
            {
                let numbered = (0..rows * k).map(|place| (place >> digit & 1) as i64).collect();
                let ones = (0..others * k).map(|place| i64::from(place % k == first + place / k)).collect();
                let (a, b) = if is_a { (numbered, ones) } else { (ones, numbered) };
                problems.push(Self::new(atom, a, b, vec![0; m * n], &mut Random(digit.into())));
            }
        }
        problems
    }

    /// Returns a problem of random numbers; if the atom saturates, C is near the ends of its range.
    pub(crate) fn random(atom: &MmaAtom, seed: u64) -> Self {
        let (m, n, k) = sizes(atom);
        let mut random = Random(seed);
        let mut draw = |operand, count| -> Vec<i64> {
            let numbers = range(atom.operand_type(operand));
            (0..count).map(|_| random.from(numbers.clone())).collect()
        };
        let (a, b) = (draw(MmaOperand::A, m * k), draw(MmaOperand::B, n * k));
        let c = (0..m * n).map(|_| match (atom.operand_type(MmaOperand::C), random.from(0..=2)) {
            (MmaType::S32, 0) => i64::from(i32::MAX) - random.from(0..=100_000),
            (MmaType::S32, 1) => i64::from(i32::MIN) + random.from(0..=100_000),
            _ => random.from(-100..=100),
        });
        let c = c.collect();
        Self::new(atom, a, b, c, &mut Random(seed))
    }

    fn new(atom: &MmaAtom, mut a: Vec<i64>, b: Vec<i64>, c: Vec<i64>, random: &mut Random) -> Self {
        let (_, _, k) = sizes(atom);
        let mut places = Vec::new();
        if let Some(sparsity) = atom.sparsity() {
            let (chunk, unit) = (sparsity.chunk() as usize, sparsity.unit() as usize);
            for row in a.chunks_mut(k) {
                let mut stored = Vec::new();
                for chunk in row.chunks_mut(chunk) {
                    let units = chunk.len() / unit;
                    let mut kept: Vec<usize> = (0..units).collect();
                    while kept.len() > units / 2 {
                        kept.remove(random.next() as usize % kept.len());
                    }
                    for (place, numbers) in chunk.chunks_mut(unit).enumerate() {
                        if !kept.contains(&place) {
                            numbers.fill(0);
                        }
                    }
                    stored.extend(kept.iter().map(|&place| place as u32));
                }
                places.push(stored);
            }
        }
        Self { a, b, c, places }
    }

    /// Returns B in row order.
    pub(crate) fn b(&self) -> &[i64] {
        &self.b
    }

    /// Returns C in row order.
    pub(crate) fn c(&self) -> &[i64] {
        &self.c
    }

    /// Returns the stored elements of A.
    pub(crate) fn stored_a(&self, atom: &MmaAtom) -> Vec<i64> {
        let (_, _, k) = sizes(atom);
        let Some(sparsity) = atom.sparsity() else { return self.a.clone() };
        let (chunk, unit) = (sparsity.chunk() as usize, sparsity.unit() as usize);
        let mut stored = Vec::with_capacity(self.a.len() / 2);
        for (row, places) in self.a.chunks(k).zip(&self.places) {
            let per_chunk = chunk / unit / 2;
            for (i, &place) in places.iter().enumerate() {
                let first = i / per_chunk * chunk + place as usize * unit;
                stored.extend(&row[first..first + unit]);
            }
        }
        stored
    }

    /// Returns the exact D.
    pub(crate) fn product(&self, atom: &MmaAtom) -> Vec<i64> {
        self.signed_product(atom, 1, true)
    }

    /// Returns the exact D of ±A·B, added to C if `accumulate`.
    pub(crate) fn signed_product(&self, atom: &MmaAtom, sign: i64, accumulate: bool) -> Vec<i64> {
        let (m, n, k) = sizes(atom);
        let term = match atom.bit_op() {
            None => Term::Product,
            Some(BitOp::Xor) => Term::Xor,
            Some(BitOp::And) => Term::And,
        };
        let mut d = Vec::with_capacity(m * n);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (a, b) = (&self.a[i * k..(i + 1) * k], &self.b[j * k..(j + 1) * k]);
            let start = if accumulate { self.c[i * n + j] } else { 0 };
            let sum = start + sign * sum_of_terms(term, a, b);
            d.push(match atom.operand_type(MmaOperand::D) {
                MmaType::S32 if atom.saturates() => sum.clamp(i32::MIN.into(), i32::MAX.into()),
                MmaType::S32 => i64::from(sum as i32),
                _ => sum,
            });
        }
        d
    }
}

/// Returns M, N and K.
pub(crate) fn sizes(atom: &MmaAtom) -> (usize, usize, usize) {
    let (m, n, k) = atom.shape();
    (m as usize, n as usize, k as usize)
}

/// Returns the number of groups of threads in a warp, each with a separate product.
pub(crate) fn groups(atom: &MmaAtom) -> usize {
    match atom.group() {
        Group::Thread => 32,
        Group::QuadPair => 4,
        Group::Warp => 1,
        Group::Warpgroup => panic!("{atom} is not of a warp"),
    }
}

/// Returns the lane of a group's thread.
fn lane(atom: &MmaAtom, group: usize, thread: i64) -> usize {
    let first = atom.thread_ids().index(thread) as usize;
    match atom.group() {
        Group::QuadPair => first + 4 * group,
        _ => first + group,
    }
}

/// The registers of the lanes of one warp after another.
pub(crate) struct Packed {
    pub(crate) a: Vec<u64>,
    pub(crate) b: Vec<u64>,
    pub(crate) c: Vec<u64>,
    /// Three words per lane: metadata and scales.
    pub(crate) e: Vec<u64>,
    pub(crate) warps: usize,
}

/// Returns the registers that contain the problems, [`groups`] of them per warp.
pub(crate) fn pack(atom: &MmaAtom, problems: &[Problem], selector: u32) -> Packed {
    let groups = groups(atom);
    assert_eq!(problems.len() % groups, 0);
    let warps = problems.len() / groups;
    let maps = [MmaOperand::A, MmaOperand::B, MmaOperand::C]
        .map(|operand| atom.fragment(operand).expect("registers"));
    let mut packed = [MmaOperand::A, MmaOperand::B, MmaOperand::C]
        .map(|operand| vec![0; warps * 32 * atom.registers(operand) as usize]);
    for (i, problem) in problems.iter().enumerate() {
        let (warp, group) = (i / groups, i % groups);
        let matrices = [&problem.stored_a(atom), &problem.b, &problem.c];
        for ((operand, map), (matrix, registers)) in [MmaOperand::A, MmaOperand::B, MmaOperand::C]
            .into_iter()
            .zip(&maps)
            .zip(matrices.into_iter().zip(&mut packed))
        {
            for thread in 0..map.threads() {
                let first = (warp * 32 + lane(atom, group, thread)) * atom.registers(operand) as usize;
                for element in map.elements(thread).expect("a thread") {
                    let value = matrix[(element.row() * map.cols() + element.col()) as usize];
                    let bits = encode(atom.operand_type(operand), value);
                    registers[first + element.register as usize] |=
                        bits << (element.slot as u32 * element_bits(atom, operand));
                }
            }
        }
    }
    let e = (0..warps).flat_map(|warp| metadata(atom, &problems[warp * groups], 0, selector)).collect();
    let [a, b, c] = packed;
    Packed { a, b, c, e, warps }
}

/// Returns the number of bits of an element in its register.
pub(crate) fn element_bits(atom: &MmaAtom, operand: MmaOperand) -> u32 {
    use warpwright::ptx::RegClass;
    let bits = match atom.register_class(operand) {
        RegClass::F64 => 64,
        RegClass::Half => 16,
        _ => 32,
    };
    bits / atom.per_register(operand)
}

/// Returns three words per lane, the first of which is metadata, for the 16 rows from `first` on. Lanes whose metadata are not used contain
/// valid but wrong metadata.
pub(crate) fn metadata(atom: &MmaAtom, problem: &Problem, first: usize, selector: u32) -> Vec<u64> {
    let mut words = vec![0; 96];
    let Some(sparsity) = atom.sparsity() else { return words };
    let (bits, layout, threads) =
        (sparsity.bits_per_unit(), sparsity.metadata_layout(), sparsity.metadata_threads());
    let decoy = 0x4444_4444;
    words.iter_mut().step_by(3).for_each(|word| *word = decoy);
    let shift = 4 / sparsity.selectors() * selector;
    for thread in 0..threads.size() {
        let lane = threads.index(thread) as usize + shift as usize;
        words[3 * lane] = 0;
        for bit in 0..32 {
            let place = layout.index(thread + bit * threads.size());
            let (row, of_row) = ((place % 16) as usize, (place / 16) as u32);
            let code = sparsity.code(problem.places[first + row][(of_row / bits) as usize]);
            words[3 * lane] |= u64::from(code >> (of_row % bits) & 1) << bit;
        }
    }
    words
}

/// Returns the matrices D of the problems in row order, from the registers of all lanes.
pub(crate) fn unpack(atom: &MmaAtom, d: &[u64], problems: usize) -> Vec<Vec<i64>> {
    let (groups, map) = (groups(atom), atom.fragment_d());
    (0..problems).map(|i| matrix(atom, &map, d, (i / groups, i % groups))).collect()
}

/// Returns the matrix D of a group of threads, from the registers of a warp on.
pub(crate) fn matrix(atom: &MmaAtom, map: &TvLayout, d: &[u64], (warp, group): (usize, usize)) -> Vec<i64> {
    let (ty, registers) = (atom.operand_type(MmaOperand::D), atom.registers(MmaOperand::D) as usize);
    let bits = element_bits(atom, MmaOperand::D);
    let mut matrix = vec![0; (map.rows() * map.cols()) as usize];
    for thread in 0..map.threads() {
        let first = (warp * 32 + lane(atom, group, thread)) * registers;
        for element in map.elements(thread).expect("a thread") {
            let word = d[first + element.register as usize] >> (element.slot as u32 * bits);
            let number = decode(ty, word & (u64::MAX >> (64 - bits)));
            matrix[(element.row() * map.cols() + element.col()) as usize] = number;
        }
    }
    matrix
}
