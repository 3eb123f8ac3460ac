//! Arithmetic on complex tiles and vectors.
//!
//! Products and quotients are computed in [`Accumulate::Sum`], which is f32 for tf32 and for floating-point types of at most 16 bits, `i32`
//! for 8-bit integers, and the element type otherwise. If it differs from the element type, floating-point results are rounded once more.
//! Because fused multiply-adds are used, each part of a product is rounded twice, once for a product of real numbers and once for the
//! result:
//!
//! | | real part | imaginary part |
//! | --- | --- | --- |
//! | (a + ib)(c + id) | fma(a, c, −(b · d)) | fma(a, d, b · c) |
//! | (a + ib) / (c + id), n = fma(c, c, d · d) | fma(a, c, b · d) / n | fma(b, c, −(a · d)) / n |
//! | (a + ib)(c + id) + e + if | fma(a, c, fma(−b, d, e)) | fma(a, d, fma(b, c, f)) |
//!
//! The imaginary part of z · conj(z) is therefore the rounding error of one product, which need not be 0.

use std::{
    ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign},
    panic::Location,
};

use arrayvec::ArrayVec;

use super::Complex;
use crate::{
    ptx::{
        Builder, RegId, Scalar, Val,
        traits::{Divide, Signed},
    },
    tensor::{Computed, TensorElement},
    tiles::{
        operand::Elementwise,
        operators::Binary,
        reduce::Accumulate,
        registers::{Distributed, Registers},
    },
};

/// Only this crate implements the public traits.
mod sealed {
    pub trait ComplexOperand<'k, P> {}
}

/// The second operand of an operation on complex tiles or vectors with parts `P`: a complex tile or vector of the same type, or a scalar
/// `Complex { re, im }` whose parts are constants or registers. For tiles, it may also be a reference to a complex vector, which is
/// broadcast along the rows or columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with each element of a complex tile or vector of `{P}`",
    note = "operands are complex tiles of the same type, shape and layout, numbers `Complex {{ re, im }}`, and for tiles references to \
            complex vectors of their rows or columns; `scale` multiplies by real factors"
)]
pub trait ComplexOperand<'k, P: Distributed<'k>>: sealed::ComplexOperand<'k, P> {
    /// The type of the operand that is combined with each part.
    type Part: Elementwise<'k, P>;
    /// Returns the operands that are combined with the real and the imaginary part.
    #[doc(hidden)]
    fn into_parts(self) -> Complex<Self::Part>;
}

impl<'k, P: Distributed<'k>, X: Elementwise<'k, P>> sealed::ComplexOperand<'k, P> for Complex<X> {}
impl<'k, P: Distributed<'k>, X: Elementwise<'k, P>> ComplexOperand<'k, P> for Complex<X> {
    type Part = X;

    fn into_parts(self) -> Self {
        self
    }
}

impl<'k, 'x, P: Distributed<'k>, X> sealed::ComplexOperand<'k, P> for &'x Complex<X> where
    &'x X: Elementwise<'k, P>
{
}
impl<'k, 'x, P: Distributed<'k>, X> ComplexOperand<'k, P> for &'x Complex<X>
where
    &'x X: Elementwise<'k, P>,
{
    type Part = &'x X;

    fn into_parts(self) -> Complex<&'x X> {
        self.as_ref()
    }
}

/// A complex number in registers.
pub(super) type Number<'k, S> = Complex<Val<'k, S>>;

/// A part of a result, computed from the operands and from the intermediate results of both parts.
type Part<'f, 'k, S, const N: usize> = dyn Fn([Number<'k, S>; N], Number<'k, S>) -> Val<'k, S> + 'f;

/// A function of `N` complex numbers. The imaginary part of the result is computed first and may overwrite the imaginary part of an
/// operand, so the real part may depend on the overwritten value only through the intermediate results.
pub(super) struct Formula<'f, 'k, S: Scalar, const N: usize> {
    /// Returns the intermediate results.
    pub(super) first: &'f dyn Fn([Number<'k, S>; N]) -> Number<'k, S>,
    pub(super) im: &'f Part<'f, 'k, S, N>,
    pub(super) re: &'f Part<'f, 'k, S, N>,
}

/// The words of a complex tile or vector, in the order of its registers.
pub(super) type Words<'k, T> = Complex<Vec<Val<'k, <T as TensorElement>::Word>>>;

