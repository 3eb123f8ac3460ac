//! Fragments: tensors in the registers of a thread.

use std::{fmt, rc::Rc};

use super::{
    bounds::outside,
    element::{TensorElement, per_word, word_bytes},
    error::TensorError,
    moves::Word,
};
use crate::{
    layout::{IntTuple, Layout, Slicer, Tiler},
    ptx::{Builder, Operand, RegClass, Scalar, Val},
};

/// Elements `T` in registers of one thread, seen through a layout.
///
/// A fragment has registers of its own, which are written in place, so that it keeps its place in emitted loops without being
/// carried. Views ([`slice`](Self::slice)) and clones share them. Elements of 16 or 8 bits share registers of 32.
pub struct Fragment<'k, T> {
    k: Builder<'k>,
    words: Rc<[Word]>,
    layout: Layout,
    offset: i64,
    kind: std::marker::PhantomData<T>,
}

impl<T> Clone for Fragment<'_, T> {
    fn clone(&self) -> Self {
        Self { words: Rc::clone(&self.words), layout: self.layout.clone(), ..*self }
    }
}

impl<T: TensorElement> fmt::Debug for Fragment<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fragment<{}> {} + {} in {} registers", T::NAME, self.offset, self.layout, self.words.len())
    }
}

impl<'k> Builder<'k> {
    /// A fragment with a layout that the host knows, not initialised.
    #[track_caller]
    pub fn fragment<T: TensorElement>(self, layout: &Layout) -> Fragment<'k, T> {
        self.fragment_in(layout, T::WORD)
    }

    /// [`fragment`](Self::fragment) of another class of registers of the same width, as instructions want them.
    #[track_caller]
    pub(super) fn fragment_in<T: TensorElement>(self, layout: &Layout, class: RegClass) -> Fragment<'k, T> {
        let words = layout.cosize().div_euclid(per_word::<T>() as i64)
            + i64::from(layout.cosize() % per_word::<T>() as i64 != 0);
        let words = if words > 4096 || layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("a fragment cannot lie in registers as {layout}"));
            1
        } else {
            words
        };
        let words: Vec<Word> = (0..words).map(|_| Word(self.fresh_changing(class))).collect();
        if per_word::<T>() > 1 {
            // Single elements are written into words whose other parts must have values.
            let zero = Val::<u32>::from(0).operand(self);
            words.iter().for_each(|word| self.emit(format_args!("mov.b32"), &[Operand::Reg(word.0), zero]));
        }
        Fragment {
            k: self,
            words: words.into(),
            layout: layout.clone(),
            offset: 0,
            kind: std::marker::PhantomData,
        }
    }

    /// A compact fragment of so many elements in each mode, first mode fastest.
    #[track_caller]
    pub fn fragment_of_shape<T: TensorElement>(self, shape: impl Into<IntTuple>) -> Fragment<'k, T> {
        let layout = Layout::column_major(shape);
        let layout = layout.unwrap_or_else(|error| {
            self.refuse(error.to_string());
            Layout::concat([])
        });
        self.fragment(&layout)
    }
}

