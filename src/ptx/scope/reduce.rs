//! Reductions and scans of values over a scope.
//!
//! In a warp: `redux.sync` for 32-bit integers where the target has it, butterfly shuffles otherwise. In a larger scope each
//! warp's result goes through shared memory. Every thread computes the result by the same tree on the same numbers, so that
//! all get the same bits.

use std::panic::Location;

use super::{Block, Scope, Warps, exchange::shuffle};
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

/// A number that the threads of a scope can reduce: an integer of 32 or 64 bits, `f32`, `f64`, and `f16` and `bf16`,
/// which are computed in f32 and rounded once.
#[diagnostic::on_unimplemented(
    message = "the threads of a scope cannot reduce values of type `{Self}`",
    note = "reductions and scans take `u32`, `i32`, `u64`, `i64`, `f16`, `bf16`, `f32` and `f64`"
)]
pub trait Reducible: Numeric + super::sealed::Sealed {
    /// The type that it is computed in.
    #[doc(hidden)]
    type In: Numeric + Element<Reg = Self::In>;
    /// What a sum starts from; −0 for floats, which leaves every sum as it is.
    #[doc(hidden)]
    const NOTHING: Self::In;
    /// What a maximum starts from.
    #[doc(hidden)]
    const LOWEST: Self::In;
    /// What a minimum starts from.
    #[doc(hidden)]
    const HIGHEST: Self::In;
    /// Whether `redux.sync` reduces it.
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

/// How two values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combine {
    Sum,
    Max,
    Min,
}

impl Combine {
    /// The operation in `redux.sync`.
    const fn redux(self) -> &'static str {
        match self {
            Self::Sum => "add",
            Self::Max => "max",
            Self::Min => "min",
        }
    }

    /// What leaves every value as it is.
    const fn neutral<T: Reducible>(self) -> T::In {
        match self {
            Self::Sum => T::NOTHING,
            Self::Max => T::LOWEST,
            Self::Min => T::HIGHEST,
        }
    }

    #[track_caller]
    fn apply<'k, W: Numeric>(self, a: Val<'k, W>, b: Val<'k, W>) -> Val<'k, W> {
        match self {
            Self::Sum => a + b,
            Self::Max => a.max(b),
            Self::Min => a.min(b),
        }
    }
}

/// The result in every lane of the warp.
fn in_warp<'k, T: Reducible>(k: Builder<'k>, value: Val<'k, T::In>, how: Combine) -> Val<'k, T::In> {
    let result = if T::REDUX && k.target().features().contains(Features::AMPERE) {
        let operands = [Operand::Reg(value.in_register(k)), Val::from(FULL_MASK).operand(k)];
        k.result(format_args!("redux.sync.{}.{}", how.redux(), <T::In as Scalar>::PTX), &operands)
    } else {
        butterfly(k, value, how, 32)
    };
    result.known_uniform(Uniformity::WARP)
}

/// The result over groups of `lanes` lanes, a power of two.
fn butterfly<'k, W: Numeric>(k: Builder<'k>, mut value: Val<'k, W>, how: Combine, lanes: u32) -> Val<'k, W> {
    let mut distance = lanes / 2;
    while distance > 0 {
        value = how.apply(value, shuffle(k, Shuffle::Bfly, value, distance.into()));
        distance /= 2;
    }
    value
}

/// The sums of the values up to each lane.
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

/// Shared memory with a value of each warp of the block, of which the scope's are looked at.
struct Partials<'k, W: Element, S> {
    scope: S,
    /// The scope's part.
    values: Ptr<'k, W, Shared>,
    /// Warps of the scope, and the number of this warp among them.
    warps: u32,
    warp: Val<'k, u32>,
}

impl<'k, W: Numeric + Element<Reg = W>, S: Scope<'k>> Partials<'k, W, S> {
    fn new(scope: S) -> Self {
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

    /// Stores this warp's value from one lane, and waits until all of the scope's are there.
    fn store(&self, value: Val<'k, W>, from_lane: u32) {
        let k = self.scope.kernel();
        if k.in_loop() {
            // The iteration before may still read.
            self.scope.sync();
        }
        k.when(k.lane().rank().eq(from_lane), || self.values.at(self.warp).store(value));
        self.scope.sync();
    }

    /// The scope's values, one a lane; `otherwise` in lanes beyond.
    fn load(&self, otherwise: W) -> Val<'k, W> {
        let lane = self.scope.kernel().lane().rank();
        self.values.at(lane).when(lane.lt(self.warps)).load_or(otherwise)
    }
}

#[track_caller]
fn reduce<'k, T: Reducible, S: Scope<'k>>(scope: S, value: Val<'k, T>, how: Combine) -> Val<'k, T> {
    let k = scope.kernel();
    k.located(Location::caller(), || {
        let mut result = in_warp::<T>(k, value.cast(), how);
        if scope.size() > 32 {
            let partials = Partials::new(scope);
            partials.store(result, 0);
            let part = partials.load(how.neutral::<T>());
            let lanes = partials.warps.next_power_of_two();
            result = butterfly(k, part, how, lanes);
            // Lanes beyond the first group have the neutral value.
            result = if lanes < 32 { shuffle(k, Shuffle::Idx, result, 0.into()) } else { result };
        }
        result.known_uniform(scope.uniformity()).cast::<T>().known_uniform(scope.uniformity())
    })
}

#[track_caller]
fn scan<'k, T: Reducible, S: Scope<'k>>(scope: S, value: Val<'k, T>, inclusive: bool) -> Val<'k, T> {
    let k = scope.kernel();
    k.located(Location::caller(), || {
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
    })
}

macro_rules! reductions {
    ([$($generics:tt)*] $scope:ty, $threads:literal) => {
        #[doc = concat!("Reductions and scans over ", $threads, ". All threads must take part.")]
        impl<'k, $($generics)*> $scope {
            /// Returns the sum over the scope, the same bits in all threads.
            #[doc(alias = "redux.sync.add")]
            #[track_caller]
            pub fn sum<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self, value.into(), Combine::Sum)
            }

            /// Returns the greatest value of the scope; for floats a number wins over NaN.
            #[doc(alias = "redux.sync.max")]
            #[track_caller]
            pub fn max<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self, value.into(), Combine::Max)
            }

            /// Returns the least value of the scope; for floats a number wins over NaN.
            #[doc(alias = "redux.sync.min")]
            #[track_caller]
            pub fn min<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                reduce(self, value.into(), Combine::Min)
            }

            /// Returns the sum of the values of all threads up to and with this one.
            #[doc(alias = "prefix sum")]
            #[track_caller]
            pub fn inclusive_scan<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                scan(self, value.into(), true)
            }

            /// Returns the sum of the values of all threads before this one; 0 in the first.
            #[doc(alias = "prefix sum")]
            #[track_caller]
            pub fn exclusive_scan<T: Reducible>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
                scan(self, value.into(), false)
            }
        }
    };
}

reductions! { [const N: usize] Warps<'k, N>, "the warps" }
reductions! { [] Block<'k>, "the block, of a multiple of 32 threads" }
