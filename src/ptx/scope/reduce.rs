//! Reductions and scans of values over a scope.
//!
//! In a warp, `redux.sync` computes sums, minima and maxima of 32-bit integers if the target supports it; all other reductions use
//! butterfly shuffles. In a larger scope, the results of the warps are exchanged through shared memory. All threads evaluate the same tree
//! of operations on the same numbers, so their results are identical, except for the payload of an f64 NaN: it is that of an operand, and
//! the order of the operands differs between threads. Comparisons give the same result for every NaN, so their uniformity is unaffected.

use std::panic::Location;

use super::{AnyScope, Block, Warps, exchange::shuffle};
use crate::ptx::{
    FULL_MASK, Shuffle,
    fold::{Number, Numeric},
    kernel::Builder,
    operand::Operand,
    ptr::{Ptr, Shared},
    target::Features,
    types::{Element, Scalar, bf16, f16},
    uniform::Uniformity,
    val::Val,
};

/// The type of a value that a scope can reduce: a 32-bit or 64-bit integer, `f32`, `f64`, `f16` or `bf16`. Values of type `f16` and `bf16`
/// are accumulated in f32, and the result is rounded once.
#[diagnostic::on_unimplemented(
    message = "the threads of a scope cannot reduce values of type `{Self}`",
    note = "reductions and scans take `u32`, `i32`, `u64`, `i64`, `f16`, `bf16`, `f32` and `f64`"
)]
pub trait Reducible: Numeric + super::sealed::Sealed {
    /// The type of intermediate results.
    #[doc(hidden)]
    type In: Numeric + Element<Reg = Self::In>;
    /// The identity element of addition. For floating-point types, it is −0, because adding +0 would change −0 to +0.
    #[doc(hidden)]
    const NOTHING: Self::In;
    /// The smallest value: the identity element of the maximum for integers, and for floating-point numbers other than NaN.
    #[doc(hidden)]
    const LOWEST: Self::In;
    /// The largest value: the identity element of the minimum for integers, and for floating-point numbers other than NaN.
    #[doc(hidden)]
    const HIGHEST: Self::In;
    /// Whether `redux.sync` supports the type.
    #[doc(hidden)]
    const REDUX: bool = false;
}

macro_rules! reducible {
    ($($t:ty, $within:ty, $nothing:expr, $lowest:expr, $highest:expr, $redux:expr;)*) => {$(
        impl super::sealed::Sealed for $t {}
        impl Reducible for $t {
            type In = $within;
            const NOTHING: $within = $nothing;
            const LOWEST: $within = $lowest;
            const HIGHEST: $within = $highest;
            const REDUX: bool = $redux;
        }
    )*};
}

#[rustfmt::skip]
reducible! {
    // type in   nothing  lowest              highest         redux
    u32,  u32, 0,       0,                  u32::MAX,       true;
    i32,  i32, 0,       i32::MIN,           i32::MAX,       true;
    u64,  u64, 0,       0,                  u64::MAX,       false;
    i64,  i64, 0,       i64::MIN,           i64::MAX,       false;
    f16,  f32, -0.0,    f32::NEG_INFINITY,  f32::INFINITY,  false;
    bf16, f32, -0.0,    f32::NEG_INFINITY,  f32::INFINITY,  false;
    f32,  f32, -0.0,    f32::NEG_INFINITY,  f32::INFINITY,  false;
    f64,  f64, -0.0,    f64::NEG_INFINITY,  f64::INFINITY,  false;
}

/// The operation that combines two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Product,
    Max,
    Min,
}

impl Combine {
    /// Returns the corresponding operation of `redux.sync`, if any.
    const fn redux(self) -> Option<&'static str> {
        match self {
            Self::Sum => Some("add"),
            Self::Product => None,
            Self::Max => Some("max"),
            Self::Min => Some("min"),
        }
    }

    /// Returns the identity element, or `None` for maxima and minima: if all values are NaN, the result is NaN, so no number is an
    /// identity.
    const fn neutral<T: Reducible>(self) -> Option<T::In> {
        match self {
            Self::Sum => Some(T::NOTHING),
            Self::Product => Some(<T::In as Number>::ONE),
            Self::Max | Self::Min => None,
        }
    }

    #[track_caller]
    pub(crate) fn apply<'k, W: Numeric>(self, a: Val<'k, W>, b: Val<'k, W>) -> Val<'k, W> {
        match self {
            Self::Sum => a + b,
            Self::Product => a * b,
            Self::Max => a.max(b),
            Self::Min => a.min(b),
        }
    }
}

