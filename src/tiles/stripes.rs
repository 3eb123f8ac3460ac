//! Vectors distributed over several threads, in a striped arrangement with a length that is chosen when the kernel is built.

use std::panic::Location;

use arrayvec::ArrayVec;

use super::{convert::Convert, gl::Gl};
use crate::{
    layout::Layout,
    ptx::{Builder, Global, Readable, Scalar, State, Val, Visitor, Writable, lop3_table},
    tensor::{
        Fragment, Tensor, TensorElement, UnalignedGroups, UnalignedRow, copy, copy_or, in_order, words_of,
    },
};

/// The maximum number of elements in a tile of a vector whose length is known only at launch.
const MOST_IN_TILE: u32 = 1 << 16;
/// The number of predicate registers of a thread.
const PREDICATES: u32 = 7;

/// A striped arrangement of a vector over several threads, returned by [`Builder::stripes`].
///
/// The vector consists of stripes of equal length. Each stripe is divided evenly among the threads, in order: each thread owns the same
/// number of adjacent elements.
///
/// Unlike the size of an [`Rv`](super::Rv), which is a type parameter, the sizes of an arrangement are values. The vector may be
/// distributed over any number of threads, for example over part of a warp or over all threads of a cluster.
#[doc(alias = "striped arrangement")]
#[derive(Clone, Copy, Debug)]
pub struct Stripes<'k> {
    k: Builder<'k>,
    thread: Val<'k, u32>,
    threads: u32,
    adjacent: u32,
    count: u32,
    /// The number of elements of the first thread that precede the vector.
    ahead: Option<Val<'k, u32>>,
}

/// One thread's elements of a vector in a striped arrangement; see [`Stripes`].
#[derive(Clone, Debug)]
pub struct Striped<'k, T: TensorElement> {
    stripes: Stripes<'k>,
    words: Vec<Val<'k, T::Word>>,
}

impl<'k> Builder<'k> {
    /// Returns the arrangement of a vector over `threads` threads, for the thread with index `thread`. The vector consists of `count`
    /// stripes. In each stripe, each thread owns `adjacent` adjacent elements.
    ///
    /// The builder rejects the call if `threads`, `adjacent` or `count` is 0, if a stripe has more than 65,536 elements, or if the vector
    /// has 2³² elements or more.
    #[track_caller]
    pub fn stripes(
        self,
        thread: impl Into<Val<'k, u32>>,
        threads: u32,
        adjacent: u32,
        count: u32,
    ) -> Stripes<'k> {
        let product = |factors: &[u32]| factors.iter().try_fold(1u32, |all, factor| all.checked_mul(*factor));
        let exists = product(&[threads, adjacent]).is_some_and(|row| row <= MOST_IN_TILE)
            && product(&[threads, adjacent, count]).is_some_and(|all| all > 0);
        if !exists {
            self.refuse(format!(
                "expected stripes of up to {MOST_IN_TILE} elements, found {count} of {threads} times {adjacent}"
            ));
        }
        let [threads, adjacent, count] = if exists { [threads, adjacent, count] } else { [1; 3] };
        Stripes { k: self, thread: thread.into(), threads, adjacent, count, ahead: None }
    }
}

impl<'k> Stripes<'k> {
    /// Returns the number of elements of the vector.
    #[must_use]
    pub fn length(self) -> u32 {
        self.threads * self.adjacent * self.count
    }

    /// Returns the number of elements that each thread owns.
    #[must_use]
    pub fn per_thread(self) -> u32 {
        self.adjacent * self.count
    }

    /// Returns the same arrangement for vectors that begin `ahead` elements later: the first `ahead` elements of the first thread precede
    /// the vector. `ahead` must be less than the number of adjacent elements.
    #[must_use]
    pub(crate) fn beginning_after(self, ahead: Val<'k, u32>) -> Self {
        Self { ahead: Some(ahead), ..self }
    }

