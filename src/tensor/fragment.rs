//! Fragments: tensors in the registers of a thread.

use std::{fmt, marker::PhantomData, rc::Rc};

use super::{bounds::outside, element::TensorElement, error::TensorError};
use crate::{
    atoms::MmaOperand,
    layout::{IntTuple, Layout, Slicer, Tiler},
    ptx::{Builder, RegClass, RegId, Scalar, Val},
};

/// The maximum number of registers of a fragment; a larger number indicates a tensor that was not sliced.
const MOST_REGISTERS: i64 = 4096;

/// Elements of type `T` in the registers of one thread, arranged according to a layout.
///
/// A fragment owns its registers, which are written in place, so a fragment that is used in an emitted loop need not be
/// carried as loop state. Views
/// ([`slice`](Self::slice)) and clones share the registers. 8- and 16-bit elements are packed into 32-bit registers.
pub struct Fragment<'k, T> {
    k: Builder<'k>,
    /// Handles that remain valid after writes.
    registers: Rc<[RegId]>,
    layout: Rc<Layout>,
    offset: i64,
    /// The MMA operand that the fragment is loaded as.
    loaded_as: Option<MmaOperand>,
    kind: PhantomData<T>,
}

impl<T> Clone for Fragment<'_, T> {
    fn clone(&self) -> Self {
        Self { registers: Rc::clone(&self.registers), layout: Rc::clone(&self.layout), ..*self }
    }
}

impl<T: TensorElement> fmt::Debug for Fragment<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.registers.len();
        write!(f, "Fragment<{}> {} + {} in {count} registers", T::NAME, self.offset, self.layout)
    }
}

