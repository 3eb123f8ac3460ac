//! Known facts about an integer: bits, divisors, and an upper bound.
//!
//! Each operation here is the transfer function of an instruction: it derives facts about the result from facts about the operands. Values
//! are unsigned. If an operation may wrap around, only facts that hold modulo 2^width are derived.

use super::divisor::{gcd, lcm};

/// The known facts about an integer of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    width: u32,
    /// Bits that are known to be 0, and bits that are known to be 1.
    zeros: u64,
    ones: u64,
    /// An odd divisor of the value; `zeros` determines the power of two that divides it.
    odd: u64,
    /// An upper bound on the value.
    most: u64,
}

/// Returns a mask of the lowest `width` bits.
const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Returns a number without its factors of 2, or 0 for 0.
const fn odd_part(n: u64) -> u64 {
    if n == 0 { 0 } else { n >> n.trailing_zeros() }
}

impl Known {
    /// Returns a set of facts that contains only the width.
    pub(crate) const fn nothing(width: u32) -> Self {
        Self { width, zeros: 0, ones: 0, odd: 1, most: mask(width) }
    }

    /// Returns all facts about a constant.
    pub(crate) const fn constant(value: u64, width: u32) -> Self {
        let value = value & mask(width);
        Self { width, zeros: !value & mask(width), ones: value, odd: odd_part(value), most: value }
    }

    /// Returns the fact that the value is at most `most`.
    pub(crate) fn at_most(most: u64, width: u32) -> Self {
        Self { most: most.min(mask(width)), ..Self::nothing(width) }.tightened()
    }

    /// Returns the fact that `divisor` divides the value.
    pub(crate) fn multiple_of(divisor: u64, width: u32) -> Self {
        let low = if divisor == 0 { width } else { divisor.trailing_zeros().min(width) };
        Self { zeros: mask(low), odd: odd_part(divisor), ..Self::nothing(width) }.tightened()
    }

    /// Tightens each kind of fact with the information in the others.
    fn tightened(mut self) -> Self {
        self.most = self.most.min(!self.zeros & mask(self.width));
        let unit = self.divisor();
        if unit > 1 {
            self.most -= self.most % unit;
        }
        if self.most < unit || self.most == 0 {
            return Self::constant(0, self.width);
        }
        self.zeros |= mask(self.width) & !mask(64 - self.most.leading_zeros());
        match self.as_constant() {
            Some(value) => Self::constant(value, self.width),
            None => self,
        }
    }

    /// Returns the value, if it is known exactly.
    pub(crate) fn as_constant(&self) -> Option<u64> {
        (self.zeros | self.ones == mask(self.width)).then_some(self.ones)
    }

    /// Returns the upper bound on the value.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Returns the lower bound on the value.
    pub(crate) fn least(&self) -> u64 {
        self.ones
    }

    /// Returns the width of the value in bits.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Returns the bits that may be 1.
    pub(crate) fn possible(&self) -> u64 {
        !self.zeros & mask(self.width)
    }

    /// Returns the bits that are known to be 1.
    pub(crate) fn certain(&self) -> u64 {
        self.ones
    }

    /// Returns whether the value is known to be the same when interpreted as a signed number.
    pub(crate) fn is_nonnegative(&self) -> bool {
        self.zeros >> (self.width - 1) & 1 == 1
    }

    /// Returns a known divisor of the value: 1 if none is known, and 0 if the value is known to be 0.
    pub(crate) fn divisor(&self) -> u64 {
        let low = self.zeros.trailing_ones().min(self.width);
        if low == self.width { 0 } else { self.odd.checked_mul(1 << low).unwrap_or(1 << low) }
    }

    /// Combines two sets of facts about one value. If they contradict each other, as in unreachable code, returns the first set.
    pub(crate) fn and_also(self, other: Self) -> Self {
        let both = Self {
            width: self.width,
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
            odd: lcm(self.odd, other.odd),
            most: self.most.min(other.most),
        };
        if both.zeros & both.ones != 0 || both.most < both.ones {
            return self;
        }
        let tight = both.tightened();
        if tight.zeros & both.ones != 0 { self } else { tight }
    }

    /// Returns the facts that hold for either value.
    pub(crate) fn or_else(self, other: Self) -> Self {
        Self {
            width: self.width,
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            odd: gcd(self.odd, other.odd),
            most: self.most.max(other.most),
        }
        .tightened()
    }

