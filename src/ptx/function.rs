//! Closures that operate on values and can be bound to Rust variables.

use super::{kernel::Builder, types::Scalar, val::Val};

impl<'k> Builder<'k> {
    /// Returns `function` unchanged, with its argument and result tied to this kernel, so that a closure can be bound to a variable.
    ///
    /// `let square = |v: Val<f32>| v * v` alone does not compile: the lifetime `'k` cannot be named in a closure, so the compiler infers
    /// different lifetimes for the argument and the result. A closure that is passed directly to a method such as
    /// [`Rt::map`](crate::tiles::Rt::map) does not need `function`. A function that several kernels share must be written as a `fn`.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// fn cube<'k>(v: Val<'k, f32>) -> Val<'k, f32> {
    ///     v * v * v
    /// }
    ///
    /// let kernel = Kernel::<(InOut<f32>,)>::build("f(x)", Target::SM_80, |k, (x,)| {
    ///     let square = k.function(|v: Val<f32>| v * v);
    ///     let x = k.slice(x, 1).at(0);
    ///     x.store(cube(square(x.load())));
    ///
    ///     let tile = k.filled::<Rt<f32, 1, 1>>(2.0);
    ///     let _ = tile.map(|v| v * v).map(square).map(cube);
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    pub fn function<T: Scalar, R, F: Fn(Val<'k, T>) -> R>(self, function: F) -> F {
        function
    }

    /// Returns `function` unchanged, as [`function`](Self::function) does, but for a closure that takes two values.
    pub fn function2<T: Scalar, U: Scalar, R, F: Fn(Val<'k, T>, Val<'k, U>) -> R>(self, function: F) -> F {
        function
    }
}