    /// Returns the number of elements of the first thread that precede the vector.
    #[must_use]
    pub(crate) fn ahead(self) -> Val<'k, u32> {
        self.ahead.unwrap_or(0.into())
    }

    /// Returns the index of this thread's first element in the vector.
    #[must_use]
    #[track_caller]
    pub fn first(self) -> Val<'k, u32> {
        let first = self.thread * self.adjacent;
        // The index wraps around if it would be negative.
        self.ahead.map_or(first, |ahead| first - ahead)
    }

    /// Returns the distance of each of this thread's elements from its [first](Self::first) element.
    pub fn offsets(self) -> impl Iterator<Item = u32> {
        (0..self.count).flat_map(move |stripe| {
            (0..self.adjacent).map(move |i| stripe * self.threads * self.adjacent + i)
        })
    }

    /// Returns the distance of index `end` from this thread's first slot in part `part` of a longer vector, or 0 if `end` precedes that
    /// slot. All parts have the length of this arrangement.
    #[track_caller]
    fn owned_until(self, part: Val<'k, u32>, end: Val<'k, u32>) -> Val<'k, u32> {
        let start = part * self.length() + self.thread * self.adjacent;
        let end = self.ahead.map_or(end, |ahead| end + ahead);
        end.max(start) - start
    }

    /// Returns a vector in which every element is `value`.
    #[must_use]
    pub fn filled<T: TensorElement<Word = T> + Scalar>(self, value: T) -> Striped<'k, T> {
        Striped { stripes: self, words: vec![value.into(); self.per_thread() as usize] }
    }

    /// Returns a vector in which this thread owns `elements`.
    pub(crate) fn with<T: TensorElement<Word = T> + Scalar>(self, elements: &[Val<'k, T>]) -> Striped<'k, T> {
        Striped { stripes: self, words: elements.to_vec() }
    }

    /// Loads this thread's elements of the vector that starts at element `index` · [`length`](Self::length) of `from`. Elements past the
    /// end of `from` are 0 and are not read from memory.
    ///
    /// Accesses are up to 16 bytes wide, depending on the known alignment of `from` and known divisors of its length.
    #[track_caller]
    pub fn load<T: TensorElement, A: Readable>(
        self,
        from: &Gl<'k, T, A, 1>,
        index: impl Into<Val<'k, u32>>,
    ) -> Striped<'k, T> {
        self.load_or(from, index, T::from_mem_bits(0))
    }

    /// Loads a vector as [`load`](Self::load) does, but elements past the end of `from` are `fill`.
    #[track_caller]
    pub fn load_or<T: TensorElement, A: Readable>(
        self,
        from: &Gl<'k, T, A, 1>,
        index: impl Into<Val<'k, u32>>,
        fill: T,
    ) -> Striped<'k, T> {
        let index = index.into();
        let _located = self.k.locate(Location::caller());
        let mut words = Vec::with_capacity(self.per_thread() as usize);
        for (stripes, part) in self.parts(from, index) {
            let fragment = stripes.fragment();
            copy_or(&fragment, &part, fill);
            words.extend(words_of(&fragment));
        }
        Striped { stripes: self, words }
    }

    /// Rejects the arrangement `other` if it differs from this one; returns whether it is the same.
    #[track_caller]
    fn check_same(self, other: Self) -> bool {
        let [expected, found] =
            [self, other].map(|stripes| [stripes.threads, stripes.adjacent, stripes.count]);
        if expected != found {
            self.k.refuse(format!(
                "expected a vector in stripes of {} threads with {} adjacent elements, {} per thread, found {}, {} and {}",
                expected[0], expected[1], expected[2], found[0], found[1], found[2]
            ));
        }
        expected == found
    }

    /// Converts this thread's elements of `vector` and stores them to the vector that starts at element
    /// `index` · [`length`](Self::length) of `to`. Elements past the end of `to` are not written. The builder
    /// rejects the call if `vector` has a different arrangement.
    #[track_caller]
    pub fn store<T: TensorElement, U: Convert<T>, A: Writable>(
        self,
        to: &Gl<'k, T, A, 1>,
        index: impl Into<Val<'k, u32>>,
        vector: &Striped<'k, U>,
    ) {
        let index = index.into();
        let _located = self.k.locate(Location::caller());
        if !self.check_same(vector.stripes) {
            return;
        }
        let mut words = U::convert_words(&vector.words).into_iter().map(|word| word.in_register(self.k));
        for (stripes, part) in self.parts(to, index) {
            let count = stripes.per_thread().div_ceil(T::PER_WORD as u32);
            let words: Vec<_> = words.by_ref().take(count as usize).collect();
            // Rows occupy many registers; results kept for reuse would occupy more.
            words.iter().for_each(|&word| self.k.body().set_recomputed(word));
            let fragment = Fragment::<T>::of_values(self.k, words, in_order(stripes.per_thread().into()));
            copy(&part, &fragment);
        }
    }

    /// Returns, for each of this thread's groups in vector `index` of a row, the index in the row of the group's first element.
    #[track_caller]
    pub(crate) fn starts(self, index: Val<'k, u32>) -> Vec<Val<'k, u32>> {
        let first = index * self.length() + self.first();
        (0..self.count).map(|stripe| first + stripe * self.threads * self.adjacent).collect()
    }

    /// Returns this thread's groups in vector `index` of a row. `are_inside` asserts that no thread that executes the instructions has
    /// groups that extend past either end of the row.
    #[track_caller]
    pub(crate) fn groups(self, index: Val<'k, u32>, are_inside: bool) -> UnalignedGroups<'k> {
        let slot = index * self.length() + self.thread * self.adjacent;
        let (distance, count) = (self.threads * self.adjacent, self.count);
        UnalignedGroups { slot, distance, count, ahead: self.ahead(), are_inside }
    }

    /// Loads the given groups of a vector of each row. Elements outside the rows are unspecified.
    #[track_caller]
    pub(crate) fn load_unaligned<T: TensorElement, A: Readable>(
        self,
        from: &[&UnalignedRow<'k, T, A>],
        groups: &UnalignedGroups<'k>,
    ) -> Vec<Striped<'k, T>> {
        let words = UnalignedRow::load(from, groups);
        let of_row = words.chunks(words.len() / from.len());
        of_row.map(|words| Striped { stripes: self, words: words.to_vec() }).collect()
    }

    /// Returns registers for a thread's elements.
    fn fragment<T: TensorElement>(self) -> Fragment<'k, T> {
        let values = in_order(self.per_thread().into());
        if self.per_thread().is_multiple_of(T::PER_WORD as u32) && self.adjacent * T::SIZE >= 4 {
            Fragment::uninitialized(self.k, &values, T::Word::CLASS)
        } else {
            // The fragment's words are written element by element.
            self.k.fragment(&values)
        }
    }

    /// Returns this thread's part of a vector of a row, divided into groups of consecutive stripes that fit in a tile.
    #[track_caller]
    fn parts<T: TensorElement, A>(
        self,
        row: &Gl<'k, T, A, 1>,
        index: Val<'k, u32>,
    ) -> Vec<(Self, Tensor<'k, Global, T, A>)> {
        let at_a_time = (MOST_IN_TILE / (self.threads * self.adjacent)).min(self.count);
        let starts = (0..self.count).step_by(at_a_time as usize);
        let part = |stripe: u32| {
            let stripes = Self { count: at_a_time.min(self.count - stripe), ..self };
            let start = index * self.length() + stripe * self.threads * self.adjacent;
            (stripes, stripes.part(row, start))
        };
        starts.map(part).collect()
    }

    /// Returns this thread's part of the vector that starts at element `start` of a row.
    #[track_caller]
    fn part<T: TensorElement, A>(
        self,
        row: &Gl<'k, T, A, 1>,
        start: Val<'k, u32>,
    ) -> Tensor<'k, Global, T, A> {
        let [threads, adjacent, count] = [self.threads, self.adjacent, self.count].map(i64::from);
        let layout = Layout::new((threads, (adjacent, count)), (adjacent, (1, threads * adjacent)));
        let tile = row.tile_at(start).tensor([self.length()]);
        match layout {
            Ok(layout) => tile.part_of(&layout, self.thread),
            Err(error) => {
                self.k.refuse(error.to_string());
                tile
            }
        }
    }
}

