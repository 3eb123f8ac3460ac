//! Rows in shared memory, which threads read and reorder.

use std::panic::Location;

use super::{
    RowTiling,
    ahead::ALIGN,
    tiling::{Line, Row},
};
use crate::{
    ptx::Writable,
    tensor::{Groups, StagedRow, TensorElement},
    tiles::{Convert, Striped, Stripes},
};

impl<'k> Row<'k> {
    /// Returns the groups that this thread copies, as parts of the row.
    #[track_caller]
    pub(super) fn groups(&self) -> Groups<'k> {
        let RowTiling { threads, cluster, adjacent, stripes, .. } = self.tiling;
        Groups { first: self.thread * adjacent, step: threads * cluster * adjacent, count: stripes }
    }

    /// Returns the groups that this thread copies, in the shared memory of this block.
    #[track_caller]
    pub(super) fn own_groups(&self) -> Groups<'k> {
        let RowTiling { threads, adjacent, stripes, .. } = self.tiling;
        Groups { first: self.own_thread() * adjacent, step: threads * adjacent, count: stripes }
    }

    /// Loads a row from shared memory: the groups that this thread has copied, or groups that begin at any elements.
    #[track_caller]
    pub(super) fn load_staged<T: Convert<f32>>(
        &self,
        from: &StagedRow<'k, T>,
        fill: f32,
    ) -> Striped<'k, f32> {
        let _located = self.k.locate(Location::caller());
        let exists = self.at.lt(self.m);
        if self.tiling.unaligned {
            let end = exists.select(self.n + from.ahead(), 0);
            let words = from.load_anywhere(self.groups_in(self.stripes), end);
            return self.stripes.with(&T::convert_words(&words)).fill_outside(0.into(), self.n, fill);
        }
        let fill = T::exactly(fill).unwrap_or(T::from_mem_bits(0));
        let groups = self.groups();
        let inside = |group| exists & (groups.first + group * groups.step).lt(self.n);
        let words = from.load_own(self.own_groups(), inside, fill);
        self.stripes.with(&T::convert_words(&words))
    }

    /// Stores each thread's groups of a vector, which has been copied in aligned groups, where the thread itself reads them.
    #[track_caller]
    pub(super) fn arrange_staged<T: TensorElement>(&self, line: &StagedRow<'k, T>) {
        let words = line.load_anywhere(self.groups_in(self.stripes), self.n);
        self.team.sync();
        line.store_groups(self.own_groups(), &words);
    }

    /// Loads this thread's groups of a vector that has been arranged.
    #[track_caller]
    pub(super) fn load_arranged<T: Convert<f32>>(&self, line: &StagedRow<'k, T>) -> Striped<'k, f32> {
        let words = line.load_own(self.own_groups(), |_| true.into(), T::from_mem_bits(0));
        self.stripes.with(&T::convert_words(&words))
    }

    /// Stores a row that passes through shared memory, whose threads have the same columns of all rows. If groups are not those of the row in
    /// memory, they are exchanged through shared memory, and then stored in aligned groups.
    #[track_caller]
    pub(super) fn store_moved<T: TensorElement, A: Writable>(
        &self,
        to: &Line<'k, T, A>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        let to = match to {
            Line::Unaligned(to) if self.tiling.ahead > 0 => to,
            _ => return self.store(to, 0, values),
        };
        let RowTiling { rows, adjacent, .. } = self.tiling;
        let ahead = self.stripes.ahead();
        let exchange = || {
            let room = self.tiling.own_slots();
            let line = self.k.shared_aligned::<T>(rows * room, ALIGN).at(self.in_block * room);
            let line = StagedRow::new(line, ahead, adjacent);
            line.store_groups(self.own_groups(), &f32::convert_words(values.registers()));
            self.team.sync();
            let stripes = self.stripes.beginning_after(to.ahead());
            let words = line.load_anywhere(self.groups_in(stripes), room.into());
            to.store(&stripes.starts(0.into()), &words);
        };
        match rows {
            1 => self.k.if_else(
                to.ahead().eq(ahead),
                || self.stripes.store_unaligned(to, 0.into(), values),
                exchange,
            ),
            // The rows of a warp may differ.
            _ => exchange(),
        }
    }

    /// Returns this thread's groups in an arrangement of a row.
    #[track_caller]
    fn groups_in(&self, stripes: Stripes<'k>) -> Groups<'k> {
        Groups { first: stripes.first(), ..self.own_groups() }
    }
}
