//! Tensors and fragments as sides of a copy.

use std::collections::BTreeMap;

use super::{
    copy::{Destination, Held, Source},
    element::{TensorElement, per_word, word_bytes},
    fragment::Fragment,
    memory::Tensor,
    moves::{Move, Place, Word},
    operand::OperandPart,
    predicate::{both, zero},
    space::TensorSpace,
};
use crate::{
    layout::Swizzle,
    ptx::{Builder, Global, Operand, Ptr, Read, Readable, Shared, Val, Writable, Write, divisor::gcd},
};

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Step of element `element` of the view: constant elements first, then coordinates.
    fn step(&self, element: i64) -> Vec<i64> {
        let mut step = self.layout.index(element);
        crate::layout::Codomain::step(&mut step, &self.offset, 1);
        (0..=self.axes.len()).map(|component| step.component(component)).collect()
    }

    /// The coordinates along axes whose strides only the launch knows.
    fn line(&self, step: &[i64]) -> Vec<i64> {
        let unknown = self.axes.iter().zip(&step[1..]).filter(|(axis, _)| axis.stride.is_some());
        unknown.map(|(_, &coord)| coord).collect()
    }

    /// Known alignment of an element's address, up to 16 bytes.
    fn alignment(&self, step: &[i64]) -> u32 {
        let size = u64::from(T::SIZE);
        let mut align = gcd(u64::from(self.pointer.align()), 16);
        if self.is_swizzled() {
            // The swizzle moves chunks of 2^base bytes.
            align = gcd(align, self.inner.divisor());
            align = gcd(align, 1 << self.swizzle.base());
        }
        align = gcd(align, step[0].unsigned_abs() * size);
        for (axis, &coord) in self.axes.iter().zip(&step[1..]) {
            if let (Some(stride), true) = (axis.stride, coord != 0) {
                align = gcd(align, stride.divisor().saturating_mul(coord.unsigned_abs() * size));
            }
        }
        align as u32
    }

    /// Whether the view's start is known to be aligned to so many bytes, apart from elements.
    pub(super) fn begins_aligned(&self, bytes: u32) -> bool {
        let inner = if self.is_swizzled() { gcd(self.inner.divisor(), 1 << self.swizzle.base()) } else { 0 };
        let constant = self.offset.component(0).unsigned_abs() * u64::from(T::SIZE);
        gcd(gcd(u64::from(self.pointer.align()), inner), constant).is_multiple_of(bytes.into())
    }

    /// How many elements side by side from here surely lie inside or outside together.
    fn whole(&self, step: &[i64], next: Option<&[i64]>) -> u32 {
        let mut whole = 16;
        for (axis, facts) in self.axes.iter().enumerate() {
            let along = next.is_none_or(|next| next[axis + 1] != step[axis + 1]);
            if let (Some(extent), true) = (facts.extent, along) {
                let start = gcd(facts.at.divisor(), step[axis + 1].unsigned_abs());
                whole = gcd(whole, gcd(extent.divisor(), start));
            }
        }
        whole as u32
    }

    pub(super) fn places_of_view(&self) -> Vec<Place> {
        let steps: Vec<_> = (0..self.size().min(4096)).map(|element| self.step(element)).collect();
        // The element after each in memory, to see along which axis a vector would lie.
        let mut after: BTreeMap<(Vec<i64>, i64), usize> = BTreeMap::new();
        let edged = self.axes.iter().any(|axis| axis.extent.is_some());
        if edged {
            for (element, step) in steps.iter().enumerate() {
                after.insert((self.line(step), step[0]), element);
            }
        }
        let place = |step: &Vec<i64>| {
            let line = self.line(step);
            let next = after.get(&(line.clone(), step[0] + 1)).map(|&next| steps[next].as_slice());
            let whole = if edged { self.whole(step, next) } else { 16 };
            Place::Memory { line, offset: step[0], align: self.alignment(step), whole }
        };
        steps.iter().map(place).collect()
    }

    /// Pointer to an element of the view.
    #[track_caller]
    pub(super) fn pointer_to(&self, element: i64) -> Ptr<'k, T, S, A> {
        let step = self.step(element);
        let bytes = step[0] * i64::from(T::SIZE);
        if self.is_swizzled() {
            return self.swizzled(bytes);
        }
        let line: Vec<i64> = self
            .axes
            .iter()
            .zip(&step[1..])
            .map(|(axis, &c)| if axis.stride.is_some() { c } else { 0 })
            .collect();
        let known = self.made.borrow().get(&line).copied().filter(|pointer| pointer.is_current());
        let pointer = known.unwrap_or_else(|| {
            let mut pointer = self.pointer;
            for (axis, &coord) in self.axes.iter().zip(&line) {
                if let (Some(stride), true) = (axis.stride, coord != 0) {
                    pointer = S::far(pointer, (coord as u32).into(), stride);
                }
            }
            self.made.borrow_mut().insert(line, pointer);
            pointer
        });
        pointer.byte_offset(bytes)
    }

    /// The swizzled address: the part in registers, and a constant one.
    #[track_caller]
    fn swizzled(&self, bytes: i64) -> Ptr<'k, T, S, A> {
        let (swizzle, inner) = (self.swizzle, self.inner);
        if let Some(inner) = inner.as_constant() {
            return self.pointer.byte_offset(swizzle.apply(i64::from(inner) + bytes));
        }
        let chunk = 1 << swizzle.base();
        let source_and_target = period_mask(swizzle);
        if bytes >= 0 && self.inner_bits & bytes as u64 == 0 {
            // No carries: the swizzle of the sum is that of both parts, and what no bit of the one part meets is an offset.
            let constant = swizzle.apply(bytes);
            let meets = constant & (self.inner_bits | targets(swizzle)) as i64;
            let pointer = self.permuted_pointer(
                vec![i64::MIN, meets],
                || permuted(inner, swizzle) ^ meets as u32,
                meets,
            );
            return pointer.byte_offset(constant - meets);
        }
        // What the swizzle looks at repeats; what lies below its chunks stays.
        let repeats = bytes & !source_and_target;
        let rest = bytes & source_and_target;
        let below_free = inner.divisor().is_multiple_of(chunk as u64);
        let below = if below_free { rest % chunk } else { 0 };
        let pointer = self.permuted_pointer(
            vec![i64::MAX, rest - below],
            || permuted(inner + (rest - below) as u32, swizzle),
            rest - below,
        );
        pointer.byte_offset(repeats + below)
    }

    /// The pointer to a permuted offset, made once.
    #[track_caller]
    fn permuted_pointer(
        &self,
        key: Vec<i64>,
        offset: impl FnOnce() -> Val<'k, u32>,
        constant: i64,
    ) -> Ptr<'k, T, S, A> {
        if let Some(known) = self.made.borrow().get(&key).copied().filter(|pointer| pointer.is_current()) {
            return known;
        }
        let align = gcd(gcd(self.inner.divisor(), constant.unsigned_abs()), 1 << self.swizzle.base());
        let pointer = S::at_byte(self.pointer, offset()).assume_aligned(gcd(align, 16).max(1) as u32);
        self.made.borrow_mut().insert(key, pointer);
        pointer
    }

    /// Whether the elements, which lie inside or outside together, lie inside.
    #[track_caller]
    pub(super) fn contains(&self, elements: &[i64]) -> Val<'k, bool> {
        let step = self.step(elements[0]);
        let mut inside = Val::from(true);
        for (number, (axis, &coord)) in self.axes.iter().zip(&step[1..]).enumerate() {
            let Some(extent) = axis.extent else { continue };
            let known = self.compared.borrow().get(&(number, coord)).copied().filter(Val::is_current);
            let exists = known.unwrap_or_else(|| {
                let exists = (axis.at + coord as u32).lt(extent);
                self.compared.borrow_mut().insert((number, coord), exists);
                exists
            });
            inside = both(inside, exists);
        }
        inside
    }
}

