//! Scopes: values that represent threads that execute operations together.
//!
//! | scope         | threads                       | `rank`                        | `thread`       | `sync`                              |
//! | ---           | ---                           | ---                           | ---            | ---                                 |
//! | [`Lane`]      | one                           | in its warp, `%laneid`        | 0              | –                                   |
//! | [`Warp`]      | 32                            | in its block                  | 0 to 31        | `bar.warp.sync`                     |
//! | [`Warps<N>`]  | 32·N consecutive threads      | in its block, in units of N warps | 0 to 32·N − 1 | a named barrier, or `bar.sync 0` |
//! | [`WarpGroup`] | `Warps<4>`                    |                               |                |                                     |
//! | [`Block`]     | all of the block              | in its cluster                | 0 to size − 1  | `bar.sync 0`; `bar.warp.sync` for one warp |
//! | [`Cluster`]   | all of the cluster's blocks   | in the grid                   | 0 to size − 1  | `barrier.cluster`                   |
//!
//! A collective operation is a method of the scope whose threads must execute it. The builder rejects the call under a condition that may
//! differ between the threads of the scope; see [`Uniformity`].

mod any;
mod block;
mod cluster;
mod exchange;
mod lane;
mod rank;
mod reduce;
mod warps;

use std::fmt::Debug;

use super::{kernel::Builder, types::Scalar, uniform::Uniformity, val::Val};

pub(crate) use any::AnyScope;
pub use block::Block;
pub use cluster::Cluster;
pub(crate) use exchange::shuffle;
pub use lane::Lane;
pub use reduce::Reducible;
pub(crate) use reduce::{Combine, pairs_of_warps, reduce};
pub use warps::{Warp, WarpGroup, Warps};

mod sealed {
    pub trait Sealed {}
}

/// The threads that execute a collective operation together: a [`Lane`], a [`Warp`], several [`Warps`], a [`Block`] or a [`Cluster`] of
/// kernel `'k`.
///
/// Except for `current` and `kernel`, these methods are also inherent methods of every scope, so callers need not import the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scope",
    note = "scopes are `Lane`, `Warp`, `Warps<N>`, `WarpGroup`, `Block` and `Cluster`, as `k.warp()` and `k.block([128])` return them"
)]
pub trait Scope<'k>: Copy + Debug + sealed::Sealed {
    /// Returns the scope of this kind that contains this thread.
    ///
    /// For [`Block`] and [`Warps`], the block's shape must be [declared](Builder::block); for [`Cluster`], the cluster's shape must be
    /// [declared](Builder::cluster). For [`Warps`], the number of threads in the block must be a multiple of the number of threads in the
    /// scope. The builder rejects calls that do not satisfy these requirements.
    #[track_caller]
    fn current(k: Builder<'k>) -> Self;

    /// Returns the builder of the scope's kernel.
    fn kernel(self) -> Builder<'k>;

    /// Returns the minimum [`Uniformity`] that a value must have to be the same in all threads of the scope.
    fn uniformity(self) -> Uniformity;

    /// Returns the number of threads in the scope.
    fn size(self) -> u32;

    /// Returns the index of the scope: of a lane in its warp, of warps in their block, of a block in its cluster, or of a cluster in the
    /// grid.
    #[track_caller]
    fn rank(self) -> Val<'k, u32>;

    /// Returns the index of this thread within the scope.
    #[track_caller]
    fn thread(self) -> Val<'k, u32>;

    /// Waits until all threads of the scope have arrived. Their earlier writes are then visible to all threads of the scope.
    #[track_caller]
    fn sync(self);

    /// Returns whether a condition holds for at least one thread of the scope.
    #[doc(hidden)]
    #[track_caller]
    fn any_thread(self, holds: Val<'k, bool>) -> Val<'k, bool> {
        let most = reduce(self.into(), holds.select(1u32, 0u32), Combine::Max);
        most.ne(0).known_uniform(self.uniformity())
    }
}

/// The methods of [`Scope`], implemented by the inherent methods of the same names.
macro_rules! by_own_methods {
    () => {
        #[track_caller]
        fn current(k: Builder<'k>) -> Self {
            Self::new(k)
        }

        fn kernel(self) -> Builder<'k> {
            self.k
        }

        fn uniformity(self) -> Uniformity {
            self.uniformity()
        }

        fn size(self) -> u32 {
            self.size()
        }

        #[track_caller]
        fn rank(self) -> Val<'k, u32> {
            self.rank()
        }

        #[track_caller]
        fn thread(self) -> Val<'k, u32> {
            self.thread()
        }

        #[track_caller]
        fn sync(self) {
            self.sync();
        }
    };
}

