//! The row that a thread processes, and accesses to it.

use std::{cell::Cell, rc::Rc};

use super::RowTiling;
use crate::{
    kernels::rows::team::{Combine, Team},
    ptx::{Builder, CheckedPtr, Global, Ptr, Readable, State, Val, Writable},
    tensor::{StagedRow, TensorElement, UnalignedGroups, UnalignedRow},
    tiles::{Convert, Gl, Striped, Stripes, row_major, vector},
};

/// The row that this thread processes together with other threads.
#[derive(Clone)]
pub(in crate::kernels::rows) struct Row<'k> {
    pub(in crate::kernels::rows) k: Builder<'k>,
    /// The index of the row; rows past the last one are not accessed.
    pub(in crate::kernels::rows) at: Val<'k, u32>,
    pub(in crate::kernels::rows) m: Val<'k, u32>,
    /// The index of this thread among the threads of the row.
    pub(in crate::kernels::rows) thread: Val<'k, u32>,
    /// The index of the row within the block.
    pub(in crate::kernels::rows) in_block: Val<'k, u32>,
    /// The index of the row's slot among the rows in shared memory.
    pub(super) stage: Val<'k, u32>,
    /// The number of elements in the row or, if there are segments, in this block's segment.
    pub(in crate::kernels::rows) n: Val<'k, u32>,
    /// This block's segment, if the blocks of a cluster process segments of the row.
    pub(super) segment: Option<Segment<'k>>,
    /// The row pitch of the matrices in which the threads' groups are aligned.
    pub(super) pitch: Val<'k, u32>,
    /// Whether threads process the same columns of all rows, regardless of the alignment of rows.
    pub(super) in_columns: bool,
    /// Whether the row is known to begin at the same distance from an aligned element as the row from which it was
    /// [moved](Self::moved_alike).
    pub(super) is_like_first: bool,
    /// The extents of the matrices, which the launch checks, if they differ from `m` and `n`.
    pub(super) declared: Option<[Val<'k, u32>; 2]>,
    pub(in crate::kernels::rows) tiling: RowTiling,
    pub(in crate::kernels::rows) stripes: Stripes<'k>,
    /// Whether the threads' groups are aligned in all matrices whose unaligned rows are in shared memory.
    pub(super) aligned: Option<Val<'k, bool>>,
    /// Whether the instructions that are being emitted are executed only if groups are `aligned`.
    pub(super) is_aligned: Rc<Cell<bool>>,
    /// Whether the instructions that are being emitted are executed only if all groups of the threads are inside the row, and every row
    /// that they access exists.
    pub(super) is_inside: Rc<Cell<bool>>,
    pub(in crate::kernels::rows) team: Team<'k>,
}

/// The segment of a row that a block of a cluster processes as if it were a row of its own. If the row is short, some segments are empty.
#[derive(Clone, Copy)]
pub(super) struct Segment<'k> {
    /// The index of the segment's first element in the row.
    pub(super) first: Val<'k, u32>,
    /// The number of elements of the row.
    pub(super) row_length: Val<'k, u32>,
}