    /// Adds the facts in `exact`: an upper bound on the exact result, and a divisor of the result. `exact` is `None` if the result may have
    /// wrapped around.
    fn unwrapped(self, exact: Option<(u64, u64)>) -> Self {
        match exact {
            Some((most, divisor)) => Self { most, odd: odd_part(divisor), ..self }.tightened(),
            None => self.tightened(),
        }
    }

    /// Returns the bits of `self + other + carry`: a bit is known if both operands' bits and the carry into it are known.
    fn sum_bits(self, other: Self, carry: u64) -> Self {
        let all = mask(self.width);
        let most = self.possible().wrapping_add(other.possible()).wrapping_add(carry);
        let least = self.ones.wrapping_add(other.ones).wrapping_add(carry);
        let no_carry = !(most ^ self.possible() ^ other.possible());
        let carry = least ^ self.ones ^ other.ones;
        let known = (self.zeros | self.ones) & (other.zeros | other.ones) & (no_carry | carry) & all;
        Self { zeros: !most & known, ones: least & known, ..Self::nothing(self.width) }
    }

    /// Returns the facts about `self + other`.
    pub(crate) fn add(self, other: Self) -> Self {
        let most = self.most.checked_add(other.most).filter(|&most| most <= mask(self.width));
        let exact = most.map(|most| (most, gcd(self.divisor(), other.divisor())));
        self.sum_bits(other, 0).unwrapped(exact)
    }

    /// Returns the facts about `self − other`.
    pub(crate) fn sub(self, other: Self) -> Self {
        let exact = (self.least() >= other.most)
            .then(|| (self.most - other.least(), gcd(self.divisor(), other.divisor())));
        self.sum_bits(other.not(), 1).unwrapped(exact)
    }

    /// Returns the facts about `self · other`.
    pub(crate) fn mul(self, other: Self) -> Self {
        for (value, factor) in [(self, other), (other, self)] {
            if let Some(factor) = factor.as_constant().filter(|factor| factor.is_power_of_two()) {
                return value.shl(factor.trailing_zeros());
            }
        }
        let low = self.zeros.trailing_ones() + other.zeros.trailing_ones();
        let bits = Self { zeros: mask(low.min(self.width)), ..Self::nothing(self.width) };
        let most = self.most.checked_mul(other.most).filter(|&most| most <= mask(self.width));
        bits.unwrapped(most.map(|most| (most, self.odd.checked_mul(other.odd).unwrap_or(1))))
    }

    /// Returns the facts about the upper half of `self · other`.
    pub(crate) fn mul_high(self, other: Self) -> Self {
        let most = (u128::from(self.most) * u128::from(other.most)) >> self.width;
        Self::at_most(most as u64, self.width)
    }

    /// Returns the facts about `self / other`.
    pub(crate) fn div(self, other: Self) -> Self {
        let most = self.most.checked_div(other.least()).unwrap_or(mask(self.width));
        let exact = other.as_constant().filter(|&by| by > 0 && self.divisor().is_multiple_of(by));
        let divisor = exact.map_or(1, |by| self.divisor() / by);
        Self::at_most(most, self.width).and_also(Self::multiple_of(divisor, self.width))
    }

    /// Returns the facts about `self % other`.
    pub(crate) fn rem(self, other: Self) -> Self {
        if other.least() == 0 {
            return Self::nothing(self.width);
        }
        let divisor = gcd(self.divisor(), other.divisor());
        let most = self.most.min(other.most - 1);
        let result = Self::at_most(most, self.width).and_also(Self::multiple_of(divisor, self.width));
        match other.as_constant() {
            Some(by) if by.is_power_of_two() => result.and_also(self.and(Self::constant(by - 1, self.width))),
            _ => result,
        }
    }

    /// Returns the facts about the minimum of `self` and `other`.
    pub(crate) fn min(self, other: Self) -> Self {
        let either = self.or_else(other);
        either.and_also(Self::at_most(self.most.min(other.most), self.width))
    }

    /// Returns the facts about `self & other`.
    pub(crate) fn and(self, other: Self) -> Self {
        let (zeros, ones) = (self.zeros | other.zeros, self.ones & other.ones);
        Self { zeros, ones, odd: 1, most: self.most.min(other.most), ..self }.tightened()
    }