/// The bits that a swizzle changes.
fn targets(swizzle: Swizzle) -> u64 {
    let mask = ((1_u64 << swizzle.bits()) - 1) << swizzle.base();
    if swizzle.shift() >= 0 { mask } else { mask << swizzle.shift().unsigned_abs() }
}

/// All bits below the period of a swizzle.
fn period_mask(swizzle: Swizzle) -> i64 {
    swizzle.period() - 1
}

/// The swizzled byte offset of one in a register.
#[track_caller]
fn permuted(offset: Val<'_, u32>, swizzle: Swizzle) -> Val<'_, u32> {
    let mask = ((1_u32 << swizzle.bits()) - 1) << swizzle.base();
    let shift = swizzle.shift();
    let moved = if shift >= 0 {
        (offset >> shift.unsigned_abs()) & mask
    } else {
        (offset & mask) << shift.unsigned_abs()
    };
    offset ^ moved
}

impl<'k, S: TensorSpace, T: TensorElement, A: Readable> Source<'k, T> for Tensor<'k, S, T, A> {
    fn places(&self) -> Vec<Place> {
        self.places_of_view()
    }

    fn builder(&self) -> Builder<'k> {
        self.kernel()
    }

    fn count(&self) -> i64 {
        self.size()
    }

    #[track_caller]
    fn condition(&self, step: &Move) -> Val<'k, bool> {
        self.contains(&step.elements)
    }

    #[track_caller]
    fn read(&self, step: &Move, there: Val<'k, bool>, keep: bool, into: Option<Vec<Word>>) -> Held<'k, T> {
        let k = self.kernel();
        let pointer = self.pointer_to(step.elements[0]);
        let bytes = step.elements.len() as u32 * T::SIZE;
        if bytes < 4 {
            return Held::Element(pointer.load_if(there, zero::<T>()));
        }
        let words =
            into.unwrap_or_else(|| (0..bytes / word_bytes::<T>()).map(|_| Word(k.fresh(T::WORD))).collect());
        if there.as_constant() != Some(true) && !keep {
            for &word in &words {
                let zero = if word_bytes::<T>() == 8 {
                    Val::<u64>::from(0).operand(k)
                } else {
                    Val::<u32>::from(0).operand(k)
                };
                k.emit(format_args!("mov.b{}", 8 * word_bytes::<T>()), &[Operand::Reg(word.0), zero]);
            }
        }
        let address = pointer.operand();
        k.when(there, || {
            let registers = operands(&words);
            k.emit(
                format_args!("ld{}{}.b{}", S::PTX, vector(&words), 8 * word_bytes::<T>()),
                &[one_or_vector(&registers), address],
            );
        });
        Held::Words(words)
    }

    #[track_caller]
    fn global(&self, element: i64) -> Option<Ptr<'k, T, Global, Read>> {
        S::as_global(self.pointer_to(element).read_only())
    }

    fn operand(&self) -> Option<&OperandPart<'k, T>> {
        self.operand.as_deref()
    }
}

