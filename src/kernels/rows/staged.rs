//! Rows in shared memory that threads read and reorder.

use std::panic::Location;

use super::{
    RowTiling,
    ahead::ALIGN,
    tiling::{Line, Row},
};
use crate::{
    ptx::{Val, Writable},
    tensor::{Groups, StagedRow, TensorElement, UnalignedRow},
    tiles::{Convert, Striped, Stripes},
};

impl<'k> Row<'k> {
    /// Returns the groups that this thread copies, as offsets in the row.
    #[track_caller]
    pub(super) fn groups(&self) -> Groups<'k> {
        let RowTiling { adjacent, stripes, .. } = self.tiling;
        let step = self.tiling.threads_together() * adjacent;
        Groups { first: self.thread * adjacent, step, count: stripes }
    }

    /// Returns the groups that this thread copies, as offsets in the shared memory of this block.
    #[track_caller]
    pub(super) fn own_groups(&self) -> Groups<'k> {
        let RowTiling { threads, adjacent, stripes, .. } = self.tiling;
        Groups { first: self.own_thread() * adjacent, step: threads * adjacent, count: stripes }
    }

    /// Returns this thread's groups in part `part` of a row, as offsets in the shared memory of this block.
    #[track_caller]
    fn own_groups_of(&self, part: Val<'k, u32>) -> Groups<'k> {
        let (own, count) = (self.own_groups(), self.tiling.at_a_time());
        Groups { first: own.first + part * (count * own.step), count, ..own }
    }

    /// Loads this thread's groups in part `part` of a row from shared memory: the groups that the thread has copied, or unaligned groups.
    /// Elements outside the row are replaced with `fill`.
    #[track_caller]
    pub(super) fn load_staged<T: Convert<f32>>(
        &self,
        from: &StagedRow<'k, T>,
        part: Val<'k, u32>,
        fill: f32,
    ) -> Striped<'k, f32> {
        let _located = self.k.locate(Location::caller());
        let (exists, own) = (self.exists(), self.own_groups_of(part));
        let first = part * self.stripes.length() + self.stripes.first();
        if self.tiling.unaligned {
            let end = self.end_after(from.ahead());
            let words = match self.is_aligned() {
                true => from.load_own(own, |_| true.into(), T::from_mem_bits(0)),
                false => from.load_row(Groups { first, ..own }, end),
            };
            let loaded = self.stripes.with(&T::convert_words(&words));
            return if fill == 0.0 { loaded } else { loaded.fill_outside(part, self.n, fill) };
        }
        let (exact, outside) = (T::exactly(fill), fill);
        let fill = exact.unwrap_or(T::from_mem_bits(0));
        let step = self.groups().step;
        let inside = |group| exists & (first + group * step).lt(self.n);
        let load = || from.load_own(own, inside, fill);
        let words = match self.tiling.parts_at_a_time() {
            1 => load(),
            // Nearly all parts are complete and therefore need no predicates.
            _ => {
                let are_inside = (0..own.count).map(inside).reduce(|a, b| a & b).unwrap_or(exists);
                self.k.if_else_with(are_inside, || from.load_own(own, |_| true.into(), fill), load)
            }
        };
        let loaded = self.stripes.with(&T::convert_words(&words));
        // An integer type, or a floating-point type without infinities, may not be able to represent `outside`.
        if exact.is_some() { loaded } else { loaded.fill_outside(part, self.n, outside) }
    }

    /// Moves each thread's groups of a vector that has been copied in aligned groups to the slots that the thread reads.
    #[track_caller]
    pub(super) fn arrange_staged<T: TensorElement>(&self, line: &StagedRow<'k, T>) {
        let words = line.load_anywhere(self.groups_in(self.stripes), self.n);
        self.team.sync();
        line.store_groups(self.own_groups(), &words);
    }

    /// Loads this thread's groups in part `part` of a vector that has been arranged.
    #[track_caller]
    pub(super) fn load_arranged<T: Convert<f32>>(
        &self,
        line: &StagedRow<'k, T>,
        part: Val<'k, u32>,
    ) -> Striped<'k, f32> {
        let words = line.load_own(self.own_groups_of(part), |_| true.into(), T::from_mem_bits(0));
        self.stripes.with(&T::convert_words(&words))
    }

    /// Returns the destination of a row, for threads that process the same columns of all rows.
    #[track_caller]
    pub(super) fn moved_to<T: TensorElement, A: Writable>(&self, to: Line<'k, T, A>) -> MovedLine<'k, T, A> {
        let RowTiling { rows, adjacent, ahead, .. } = self.tiling;
        match to {
            Line::Unaligned(to) if ahead > 0 => {
                let room = self.tiling.own_slots();
                let slots = self.k.shared_aligned::<T>(rows * room, ALIGN).at(self.in_block * room);
                let exchange = StagedRow::new(slots, self.stripes.ahead(), adjacent);
                // The rows of a warp may begin at different distances from an aligned element.
                let is_in_place = if rows > 1 { false.into() } else { to.ahead().eq(self.stripes.ahead()) };
                MovedLine::Exchanged { to, is_in_place, exchange }
            }
            to => MovedLine::InPlace(to),
        }
    }

    /// Stores part `part` of a row.
    #[track_caller]
    pub(super) fn store_moved<T: TensorElement, A: Writable>(
        &self,
        line: &MovedLine<'k, T, A>,
        part: Val<'k, u32>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        match line {
            MovedLine::InPlace(to) => self.store(to, part, values),
            MovedLine::Exchanged { to, .. } if self.is_aligned() => self.store_unaligned(to, part, values),
            MovedLine::Exchanged { to, is_in_place, exchange } => self.k.if_else(
                *is_in_place,
                || self.store_unaligned(to, part, values),
                || {
                    let words = f32::convert_words(values.registers());
                    exchange.store_groups(self.own_groups_of(part), &words);
                },
            ),
        }
    }

    /// Stores the groups that have been exchanged, after all parts of a row.
    #[track_caller]
    pub(super) fn finish_moved<T: TensorElement, A: Writable>(&self, line: &MovedLine<'k, T, A>) {
        let MovedLine::Exchanged { to, is_in_place, exchange } = line else { return };
        self.k.if_(!*is_in_place, || {
            self.team.sync();
            let stripes = self.whole_stripes().beginning_after(to.ahead());
            let words = exchange.load_anywhere(self.groups_in(stripes), self.tiling.own_slots().into());
            to.store(&stripes.groups(0.into(), false), &words);
        });
    }

    /// Returns the division among threads of a whole row, for rows that are loaded in parts.
    #[track_caller]
    fn whole_stripes(&self) -> Stripes<'k> {
        let RowTiling { adjacent, stripes, .. } = self.tiling;
        self.k.stripes(self.thread, self.tiling.threads_together(), adjacent, stripes)
    }

    /// Returns this thread's groups in a given division of a row among threads.
    #[track_caller]
    fn groups_in(&self, stripes: Stripes<'k>) -> Groups<'k> {
        Groups { first: stripes.first(), ..self.own_groups() }
    }
}

impl<'k, T: TensorElement, A> MovedLine<'k, T, A> {
    /// Returns whether the threads' groups are aligned groups of the row in global memory, or `None` if this does not depend on the row.
    pub(super) fn is_in_place(&self) -> Option<Val<'k, bool>> {
        match self {
            Self::InPlace(_) => None,
            Self::Exchanged { is_in_place, .. } => Some(*is_in_place),
        }
    }
}

/// The destination of a row, for threads that process the same columns of all rows.
#[allow(clippy::large_enum_variant, reason = "there are a few for each kernel that is built")]
pub(super) enum MovedLine<'k, T: TensorElement, A> {
    InPlace(Line<'k, T, A>),
    /// Groups are exchanged through shared memory, unless they are also the aligned groups of the row in global memory.
    Exchanged {
        to: UnalignedRow<'k, T, A>,
        is_in_place: Val<'k, bool>,
        exchange: StagedRow<'k, T>,
    },
}