    /// Returns the facts about `self | other`, which is a sum if the operands have no bit in common.
    pub(crate) fn or(self, other: Self) -> Self {
        let (zeros, ones) = (self.zeros & other.zeros, self.ones | other.ones);
        let bits = Self { zeros, ones, ..Self::nothing(self.width) };
        if self.possible() & other.possible() == 0 {
            let sum = self.most.checked_add(other.most);
            return bits.unwrapped(sum.map(|most| (most, gcd(self.divisor(), other.divisor()))));
        }
        bits.tightened()
    }

    /// Returns the facts about `self ^ other`.
    pub(crate) fn xor(self, other: Self) -> Self {
        let zeros = self.zeros & other.zeros | self.ones & other.ones;
        let ones = self.zeros & other.ones | self.ones & other.zeros;
        Self { zeros, ones, ..Self::nothing(self.width) }.tightened()
    }

    /// Returns the facts about `!self`.
    pub(crate) fn not(self) -> Self {
        Self { zeros: self.ones, ones: self.zeros, ..Self::nothing(self.width) }.tightened()
    }

    /// Returns the facts about `self << amount`, for an amount less than the width.
    fn shl(self, amount: u32) -> Self {
        let all = mask(self.width);
        let zeros = (self.zeros << amount | mask(amount)) & all;
        let bits = Self { zeros, ones: self.ones << amount & all, ..Self::nothing(self.width) };
        let fits = self.most <= all >> amount;
        bits.unwrapped(fits.then(|| (self.most << amount, self.odd)))
    }

    /// Returns the facts about the logical right shift `self >> amount`. The result is 0 if `amount` is at least the width.
    pub(crate) fn shr(self, amount: u32) -> Self {
        if amount >= self.width {
            return Self::constant(0, self.width);
        }
        let zeros = self.zeros >> amount | mask(self.width) & !(mask(self.width) >> amount);
        let odd = if self.zeros.trailing_ones() >= amount { self.odd } else { 1 };
        Self { zeros, ones: self.ones >> amount, odd, most: self.most >> amount, ..self }.tightened()
    }

    /// Returns the facts about the arithmetic right shift `self >> amount`.
    pub(crate) fn shr_signed(self, amount: u32) -> Self {
        if self.is_nonnegative() {
            return self.shr(amount);
        }
        let unused = 64 - self.width;
        let shifted =
            |bits: u64| (((bits << unused) as i64 >> unused >> amount.min(63)) as u64) & mask(self.width);
        Self { zeros: shifted(self.zeros), ones: shifted(self.ones), ..Self::nothing(self.width) }.tightened()
    }