fn operands(words: &[Word]) -> Vec<Operand<'static>> {
    words.iter().map(|&word| Operand::Reg(word.0)).collect()
}

fn one_or_vector<'o>(registers: &'o [Operand<'static>]) -> Operand<'o> {
    match registers {
        [one] => *one,
        several => Operand::Vector(several),
    }
}

/// `.v2` or `.v4`.
fn vector(words: &[Word]) -> &'static str {
    match words.len() {
        1 => "",
        2 => ".v2",
        _ => ".v4",
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Writable> Destination<'k, T> for Tensor<'k, S, T, A> {
    type Done = S::Done<'k>;

    fn to_places(&self) -> Vec<Place> {
        self.places_of_view()
    }

    fn to_count(&self) -> i64 {
        self.size()
    }

    #[track_caller]
    fn accepts(&self, step: &Move) -> Val<'k, bool> {
        self.contains(&step.elements)
    }

    #[track_caller]
    fn write(&self, step: &Move, condition: Val<'k, bool>, value: Held<'k, T>) {
        let k = self.kernel();
        let pointer = self.pointer_to(step.elements[0]);
        match value {
            Held::Element(value) => k.when(condition, || pointer.store(value)),
            Held::Words(words) => {
                let address = pointer.operand();
                k.when(condition, || {
                    let registers = operands(&words);
                    k.emit(
                        format_args!("st{}{}.b{}", S::PTX, vector(&words), 8 * word_bytes::<T>()),
                        &[address, one_or_vector(&registers)],
                    );
                });
            }
        }
    }

    fn done(k: Builder<'k>, asynchronous: bool) -> S::Done<'k> {
        S::done(k, asynchronous)
    }

    #[track_caller]
    fn shared(&self, element: i64) -> Option<Ptr<'k, T, Shared, Write>> {
        S::as_shared(self.pointer_to(element).assume_access())
    }

    fn to_operand(&self) -> Option<&OperandPart<'k, T>> {
        self.operand.as_deref()
    }
}

