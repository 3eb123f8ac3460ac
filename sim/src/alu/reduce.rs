//! The reductions of asynchronous copies.

use crate::arith::minmax::{Extremum, MinMaxMode, minmax};
use crate::arith::{Round, float};
use crate::program::code::ReduceFn;

/// Returns the result of combining `old` and `new`.
pub(crate) fn reduce(f: ReduceFn, old: u64, new: u64) -> u64 {
    match f {
        ReduceFn::AddInt(int) => int.wrap(int.value(old) + int.value(new)),
        ReduceFn::MinInt(int) => {
            if int.value(old) <= int.value(new) {
                old
            } else {
                new
            }
        }
        ReduceFn::MaxInt(int) => {
            if int.value(old) >= int.value(new) {
                old
            } else {
                new
            }
        }
        ReduceFn::Inc => {
            if old >= new {
                0
            } else {
                old + 1
            }
        }
        ReduceFn::Dec => {
            if old == 0 || old > new {
                new
            } else {
                old - 1
            }
        }
        ReduceFn::And => old & new,
        ReduceFn::Or => old | new,
        ReduceFn::Xor => old ^ new,
        ReduceFn::AddFloat(ty) => float::add(ty, Round::Rn, false, false, old, new),
        ReduceFn::MinFloat(ty) => minmax(ty, Extremum::Min, MinMaxMode::default(), old, new),
        ReduceFn::MaxFloat(ty) => minmax(ty, Extremum::Max, MinMaxMode::default(), old, new),
    }
}