impl<'k, T: TensorElement> Striped<'k, T> {
    /// Returns the arrangement.
    #[must_use]
    pub fn stripes(&self) -> Stripes<'k> {
        self.stripes
    }

    /// Returns this thread's registers, in the order of its elements.
    #[must_use]
    pub fn registers(&self) -> &[Val<'k, T::Word>] {
        &self.words
    }

    /// Converts the elements to type `U`; for rounding and saturation, see [`Convert`].
    #[must_use]
    #[track_caller]
    pub fn convert<U: TensorElement>(&self) -> Striped<'k, U>
    where
        T: Convert<U>,
    {
        let mut words = T::convert_words(&self.words);
        // A word may have more slots than the thread has elements.
        words.truncate(self.stripes.per_thread().div_ceil(U::PER_WORD as u32) as usize);
        Striped { stripes: self.stripes, words }
    }
}

impl<'k, T: TensorElement> State<'k> for Striped<'k, T> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.words.visit(visitor);
    }
}

impl<'k> Striped<'k, f32> {
    /// Returns `self · factor + addend`, elementwise, rounded once.
    #[must_use]
    #[track_caller]
    pub(crate) fn mul_add(&self, factor: &Self, addend: &Self) -> Self {
        let words = self.words.iter().zip(&factor.words).zip(&addend.words);
        let words = words.map(|((&x, &y), &z)| x.mad(y, z)).collect();
        Self { stripes: self.stripes, words }
    }
}