impl<'k, T: TensorElement> Fragment<'k, T> {
    fn places_of_view(&self) -> Vec<Place> {
        let place = |element| {
            let (word, part) = self.place(element);
            Place::Register { word, part }
        };
        (0..self.size().min(4096)).map(place).collect()
    }

    /// The registers that a move fills, if it fills them whole.
    fn whole_words(&self, step: &Move) -> Option<Vec<Word>> {
        let per_word = per_word::<T>();
        if !step.elements.len().is_multiple_of(per_word) {
            return None;
        }
        let words = step.elements.chunks(per_word).map(|word| self.word(self.place(word[0]).0));
        Some(words.collect())
    }
}

impl<'k, T: TensorElement> Source<'k, T> for Fragment<'k, T> {
    fn places(&self) -> Vec<Place> {
        self.places_of_view()
    }

    fn builder(&self) -> Builder<'k> {
        self.kernel()
    }

    fn count(&self) -> i64 {
        self.size()
    }

    fn condition(&self, _: &Move) -> Val<'k, bool> {
        true.into()
    }

    #[track_caller]
    fn read(&self, step: &Move, there: Val<'k, bool>, _: bool, into: Option<Vec<Word>>) -> Held<'k, T> {
        let k = self.kernel();
        let Some(words) = self.whole_words(step) else { return Held::Element(self.get(step.elements[0])) };
        let Some(into) = into else { return Held::Words(words) };
        k.when(there, || {
            for (&to, &from) in into.iter().zip(&words) {
                k.emit(
                    format_args!("mov.b{}", 8 * word_bytes::<T>()),
                    &[Operand::Reg(to.0), Operand::Reg(from.0)],
                );
            }
        });
        Held::Words(into)
    }

    fn fragment(&self) -> Option<&Fragment<'k, T>> {
        Some(self)
    }
}

impl<'k, T: TensorElement> Destination<'k, T> for Fragment<'k, T> {
    type Done = ();

    fn to_places(&self) -> Vec<Place> {
        self.places_of_view()
    }

    fn to_count(&self) -> i64 {
        self.size()
    }

    fn accepts(&self, _: &Move) -> Val<'k, bool> {
        true.into()
    }

    #[track_caller]
    fn write(&self, step: &Move, condition: Val<'k, bool>, value: Held<'k, T>) {
        if let Held::Element(value) = value {
            let element = step.elements[0];
            let value = match condition.as_constant() {
                Some(true) => value,
                Some(false) => return,
                None => condition.select(value, self.get(element)),
            };
            self.set(element, value);
        }
    }

    fn done(_: Builder<'k>, _: bool) {}

    fn registers(&self, step: &Move) -> Option<Vec<Word>> {
        self.whole_words(step)
    }

    fn to_fragment(&self) -> Option<&Fragment<'k, T>> {
        Some(self)
    }
}
