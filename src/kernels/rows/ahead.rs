//! Rows that pass through shared memory: while a block processes a row, the next rows of the block are copied.

use std::cell::RefCell;

use super::{
    RowTiling,
    tiling::{Line, Row, shared_for_rows},
};
use crate::{
    ptx::{Builder, Dim, Global, Ptr, Readable, Shared, State, Target, Val},
    tensor::{RowToStage, StagedRow, TensorElement},
    tiles::{Convert, Striped, row_major},
};

/// The alignment in bytes of rows in shared memory, as the widest accesses and copies require.
pub(super) const ALIGN: u32 = 16;
/// The maximum number of words of weights that a thread usually keeps in registers.
const HELD_WORDS: u32 = 16;
/// The maximum that replaces [`HELD_WORDS`] for unaligned rows if several rows share the weights.
const ARRANGED_WORDS: u32 = 32;
/// The number of registers per thread that contain neither elements nor weights.
const OTHER_REGISTERS: u32 = 32;
/// The maximum size in bytes of a vector of weights that is arranged in shared memory for unaligned rows.
const MOST_ARRANGED: u32 = 40 << 10;
/// Returns the number of words of a row of `bytes`-byte elements that a thread processes.
const fn words_of_thread(tiling: RowTiling, bytes: u32) -> u32 {
    tiling.adjacent * tiling.stripes * bytes / 4
}

/// Returns whether `bytes`-byte weights are copied to shared memory with a block's first row.
pub(super) const fn keeps_weights_in_shared_memory(tiling: RowTiling, bytes: u32, target: Target) -> bool {
    let RowTiling { rows, adjacent, unaligned, ahead, turns, .. } = tiling;
    let (words, room) = (words_of_thread(tiling, bytes), rows * tiling.own_slots() * bytes);
    // If weights are wider than the elements of rows, shared memory may have to contain two vectors of weights and two rows of each of two
    // inputs. If rows are unaligned, it may also have to contain exchanged results.
    let is_wide = adjacent * bytes > ALIGN;
    let is_room = !is_wide || if unaligned { 4 * room } else { 3 * room } <= shared_for_rows(target);
    let fits = match turns {
        // Kernels that sum over any number of rows have enough registers for the weights of only a few elements.
        u32::MAX => tiling.is_reloaded() && is_room,
        _ if unaligned => words <= ARRANGED_WORDS && room <= MOST_ARRANGED && is_room,
        _ => turns <= 1 && rows == 1 && words <= HELD_WORDS && !is_wide,
    };
    ahead > 0 && fits && adjacent * bytes <= 2 * ALIGN
}

/// Returns whether threads move weights within shared memory to the slots from which each thread then reads its weights for all rows of a
/// block. The remaining slots are filled with 0.
const fn are_arranged(tiling: RowTiling) -> bool {
    // In clusters that process aligned rows, each thread has copied the weights that it uses.
    tiling.unaligned || tiling.turns == u32::MAX && tiling.cluster == 1
}

/// Returns whether threads keep `bytes`-byte weights in registers, for rows that a block processes one after the other.
const fn keeps_weights_in_registers(tiling: RowTiling, bytes: u32) -> bool {
    let words = words_of_thread(tiling, bytes);
    // Two vectors of unaligned weights, which take longer to load, must fit in registers.
    let fit = 2 * (words + tiling.at_a_time() * tiling.adjacent) + OTHER_REGISTERS <= tiling.registers();
    words <= HELD_WORDS || tiling.unaligned && tiling.ahead > 0 && words <= ARRANGED_WORDS && fit
}

/// The rows that each team of a block processes one after the other. Usually, a team has several rows only if the tiling [reads rows
/// ahead](RowTiling::ahead).
pub(super) struct Turns<'k> {
    pub(super) first: Row<'k>,
    /// The distance between consecutive rows of a team, if the team has several rows.
    step: Option<Val<'k, u32>>,
    tiling: RowTiling,
    /// The operations to emit once the first row and the weights have been copied.
    first_turn: RefCell<Vec<FirstTurn<'k>>>,
}

/// A function that emits operations for the first row.
type FirstTurn<'k> = Box<dyn Fn(&Row<'k>) + 'k>;