impl<'k, T: TensorElement> Fragment<'k, T> {
    pub(super) fn kernel(&self) -> Builder<'k> {
        self.k
    }

    /// The layout in elements of the registers.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Extents.
    #[must_use]
    pub fn shape(&self) -> &IntTuple {
        self.layout.shape()
    }

    /// Number of elements of the view.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Elements of mode `index`; 1 past the last.
    #[must_use]
    pub fn size_of(&self, index: usize) -> i64 {
        self.layout.shape().mode(index).map_or(1, IntTuple::size)
    }

    /// Registers of the whole fragment.
    #[must_use]
    pub fn registers(&self) -> usize {
        self.words.len()
    }

    /// The same registers with another layout.
    pub(super) fn with_layout(&self, layout: Layout) -> Self {
        Self { layout, ..self.clone() }
    }

    #[track_caller]
    pub(super) fn relaid(&self, layout: Result<Layout, impl Into<TensorError>>) -> Self {
        match layout {
            Ok(layout) => {
                let (wanted, found) = (self.offset + layout.cosize(), self.words.len() * per_word::<T>());
                if wanted > found as i64 {
                    self.k.refuse(format!("{layout} reaches {wanted} elements of a fragment of {found}"));
                }
                self.with_layout(layout)
            }
            Err(error) => {
                self.k.refuse(error.into().to_string());
                self.clone()
            }
        }
    }

    /// The view that `coord` keeps: `(.., .., 1)`. Registers have no address, so the coordinate is known to the host.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, coord: impl Into<Slicer>) -> Self {
        let coord = coord.into();
        if let Some((index, extent)) = outside(self.shape(), &coord.clone().into()) {
            self.k.refuse(format!(
                "coordinate {index} in a mode of {extent}: the fragment has {}",
                self.shape()
            ));
        }
        match self.layout.slice_and_offset(coord) {
            Ok((layout, offset)) => Self { layout, offset: self.offset + offset, ..self.clone() },
            Err(error) => {
                self.k.refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// The elements that `tiler` picks, mode by mode.
    #[must_use]
    #[track_caller]
    pub fn compose(&self, tiler: impl Into<Tiler>) -> Self {
        self.relaid(self.layout.compose(tiler))
    }

    /// The same registers as elements of another type, of any size.
    #[must_use]
    #[track_caller]
    pub fn recast<U: TensorElement>(&self) -> Fragment<'k, U> {
        let (old, new) = (i64::from(T::SIZE) * 8, i64::from(U::SIZE) * 8);
        let layout = self.layout.recast(old, new).unwrap_or_else(|error| {
            self.k.refuse(error.to_string());
            Layout::concat([])
        });
        if word_bytes::<T>() != word_bytes::<U>() || self.offset * old % new != 0 {
            self.k.refuse(format!("registers of {} cannot be seen as {}", T::NAME, U::NAME));
        }
        let offset = self.offset * old / new;
        Fragment { k: self.k, words: Rc::clone(&self.words), layout, offset, kind: std::marker::PhantomData }
    }

    // ── Registers ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Register and part of element `index` of the view.
    pub(super) fn place(&self, index: i64) -> (usize, usize) {
        let at = (self.offset + self.layout.index(index)).unsigned_abs() as usize;
        (at / per_word::<T>(), at % per_word::<T>())
    }

    /// Refuses an element that the view does not have.
    #[track_caller]
    fn check_element(&self, index: i64) {
        if !(0..self.size()).contains(&index) {
            self.k.refuse(format!("element {index} of a fragment of {}", self.size()));
        }
    }

    /// The register that holds a word; the first for a word that there is not, which was refused before.
    pub(super) fn word(&self, word: usize) -> Word {
        self.words.get(word).copied().unwrap_or(self.words[0])
    }

    /// The registers of consecutive elements of the view, if these fill them whole and in order.
    pub(super) fn whole_registers(&self) -> Option<Vec<Word>> {
        let per_word = per_word::<T>();
        let mut words = Vec::new();
        for index in 0..self.size() {
            let (word, part) = self.place(index);
            let expected = index as usize % per_word;
            if expected == 0 {
                words.push(self.word(word));
            }
            if part != expected || words.last() != Some(&self.word(word)) {
                return None;
            }
        }
        self.size().unsigned_abs().is_multiple_of(per_word as u64).then_some(words)
    }

    /// [`whole_registers`](Self::whole_registers) as an instruction's operand, or refused.
    #[track_caller]
    pub(super) fn operand(&self) -> Vec<Word> {
        self.whole_registers().unwrap_or_else(|| {
            self.k.refuse(format!(
                "the fragment {} + {} does not fill whole registers in order, as an instruction wants it",
                self.offset, self.layout
            ));
            Vec::new()
        })
    }

    /// A fragment over registers that are there already, and that nobody else writes.
    #[track_caller]
    pub(crate) fn of_registers<W: Scalar>(k: Builder<'k>, words: &[Val<'k, W>], layout: Layout) -> Self {
        let words: Rc<[Word]> = words.iter().map(|word| Word(word.in_register(k).in_place())).collect();
        words.iter().for_each(|word| k.body().uniform.set_changes(word.0));
        Self { k, words, layout, offset: 0, kind: std::marker::PhantomData }
    }

    /// Copies of the registers that the view's elements fill in order.
    #[track_caller]
    pub(crate) fn copies<W: Scalar>(&self) -> Vec<Val<'k, W>> {
        let copy = |word: Word| {
            self.k.result::<W>(format_args!("mov.b{}", 8 * word_bytes::<T>()), &[Operand::Reg(word.0)])
        };
        self.operand().into_iter().map(copy).collect()
    }

    /// A copy of element `index`, counted through the view's shape. Refused when the kernel is built: one past the end.
    #[track_caller]
    pub fn get(&self, index: i64) -> Val<'k, T::Reg> {
        self.check_element(index);
        let (word, part) = self.place(index);
        let (k, word) = (self.k, self.word(word));
        match T::SIZE {
            2 => {
                let parts = [k.fresh(T::Reg::CLASS), k.fresh(T::Reg::CLASS)];
                let halves = parts.map(Operand::Reg);
                k.emit(format_args!("mov.b32"), &[Operand::Vector(&halves), Operand::Reg(word.0)]);
                Val::from_reg(parts[part], k)
            }
            1 => {
                let extract = if T::MEM == "s8" { "bfe.s32" } else { "bfe.u32" };
                let from = Val::<u32>::from(8 * part as u32).operand(k);
                k.result(
                    format_args!("{extract}"),
                    &[Operand::Reg(word.0), from, Val::<u32>::from(8).operand(k)],
                )
            }
            bytes => k.result(format_args!("mov.b{}", 8 * bytes), &[Operand::Reg(word.0)]),
        }
    }

    /// Writes element `index`, counted through the view's shape. Refused when the kernel is built: one past the end.
    #[track_caller]
    pub fn set(&self, index: i64, value: impl Into<Val<'k, T::Reg>>) {
        self.check_element(index);
        let (word, part) = self.place(index);
        let (k, word, value) = (self.k, self.word(word), value.into());
        match T::SIZE {
            2 => {
                let parts = [k.fresh(T::Reg::CLASS), k.fresh(T::Reg::CLASS)];
                let mut halves = parts.map(Operand::Reg);
                k.emit(format_args!("mov.b32"), &[Operand::Vector(&halves), Operand::Reg(word.0)]);
                halves[part] = Operand::Reg(value.in_register(k));
                k.emit(format_args!("mov.b32"), &[Operand::Reg(word.0), Operand::Vector(&halves)]);
            }
            1 => {
                let at = Val::<u32>::from(8 * part as u32).operand(k);
                let value = Operand::Reg(value.in_register(k));
                let operands =
                    [Operand::Reg(word.0), value, Operand::Reg(word.0), at, Val::<u32>::from(8).operand(k)];
                k.emit(format_args!("bfi.b32"), &operands);
            }
            bytes => {
                let constant = value.immediate().filter(|_| word.0.class == T::Reg::CLASS);
                let value = constant.unwrap_or_else(|| Operand::Reg(value.in_register(k)));
                k.emit(format_args!("mov.b{}", 8 * bytes), &[Operand::Reg(word.0), value]);
            }
        }
    }
}