/// Returns the words of both parts.
pub(super) fn words_of_parts<'k, P: Registers<'k>>(of: &Complex<P>) -> Words<'k, P::Element> {
    of.as_ref().map_parts(Registers::words)
}

/// Returns the words of an operand in the order of the words of `of` with which they are combined.
#[track_caller]
pub(super) fn words_for<'k, P: Registers<'k>>(
    of: &Complex<P>,
    operand: impl ComplexOperand<'k, P>,
) -> Words<'k, P::Element> {
    let k = of.re.kernel();
    let Complex { re, im } = operand.into_parts();
    Complex { re: re.words_for(k), im: im.words_for(k) }
}

/// The registers that an operation overwrites; `None` if it uses fresh ones.
pub(super) type InPlace<'a> = Option<Complex<&'a [RegId]>>;

/// Writes a word to register `to`, or to a fresh register if `to` is `None`.
#[track_caller]
fn write<'k, W: Scalar>(k: Builder<'k>, to: Option<RegId>, word: impl FnOnce() -> Val<'k, W>) -> RegId {
    match to {
        Some(register) => k.replace(register, word),
        None => k.owned(word),
    }
}

impl<'k, S: Scalar, const N: usize> Formula<'_, 'k, S, N> {
    /// Computes the formula for each element and returns the registers of the results.
    #[track_caller]
    pub(super) fn apply<T: Accumulate<Sum = S>>(
        &self,
        k: Builder<'k>,
        operands: &[Words<'k, T>; N],
        in_place: InPlace<'_>,
    ) -> Complex<Vec<RegId>> {
        let mut results = Complex { re: Vec::new(), im: Vec::new() };
        for at in 0..operands[0].re.len() {
            let words =
                operands.each_ref().map(|words| words.as_ref().map_parts(|part| T::elements(part[at])));
            let numbers =
                |slot: usize| words.each_ref().map(|word| word.as_ref().map_parts(|part| part[slot]));
            let first: ArrayVec<_, 4> = (0..T::PER_WORD).map(|slot| (self.first)(numbers(slot))).collect();
            let word = |part: &Part<'_, 'k, S, N>| {
                T::word(&(0..T::PER_WORD).map(|slot| part(numbers(slot), first[slot])).collect())
            };
            results.im.push(write(k, in_place.map(|to| to.im[at]), || word(self.im)));
            results.re.push(write(k, in_place.map(|to| to.re[at]), || word(self.re)));
        }
        results
    }
}

