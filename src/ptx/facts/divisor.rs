//! What is surely a divisor of an integer, carried along with registers: the basis of "known alignment".

/// Greatest common divisor; `gcd(0, x)` is `x`, as 0 is divisible by everything.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The power of two in a divisor: what is left of it when the value may have wrapped around.
pub(crate) fn power_of_two(divisor: u64) -> u64 {
    if divisor == 0 { 0 } else { 1 << divisor.trailing_zeros() }
}

/// Least common multiple, 0 if either is 0.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    if a == 0 || b == 0 { 0 } else { (a / gcd(a, b)).saturating_mul(b) }
}
