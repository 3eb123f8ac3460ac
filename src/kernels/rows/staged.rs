//! A row in shared memory.

use std::panic::Location;

use super::{RowTiling, tiling::Row};
use crate::{
    ptx::{Ptr, RegId, Scalar, Shared, Val, Writable},
    tensor::{TensorElement, UnalignedRow, splat},
    tiles::{Convert, Striped},
};

/// The alignment of rows, for the widest accesses and copies.
pub(super) const ALIGN: u32 = 16;
/// The words of the widest access.
const WORDS: usize = 4;

/// A row in shared memory.
pub(super) struct Staged<'k, T> {
    /// The first group.
    at: Ptr<'k, T, Shared>,
    /// The elements of that group ahead of the row's first one.
    ahead: Val<'k, u32>,
}

impl<'k, T> Staged<'k, T> {
    pub(super) fn new(at: Ptr<'k, T, Shared>, ahead: Val<'k, u32>) -> Self {
        Self { at, ahead }
    }
}

impl<'k> Row<'k> {
    /// Loads a row from shared memory: the groups that this thread has copied, or any elements.
    #[track_caller]
    pub(super) fn load_staged<T: Convert<f32>>(&self, from: &Staged<'k, T>, fill: f32) -> Striped<'k, f32> {
        let fill = T::exactly(fill).unwrap_or(T::from_mem_bits(0));
        let words = {
            let _located = self.k.locate(Location::caller());
            match self.tiling.unaligned {
                true => self.staged_elements(from, fill),
                false => self.staged_groups(from, fill),
            }
        };
        self.stripes.with(&T::convert_words(&words))
    }

    #[track_caller]
    fn staged_groups<T: TensorElement>(&self, from: &Staged<'k, T>, fill: T) -> Vec<Val<'k, T::Word>> {
        let RowTiling { threads, cluster, adjacent, stripes, .. } = self.tiling;
        let (k, exists) = (self.k, self.at.lt(self.m));
        let from = from.at.at(self.own_thread() * adjacent);
        let groups = (0..stripes).flat_map(|stripe| {
            let first = self.thread * adjacent + stripe * threads * cluster * adjacent;
            let words: Vec<RegId> = (0..adjacent * T::SIZE / 4).map(|_| k.fresh(T::Word::CLASS)).collect();
            words.iter().for_each(|&word| k.move_into(word, Val::from(splat(fill))));
            from.byte_offset((stripe * threads * adjacent * T::SIZE).into())
                .checked(exists & first.lt(self.n))
                .load_words(&words);
            words.into_iter().map(|word| Val::from_reg(k.current(word), k))
        });
        groups.collect()
    }

    #[track_caller]
    fn staged_elements<T: TensorElement>(&self, from: &Staged<'k, T>, fill: T) -> Vec<Val<'k, T::Word>> {
        let (k, first, exists) = (self.k, self.stripes.first(), self.at.lt(self.m));
        let from = from.at.at(first + from.ahead);
        let elements: Vec<Val<'k, T::Reg>> = self
            .stripes
            .offsets()
            .map(|offset| {
                from.byte_offset((offset * T::SIZE).into())
                    .checked(exists & (first + offset).lt(self.n))
                    .load_or(T::Reg::from_bits(fill.to_mem_bits()))
            })
            .collect();
        elements
            .chunks(T::PER_WORD)
            .map(|elements| {
                let word = match elements {
                    [element] if T::PER_WORD == 1 => element.in_register(k),
                    _ => k.word::<T>(
                        &elements
                            .iter()
                            .copied()
                            .chain(std::iter::repeat(elements[0]))
                            .take(T::PER_WORD)
                            .collect::<Vec<_>>(),
                    ),
                };
                Val::from_reg(word, k)
            })
            .collect()
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
        let to_line = line.at(self.stripes.first() + to.ahead());
        let words: Vec<RegId> = f32::convert_words(values.registers())
            .into_iter()
            .map(|word: Val<'k, T::Word>| word.in_register(k))
            .collect();
        for (i, offset) in (0..).zip(self.stripes.offsets()) {
            let element = k.extract::<T>(words[i / T::PER_WORD], i % T::PER_WORD);
            to_line.byte_offset((offset * T::SIZE).into()).store(element);
        }
        self.team.sync();
        let from = line.at(self.thread * adjacent);
        let words: Vec<_> = (0..stripes)
            .flat_map(|stripe| {
                let words: Vec<RegId> =
                    (0..adjacent * T::SIZE / 4).map(|_| k.fresh(T::Word::CLASS)).collect();
                for (i, words) in words.chunks(WORDS).enumerate() {
                    from.byte_offset((stripe * threads * adjacent * T::SIZE) as i64 + (i * WORDS * 4) as i64)
                        .checked(true)
                        .load_words(words);
                }
                words.into_iter().map(|word| Val::from_reg(k.current(word), k))
            })
            .collect();
        let groups = k.stripes(self.thread, threads, adjacent, stripes).beginning_after(to.ahead());
        to.store(&groups.starts(0.into()), &words);
    }
}