/// Combines the values of all lanes of the warp with the operation `how`, and returns the result in every lane.
fn in_warp<'k, T: Reducible>(k: Builder<'k>, value: Val<'k, T::In>, how: Combine) -> Val<'k, T::In> {
    let has_redux = T::REDUX && k.target().features().contains(Features::AMPERE);
    let result = match how.redux().filter(|_| has_redux) {
        Some(operation) => {
            let operands = [Operand::Reg(value.in_register(k)), Val::from(FULL_MASK).operand(k)];
            k.result(format_args!("redux.sync.{operation}.{}", <T::In as Scalar>::PTX), &operands)
        }
        None => butterfly(k, value, how, 32),
    };
    result.known_uniform(Uniformity::WARP)
}

/// Combines the values within each group of `lanes` consecutive lanes. `lanes` must be a power of two.
fn butterfly<'k, W: Numeric>(k: Builder<'k>, mut value: Val<'k, W>, how: Combine, lanes: u32) -> Val<'k, W> {
    let mut distance = lanes / 2;
    while distance > 0 {
        value = how.apply(value, shuffle(k, Shuffle::Bfly, value, distance.into()));
        distance /= 2;
    }
    value
}

/// Returns the inclusive prefix sum over the first `lanes` lanes. `lanes` must be a power of two.
fn scan_in_warp<'k, W: Numeric>(k: Builder<'k>, mut value: Val<'k, W>, lanes: u32) -> Val<'k, W> {
    let lane = k.lane().rank();
    let mut distance = 1;
    while distance < lanes {
        let below = shuffle(k, Shuffle::Up, value, distance.into());
        value = lane.ge(distance).select(below + value, value);
        distance *= 2;
    }
    value
}

/// An array in shared memory with one value per warp of the block; each scope uses its own portion.
struct Partials<'k, W: Element> {
    scope: AnyScope<'k>,
    /// The portion that this scope uses.
    values: Ptr<'k, W, Shared>,
    /// The number of warps in the scope, and the index of this warp among them.
    warps: u32,
    warp: Val<'k, u32>,
}

impl<'k, W: Numeric + Element<Reg = W>> Partials<'k, W> {
    fn new(scope: AnyScope<'k>) -> Self {
        let k = scope.kernel();
        let (all, warps) = (k.this_block().size() / 32, scope.size() / 32);
        let values = k.shared::<W>(all);
        let in_block = k.warp().rank();
        if all == warps {
            return Self { scope, values, warps, warp: in_block };
        }
        let warp = super::remainder(in_block, warps);
        Self { scope, values: values.at(in_block - warp), warps, warp }
    }

    /// Stores this warp's value from lane `from_lane`, and waits until the other warps of the scope have stored their values.
    fn store(&self, value: Val<'k, W>, from_lane: u32) {
        self.scope.sync_in_loop();
        self.store_unordered(value, from_lane);
        self.scope.sync();
    }

    /// Stores this warp's value from lane `from_lane`, without barriers.
    fn store_unordered(&self, value: Val<'k, W>, from_lane: u32) {
        let k = self.scope.kernel();
        k.when(k.lane().rank().eq(from_lane), || self.values.at(self.warp).store(value));
    }

    /// Returns the scope's values, one per lane, and `otherwise` in the remaining lanes.
    fn load(&self, otherwise: W) -> Val<'k, W> {
        let lane = self.scope.kernel().lane().rank();
        self.values.at(lane).when(lane.lt(self.warps)).load_or(otherwise)
    }

    /// Returns the scope's values, one per lane; the remaining lanes repeat them.
    fn load_repeated(&self) -> Val<'k, W> {
        let lane = super::remainder(self.scope.kernel().lane().rank(), self.warps.next_power_of_two());
        let at = if self.warps.is_power_of_two() { lane } else { lane.min(self.warps - 1) };
        self.values.at(at).load()
    }
}

/// Returns the pairs of all warps of a scope, one per lane, and the number of lanes after which the pairs repeat. All lanes of a warp must
/// have the same pair. If the number of warps is not a power of two, the last pair fills the remaining lanes of each repetition.
#[track_caller]
pub(crate) fn pairs_of_warps<'k, A, B>(
    scope: AnyScope<'k>,
    pair: (Val<'k, A>, Val<'k, B>),
) -> ((Val<'k, A>, Val<'k, B>), u32)
where
    A: Numeric + Element<Reg = A>,
    B: Numeric + Element<Reg = B>,
{
    let _located = scope.kernel().locate(Location::caller());
    if scope.size() <= 32 {
        return (pair, 1);
    }
    let (first, second) = (Partials::new(scope), Partials::new(scope));
    scope.sync_in_loop();
    first.store_unordered(pair.0, 0);
    second.store_unordered(pair.1, 0);
    scope.sync();
    ((first.load_repeated(), second.load_repeated()), first.warps.next_power_of_two())
}

