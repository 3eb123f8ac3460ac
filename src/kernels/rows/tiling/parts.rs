//! Parts of rows, which blocks process independently of each other.

use super::{MOST_UNALIGNED, Row, RowTiling};
use crate::ptx::{Builder, Dim, IntoDim, State, Val};

impl RowTiling {
    /// Returns this tiling for rows that blocks of `threads` threads read in parts, with `stripes` groups per thread in each part.
    pub(in crate::kernels::rows) fn read_in_parts(self, threads: u32, stripes: u32, resident: u32) -> Self {
        Self { threads, rows: 1, cluster: 1, stripes, streamed: true, resident, ahead: 0, turns: 1, ..self }
    }

    /// Returns the row and the part that this block processes. This method is like [`row_of`](Self::row_of), but if rows are read in parts,
    /// each block processes only one part.
    #[track_caller]
    pub(in crate::kernels::rows) fn part_of_row<'k>(
        self,
        k: Builder<'k>,
        [m, n, pitch]: [Val<'k, u32>; 3],
    ) -> (Row<'k>, Val<'k, u32>) {
        if !self.streamed {
            return (self.row_of(k, [m, n, pitch]), 0.into());
        }
        let [at, part] = self.parts_of_blocks(k, self.blocks(m), n);
        (self.row_at(k, [m, n, pitch], |in_block| at * self.rows + in_block), part)
    }

    /// Returns the row and the part that this block processes, like [`part_of_row`](Self::part_of_row), for kernels whose results do not
    /// depend on the division into rows. Unaligned matrices without gaps (all `pitches` are `n`) are processed as one long row.
    #[track_caller]
    pub(in crate::kernels::rows) fn part_of_elements<'k>(
        self,
        k: Builder<'k>,
        [m, n]: [Val<'k, u32>; 2],
        pitches: &[Val<'k, u32>],
    ) -> (Row<'k>, Val<'k, u32>) {
        let pitch = pitches.first().copied().unwrap_or(n);
        let (row, part) = self.part_of_row(k, [m, n, pitch]);
        if !(self.streamed && self.unaligned) {
            return (row, part);
        }
        let all = m.mul_wide(n);
        let is_whole = pitches.iter().map(|pitch| pitch.eq(n)).reduce(|a, b| a & b);
        let is_whole = is_whole.unwrap_or(true.into()) & all.le(u64::from(MOST_UNALIGNED)) & m.ne(0);
        let [m, n] = [is_whole.select(1, m), is_whole.select(all.cast::<u32>(), n)];
        let [at, part] = self.at_part(k, n);
        // One long row has no more parts than the rows for which the grid was declared.
        k.return_if(at.ge(m));
        let declared = Some([row.m, row.n]);
        (Row { m, n, declared, ..row }.in_turn(at, 0.into()), part)
    }

    /// Returns the row and the part that this block processes, like [`part_of_row`](Self::part_of_row), for kernels in which all
    /// [`rows`](Self::rows) sets of threads of a block process the same row.
    #[track_caller]
    pub(in crate::kernels::rows) fn part_of_one_row<'k>(
        self,
        k: Builder<'k>,
        [m, n, pitch]: [Val<'k, u32>; 3],
    ) -> (Row<'k>, Val<'k, u32>) {
        let [at, part] = self.parts_of_blocks(k, m.into_dim(), n);
        (self.row_at(k, [m, n, pitch], |_| at), part)
    }

    /// Declares a grid in which each block processes one part of one of `rows` rows, or sets of rows, of `n` elements. Returns the row of
    /// this block and the block's part of the row. Rejects a tiling in which blocks cannot process parts independently.
    #[track_caller]
    fn parts_of_blocks<'k>(self, k: Builder<'k>, rows: Dim, n: Val<'k, u32>) -> [Val<'k, u32>; 2] {
        self.refuse_ahead(k);
        if self.cluster > 1 {
            k.refuse(format!(
                "expected a tiling without clusters, because each block processes a part of a row, found clusters of {}",
                self.cluster
            ));
        }
        // Adjacent blocks process adjacent parts, so that few rows are in progress at the same time.
        k.grid([rows * (n.into_dim() + self.slack()).ceil_div(self.slots())]);
        self.at_part(k, n)
    }

    /// Returns the row of this block and the block's part of the row; all rows have `n` elements.
    #[track_caller]
    fn at_part<'k>(self, k: Builder<'k>, n: Val<'k, u32>) -> [Val<'k, u32>; 2] {
        let (parts, block) = ((n + self.slack()).ceil_div(self.slots()), k.ctaid_x());
        [block / parts, block % parts]
    }
}

impl<'k> Row<'k> {
    /// Emits `work` for each part.
    #[track_caller]
    pub(in crate::kernels::rows) fn for_parts(&self, work: &dyn Fn(Val<'k, u32>)) {
        match self.tiling.streamed {
            true => self.fold_parts((), |part, ()| work(part)),
            false => {
                self.by_alignment(|| (0..self.tiling.parts_at_a_time()).for_each(|part| work(part.into())));
            }
        }
    }

    /// Emits `of` for each part of a row that is read in parts, and passes a state from part to part. If the row is unaligned, the parts
    /// whose groups are all inside the row come first; their accesses are not checked. The result must not depend on the order of parts.
    #[track_caller]
    pub(in crate::kernels::rows) fn fold_parts<S: State<'k>>(
        &self,
        state: S,
        of: impl Fn(Val<'k, u32>, S) -> S,
    ) -> S {
        let (k, parts) = (self.k, self.parts());
        if !self.tiling.unaligned {
            return k.fold(parts, state, of);
        }
        let [first, inside] = self.parts_inside();
        let state = k.fold(inside, state, |part, state| self.inside(|| of(first + part, state)));
        k.fold(parts - inside, state, |part, state| of(part.lt(first).select(part, part + inside), state))
    }

    /// Emits `work` for part `part` of a row, which all threads of the row process. If the row is unaligned and read in parts, `work` is
    /// emitted twice. The first version is executed for parts whose groups are all inside the row, and omits the bounds checks; the second
    /// is executed for other parts.
    #[track_caller]
    pub(in crate::kernels::rows) fn in_part<S: State<'k>>(
        &self,
        part: Val<'k, u32>,
        work: impl Fn() -> S,
    ) -> S {
        if !(self.tiling.unaligned && self.tiling.streamed) {
            return work();
        }
        let [first, inside] = self.parts_inside();
        self.k.if_else_with((part - first).lt(inside), || self.inside(&work), &work)
    }

    /// Returns the index of the first part all of whose groups are inside the row, and the number of such parts.
    #[track_caller]
    fn parts_inside(&self) -> [Val<'k, u32>; 2] {
        let (length, ahead) = (self.stripes.length(), self.stripes.ahead());
        let first = ahead.ne(0).select(Val::from(1), 0);
        let end = self.end_after(ahead) / length;
        [first, end - end.min(first)]
    }

    /// Emits `work` for threads all of whose groups are inside the row.
    fn inside<S>(&self, work: impl FnOnce() -> S) -> S {
        self.is_inside.set(true);
        let state = work();
        self.is_inside.set(false);
        state
    }

    /// Returns the number of parts in which a row is read.
    #[track_caller]
    pub(in crate::kernels::rows) fn parts(&self) -> Val<'k, u32> {
        (self.n + self.tiling.slack()).ceil_div(self.stripes.length())
    }
}
