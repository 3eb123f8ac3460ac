//! Sizes that a launch computes, as 64-bit C expressions.
//!
//! `UINT64_MAX` represents a value that does not fit: every helper propagates it, as [`Dim::evaluate`] propagates `None`.

use crate::ptx::{Dim, Entry, ParamDecl};

/// The helpers that the expressions call.
pub(super) const HELPERS: &str = "\
/* Arithmetic on sizes. UINT64_MAX is a size that does not fit in 64 bits. */
#define WARPWRIGHT_OVERFLOW ((uint64_t)-1)
static inline uint64_t warpwright_add(uint64_t a, uint64_t b) {
    return a > WARPWRIGHT_OVERFLOW - b ? WARPWRIGHT_OVERFLOW : a + b;
}
static inline uint64_t warpwright_mul(uint64_t a, uint64_t b) {
    return a == WARPWRIGHT_OVERFLOW || b == WARPWRIGHT_OVERFLOW || (b != 0 && a > WARPWRIGHT_OVERFLOW / b)
               ? WARPWRIGHT_OVERFLOW
               : a * b;
}
static inline uint64_t warpwright_ceil_div(uint64_t a, uint64_t n) {
    return a == WARPWRIGHT_OVERFLOW ? a : a / n + (a % n != 0);
}
static inline uint64_t warpwright_round_down(uint64_t a, uint64_t n) {
    return a == WARPWRIGHT_OVERFLOW ? a : a - a % n;
}
static inline uint64_t warpwright_u32(uint64_t a) { return a > 0xffffffffu ? WARPWRIGHT_OVERFLOW : a; }
static inline uint64_t warpwright_signed(int64_t a) { return a < 0 ? WARPWRIGHT_OVERFLOW : (uint64_t)a; }
";

/// The helpers for expressions that contain a minimum or a maximum.
pub(super) const MIN_HELPER: &str = "\
#ifndef WARPWRIGHT_MIN
#define WARPWRIGHT_MIN
static inline uint64_t warpwright_min(uint64_t a, uint64_t b) {
    if (a == WARPWRIGHT_OVERFLOW || b == WARPWRIGHT_OVERFLOW) return WARPWRIGHT_OVERFLOW;
    return a < b ? a : b;
}
static inline uint64_t warpwright_max(uint64_t a, uint64_t b) { return a > b ? a : b; }
#endif /* WARPWRIGHT_MIN */
";

/// Returns whether `test` is true for the expression or one of its subexpressions.
pub(super) fn any(dim: &Dim, test: &impl Fn(&Dim) -> bool) -> bool {
    test(dim)
        || match dim {
            Dim::CeilDiv(a, _) | Dim::RoundDown(a, _) | Dim::U32(a) => any(a, test),
            Dim::Sum(a, b) | Dim::Product(a, b) | Dim::Min(a, b) | Dim::Max(a, b) => {
                any(a, test) || any(b, test)
            }
            Dim::Const(_) | Dim::Param(_) | Dim::Multiprocessors | Dim::Unknown => false,
        }
}

/// Returns whether the kernel's grid depends on the number of multiprocessors.
pub(super) fn depends_on_device(entry: &Entry) -> bool {
    let test = |dim: &Dim| *dim == Dim::Multiprocessors;
    entry.grid.iter().flatten().any(|dim| any(dim, &test))
}

/// Returns whether an expression that a launch of the kernel evaluates contains a minimum or a maximum.
pub(super) fn has_min(entry: &Entry) -> bool {
    let modes =
        entry.extents.iter().flat_map(|view| view.modes.iter().flat_map(|mode| [&mode.size, &mode.stride]));
    let maps = entry.maps.iter().flat_map(|map| map.dims.iter().chain(&map.strides));
    let test = |dim: &Dim| matches!(dim, Dim::Min(..) | Dim::Max(..));
    entry.grid.iter().flatten().chain(modes).chain(maps).any(|dim| any(dim, &test))
}

/// Returns the expression for `dim`, where parameter `i` is `args->fields[i]`.
pub(super) fn expression(dim: &Dim, params: &[ParamDecl], fields: &[String]) -> String {
    let of = |dim: &Dim| expression(dim, params, fields);
    match dim {
        Dim::Const(n) if *n > u32::MAX.into() => format!("{n}ull"),
        Dim::Const(n) => n.to_string(),
        Dim::Param(i) => match (params.get(*i), fields.get(*i)) {
            (Some(param), Some(field)) if param.element.starts_with('i') => {
                format!("warpwright_signed(args->{field})")
            }
            (_, Some(field)) => format!("args->{field}"),
            (_, None) => "WARPWRIGHT_OVERFLOW".to_string(),
        },
        Dim::CeilDiv(a, n) => format!("warpwright_ceil_div({}, {n})", of(a)),
        Dim::RoundDown(a, n) => format!("warpwright_round_down({}, {n})", of(a)),
        Dim::Sum(a, b) => format!("warpwright_add({}, {})", of(a), of(b)),
        Dim::Product(a, b) => format!("warpwright_mul({}, {})", of(a), of(b)),
        Dim::Min(a, b) => format!("warpwright_min({}, {})", of(a), of(b)),
        Dim::Max(a, b) => format!("warpwright_max({}, {})", of(a), of(b)),
        Dim::Multiprocessors => "multiprocessors".to_string(),
        // A 32-bit parameter always fits.
        Dim::U32(a) => match **a {
            Dim::Param(i) if params.get(i).is_some_and(|param| param.bytes <= 4) => of(a),
            _ => format!("warpwright_u32({})", of(a)),
        },
        Dim::Unknown => "WARPWRIGHT_OVERFLOW".to_string(),
    }
}