impl RowTiling {
    /// Declares the block and the grid of a kernel; `sizes` contains the number of rows, the number of elements per row, and the row pitch
    /// of the matrices in which groups are aligned.
    #[track_caller]
    pub(super) fn turns<'k>(self, k: Builder<'k>, sizes: [Val<'k, u32>; 3]) -> Turns<'k> {
        if self.is_segmented() {
            k.refuse(format!(
                "expected a tiling without segments of unaligned rows, which this kernel does not support, found {self:?}"
            ));
        }
        self.turns_of_segments(k, sizes)
    }

    /// Declares the block and the grid like [`turns`](Self::turns), for kernels that store no result per row and can process
    /// a segment like a row, with [`first_column`](Row::first_column) as its first column. In such kernels, each block of a cluster can
    /// process a segment of an unaligned row.
    #[track_caller]
    pub(super) fn turns_of_segments<'k>(self, k: Builder<'k>, [m, n, pitch]: [Val<'k, u32>; 3]) -> Turns<'k> {
        let blocks = self.blocks(m);
        if self.ahead == 0 {
            k.grid([blocks]);
            return self.turns_from(self.row(k, [m, n, pitch]), None);
        }
        // If some multiprocessors would otherwise have no blocks, each team processes fewer rows.
        let enough = Dim::Multiprocessors.round_down(self.cluster) * self.resident.max(1);
        let of_turns =
            |together: u32| blocks.clone().ceil_div(self.turns.max(1).saturating_mul(together)) * together;
        k.grid([match self.unaligned && self.turns > 1 {
            false => of_turns(self.cluster).max(blocks.min(enough)),
            // All rows of a block begin at the same distance from an aligned element, so the block arranges weights only once.
            true => {
                let together = self.adjacent * self.cluster;
                let least = blocks.clone().min(enough.round_down(together)).ceil_div(together) * together;
                of_turns(together).max(least)
            }
        }]);
        let first = self.row(k, [m, n, pitch]);
        let step = k.nctaid_x() / self.cluster * self.rows;
        self.turns_from(first, Some(step))
    }

    /// Declares the block and the grid of a kernel with `parts` teams, each of which processes every `parts`-th of `m` rows of `n`
    /// elements. A thread processes the same columns of all rows. In the team's first row of a matrix with row pitch `pitch`, the groups of
    /// these columns are aligned.
    #[track_caller]
    pub(super) fn turns_in_parts<'k>(
        self,
        k: Builder<'k>,
        parts: Val<'k, u32>,
        [m, n, pitch]: [Val<'k, u32>; 3],
    ) -> Turns<'k> {
        k.grid([self.blocks(parts)]);
        // A team may have any number of rows, which share the weights.
        let summed = Self { turns: u32::MAX, ..self };
        let first = summed.row(k, [parts, n, pitch]).of_rows(m).in_columns();
        summed.turns_from(first, Some(parts))
    }

    fn turns_from<'k>(self, first: Row<'k>, step: Option<Val<'k, u32>>) -> Turns<'k> {
        Turns { first, step, tiling: self, first_turn: RefCell::default() }
    }
}

impl<'k> Turns<'k> {
    /// Returns an input matrix with row pitch `pitch`. Its rows are read one at a time.
    #[track_caller]
    pub(super) fn input<T: TensorElement, A: Readable>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
    ) -> Input<'k, T, A> {
        let RowTiling { rows, adjacent, ahead, .. } = self.tiling;
        let pitch = if self.tiling.unaligned { pitch } else { pitch.multiple_of(adjacent) };
        let slots = (ahead > 0).then(|| {
            // This declares the extents of the matrix, so that the launch checks them.
            let layout = row_major(self.first.m, self.first.length()).with_row_stride(pitch);
            let _ = self.first.k.global(matrix, layout);
            self.first.k.shared_aligned::<T>(ahead * rows * self.tiling.own_slots(), ALIGN)
        });
        Input { matrix, pitch, slots }
    }

    /// Returns a vector of the length of a row that all rows share. Depending on the tiling, the vector is copied to shared memory with the
    /// first row, kept in registers, or loaded again for each row.
    #[track_caller]
    pub(super) fn weights<T: TensorElement, A: Readable>(
        &self,
        elements: Ptr<'k, T, Global, A>,
    ) -> Weights<'k, T, A> {
        let (line, parts) = (self.first.vector(elements), 0..self.tiling.parts_at_a_time());
        let are_held = self.step.is_some() && keeps_weights_in_registers(self.tiling, T::SIZE);
        match &line {
            _ if keeps_weights_in_shared_memory(self.tiling, T::SIZE, self.first.k.target()) => {
                let slots = self.tiling.rows * self.tiling.own_slots();
                let slots = self.first.k.shared_aligned::<T>(slots, ALIGN);
                let copied = || Input { matrix: elements, pitch: self.first.n, slots: Some(slots) };
                copied().read_ahead(&self.first.of_vector());
                if are_arranged(self.tiling) {
                    let to_arrange = copied();
                    self.first_turn.borrow_mut().push(Box::new(move |row| row.arrange(&to_arrange)));
                }
                Weights::Copied(copied())
            }
            Line::Aligned(row) if are_held => {
                Weights::InRegisters(parts.map(|part| self.first.stripes.load(row, part)).collect())
            }
            // Elements outside the vector are 0.
            Line::Unaligned(row) if are_held => {
                let stripes = self.first.stripes;
                let of =
                    |part: u32| stripes.load_unaligned(&[row], &stripes.groups(part.into(), false)).remove(0);
                Weights::InRegisters(parts.map(of).collect())
            }
            _ => Weights::Line(Box::new(line)),
        }
    }

    /// Emits `work` for each row of this thread's team. The rows of `inputs` are copied to shared memory while earlier rows are processed.
    #[track_caller]
    pub(super) fn each(&self, inputs: &[&dyn ReadAhead<'k>], work: &dyn Fn(&Row<'k>)) {
        match self.step {
            None => work(&self.first),
            Some(_) => self.fold(inputs, (), |row, ()| work(row)),
        }
    }

    /// Emits `work` for each row, like [`each`](Self::each), and passes a state from row to row.
    #[track_caller]
    pub(super) fn fold<S: State<'k>>(
        &self,
        inputs: &[&dyn ReadAhead<'k>],
        state: S,
        work: impl FnOnce(&Row<'k>, S) -> S,
    ) -> S {
        let (k, first, ahead) = (self.first.k, &self.first, self.tiling.ahead);
        let Some(step) = self.step else { return work(first, state) };
        let turns = first.m.ceil_div(step);
        let stage = |turn: Val<'k, u32>| match ahead {
            0 | 1 => 0.into(),
            _ if ahead.is_power_of_two() => turn & (ahead - 1),
            _ => turn % ahead,
        };
        let row = |turn: Val<'k, u32>| first.in_turn(turn * step + first.at, stage(turn));
        let copy = |turn: Val<'k, u32>| {
            let row = row(turn);
            inputs.iter().for_each(|input| input.read_ahead(&row));
            k.cp_async_commit_group();
        };
        (1..ahead).for_each(|turn| copy((turn - 1).into()));
        first.team.begin_rounds();
        let state = k.fold(turns, state, |turn, state| {
            if ahead > 0 {
                copy(turn + (ahead - 1));
                k.cp_async_wait_group(ahead - 1);
            }
            let row = row(turn);
            if ahead > 0 && self.tiling.unaligned {
                inputs.iter().for_each(|input| input.clear_outside(&row));
                first.team.sync();
            }
            let at_first = self.first_turn.borrow();
            if !at_first.is_empty() {
                let vector = first.of_vector();
                k.if_(turn.eq(0), || at_first.iter().for_each(|arrange| arrange(&vector)));
            }
            let are_aligned = inputs.iter().filter_map(|input| input.is_aligned(&row)).reduce(|a, b| a & b);
            let row = are_aligned.map_or(row.clone(), |aligned| row.aligned_if(aligned));
            let state = work(&row, state);
            first.team.finish_round();
            state
        });
        first.team.end_rounds();
        state
    }
}

