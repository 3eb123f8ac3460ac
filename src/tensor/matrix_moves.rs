//! Copies between shared memory and fragments with `ldmatrix` and `stmatrix`, derived from the layouts of both sides.
//!
//! A register of a fragment is part of a matrix of eight 16-byte rows if lane 4g + t contains the t-th word of row g (plain), or if its
//! e-th 16-bit half is the element in row 2t + e and column g (transposed). One instruction moves 4, 2 or 1 matrices; lane 8m + r provides
//! the address of row r of matrix m (PTX ISA, "Warp-level matrix load instruction: ldmatrix").

use std::rc::Rc;

use arrayvec::ArrayVec;

use super::{
    element::TensorElement,
    fragment::{Fragment, whole_words},
    memory::Tensor,
    moved::divide,
    offset::{MAX_AXES, Offset, offsets},
    step::Step,
    walk::Line,
};
use crate::{
    atoms::MmaOperand,
    layout::{IntTuple, Layout, Tuple},
    ptx::{Computation, Features, Ptr, ReadWrite, RegId, Shared},
};

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Load,
    Store,
}

/// The matrices that the words of a part form.
#[derive(Clone)]
struct Matrices {
    transposed: bool,
    /// The distance in elements between the rows of a matrix.
    row: i64,
    /// The index of each matrix's register in the fragment, and the matrix's first element relative to the view's start.
    all: Rc<[(usize, i64)]>,
}

/// A lane's part of shared memory, and the registers to or from which it is moved.
#[derive(PartialEq)]
struct Part {
    /// The number of bytes per element, and the number of elements per register.
    size: u32,
    per_word: usize,
    start: Step,
    /// The position of the first element in the fragment.
    offset: i64,
    lanes: Rc<Layout<Step>>,
    values: Rc<Layout<Step>>,
    elements: Rc<Layout>,
}

/// The length of a matrix row in bytes.
const ROW_BYTES: i64 = 16;
/// The number of rows of a matrix.
const ROWS: i64 = 8;

/// Moves data between a lane's part of shared memory and a fragment of the same shape if both consist of matrices; otherwise,
/// returns `false`.
#[track_caller]
pub(super) fn move_matrices<'k, T: TensorElement>(
    direction: Direction,
    memory: &Tensor<'k, Shared, T, ReadWrite>,
    fragment: &Fragment<'k, T>,
) -> bool {
    let needed = match direction {
        Direction::Load => Features::TURING,
        Direction::Store => Features::HOPPER,
    };
    if !memory.kernel().target().features().contains(needed) {
        return false;
    }
    let Some(Matrices { transposed, row, all }) = matrices(memory, fragment) else { return false };
    // If the operand is unknown, transposed matrices are assumed to belong to B, and other matrices to A.
    let is_b = fragment.loaded_as().map_or(transposed, |operand| operand == MmaOperand::B);
    let along_k = if transposed { ROWS * row } else { ROW_BYTES / i64::from(T::SIZE) };
    let mut rest = &*all;
    // Most instructions have the same steps between their rows, so the rows are reused.
    let mut last: Option<Rows<'k, T>> = None;
    while let Some(&(_, first)) = rest.first() {
        let count = [4, 2, 1].into_iter().find(|&count| is_affine(rest, count)).unwrap_or(1);
        let (group, after) = rest.split_at(count);
        let group = &in_operand_order(group, is_b, along_k);
        let step = |bit: usize| group.get(1 << bit).map_or((1, 0), |(_, offset)| (2, offset - first));
        let digits = [(ROWS, row), step(0), step(1)];
        let same = last.take().filter(|rows| rows.digits == digits);
        let Some(mut rows) = same.or_else(|| Rows::new(memory, digits)) else { return false };
        let pointer = rows.pointer_at(first);
        let registers: ArrayVec<RegId, 4> = group.iter().map(|&(word, _)| fragment.register(word)).collect();
        let trans = if transposed { ".trans" } else { "" };
        match direction {
            Direction::Load => pointer.ldmatrix_words(trans, &registers),
            Direction::Store => pointer.stmatrix_words(trans, &registers),
        }
        last = Some(rows);
        rest = after;
    }
    true
}

/// The rows whose addresses the lanes provide to an instruction.
struct Rows<'k, T> {
    /// The digits of the lane, each with its extent and its step in elements.
    digits: [(i64, i64); 3],
    view: Tensor<'k, Shared, T, ReadWrite>,
    line: Line<'k, T, Shared, ReadWrite>,
}