    /// Returns the facts about the value in another width: truncated, zero-extended or sign-extended.
    pub(crate) fn resized(self, width: u32, signed: bool) -> Self {
        if width > self.width {
            let above = mask(width) & !mask(self.width);
            if !signed || self.is_nonnegative() {
                return Self { width, zeros: self.zeros | above, ..self };
            }
            let ones = if self.ones >> (self.width - 1) == 1 { self.ones | above } else { self.ones };
            return Self { zeros: self.zeros, ones, ..Self::nothing(width) }.tightened();
        }
        let (zeros, ones) = (self.zeros & mask(width), self.ones & mask(width));
        let fits = self.most <= mask(width);
        Self { zeros, ones, ..Self::nothing(width) }.unwrapped(fits.then(|| (self.most, self.divisor())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u32 = 4;
    const ALL: u64 = mask(WIDTH);

    /// Returns every set of up to three numbers with facts that are true of all of them: the strongest facts, and weaker ones.
    fn sets() -> Vec<(Vec<u64>, Known)> {
        let mut sets = Vec::new();
        for a in 0..=ALL {
            for b in a..=ALL {
                for c in b..=ALL {
                    let facts = [a, b, c].map(|x| Known::constant(x, WIDTH));
                    let known = facts[0].or_else(facts[1]).or_else(facts[2]);
                    sets.push((vec![a, b, c], known));
                    if (a + b + c) % 5 == 0 {
                        sets.push((vec![a, b, c], Known { ones: 0, odd: 1, ..known }));
                        sets.push((vec![a, b, c], Known { most: ALL, zeros: known.zeros & 3, ..known }));
                    }
                }
            }
        }
        sets
    }

    /// Returns whether the facts are true of a value.
    fn holds(known: Known, value: u64) -> bool {
        let divisor = known.divisor();
        let divides = if divisor == 0 { value == 0 } else { value.is_multiple_of(divisor) };
        value & known.zeros == 0 && value & known.ones == known.ones && value <= known.most && divides
    }

    fn signed(x: u64) -> i64 {
        (x << (64 - WIDTH)) as i64 >> (64 - WIDTH)
    }

    type Operation = (&'static str, fn(Known, Known) -> Known, fn(u64, u64) -> u64);

    const OPERATIONS: &[Operation] = &[
        ("add", Known::add, |a, b| (a + b) & ALL),
        ("sub", Known::sub, |a, b| a.wrapping_sub(b) & ALL),
        ("mul", Known::mul, |a, b| (a * b) & ALL),
        ("mul_high", Known::mul_high, |a, b| (a * b) >> WIDTH),
        ("div", Known::div, |a, b| a.checked_div(b).unwrap_or(ALL)),
        ("rem", Known::rem, |a, b| a.checked_rem(b).unwrap_or(ALL)),
        ("min", Known::min, u64::min),
        ("either", Known::or_else, u64::max),
        ("and", Known::and, |a, b| a & b),
        ("or", Known::or, |a, b| a | b),
        ("xor", Known::xor, |a, b| a ^ b),
        ("not", |a, _| a.not(), |a, _| !a & ALL),
    ];

    #[test]
    fn facts_hold_of_every_result() {
        let sets = sets();
        for (left, a) in &sets {
            for (right, b) in &sets {
                for (name, facts, operation) in OPERATIONS {
                    let known = facts(*a, *b);
                    for (&x, &y) in left.iter().flat_map(|x| right.iter().map(move |y| (x, y))) {
                        let result = operation(x, y);
                        assert!(
                            holds(known, result),
                            "{name} of {x} ({a:?}) and {y} ({b:?}) is {result}: {known:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn facts_hold_of_shifts_and_widths() {
        for (values, known) in sets() {
            for (amount, &x) in (0..8).flat_map(|amount| values.iter().map(move |x| (amount, x))) {
                let factor = Known::constant(1 << amount, WIDTH);
                assert!(holds(known.mul(factor), (x << amount) & ALL), "{x} << {amount}: {known:?}");
                assert!(holds(known.shr(amount), x >> amount), "{x} >> {amount}: {known:?}");
                let right = (signed(x) >> amount) as u64 & ALL;
                assert!(holds(known.shr_signed(amount), right), "{x} >> {amount}, signed: {known:?}");
                let width = amount + 1;
                assert!(
                    holds(known.resized(width, false), x & mask(width)),
                    "{x} in {width} bits: {known:?}"
                );
                let wide = if width > WIDTH { signed(x) as u64 } else { x } & mask(width);
                assert!(holds(known.resized(width, true), wide), "{x} in {width} bits, signed: {known:?}");
            }
        }
    }

    #[test]
    fn facts_of_one_value_hold_together() {
        for (values, a) in sets() {
            for (most, divisor) in (0..=ALL).flat_map(|most| (1..9).map(move |divisor| (most, divisor))) {
                let b = Known::at_most(most, WIDTH).and_also(Known::multiple_of(divisor, WIDTH));
                for &x in values.iter().filter(|&&x| holds(b, x)) {
                    assert!(holds(a.and_also(b), x), "{x}: {a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn facts_of_common_expressions() {
        let tid = Known::at_most(127, 32);
        let constant = |c| Known::constant(c, 32);
        assert_eq!(tid.and(constant(3)).mul(constant(16)).shr(6).as_constant(), Some(0));
        assert_eq!(tid.mul(constant(4)).add(constant(3)).and(constant(3)).as_constant(), Some(3));
        assert_eq!(tid.mul(constant(12)).divisor(), 12);
        assert_eq!(tid.mul(constant(12)).add(constant(8)).most(), 127 * 12 + 8);
        assert_eq!(Known::nothing(32).mul(constant(12)).divisor(), 4);
        assert_eq!(tid.rem(constant(10)).most(), 9);
        assert_eq!(tid.shr(5).most(), 3);
        assert_eq!(Known::multiple_of(96, 32).div(constant(32)).divisor(), 3);
    }
}