/// Checks that a scope consists of whole warps, because all lanes of each warp exchange values.
#[track_caller]
fn check_whole_warps(scope: AnyScope<'_>) {
    let threads = scope.size();
    if !threads.is_multiple_of(32) {
        scope.kernel().refuse(format!(
            "expected a block whose number of threads is a multiple of 32 for reductions and scans, found {threads}"
        ));
    }
}

/// Combines the values of all threads of a scope.
#[track_caller]
pub(crate) fn reduce<'k, T: Reducible>(scope: AnyScope<'k>, value: Val<'k, T>, how: Combine) -> Val<'k, T> {
    let k = scope.kernel();
    let _located = k.locate(Location::caller());
    check_whole_warps(scope);
    let mut result = in_warp::<T>(k, value.cast(), how);
    if scope.size() > 32 {
        let partials = Partials::new(scope);
        partials.store(result, 0);
        let lanes = partials.warps.next_power_of_two();
        result = match how.neutral::<T>() {
            // Repeated values do not affect the result.
            None => butterfly(k, partials.load_repeated(), how, lanes),
            Some(neutral) => {
                let result = butterfly(k, partials.load(neutral), how, lanes);
                // Lanes past the first group contain only the identity element.
                if lanes < 32 { shuffle(k, Shuffle::Idx, result, 0.into()) } else { result }
            }
        };
    }
    result.known_uniform(scope.uniformity()).cast::<T>().known_uniform(scope.uniformity())
}

#[track_caller]
fn scan<'k, T: Reducible>(scope: AnyScope<'k>, value: Val<'k, T>, inclusive: bool) -> Val<'k, T> {
    let k = scope.kernel();
    let _located = k.locate(Location::caller());
    check_whole_warps(scope);
    let own = scan_in_warp::<T::In>(k, value.cast(), 32);
    let before = (scope.size() > 32).then(|| {
        let partials = Partials::new(scope);
        partials.store(own, 31);
        let sums = scan_in_warp(k, partials.load(T::NOTHING), partials.warps.next_power_of_two());
        let up_to = shuffle(k, Shuffle::Idx, sums, partials.warp - 1u32);
        partials.warp.eq(0).select(T::NOTHING, up_to)
    });
    let own = if inclusive {
        own
    } else {
        let below = shuffle(k, Shuffle::Up, own, 1.into());
        k.lane().rank().eq(0).select(<T::In as Number>::ZERO, below)
    };
    before.map_or(own, |before| before + own).cast()
}

macro_rules! reductions {
    ([$($generics:tt)*] $scope:ty, $threads:literal) => {
        #[doc = concat!("Reductions and scans over ", $threads, ". All threads must participate.")]
        impl<'k, $($generics)*> $scope {
            /// Returns the sum of `value` over all threads of the scope. The result is bit-identical in all threads, except that the
            /// payload of an f64 NaN may differ. All threads must participate.
            #[doc(alias = "redux.sync.add")]
            #[track_caller]
            pub fn sum<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self.into(), value.into(), Combine::Sum)
            }

            /// Returns the product of `value` over all threads of the scope. The result is bit-identical in all threads, except that the
            /// payload of an f64 NaN may differ. All threads must participate.
            #[track_caller]
            pub fn product<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self.into(), value.into(), Combine::Product)
            }

            /// Returns the maximum of `value` over all threads of the scope. For floating-point types, the result is NaN only if all values
            /// are NaN. All threads must participate.
            #[doc(alias = "redux.sync.max")]
            #[track_caller]
            pub fn max<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self.into(), value.into(), Combine::Max)
            }

            /// Returns the minimum of `value` over all threads of the scope. For floating-point types, the result is NaN only if all values
            /// are NaN. All threads must participate.
            #[doc(alias = "redux.sync.min")]
            #[track_caller]
            pub fn min<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self.into(), value.into(), Combine::Min)
            }

            /// Returns the sum of `value` over all threads of the scope up to and including this one. All threads must participate.
            #[doc(alias = "prefix sum")]
            #[track_caller]
            pub fn inclusive_scan<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                scan(self.into(), value.into(), true)
            }

            /// Returns the sum of `value` over all threads of the scope before this one. The first thread receives 0. All threads must
            /// participate.
            #[doc(alias = "prefix sum")]
            #[track_caller]
            pub fn exclusive_scan<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                scan(self.into(), value.into(), false)
            }
        }
    };
}

reductions! { [const N: usize] Warps<'k, N>, "the threads of `N` consecutive warps" }
reductions! { [] Block<'k>, "the threads of the block, whose number must be a multiple of 32" }