/// Replaces each element with the result of `f`, which receives the words of the elements.
#[track_caller]
pub(super) fn replace<'k, P: Registers<'k>>(
    of: &mut Complex<P>,
    f: impl FnOnce(Builder<'k>, Words<'k, P::Element>, InPlace<'_>) -> Complex<Vec<RegId>>,
) {
    let k = of.re.kernel();
    let _located = k.locate(Location::caller());
    let registers = of.as_ref().map_parts(|part| part.fragment().all_registers());
    let results = f(k, words_of_parts(of), Some(registers));
    *of = results.map_parts(|registers| P::of_registers(k, registers));
}

/// Combines the real parts of two operands with `f`, and likewise their imaginary parts.
#[track_caller]
fn by_parts<'k, T: Computed>(
    k: Builder<'k>,
    [z, w]: &[Words<'k, T>; 2],
    in_place: InPlace<'_>,
    f: &Binary<'_, 'k, T>,
) -> Complex<Vec<RegId>> {
    let part = |z: &[Val<'k, T::Word>], w: &[Val<'k, T::Word>], to: Option<&[RegId]>| {
        let words = z.iter().zip(w).enumerate();
        let combined = words
            .map(|(at, (&z, &w))| write(k, to.map(|to| to[at]), || T::compute([z, w], &|[a, b]| f(a, b))));
        combined.collect()
    };
    Complex {
        re: part(&z.re, &w.re, in_place.map(|to| to.re)),
        im: part(&z.im, &w.im, in_place.map(|to| to.im)),
    }
}

#[track_caller]
fn sum<'k, T: Computed>(
    k: Builder<'k>,
    operands: &[Words<'k, T>; 2],
    in_place: InPlace<'_>,
) -> Complex<Vec<RegId>> {
    by_parts::<T>(k, operands, in_place, &|a, b| a + b)
}

#[track_caller]
fn difference<'k, T: Computed>(
    k: Builder<'k>,
    operands: &[Words<'k, T>; 2],
    in_place: InPlace<'_>,
) -> Complex<Vec<RegId>> {
    by_parts::<T>(k, operands, in_place, &|a, b| a - b)
}

#[track_caller]
fn product<'k, T: Accumulate<Sum: Signed>>(
    k: Builder<'k>,
    operands: &[Words<'k, T>; 2],
    in_place: InPlace<'_>,
) -> Complex<Vec<RegId>> {
    let formula = Formula {
        first: &|[z, w]| Complex { re: z.im * w.im, im: z.im * w.re },
        im: &|[z, w], first| z.re.mad(w.im, first.im),
        re: &|[z, w], first| z.re.mad(w.re, -first.re),
    };
    formula.apply::<T>(k, operands, in_place)
}

/// Returns z · w + sum.
#[track_caller]
pub(super) fn product_sum<'k, T: Accumulate<Sum: Signed>>(
    k: Builder<'k>,
    operands: &[Words<'k, T>; 3],
    in_place: InPlace<'_>,
) -> Complex<Vec<RegId>> {
    let formula = Formula {
        first: &|[z, w, sum]| Complex { re: (-z.im).mad(w.im, sum.re), im: z.im.mad(w.re, sum.im) },
        im: &|[z, w, _], first| z.re.mad(w.im, first.im),
        re: &|[z, w, _], first| z.re.mad(w.re, first.re),
    };
    formula.apply::<T>(k, operands, in_place)
}

#[track_caller]
fn quotient<'k, T: Accumulate<Sum: Signed + Divide>>(
    k: Builder<'k>,
    operands: &[Words<'k, T>; 2],
    in_place: InPlace<'_>,
) -> Complex<Vec<RegId>> {
    // The intermediate results are the real part of z · conj(w), and |w|².
    let formula = Formula {
        first: &|[z, w]| Complex { re: z.re.mad(w.re, z.im * w.im), im: w.re.mad(w.re, w.im * w.im) },
        im: &|[z, w], first| z.im.mad(w.re, -(z.re * w.im)) / first.im,
        re: &|_, first| first.re / first.im,
    };
    formula.apply::<T>(k, operands, in_place)
}

macro_rules! operators {
    ($($op:ident $method:ident $assign:ident $assigned:ident [$($bound:tt)+] $result:ident;)*) => {$(
        impl<'k, P, R> $assign<R> for Complex<P>
        where
            P: Registers<'k, Element: $($bound)+>,
            R: ComplexOperand<'k, P>,
        {
            #[track_caller]
            fn $assigned(&mut self, other: R) {
                let other = words_for(self, other);
                replace(self, |k, own, in_place| $result::<P::Element>(k, &[own, other], in_place));
            }
        }

        impl<'k, P, R> $op<R> for Complex<P>
        where
            P: Registers<'k, Element: $($bound)+>,
            R: ComplexOperand<'k, P>,
        {
            type Output = Self;

            #[track_caller]
            fn $method(mut self, other: R) -> Self {
                $assign::$assigned(&mut self, other);
                self
            }
        }

        impl<'k, P, R> $op<R> for &Complex<P>
        where
            P: Registers<'k, Element: $($bound)+>,
            R: ComplexOperand<'k, P>,
        {
            type Output = Complex<P>;

            #[track_caller]
            fn $method(self, other: R) -> Complex<P> {
                let k = self.re.kernel();
                let _located = k.locate(Location::caller());
                let operands = [words_of_parts(self), words_for(self, other)];
                let results = $result::<P::Element>(k, &operands, None);
                results.map_parts(|registers| P::of_registers(k, registers))
            }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign [Computed]                            sum;
    Sub sub SubAssign sub_assign [Computed]                            difference;
    Mul mul MulAssign mul_assign [Accumulate<Sum: Signed>]             product;
    Div div DivAssign div_assign [Accumulate<Sum: Signed + Divide>]    quotient;
}

impl<P: Neg<Output = P>> Neg for Complex<P> {
    type Output = Self;

    /// Negates both parts in place.
    #[track_caller]
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}
