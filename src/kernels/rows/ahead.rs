//! Rows that pass through shared memory: while a block processes a row, its next rows are copied.

use super::{
    RowTiling,
    tiling::{Line, Row},
};
use crate::{
    ptx::{Builder, Dim, Global, Ptr, Readable, Shared, State, Val},
    tensor::{RowToStage, StagedRow, TensorElement},
    tiles::{Convert, Striped, row_major},
};

/// The alignment of rows in shared memory, for the widest accesses and copies.
pub(super) const ALIGN: u32 = 16;
/// The most words of weights that a thread keeps.
const HELD_WORDS: u32 = 16;

/// Returns the words of a row, of elements of `bytes` bytes, that a thread keeps.
const fn words_of_thread(tiling: RowTiling, bytes: u32) -> u32 {
    tiling.adjacent * tiling.stripes * bytes / 4
}

/// Returns whether the weights of elements of `bytes` bytes are copied to shared memory with a block's only row.
pub(super) const fn keeps_weights_in_shared_memory(tiling: RowTiling, bytes: u32) -> bool {
    let RowTiling { rows, adjacent, unaligned, ahead, turns, .. } = tiling;
    // Blocks that keep sums of any number of rows keep the weights of aligned and unaligned rows in registers.
    let only_row = ahead > 0 && if unaligned { turns < u32::MAX } else { turns <= 1 && rows == 1 };
    only_row && words_of_thread(tiling, bytes) <= HELD_WORDS && adjacent * bytes <= ALIGN
}

/// The rows of a block, which each of its teams processes in turn: one, unless the tiling [reads them ahead](RowTiling::ahead).
pub(super) struct Turns<'k> {
    pub(super) first: Row<'k>,
    /// The distance between the rows of a team, if it has several.
    step: Option<Val<'k, u32>>,
    tiling: RowTiling,
}

impl RowTiling {
    /// Declares the block and the grid of a kernel on `m` rows of `n` elements. Groups of adjacent elements
    /// are aligned in matrices whose rows are `pitch` elements apart.
    #[track_caller]
    pub(super) fn turns<'k>(self, k: Builder<'k>, [m, n, pitch]: [Val<'k, u32>; 3]) -> Turns<'k> {
        let blocks = self.blocks(m);
        if self.ahead == 0 {
            k.grid([blocks]);
            return Turns { first: self.row(k, [m, n, pitch]), step: None, tiling: self };
        }
        // Fewer rows for each team if there would be multiprocessors without blocks.
        let enough = Dim::Multiprocessors.round_down(self.cluster) * self.resident.max(1);
        let grid = blocks.clone().ceil_div(self.turns.max(1) * self.cluster) * self.cluster;
        k.grid([grid.max(blocks.min(enough))]);
        let first = self.row(k, [m, n, pitch]);
        let step = k.nctaid_x() / self.cluster * self.rows;
        Turns { first, step: Some(step), tiling: self }
    }

    /// Declares the block and the grid of a kernel whose teams, `parts` of them, process every `parts`-th of `m` rows of `n` elements.
    #[track_caller]
    pub(super) fn turns_in_parts<'k>(self, k: Builder<'k>, [parts, m, n]: [Val<'k, u32>; 3]) -> Turns<'k> {
        k.grid([self.blocks(parts)]);
        let first = self.row(k, [parts, n, 0.into()]).of_rows(m);
        // As many rows for a team as there are, which have the weights in common.
        Turns { first, step: Some(parts), tiling: Self { turns: u32::MAX, ..self } }
    }
}

impl<'k> Turns<'k> {
    /// Returns a matrix that is read a row at a time; its rows are `pitch` elements apart.
    #[track_caller]
    pub(super) fn input<T: TensorElement, A: Readable>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
    ) -> Input<'k, T, A> {
        let RowTiling { rows, adjacent, ahead, .. } = self.tiling;
        let pitch = if self.tiling.unaligned { pitch } else { pitch.multiple_of(adjacent) };
        let slots = (ahead > 0).then(|| {
            // The extents of the matrix, for the launch to check.
            let _ = self.first.k.global(matrix, row_major(self.first.m, self.first.n).with_row_stride(pitch));
            self.first.k.shared_aligned::<T>(ahead * rows * self.tiling.own_slots(), ALIGN)
        });
        Input { matrix, pitch, slots }
    }

