//! Known divisors of integers, tracked per register: the basis of known alignment.

/// Returns the greatest common divisor; `gcd(0, x)` is `x`, because every number divides 0.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if a == 0 || b == 0 {
        return a | b;
    }
    // Most divisors are powers of two, and divisions are slow.
    if a.is_power_of_two() || b.is_power_of_two() {
        return 1 << a.trailing_zeros().min(b.trailing_zeros());
    }
    gcd(b, a % b)
}

/// Returns the largest power of two that divides `divisor`, or 0 for 0. It divides a multiple of `divisor` even after the multiple has
/// wrapped around.
pub(crate) fn power_of_two(divisor: u64) -> u64 {
    if divisor == 0 { 0 } else { 1 << divisor.trailing_zeros() }
}

/// Returns the least common multiple, or 0 if either number is 0. If the least common multiple does not fit in 64 bits, returns `u64::MAX`.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    if a == 0 || b == 0 { 0 } else { (a / gcd(a, b)).saturating_mul(b) }
}