use by_own_methods;

/// Returns the quotient of a value and a constant. If the constant is a power of two, emits a shift.
#[track_caller]
pub(crate) fn quotient<'k>(value: Val<'k, u32>, by: u32) -> Val<'k, u32> {
    if by.is_power_of_two() { value >> by.trailing_zeros() } else { value / by }
}

/// Returns the remainder of a value divided by a constant. If the constant is a power of two, emits an `and`.
#[track_caller]
pub(crate) fn remainder<'k>(value: Val<'k, u32>, by: u32) -> Val<'k, u32> {
    if by.is_power_of_two() { value & (by - 1) } else { value % by }
}

impl<'k> Builder<'k> {
    /// Requires that either all threads of `scope` or none of them reach the current position. Collective instructions impose the same
    /// requirement.
    ///
    /// The builder rejects the kernel if a condition that encloses this position is not known to be uniform in the scope. The error message
    /// uses `what` as the name of the operation.
    #[track_caller]
    pub fn require_uniform(self, scope: impl Scope<'k>, what: &str) {
        let at = self.here();
        self.body().require_together(scope.uniformity(), what, at);
    }

    /// Returns the uniformity of `values` at the current position, that is, which threads are known to have the same `values` and to reach
    /// this position together.
    ///
    /// The result shows whether several scopes do the same work. For example, suppose that each warp stores to the tile with coordinates
    /// `values`: if the result covers more than one warp, several warps store to the same tile, and their stores race.
    pub fn shared_by(self, values: impl IntoIterator<Item = Val<'k, u32>>) -> Uniformity {
        let registers = values.into_iter().filter_map(|value| value.reg().map(|(reg, _)| reg));
        let registers: Vec<_> = registers.collect();
        self.body().uniform.shared_by(registers)
    }
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Returns the uniformity of this value, that is, which threads are known to have the same value.
    pub fn uniformity(&self) -> Uniformity {
        self.reg().map_or(Uniformity::Grid, |(reg, k)| k.body().uniform.level(reg))
    }

    /// Returns whether the five lowest bits of this integer are known to be the lane index, because the integer is `%laneid` or is derived
    /// from the index of the thread in the block.
    pub(crate) fn is_lane(&self) -> bool {
        self.reg().is_some_and(|(reg, k)| k.body().uniform.is_lane(reg))
    }

    /// Returns whether all threads of `scope` are known to have the same value.
    pub fn is_uniform(&self, scope: impl Scope<'k>) -> bool {
        self.uniformity().covers(scope.uniformity())
    }

    /// Assumes that all threads of `scope` have the same value, until the end of the current branch or loop. Use this method for values
    /// that the builder cannot prove to be uniform, such as values loaded from memory. The simulator checks the assumption.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// // One number per block decides whether the block does any work; loads are not known to be uniform.
    /// let kernel = Kernel::<(In<u32>, InOut<f32>, u32)>::build("f(wanted, x, blocks)", Target::SM_80, |k, (wanted, x, blocks)| {
    ///     let block = k.block([128]);
    ///     k.grid([blocks]);
    ///     let (wanted, x) = (k.slice(wanted, blocks), k.slice(x, blocks.into_dim() * 128));
    ///     let work = wanted.at(k.ctaid_x()).load().ne(0).assume_uniform(block);
    ///     k.if_(work, || {
    ///         block.sync();
    ///         x.at(k.ctaid_x() * 128 + block.thread()).store(0.0);
    ///     });
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn assume_uniform(self, scope: impl Scope<'k>) -> Self {
        if let Some((reg, k)) = self.reg() {
            let at = k.here();
            k.body().assume_uniform(reg, scope.uniformity(), at);
        }
        self
    }
}