/// A matrix whose rows a block reads.
#[derive(Clone, Copy)]
pub(super) struct Input<'k, T, A> {
    matrix: Ptr<'k, T, Global, A>,
    pitch: Val<'k, u32>,
    /// The shared memory to which rows are copied, with [`RowTiling::ahead`] slots for each team of the block.
    slots: Option<Ptr<'k, T, Shared>>,
}

/// A vector that all rows of a block share.
pub(super) enum Weights<'k, T: TensorElement, A> {
    /// The elements in registers, one entry per part of a row.
    InRegisters(Vec<Striped<'k, T>>),
    Copied(Input<'k, T, A>),
    Line(Box<Line<'k, T, A>>),
}

/// A matrix whose rows can be copied to shared memory.
pub(super) trait ReadAhead<'k> {
    /// Starts copying this thread's groups of a row to shared memory, if rows pass through it.
    fn read_ahead(&self, row: &Row<'k>);

    /// Sets the elements of this thread's copied groups that are outside an unaligned row to 0.
    fn clear_outside(&self, row: &Row<'k>);

    /// Returns whether the threads' groups are aligned in the matrix. Returns `None` unless rows are unaligned and in shared memory, and a
    /// block processes one row at a time.
    fn is_aligned(&self, row: &Row<'k>) -> Option<Val<'k, bool>>;
}

impl<'k, T: TensorElement, A: Readable> ReadAhead<'k> for Input<'k, T, A> {
    #[track_caller]
    fn read_ahead(&self, row: &Row<'k>) {
        let Some(slots) = self.slots else { return };
        let RowTiling { adjacent, unaligned, .. } = row.tiling;
        let sizes = [row.present(row.m), row.n, self.pitch];
        let from = RowToStage::new(row.segment_of(self.matrix), sizes, row.at, adjacent, !unaligned);
        let stage = StagedRow::new(slots.at(row.own_slot()), 0.into(), adjacent);
        from.copy_async(row.groups(), &stage, row.own_groups());
    }

    #[track_caller]
    fn clear_outside(&self, row: &Row<'k>) {
        if let Line::Staged(line) = row.of_input(self) {
            line.clear_outside(row.own_groups(), row.end_after(line.ahead()));
        }
    }

    #[track_caller]
    fn is_aligned(&self, row: &Row<'k>) -> Option<Val<'k, bool>> {
        match row.of_input(self) {
            Line::Staged(line) if row.tiling.unaligned && row.tiling.rows == 1 => {
                Some(line.ahead().eq(row.stripes.ahead()))
            }
            _ => None,
        }
    }
}

impl<'k> Row<'k> {
    /// Returns this row of a matrix.
    #[track_caller]
    pub(super) fn of_input<T: TensorElement, A: Readable>(&self, input: &Input<'k, T, A>) -> Line<'k, T, A> {
        let Some(slots) = input.slots else { return self.of(input.matrix, input.pitch) };
        let ahead = (self.at * input.pitch) & (self.tiling.adjacent - 1);
        Line::Staged(StagedRow::new(slots.at(self.own_slot()), ahead, self.tiling.adjacent))
    }

    /// Returns a typical element of the row: the median of the first, the middle and the last element. A single outlier does not affect the
    /// result. The elements are loaded from global memory.
    #[track_caller]
    pub(super) fn typical<T: Convert<f32>, A: Readable>(&self, input: &Input<'k, T, A>) -> Val<'k, f32> {
        let at = |col| self.load_element(input.matrix, input.pitch, col);
        let n = self.length();
        let [first, middle, last] = [0.into(), n / 2, n - 1].map(at);
        first.min(middle).max(first.max(middle).min(last))
    }

    /// Loads this thread's elements of a vector in shared memory, which the thread has copied or arranged.
    #[track_caller]
    fn load_own<T: Convert<f32>, A: Readable>(
        &self,
        copied: &Input<'k, T, A>,
        part: Val<'k, u32>,
    ) -> Striped<'k, f32> {
        match self.of_input(copied) {
            Line::Staged(from) if are_arranged(self.tiling) => self.load_arranged(&from, part),
            line => self.load(&line, part, 0.0),
        }
    }

    /// Moves the elements of a vector within shared memory to the slots of the threads that use them.
    #[track_caller]
    fn arrange<T: TensorElement, A: Readable>(&self, copied: &Input<'k, T, A>) {
        if let Line::Staged(line) = self.of_input(copied) {
            self.arrange_staged(&line);
        }
    }

    /// Returns this thread's weights for part `part` of a row.
    #[track_caller]
    pub(super) fn of_weights<T: Convert<f32>, A: Readable>(
        &self,
        weights: &Weights<'k, T, A>,
        part: Val<'k, u32>,
    ) -> Striped<'k, f32> {
        match weights {
            Weights::InRegisters(parts) => {
                parts[part.as_constant().map_or(0, |part| part as usize)].convert()
            }
            Weights::Copied(copied) => self.of_vector().load_own(copied, part),
            Weights::Line(line) => self.load(line, part, 0.0),
        }
    }
}