    /// Returns a vector of as many elements as a row has, which all rows have in common: with
    /// a single row in shared memory, too, otherwise in registers, unless it would be many of them.
    #[track_caller]
    pub(super) fn weights<T: TensorElement, A: Readable>(
        &self,
        elements: Ptr<'k, T, Global, A>,
    ) -> Weights<'k, T, A> {
        let line = self.first.vector(elements);
        match &line {
            _ if keeps_weights_in_shared_memory(self.tiling, T::SIZE) => {
                let slots = self.tiling.rows * self.tiling.own_slots();
                let slots = self.first.k.shared_aligned::<T>(slots, ALIGN);
                let copied = Input { matrix: elements, pitch: self.first.n, slots: Some(slots) };
                copied.read_ahead(&self.first.of_vector());
                Weights::Copied(copied)
            }
            Line::Aligned(row)
                if self.step.is_some() && words_of_thread(self.tiling, T::SIZE) <= HELD_WORDS =>
            {
                Weights::InRegisters(self.first.stripes.load(row, 0))
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

    /// Emits `work` for each row as [`each`](Self::each) does, but with a state that it passes on from row to row.
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
        let row = |turn: Val<'k, u32>| first.in_turn(turn * step + first.at, turn % ahead.max(1));
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
            if ahead > 0 && self.tiling.unaligned {
                first.team.sync();
            }
            let state = work(&row(turn), state);
            first.team.finish_round();
            state
        });
        first.team.end_rounds();
        state
    }
}

/// A matrix of which a block reads rows.
#[derive(Clone, Copy)]
pub(super) struct Input<'k, T, A> {
    matrix: Ptr<'k, T, Global, A>,
    pitch: Val<'k, u32>,
    /// Where rows are copied to: those of the block's teams, for each row that is read ahead.
    slots: Option<Ptr<'k, T, Shared>>,
}

/// A vector that all rows of a block have in common.
pub(super) enum Weights<'k, T: TensorElement, A> {
    InRegisters(Striped<'k, T>),
    Copied(Input<'k, T, A>),
    Line(Box<Line<'k, T, A>>),
}

/// A matrix whose rows can be copied to shared memory.
pub(super) trait ReadAhead<'k> {
    /// Starts to copy this thread's part of a row, if there is one.
    fn read_ahead(&self, row: &Row<'k>);
}

impl<'k, T: TensorElement, A: Readable> ReadAhead<'k> for Input<'k, T, A> {
    #[track_caller]
    fn read_ahead(&self, row: &Row<'k>) {
        let Some(slots) = self.slots else { return };
        let RowTiling { adjacent, unaligned, .. } = row.tiling;
        let sizes = [row.m, row.n, self.pitch];
        let from = RowToStage::new(self.matrix, sizes, row.at, adjacent, !unaligned);
        let stage = StagedRow::new(slots.at(row.own_slot()), 0.into(), adjacent);
        from.copy_async(row.groups(), &stage, row.own_groups());
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

    /// Returns the common elements of rows.
    #[track_caller]
    pub(super) fn of_weights<T: Convert<f32>, A: Readable>(
        &self,
        weights: &Weights<'k, T, A>,
        part: Val<'k, u32>,
    ) -> Striped<'k, f32> {
        match weights {
            Weights::InRegisters(elements) => elements.convert(),
            Weights::Copied(copied) => {
                let only = self.of_vector();
                only.load(&only.of_input(copied), 0, 0.0)
            }
            Weights::Line(line) => self.load(line, part, 0.0),
        }
    }
}