/// A row of a matrix, or a vector of the length of a row.
#[allow(clippy::large_enum_variant, reason = "there are a few for each kernel that is built")]
pub(in crate::kernels::rows) enum Line<'k, T: TensorElement, A> {
    Aligned(Gl<'k, T, A, 1>),
    Unaligned(UnalignedRow<'k, T, A>),
    Staged(StagedRow<'k, T>),
}

impl<'k, T: TensorElement, A> Line<'k, T, A> {
    fn as_unaligned(&self) -> Option<&UnalignedRow<'k, T, A>> {
        match self {
            Self::Unaligned(row) => Some(row),
            Self::Aligned(_) | Self::Staged(_) => None,
        }
    }
}

impl<'k> Row<'k> {
    /// Returns this row of a matrix with row pitch `pitch`.
    #[track_caller]
    pub(in crate::kernels::rows) fn of<T: TensorElement, A>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
    ) -> Line<'k, T, A> {
        if self.tiling.unaligned {
            return Line::Unaligned(self.unaligned_of(matrix, pitch));
        }
        let layout = row_major(self.m, self.n).with_row_stride(pitch.multiple_of(self.tiling.adjacent));
        Line::Aligned(self.k.global(matrix, layout).row(self.at))
    }

    /// Returns this row of a matrix with row pitch `pitch`, for an unaligned tiling.
    #[track_caller]
    pub(in crate::kernels::rows) fn unaligned_of<T: TensorElement, A>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
    ) -> UnalignedRow<'k, T, A> {
        let adjacent = self.tiling.adjacent;
        let [m, n] = self.declared.unwrap_or([self.m, self.length()]);
        let _ = self.k.global(matrix, row_major(m, n).with_row_stride(pitch));
        let sizes = [self.present(self.m), self.n, pitch];
        // If groups are aligned for this pitch, this is the register of `stripes.ahead()`, and the code for shifted groups is omitted.
        let ahead =
            if self.is_like_first { self.stripes.ahead() } else { (self.at * pitch) & (adjacent - 1) };
        UnalignedRow::new(self.segment_of(matrix), sizes, self.at, adjacent, ahead)
    }

    /// Returns the number of elements of the row, including those of other segments.
    pub(in crate::kernels::rows) fn length(&self) -> Val<'k, u32> {
        self.segment.map_or(self.n, |segment| segment.row_length)
    }

    /// Returns the index of this block's first element in the row.
    pub(in crate::kernels::rows) fn first_column(&self) -> Val<'k, u32> {
        self.segment.map_or(0.into(), |segment| segment.first)
    }

    /// Returns a matrix or vector that begins at the first element of this block's segment, so that the segment is a row of it.
    #[track_caller]
    pub(in crate::kernels::rows) fn segment_of<T: TensorElement, A>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
    ) -> Ptr<'k, T, Global, A> {
        self.segment.map_or(matrix, |segment| matrix.at(segment.first))
    }

    /// Returns `m`, the number of rows of a matrix, or 0 if this block's segment is empty.
    #[track_caller]
    pub(in crate::kernels::rows) fn present(&self, m: Val<'k, u32>) -> Val<'k, u32> {
        match self.segment {
            Some(_) => self.n.eq(0).select(0, m),
            None => m,
        }
    }

    /// Returns whether the row, or this block's segment, exists.
    #[track_caller]
    pub(in crate::kernels::rows) fn exists(&self) -> Val<'k, bool> {
        self.at.lt(self.present(self.m))
    }

    /// Returns the end of the row relative to the start of its first group, which is `ahead` elements before the row. For a row past the
    /// last one, returns 0.
    #[track_caller]
    pub(in crate::kernels::rows) fn end_after(&self, ahead: Val<'k, u32>) -> Val<'k, u32> {
        self.exists().select(self.n + ahead, 0)
    }

    /// Returns a part of a row with all elements equal to `value`.
    pub(in crate::kernels::rows) fn filled(&self, value: f32) -> Striped<'k, f32> {
        self.stripes.filled(value)
    }

    /// Returns a vector of the length of a row.
    #[track_caller]
    pub(in crate::kernels::rows) fn vector<T: TensorElement, A>(
        &self,
        elements: Ptr<'k, T, Global, A>,
    ) -> Line<'k, T, A> {
        if self.tiling.unaligned {
            let _ = self.k.global(elements, vector(self.length()));
            let (elements, sizes) = (self.segment_of(elements), [self.present(1.into()), self.n, self.n]);
            let adjacent = self.tiling.adjacent;
            return Line::Unaligned(UnalignedRow::new(elements, sizes, 0.into(), adjacent, 0.into()));
        }
        Line::Aligned(self.k.global(elements, vector(self.n)))
    }

    /// Returns row `at`, whose slot in shared memory has index `stage`.
    #[track_caller]
    pub(in crate::kernels::rows) fn in_turn(&self, at: Val<'k, u32>, stage: Val<'k, u32>) -> Self {
        let RowTiling { adjacent, unaligned, .. } = self.tiling;
        let stripes = match unaligned && !self.in_columns {
            true => self.stripes.beginning_after((at * self.pitch) & (adjacent - 1)),
            false => self.stripes,
        };
        Self { at, stage, stripes, ..self.clone() }
    }

    /// Returns the only row of a vector of the length of a row, divided among threads like this row.
    pub(in crate::kernels::rows) fn of_vector(&self) -> Self {
        Self { at: 0.into(), stage: 0.into(), m: 1.into(), ..self.clone() }
    }

    /// Returns this row with an additional condition for the threads' groups to be aligned in all matrices in shared memory.
    #[track_caller]
    pub(in crate::kernels::rows) fn aligned_if(&self, aligned: Val<'k, bool>) -> Self {
        let aligned = self.aligned.map_or(aligned, |other| other & aligned);
        Self { aligned: Some(aligned), ..self.clone() }
    }

    /// Returns this row for kernels that use the same instructions for all rows, regardless of alignment.
    pub(in crate::kernels::rows) fn in_one_version(&self) -> Self {
        Self { aligned: None, ..self.clone() }
    }

    /// Emits `work`, which accesses rows in shared memory. If rows are loaded again for each use, `work` is emitted twice: once for rows in
    /// which the threads' groups are aligned, so that accesses require no conditions, and once for other rows.
    #[track_caller]
    pub(in crate::kernels::rows) fn by_alignment<S: State<'k>>(&self, work: impl Fn() -> S) -> S {
        let Some(aligned) = self.aligned.filter(|_| self.is_reloaded()) else {
            return work();
        };
        let if_aligned = || {
            self.is_aligned.set(true);
            let state = work();
            self.is_aligned.set(false);
            state
        };
        self.k.if_else_with(aligned, if_aligned, &work)
    }

    /// Returns whether the instructions that are being emitted are executed only if the threads' groups are aligned in all matrices whose
    /// rows are in shared memory.
    pub(in crate::kernels::rows) fn is_aligned(&self) -> bool {
        self.is_aligned.get()
    }

    /// Returns this row for threads that process the same columns of all rows.
    pub(in crate::kernels::rows) fn in_columns(&self) -> Self {
        Self { in_columns: true, ..self.clone() }
    }

    /// Returns the row with the same index in matrices of `m` rows.
    pub(in crate::kernels::rows) fn of_rows(&self, m: Val<'k, u32>) -> Self {
        Self { m, is_inside: Rc::default(), ..self.clone() }
    }

    /// Returns the index of the first element of this row's slot in shared memory.
    #[track_caller]
    pub(in crate::kernels::rows) fn own_slot(&self) -> Val<'k, u32> {
        (self.stage * self.tiling.rows + self.in_block) * self.tiling.own_slots()
    }

    /// Returns the index of this thread among the row's threads in this block.
    #[track_caller]
    pub(in crate::kernels::rows) fn own_thread(&self) -> Val<'k, u32> {
        if self.tiling.cluster > 1 { self.k.this_block().thread() } else { self.thread }
    }

    /// Returns row `at` of matrices of `m` rows, for the same threads. The row need not exist.
    pub(in crate::kernels::rows) fn moved(&self, at: Val<'k, u32>, m: Val<'k, u32>) -> Self {
        Self { at, m, is_inside: Rc::default(), ..self.clone() }
    }

    /// Returns row `at` as [`moved`](Self::moved) does, for a row that begins at the same distance from an aligned element as this one.
    #[track_caller]
    pub(in crate::kernels::rows) fn moved_alike(&self, at: Val<'k, u32>, m: Val<'k, u32>) -> Self {
        Self { is_like_first: true, ..self.moved(at, m) }
    }

    /// Loads element `col` of this row of a matrix with row pitch `pitch`. Out-of-bounds elements are 0.
    #[track_caller]
    pub(in crate::kernels::rows) fn load_element<T: Convert<f32>, A: Readable>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
        col: Val<'k, u32>,
    ) -> Val<'k, f32> {
        let row = row_major(self.m, self.length()).with_row_stride(pitch);
        let row = self.k.global(matrix, row).row(self.at);
        self.k.stripes(0, 1, 1, 1).load(&row, col).convert().registers()[0]
    }

    /// Returns this row's element of a vector with one element per row.
    #[track_caller]
    pub(in crate::kernels::rows) fn element<T: TensorElement, A>(
        &self,
        vector_of_rows: Ptr<'k, T, Global, A>,
    ) -> CheckedPtr<'k, T, Global, A> {
        self.k.global(vector_of_rows, vector(self.m)).at(self.at)
    }

    /// Stores this row's element of a vector, from one of the row's threads.
    #[track_caller]
    pub(in crate::kernels::rows) fn store_element<T: TensorElement, A: Writable>(
        &self,
        vector_of_rows: Ptr<'k, T, Global, A>,
        value: Val<'k, T::Reg>,
    ) {
        self.element(vector_of_rows).when(self.thread.eq(0)).store(value);
    }

    /// Stores element `col` of this row of a matrix of `width` columns, from one of the row's threads.
    #[track_caller]
    pub(in crate::kernels::rows) fn store_first<T: TensorElement, A: Writable>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        width: Val<'k, u32>,
        col: Val<'k, u32>,
        value: Val<'k, T::Reg>,
    ) {
        self.store_where(matrix, width, col, self.thread.eq(0), value);
    }

    /// Stores element `col` of this row of a matrix of `width` columns, from the threads in which `condition` is true.
    #[track_caller]
    pub(in crate::kernels::rows) fn store_where<T: TensorElement, A: Writable>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        width: Val<'k, u32>,
        col: Val<'k, u32>,
        condition: Val<'k, bool>,
        value: Val<'k, T::Reg>,
    ) {
        let row = self.k.global(matrix, row_major(self.m, width)).row(self.at);
        row.at(col).when(condition).store(value);
    }

    /// Returns a function that returns parts of a row. If the whole row fits in registers, the row is loaded immediately. Otherwise, each
    /// call of the returned function loads a part.
    #[track_caller]
    pub(in crate::kernels::rows) fn keep<'f, S: Clone + 'f>(
        &self,
        load: impl Fn(Val<'k, u32>) -> S + 'f,
    ) -> impl Fn(Val<'k, u32>) -> S + 'f
    where
        'k: 'f,
    {
        let held = self.is_held().then(|| load(0.into()));
        move |part| held.clone().unwrap_or_else(|| load(part))
    }

    /// Combines the values that `of` returns for each part, over all parts and all threads of the row.
    #[track_caller]
    pub(in crate::kernels::rows) fn over_parts<const N: usize>(
        &self,
        neutral: [f32; N],
        combine: Combine<'_, 'k, N>,
        of: &dyn Fn(Val<'k, u32>) -> [Val<'k, f32>; N],
    ) -> [Val<'k, f32>; N] {
        self.team.reduce(self.over_own_parts(neutral, combine, of), neutral, combine)
    }

    /// Combines the values that `of` returns for each part, over all parts of this thread.
    #[track_caller]
    pub(in crate::kernels::rows) fn over_own_parts<const N: usize>(
        &self,
        neutral: [f32; N],
        combine: Combine<'_, 'k, N>,
        of: &dyn Fn(Val<'k, u32>) -> [Val<'k, f32>; N],
    ) -> [Val<'k, f32>; N] {
        match self.tiling.streamed {
            true => self.fold_parts(neutral.map(Val::from), |part, sum| combine(sum, of(part))),
            false => self.by_alignment(|| {
                let later = 1..self.tiling.parts_at_a_time();
                later.fold(of(0.into()), |sum, part| combine(sum, of(part.into())))
            }),
        }
    }

    /// Returns the sums of the values that `of` returns for each part, over all parts and all threads of the row.
    #[track_caller]
    pub(in crate::kernels::rows) fn sums<const N: usize>(
        &self,
        of: &dyn Fn(Val<'k, u32>) -> [Val<'k, f32>; N],
    ) -> [Val<'k, f32>; N] {
        self.over_parts([0.0; N], &|a, b| std::array::from_fn(|i| a[i] + b[i]), of)
    }

    /// Returns the [`sums`](Self::sums) multiplied by `per_element`, which must be the reciprocal of the number of elements in the row.
    #[track_caller]
    pub(in crate::kernels::rows) fn means<const N: usize>(
        &self,
        per_element: Val<'k, f32>,
        of: &dyn Fn(Val<'k, u32>) -> [Val<'k, f32>; N],
    ) -> [Val<'k, f32>; N] {
        self.sums(of).map(|sum| sum * per_element)
    }

    /// Returns whether the row is loaded again from shared memory for each use.
    pub(in crate::kernels::rows) fn is_reloaded(&self) -> bool {
        self.tiling.is_reloaded()
    }

    /// Returns whether the whole row is in registers.
    pub(in crate::kernels::rows) fn is_held(&self) -> bool {
        !self.tiling.streamed && !self.is_reloaded()
    }

    /// Loads part `part` of a row as f32. Elements outside the row are replaced with `fill`.
    #[track_caller]
    pub(in crate::kernels::rows) fn load<T: Convert<f32>, A: Readable>(
        &self,
        line: &Line<'k, T, A>,
        part: impl Into<Val<'k, u32>>,
        fill: f32,
    ) -> Striped<'k, f32> {
        let part = part.into();
        match line {
            Line::Aligned(row) => {
                let loaded = |fill| self.stripes.load_or(row, part, fill).convert();
                match T::exactly(fill) {
                    Some(fill) => loaded(fill),
                    // The type is an integer, or a float without infinities.
                    None => loaded(T::from_mem_bits(0)).fill_outside(part, self.n, fill),
                }
            }
            Line::Unaligned(row) => self.load_unaligned(&[row], part, fill).remove(0),
            Line::Staged(row) => self.load_staged(row, part, fill),
        }
    }

    /// Loads part `part` of several rows, like [`load`](Self::load). If the rows are unaligned, all loads are issued before the first
    /// result is used.
    #[track_caller]
    pub(in crate::kernels::rows) fn load_each<T: Convert<f32>, A: Readable, const N: usize>(
        &self,
        lines: [&Line<'k, T, A>; N],
        part: impl Into<Val<'k, u32>>,
        fill: f32,
    ) -> [Striped<'k, f32>; N] {
        let part = part.into();
        let unaligned: Vec<_> = lines.iter().filter_map(|line| line.as_unaligned()).collect();
        if N == 0 || unaligned.len() < N {
            return lines.map(|line| self.load(line, part, fill));
        }
        let mut loaded = self.load_unaligned(&unaligned, part, fill).into_iter();
        lines.map(|line| loaded.next().unwrap_or_else(|| self.load(line, part, fill)))
    }

    /// Loads part `part` of unaligned rows. Elements outside the rows are replaced with `fill`.
    #[track_caller]
    fn load_unaligned<T: Convert<f32>, A: Readable>(
        &self,
        rows: &[&UnalignedRow<'k, T, A>],
        part: Val<'k, u32>,
        fill: f32,
    ) -> Vec<Striped<'k, f32>> {
        let loaded = self.stripes.load_unaligned(rows, &self.unaligned_groups(part));
        loaded.iter().map(|words| self.filled_outside(part, &words.convert(), fill)).collect()
    }

    /// Replaces the elements of part `part` that are outside the row with 0.
    #[track_caller]
    pub(in crate::kernels::rows) fn zeroed_outside(
        &self,
        part: Val<'k, u32>,
        values: &Striped<'k, f32>,
    ) -> Striped<'k, f32> {
        self.filled_outside(part, values, 0.0)
    }

    /// Replaces the elements of part `part` that are outside the row with `fill`.
    #[track_caller]
    fn filled_outside(&self, part: Val<'k, u32>, values: &Striped<'k, f32>, fill: f32) -> Striped<'k, f32> {
        if self.is_inside.get() { values.clone() } else { values.fill_outside(part, self.n, fill) }
    }

    /// Returns this thread's groups in part `part` of an unaligned row.
    #[track_caller]
    pub(in crate::kernels::rows) fn unaligned_groups(&self, part: Val<'k, u32>) -> UnalignedGroups<'k> {
        self.stripes.groups(part, self.is_inside.get())
    }

    /// Returns `x` − `from` within the row, and 0 outside the row. `x` must be 0 outside the row.
    #[track_caller]
    pub(in crate::kernels::rows) fn deviations(
        &self,
        part: Val<'k, u32>,
        x: &Striped<'k, f32>,
        from: Val<'k, f32>,
    ) -> Striped<'k, f32> {
        if self.tiling.unaligned || self.is_held() {
            return self.zeroed_outside(part, &x.map(|x| x - from));
        }
        // This requires fewer instructions, but a register for each group.
        let from = self.zeroed_outside(part, &x.map(|_| from));
        x.zip(&from, |x, from| x - from)
    }

    /// Stores part `part` of a row.
    #[track_caller]
    pub(in crate::kernels::rows) fn store<T: TensorElement, A: Writable>(
        &self,
        line: &Line<'k, T, A>,
        part: impl Into<Val<'k, u32>>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        match line {
            Line::Aligned(row) => self.stripes.store(row, part, values),
            Line::Unaligned(row) => self.store_unaligned(row, part.into(), values),
            // Results are never stored to staged rows, which are always inputs.
            Line::Staged(_) => {}
        }
    }

    /// Stores part `part` of an unaligned row.
    #[track_caller]
    pub(in crate::kernels::rows) fn store_unaligned<T: TensorElement, A: Writable>(
        &self,
        to: &UnalignedRow<'k, T, A>,
        part: Val<'k, u32>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        to.store(&self.unaligned_groups(part), &f32::convert_words(values.registers()));
    }
}

/// Returns the suffix of a kernel's name for type `T`, such as `_f32`, or an empty string if `T` is `X`.
pub(in crate::kernels::rows) fn same_or<X: TensorElement, T: TensorElement>() -> String {
    if X::NAME == T::NAME { String::new() } else { format!("_{}", T::NAME) }
}