/// Operations on vectors with one element per register.
impl<'k, T: TensorElement<Word = T> + Scalar> Striped<'k, T> {
    /// Applies `f` to each element and returns the results.
    #[must_use]
    #[track_caller]
    pub fn map(&self, f: impl Fn(Val<'k, T>) -> Val<'k, T>) -> Self {
        Self { stripes: self.stripes, words: self.words.iter().map(|&x| f(x)).collect() }
    }

    /// Applies `f` to each element and the corresponding element of `other`, and returns the results. The
    /// builder rejects the call if `other` has a different arrangement.
    #[must_use]
    #[track_caller]
    pub fn zip(&self, other: &Self, f: impl Fn(Val<'k, T>, Val<'k, T>) -> Val<'k, T>) -> Self {
        if !self.stripes.check_same(other.stripes) {
            return self.clone();
        }
        let words = self.words.iter().zip(&other.words).map(|(&x, &y)| f(x, y)).collect();
        Self { stripes: self.stripes, words }
    }

    /// Applies `f` to each element and its index in the vector, and returns the results. `f` receives the index first.
    #[must_use]
    #[track_caller]
    pub fn map_indexed(&self, f: impl Fn(Val<'k, u32>, Val<'k, T>) -> Val<'k, T>) -> Self {
        let first = self.stripes.first();
        let words =
            self.stripes.offsets().zip(&self.words).map(|(offset, &x)| f(first + offset, x)).collect();
        Self { stripes: self.stripes, words }
    }

    /// Applies `f`, which may be stateful, to each of this thread's elements in order.
    #[must_use]
    #[track_caller]
    pub(crate) fn scanned(&self, mut f: impl FnMut(Val<'k, T>) -> Val<'k, T>) -> Self {
        Self { stripes: self.stripes, words: self.words.iter().map(|&x| f(x)).collect() }
    }

    /// Calls `f` with each group of `size` adjacent elements and the index of the group's first element in the vector. `size` must divide
    /// the number of adjacent elements of a thread.
    #[track_caller]
    pub(crate) fn for_each_group(&self, size: usize, f: impl Fn(Val<'k, u32>, &[Val<'k, T>])) {
        let first = self.stripes.first();
        let groups = self.stripes.offsets().step_by(size).zip(self.words.chunks(size));
        groups.for_each(|(offset, group)| f(first + offset, group));
    }

    /// Reduces this thread's elements to one value: combines pairs of adjacent elements with `f`, then pairs of the results, and so on.
    #[must_use]
    #[track_caller]
    pub fn combined(&self, f: impl Fn(Val<'k, T>, Val<'k, T>) -> Val<'k, T>) -> Val<'k, T> {
        let mut values = self.words.clone();
        while values.len() > 1 {
            values =
                values.chunks(2).map(|pair| pair.iter().copied().reduce(&f).unwrap_or(pair[0])).collect();
        }
        values[0]
    }
}

impl<'k> Striped<'k, f32> {
    /// Returns this part of a longer vector with `otherwise` in place of the elements whose index in the longer vector is at least `end`.
    #[must_use]
    #[track_caller]
    pub(crate) fn until(&self, part: Val<'k, u32>, end: Val<'k, u32>, otherwise: f32) -> Self {
        let (stripes, owned) = (self.stripes, self.stripes.owned_until(part, end));
        let elements = stripes.offsets().zip(&self.words);
        if stripes.count < PREDICATES {
            let words = elements.map(|(offset, &x)| owned.gt(offset).select(x, otherwise)).collect();
            return Self { stripes, words };
        }
        // Each stripe is loaded under a predicate. With a predicate for each element as well, ptxas would interleave loads with these
        // selections, and the latencies of the loads would add up.
        let owned = owned.min(stripes.length()).bits::<i32>();
        let table = lop3_table(|x, is_beyond, otherwise| x & !is_beyond | otherwise & is_beyond);
        let select = |(offset, x): (u32, &Val<'k, f32>)| {
            let is_beyond = (owned - (offset as i32 + 1)) >> 31;
            x.bits::<u32>().lop3(is_beyond.bits::<u32>(), otherwise.to_bits(), table).bits()
        };
        Self { stripes, words: elements.map(select).collect() }
    }

    /// Returns the sum of the products of this thread's elements and the corresponding elements of `other`, which must have the same
    /// arrangement. The products are accumulated in four independent chains of `fma`.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Val<'k, f32> {
        let mut sums: ArrayVec<Val<'k, f32>, 4> = ArrayVec::new();
        for (i, (&x, &y)) in self.words.iter().zip(&other.words).enumerate() {
            match sums.get_mut(i % 4) {
                Some(sum) => *sum = x.mad(y, *sum),
                None => sums.push(x * y),
            }
        }
        let sums = Striped { stripes: self.stripes, words: sums.to_vec() };
        sums.combined(|a, b| a + b)
    }

    /// Returns `self · factor + term`, elementwise, rounded once.
    #[must_use]
    #[track_caller]
    pub(crate) fn mad(&self, factor: &Self, term: &Self) -> Self {
        let factors = self.words.iter().zip(&factor.words);
        let words = factors.zip(&term.words).map(|((&x, &factor), &term)| x.mad(factor, term)).collect();
        Self { stripes: self.stripes, words }
    }

    /// Replaces the elements that are outside the row with `value`. This vector is vector `index` of the row, which has `n` elements. `n`
    /// must be a multiple of the number of adjacent elements, unless the arrangement results from
    /// [`beginning_after`](Stripes::beginning_after).
    #[must_use]
    #[track_caller]
    pub(crate) fn fill_outside(&self, index: Val<'k, u32>, n: Val<'k, u32>, value: f32) -> Self {
        let stripes = self.stripes;
        let starts = stripes.starts(index);
        if stripes.ahead.is_none() {
            return self.filled_where(stripes.adjacent, &starts, n, value);
        }
        // Few threads have elements outside the row.
        let (k, last) = (stripes.k, n - stripes.adjacent);
        let is_whole = |start: &Val<'k, u32>| start.le(last);
        let are_whole = starts.first().zip(starts.last()).map(|(a, b)| is_whole(a) & is_whole(b));
        k.if_else_with(
            n.ge(stripes.adjacent) & are_whole.unwrap_or(true.into()),
            || self.clone(),
            || self.filled_where(1, &starts, n, value),
        )
    }

    /// Replaces the elements outside the row of `n` elements with `value`. The groups of elements start at `starts`. In each run of
    /// `together` consecutive elements, either all or none are outside the row.
    #[track_caller]
    fn filled_where(&self, together: u32, starts: &[Val<'k, u32>], n: Val<'k, u32>, value: f32) -> Self {
        let stripes = self.stripes;
        let groups = self.words.chunks(stripes.adjacent as usize).zip(starts);
        let words = groups.flat_map(|(group, &start)| {
            let is_inside: Vec<_> =
                (0..stripes.adjacent / together).map(|i| (start + i * together).lt(n)).collect();
            let select = move |(i, &x): (u32, _)| is_inside[(i / together) as usize].select(x, value);
            (0..).zip(group).map(select).collect::<Vec<_>>()
        });
        Self { stripes, words: words.collect() }
    }
}