impl<'k, T: TensorElement> Rows<'k, T> {
    /// Creates the rows from the digits of the lane, each with its extent and its step in elements.
    #[track_caller]
    fn new(memory: &Tensor<'k, Shared, T, ReadWrite>, digits: [(i64, i64); 3]) -> Option<Self> {
        let shape: IntTuple = digits.iter().map(|(extent, _)| *extent).collect();
        let strides = digits.iter().map(|(_, step)| Tuple::Leaf(Step::along(0, *step))).collect();
        let rows = Layout::with_stride(shape, strides).ok()?;
        let mut view = Tensor { lanes: None, ..memory.clone() };
        let mut lane = memory.lanes.as_ref()?.lane;
        // On sm_75, the addresses of lanes that provide no row must also be valid.
        if !memory.kernel().target().features().contains(Features::AMPERE) {
            lane = divide(lane, rows.size()).1;
        }
        view.add_coordinate(&rows, lane);
        Some(Self { digits, line: view.line(), view })
    }

    /// Returns the address of the lane's row of the matrices that start at element `first` of the view.
    #[track_caller]
    fn pointer_at(&mut self, first: i64) -> Ptr<'k, T, Shared, ReadWrite> {
        self.line.pointer_at(&self.view, &Offset { elements: first, ..Offset::default() })
    }
}

/// Returns the matrices of one instruction in the order of its registers. In operand B of an MMA, a pair of matrices along k, which are
/// `along_k` elements apart, belongs to the same columns of the result: if the pair is in adjacent registers, `mma` requires no moves.
/// Operand A is read in the order of the fragment's registers.
fn in_operand_order(group: &[(usize, i64)], is_b: bool, along_k: i64) -> ArrayVec<(usize, i64), 4> {
    match *group {
        [a, b, c, d] if is_b && b.1 - a.1 != along_k && c.1 - a.1 == along_k => [a, c, b, d].into(),
        _ => group.iter().copied().collect(),
    }
}

/// Returns whether the first `count` matrices are at `first + (m & 1) · a + (m >> 1) · b`, as a single affine layout of addresses requires.
fn is_affine(matrices: &[(usize, i64)], count: usize) -> bool {
    match matrices.get(..count) {
        Some([(_, a), (_, b), (_, c), (_, d)]) => b - a == d - c,
        Some(_) => true,
        None => false,
    }
}

/// Returns the matrices of a lane's part of shared memory, in the order of the fragment's registers.
fn matrices<T: TensorElement>(
    memory: &Tensor<'_, Shared, T, ReadWrite>,
    fragment: &Fragment<'_, T>,
) -> Option<Matrices> {
    // The hardware numbers the lanes, so the part must be that of the lane itself.
    let lanes = memory.lanes.as_deref().filter(|lanes| lanes.lane.is_lane())?;
    if memory.size() != fragment.size() || T::SIZE > 4 || !memory.begins_aligned(ROW_BYTES as u32) {
        return None;
    }
    let (offset, elements) = fragment.elements();
    memory.kernel().computed(Part {
        size: T::SIZE,
        per_word: T::PER_WORD,
        start: memory.offset,
        offset,
        lanes: Rc::clone(&lanes.layout),
        values: Rc::clone(&memory.layout),
        elements: Rc::clone(elements),
    })
}

impl Computation for Part {
    type Result = Option<Matrices>;

    fn compute(&self) -> Self::Result {
        let (row_elements, per_word) = (ROW_BYTES / i64::from(self.size), i64::try_from(self.per_word).ok()?);
        let registers = whole_words(&self.elements, self.offset, self.per_word)?;
        // Lane 4g + t: t is the index along one direction, g along the other.
        let [t, g] = lane_steps(&self.lanes)?;
        // Shared memory has no dynamic strides.
        let offsets = offsets(&self.values, &self.start, [false; MAX_AXES], self.values.size());
        let between = if per_word > 1 { offsets[1].elements - offsets[0].elements } else { 1 };
        let plain = between == 1 && t == per_word;
        let transposed = self.size == 2 && g == 1 && t == 2 * between;
        let row = if plain { g } else { between };
        if !(plain || transposed) || row % row_elements != 0 {
            return None;
        }
        let words = offsets.chunks(self.per_word);
        let is_word = |word: &[Offset]| {
            let start = word[0].elements;
            let in_order = (0..).zip(word).all(|(at, offset)| offset.elements == start + at * between);
            in_order && start % row_elements == 0
        };
        if !words.clone().all(is_word) {
            return None;
        }
        let all = registers.into_iter().zip(words.map(|word| word[0].elements)).collect();
        Some(Matrices { transposed: !plain, row, all })
    }
}

/// Returns the distances in elements from lane 0 to lanes 1 and 4, if lane 4g + t is at `t` times the first distance plus `g` times the
/// second.
fn lane_steps(lanes: &Layout<Step>) -> Option<[i64; 2]> {
    let at = |lane: i64| lanes.index(lane).component(0);
    let (t, g) = (at(1), at(4));
    let linear = (0..32).all(|lane| at(lane) == lane % 4 * t + lane / 4 * g);
    (lanes.size() == 32 && linear).then_some([t, g])
}
