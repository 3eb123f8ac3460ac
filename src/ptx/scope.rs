//! Scopes: the threads that work together, as values.
//!
//! | scope         | threads                       | `rank`                        | `thread`       | `sync`                              |
//! | ---           | ---                           | ---                           | ---            | ---                                 |
//! | [`Lane`]      | one                           | in its warp, `%laneid`        | 0              | –                                   |
//! | [`Warp`]      | 32                            | in its block                  | 0 to 31        | `bar.warp.sync`                     |
//! | [`Warps<N>`]  | 32·N consecutive ones         | in its block, in units of N warps | 0 to 32·N − 1 | a named barrier                |
//! | [`WarpGroup`] | `Warps<4>`                    |                               |                |                                     |
//! | [`Block`]     | all of the block              | in its cluster                | 0 to size − 1  | `bar.sync 0`, of one warp `bar.warp.sync` |
//! | [`Cluster`]   | all of the cluster's blocks   | in the grid                   | over its blocks | `barrier.cluster`                  |
//!
//! A collective operation is a method of the scope that must take part. Under a condition that may differ between the
//! threads of the scope it is refused when the kernel is built; see [`Uniformity`].

mod block;
mod cluster;
mod exchange;
mod lane;
mod rank;
mod reduce;
mod warps;

use std::fmt::Debug;

use super::{kernel::Builder, types::Scalar, uniform::Uniformity, val::Val};

pub use block::Block;
pub use cluster::Cluster;
pub use lane::Lane;
pub use reduce::Reducible;
pub use warps::{Warp, WarpGroup, Warps};

mod sealed {
    pub trait Sealed {}
}

/// The threads that execute a collective operation together: a [`Lane`], a [`Warp`], several [`Warps`], a [`Block`] or a
/// [`Cluster`] of the kernel `'k`.
///
/// Every scope has these as methods of its own too, so that the trait need not be imported.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scope",
    note = "scopes are `Lane`, `Warp`, `Warps<N>`, `WarpGroup`, `Block` and `Cluster`, as `k.warp()` and `k.block([128])` return them"
)]
pub trait Scope<'k>: Copy + Debug + sealed::Sealed {
    /// Returns the scope of this kind that this thread is in. Refused where the block's shape is not
    /// [declared](Builder::block) or has no such scope.
    #[track_caller]
    fn current(k: Builder<'k>) -> Self;

    /// Returns the kernel.
    fn kernel(self) -> Builder<'k>;

    /// Returns how uniform a condition must be for all threads of the scope to agree on it.
    fn uniformity(self) -> Uniformity;

    /// Returns the number of threads in the scope.
    fn size(self) -> u32;

    /// Returns the index of the scope in the scope that encloses it.
    #[track_caller]
    fn rank(self) -> Val<'k, u32>;

    /// Returns the index of this thread in the scope.
    #[track_caller]
    fn thread(self) -> Val<'k, u32>;

    /// Waits until all threads of the scope are here; what each wrote before, all of them see after.
    #[track_caller]
    fn sync(self);
}

/// The methods of [`Scope`], each by the method of that name that the type has itself.
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

/// The quotient by a constant: a shift for a power of two.
#[track_caller]
pub(crate) fn quotient<'k>(value: Val<'k, u32>, by: u32) -> Val<'k, u32> {
    if by.is_power_of_two() { value >> by.trailing_zeros() } else { value / by }
}

/// The remainder by a constant: a mask for a power of two.
#[track_caller]
pub(crate) fn remainder<'k>(value: Val<'k, u32>, by: u32) -> Val<'k, u32> {
    if by.is_power_of_two() { value & (by - 1) } else { value % by }
}

impl<'k> Builder<'k> {
    /// Requires that all threads of `scope` reach what is written next, or none of them: what a collective operation
    /// calls first. Refused under a condition that is not known to be the same for them.
    #[track_caller]
    pub fn require_uniform(self, scope: impl Scope<'k>, what: &str) {
        let at = self.here();
        self.body().require_together(scope.uniformity(), what, at);
    }

    /// Returns which threads do the same as this one on `values`: those that have the same values and meet the same
    /// conditions.
    ///
    /// If this covers more than a scope, several scopes of the kind work on what the values name: a store of each to the
    /// tile at these coordinates would be a race.
    pub fn shared_by(self, values: impl IntoIterator<Item = Val<'k, u32>>) -> Uniformity {
        let registers = values.into_iter().filter_map(|value| value.reg().map(|(reg, _)| reg));
        let registers: Vec<_> = registers.collect();
        self.body().uniform.shared_by(registers)
    }
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Returns which threads are known to have the same value.
    pub fn uniformity(&self) -> Uniformity {
        self.reg().map_or(Uniformity::Grid, |(reg, k)| k.body().uniform.level(reg))
    }

    /// Returns whether all threads of `scope` are known to have the same value.
    pub fn is_uniform(&self, scope: impl Scope<'k>) -> bool {
        self.uniformity().covers(scope.uniformity())
    }

    /// Assumes that all threads of `scope` have the same value, for what the builder cannot see, such as a value loaded
    /// from memory. It holds until the end of the branch or loop in which it is assumed.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// // A number per block decides whether the block works: the loads are not known to give the same value.
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
            k.body().uniform.assume(reg, scope.uniformity());
        }
        self
    }
}
