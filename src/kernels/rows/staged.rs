//! Rows in shared memory, which threads read and reorder.

use std::panic::Location;

use super::{RowTiling, ahead::ALIGN, tiling::Row};
use crate::{
    ptx::{Val, Writable},
    tensor::{Groups, StagedRow, TensorElement, UnalignedRow},
    tiles::{Convert, Striped},
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

    /// Loads a row from shared memory: the groups that this thread has copied, or any elements.
    #[track_caller]
    pub(super) fn load_staged<T: Convert<f32>>(
        &self,
        from: &StagedRow<'k, T>,
        fill: f32,
    ) -> Striped<'k, f32> {
        let fill = T::exactly(fill).unwrap_or(T::from_mem_bits(0));
        let words = {
            let _located = self.k.locate(Location::caller());
            let exists = self.at.lt(self.m);
            let inside = |element: Val<'k, u32>| exists & element.lt(self.n);
            if self.tiling.unaligned {
                from.load_elements(self.stripes.first(), self.stripes.offsets(), inside, fill)
            } else {
                let groups = self.groups();
                from.load_own(self.own_groups(), |group| inside(groups.first + group * groups.step), fill)
            }
        };
        self.stripes.with(&T::convert_words(&words))
    }

    /// Stores elements in any order: they are put in order in shared memory, and then stored in aligned groups.
    #[track_caller]
    pub(super) fn store_in_order<T: TensorElement, A: Writable>(
        &self,
        to: &UnalignedRow<'k, T, A>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        let RowTiling { threads, rows, adjacent, stripes, .. } = self.tiling;
        let k = self.k;
        let room = self.tiling.own_slots() + adjacent;
        let line = k.shared_aligned::<T>(rows * room, ALIGN).at(self.in_block * room);
        let line = StagedRow::new(line, to.ahead(), adjacent);
        let words = f32::convert_words(values.registers());
        line.store_elements(self.stripes.first(), self.stripes.offsets(), &words);
        self.team.sync();
        let words = line.load_groups(self.groups());
        let groups = k.stripes(self.thread, threads, adjacent, stripes).beginning_after(to.ahead());
        to.store(&groups.starts(0.into()), &words);
    }
}
