//! The lane and the register of each matrix element (PTX ISA, "Matrix Fragments for mma").

/// A matrix of raw element bits in row order.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    pub(crate) bits: Vec<u64>,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, bits: vec![0; rows * columns] }
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, bits: u64) {
        self.bits[row * self.columns + column] = bits;
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> u64 {
        self.bits[row * self.columns + column]
    }

    pub(crate) fn words(&self) -> Vec<u32> {
        self.bits.iter().map(|&bits| bits as u32).collect()
    }

    pub(crate) fn signed(&self) -> Vec<i32> {
        self.bits.iter().map(|&bits| bits as u32 as i32).collect()
    }

    /// Returns elements of 8 or 4 bits, extended.
    pub(crate) fn small(&self, element_bits: u32, signed: bool) -> Vec<i16> {
        let spare = 16 - element_bits;
        let extend = |bits: u64| {
            let high = (bits as u16) << spare;
            if signed { high as i16 >> spare } else { (high >> spare) as i16 }
        };
        self.bits.iter().map(|&bits| extend(bits)).collect()
    }
}

/// The registers of one operand in all lanes.
pub(crate) struct Fragment<'a> {
    /// The words of the case: `[lane][word]`.
    pub(crate) words: &'a [u32],
    pub(crate) words_per_lane: usize,
    /// The index of the operand's first word among a lane's words.
    pub(crate) first: usize,
    pub(crate) element_bits: usize,
}

impl Fragment<'_> {
    /// Returns element `i` of a lane, counted from the low end of the first register.
    pub(crate) fn element(&self, lane: usize, i: usize) -> u64 {
        let word = |w: usize| u64::from(self.words[lane * self.words_per_lane + self.first + w]);
        match self.element_bits {
            64 => word(2 * i) | word(2 * i + 1) << 32,
            bits => {
                let per_word = 32 / bits;
                word(i / per_word) >> (i % per_word * bits) & ((1 << bits) - 1)
            }
        }
    }

    pub(crate) fn matrix(
        &self,
        (rows, columns): (usize, usize),
        lanes: usize,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) -> Matrix {
        let mut matrix = Matrix::zeros(rows, columns);
        for lane in 0..lanes {
            for i in 0..rows * columns / lanes {
                let (row, column) = place(lane, i);
                matrix.set(row, column, self.element(lane, i));
            }
        }
        matrix
    }
}

/// Returns the row and the k of element `i` of A; `per_register` elements share a register, and `m` is 8, 16 or (over several warps) 64.
pub(crate) fn a(m: usize, per_register: usize, lane: usize, i: usize) -> (usize, usize) {
    let (warp, group, thread) = (lane / 32, lane % 32 / 4, lane % 4);
    let (register, within) = (i / per_register, i % per_register);
    let halves = if m == 8 { 1 } else { 2 };
    (
        16 * warp + group + 8 * (register % halves),
        thread * per_register + within + register / halves * 4 * per_register,
    )
}

/// Returns the column and the k of element `i` of B.
pub(crate) fn b(per_register: usize, lane: usize, i: usize) -> (usize, usize) {
    let (register, within) = (i / per_register, i % per_register);
    (lane / 4, lane % 4 * per_register + within + register * 4 * per_register)
}

/// Returns the row and the column of element `i` of C or D; for `wgmma`, the elements are in groups of eight columns.
pub(crate) fn c(lane: usize, i: usize) -> (usize, usize) {
    let (warp, group, thread) = (lane / 32, lane % 32 / 4, lane % 4);
    (16 * warp + group + 8 * (i / 2 % 2), i / 4 * 8 + thread * 2 + i % 2)
}

/// Stores elements in registers: the words of D in the order `[lane][register]`.
pub(crate) fn store(
    matrix: &Matrix,
    element_bits: usize,
    lanes: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<u32> {
    let per_lane = matrix.bits.len() / lanes;
    let mut words = Vec::new();
    for lane in 0..lanes {
        let elements: Vec<u64> = (0..per_lane)
            .map(|i| {
                let (row, column) = place(lane, i);
                matrix.get(row, column)
            })
            .collect();
        match element_bits {
            64 => words.extend(elements.iter().flat_map(|&e| [e as u32, (e >> 32) as u32])),
            16 => words.extend(elements.chunks(2).map(|pair| (pair[0] | pair[1] << 16) as u32)),
            _ => words.extend(elements.iter().map(|&e| e as u32)),
        }
    }
    words
}