impl<'k> Builder<'k> {
    /// Creates a fragment with a static layout.
    ///
    /// Its contents are undefined until written. The builder rejects a layout that requires more than 4096 registers or has negative
    /// strides.
    #[track_caller]
    pub fn fragment<T: TensorElement>(self, layout: &Layout) -> Fragment<'k, T> {
        self.fragment_in(layout, T::Word::CLASS)
    }

    /// Creates a [`fragment`](Self::fragment) in another register class of the same width, for instructions that require this class.
    #[track_caller]
    pub(super) fn fragment_in<T: TensorElement>(self, layout: &Layout, class: RegClass) -> Fragment<'k, T> {
        let fragment = Fragment::uninitialized(self, layout, class);
        if T::PER_WORD > 1 {
            // Inserting a single element into a word requires the rest of the word to be defined.
            fragment.registers.iter().for_each(|&register| self.move_into(register, Val::<u32>::from(0)));
        }
        fragment
    }

    /// Creates a compact fragment with the given extents; the first mode varies fastest.
    ///
    /// Its contents are undefined until written. The builder rejects an extent below 1, and a shape that requires more than 4096 registers.
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
    /// Creates an uninitialized fragment; all words must be written before they are read.
    #[track_caller]
    pub(crate) fn uninitialized(k: Builder<'k>, layout: &Layout, class: RegClass) -> Self {
        let words = layout.cosize().unsigned_abs().div_ceil(T::PER_WORD as u64) as i64;
        let fits = words <= MOST_REGISTERS && layout.stride().leaves().all(|&stride| stride >= 0);
        if !fits {
            k.refuse(format!("expected a layout of at most {MOST_REGISTERS} registers, found {layout}"));
        }
        let registers = (0..if fits { words } else { 1 }).map(|_| k.fresh_changing(class)).collect();
        Self { k, registers, layout: layout.clone().into(), offset: 0, loaded_as: None, kind: PhantomData }
    }

    /// Creates a fragment over existing registers that no other value owns.
    pub(crate) fn over(k: Builder<'k>, mut registers: Vec<RegId>, layout: Layout) -> Self {
        for register in &mut registers {
            *register = k.changing(*register);
        }
        Self::of_values(k, registers, layout)
    }

    /// Creates a fragment over registers that other values may own. It must not be written.
    pub(crate) fn of_values(k: Builder<'k>, registers: Vec<RegId>, layout: Layout) -> Self {
        Self {
            k,
            registers: registers.into(),
            layout: layout.into(),
            offset: 0,
            loaded_as: None,
            kind: PhantomData,
        }
    }

    pub(crate) fn kernel(&self) -> Builder<'k> {
        self.k
    }

    /// Returns the layout of the elements in the registers, relative to the first element.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the extents.
    #[must_use]
    pub fn shape(&self) -> &IntTuple {
        self.layout.shape()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Returns the number of elements along mode `index`, or 1 for an index past the last mode.
    #[must_use]
    pub fn size_of(&self, index: usize) -> i64 {
        self.layout.shape().mode(index).map_or(1, IntTuple::size)
    }

    /// Returns the number of registers of the whole fragment.
    #[must_use]
    pub fn registers(&self) -> usize {
        self.registers.len()
    }

    /// Returns the fragment marked as an MMA operand, if the operand is known: loads then use the operand's register order.
    pub(crate) fn for_operand(&self, operand: Option<MmaOperand>) -> Self {
        Self { loaded_as: operand, ..self.clone() }
    }

    /// Returns the MMA operand that the fragment is loaded as, if known.
    pub(super) fn loaded_as(&self) -> Option<MmaOperand> {
        self.loaded_as
    }

    /// Returns the same registers with another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self { layout: layout.into(), ..self.clone() }
    }

    #[track_caller]
    pub(super) fn relaid(&self, layout: Result<Layout, impl Into<TensorError>>) -> Self {
        match layout {
            Ok(layout) => {
                if layout.stride().leaves().any(|&stride| stride < 0) {
                    self.k.refuse(format!("expected strides of at least 0, found the fragment {layout}"));
                }
                let (wanted, found) = (self.offset + layout.cosize(), self.registers.len() * T::PER_WORD);
                if wanted > found as i64 {
                    self.k.refuse(format!(
                        "{layout}: expected at most {found} elements, those of the fragment, found {wanted}"
                    ));
                }
                self.with_layout(layout)
            }
            Err(error) => {
                self.k.refuse(error.into().to_string());
                self.clone()
            }
        }
    }

    /// Returns the view that `coord` selects.
    ///
    /// For example, `(.., .., 1)` keeps the first two modes at index 1 of the third. Registers are not addressable, so the coordinate must
    /// be static. The builder rejects a coordinate that is out of bounds or whose nesting does not match the shape.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, coord: impl Into<Slicer>) -> Self {
        let coord = coord.into();
        if let Some((index, extent)) = outside(self.shape(), &coord.clone().into()) {
            self.k.refuse(format!(
                "coordinate {index} is out of bounds of a mode of {extent}: the fragment has shape {}",
                self.shape()
            ));
        }
        match self.layout.slice_and_offset(coord) {
            Ok((layout, offset)) => {
                Self { layout: layout.into(), offset: self.offset + offset, ..self.clone() }
            }
            Err(error) => {
                self.k.refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// Returns the view of the elements that `tiler` selects; see [`Layout::compose`].
    ///
    /// The builder rejects a result that extends past the registers of the fragment.
    #[must_use]
    #[track_caller]
    pub fn compose(&self, tiler: impl Into<Tiler>) -> Self {
        self.relaid(self.layout.compose(tiler))
    }

    /// Reinterprets the registers as elements of another type.
    ///
    /// The builder rejects the call if [`Layout::recast`] returns an error, if the registers of the two types have different widths, or if
    /// the view does not start at an element boundary of the new type.
    #[must_use]
    #[track_caller]
    pub fn recast<U: TensorElement>(&self) -> Fragment<'k, U> {
        let (old, new) = (i64::from(T::SIZE) * 8, i64::from(U::SIZE) * 8);
        let layout = self.layout.recast(old, new).unwrap_or_else(|error| {
            self.k.refuse(error.to_string());
            Layout::concat([])
        });
        if T::Word::BYTES != U::Word::BYTES || self.offset * old % new != 0 {
            self.k.refuse(format!("recast of {} to {}: expected the same register size and a view that starts at a whole element", T::NAME, U::NAME));
        }
        let offset = self.offset * old / new;
        Fragment {
            k: self.k,
            registers: Rc::clone(&self.registers),
            layout: layout.into(),
            offset,
            loaded_as: self.loaded_as,
            kind: PhantomData,
        }
    }

    // ── Registers ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the register index and the slot of element `index` of the view.
    pub(super) fn position(&self, index: i64) -> (usize, usize) {
        let at = (self.offset + self.layout.index(index)).unsigned_abs() as usize;
        (at / T::PER_WORD, at % T::PER_WORD)
    }

    /// Returns the position of the view's first element in the registers, and the layout of the elements relative to it.
    pub(super) fn elements(&self) -> (i64, &Rc<Layout>) {
        (self.offset, &self.layout)
    }

    /// Rejects an element index that is out of bounds.
    #[track_caller]
    fn check_element(&self, index: i64) {
        if !(0..self.size()).contains(&index) {
            self.k.refuse(format!("expected an element below {}, found element {index}", self.size()));
        }
    }

    /// Returns register `word`, or another register if `word` is out of bounds (such an index has already been rejected).
    pub(super) fn register(&self, word: usize) -> RegId {
        let register = self.registers.get(word).or(self.registers.first());
        register.copied().unwrap_or_else(|| self.k.fresh(T::Word::CLASS))
    }

    /// Returns all registers, in order.
    pub(crate) fn all_registers(&self) -> &[RegId] {
        &self.registers
    }

    /// Returns the registers of the view's elements if consecutive elements fill them completely and in order.
    pub(super) fn whole_registers(&self) -> Option<Vec<RegId>> {
        let words = whole_words(&self.layout, self.offset, T::PER_WORD)?;
        Some(words.into_iter().map(|word| self.register(word)).collect())
    }

    /// Returns the [`whole_registers`](Self::whole_registers) as an instruction's operand, or records an error.
    #[track_caller]
    pub(crate) fn operand(&self) -> Vec<RegId> {
        self.whole_registers().unwrap_or_else(|| {
            self.k.refuse(format!(
                "an instruction's operand fills whole registers in order, but the fragment {} + {} does not",
                self.offset, self.layout
            ));
            Vec::new()
        })
    }

    /// Returns a copy of the element at linear index `index`.
    ///
    /// The builder rejects an index that is out of bounds.
    #[track_caller]
    pub fn get(&self, index: i64) -> Val<'k, T::Reg> {
        self.check_element(index);
        let (word, slot) = self.position(index);
        self.k.extract::<T>(self.register(word), slot)
    }

    /// Writes the element at linear index `index`.
    ///
    /// The builder rejects an index that is out of bounds.
    #[track_caller]
    pub fn set(&self, index: i64, value: impl Into<Val<'k, T::Reg>>) {
        self.check_element(index);
        let (word, slot) = self.position(index);
        self.k.insert::<T>(self.register(word), slot, value.into());
    }
}

/// Returns the registers that the elements of a view at `offset` fill, if consecutive elements fill them completely and in order. A
/// register contains `per_word` elements.
pub(super) fn whole_words(layout: &Layout, offset: i64, per_word: usize) -> Option<Vec<usize>> {
    let count = layout.size().unsigned_abs() as usize;
    let first_in = |word: usize| (offset + layout.index((word * per_word) as i64)).unsigned_abs() as usize;
    let is_whole = |word: &usize| {
        let first = first_in(*word);
        let elements = (1..per_word).map(|slot| (word * per_word + slot, first + slot));
        first.is_multiple_of(per_word)
            && elements.into_iter().all(|(element, at)| offset + layout.index(element as i64) == at as i64)
    };
    let words = 0..count / per_word;
    let all = count.is_multiple_of(per_word) && words.clone().all(|word| is_whole(&word));
    all.then(|| words.map(|word| first_in(word) / per_word).collect())
}

/// Returns the registers of a fragment as values. The builder rejects uses of a value after its register has been overwritten.
pub(crate) fn words_of<'k, T: TensorElement>(fragment: &Fragment<'k, T>) -> Vec<Val<'k, T::Word>> {
    let k = fragment.kernel();
    let registers = fragment.all_registers().iter();
    registers.map(|&register| Val::from_reg(k.current(register), k)).collect()
}

/// Returns the layout of a lane's values in register order.
pub(crate) fn in_order(values: i64) -> Layout {
    Layout::new(values, 1).expect("the registers of a tile are few")
}
