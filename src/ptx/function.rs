//! Closures on values, written so that they can be bound to Rust variables.

use super::{kernel::Builder, types::Scalar, val::Val};

impl<'k> Builder<'k> {
    /// Returns the closure with the kernel's brand in its signature, so that it can be bound to a variable.
    ///
    /// The lifetime `'k` of a kernel cannot be named in a closure, and `let square = |v: Val<f32>| v * v` alone does not compile, because
    /// the brands of the argument and the result are not known to be equal. A closure that is passed directly to a method such as
    /// [`Rt::map`](crate::tiles::Rt::map) requires no wrapper. A function that several kernels share must be written as a `fn`.
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

    /// Returns a closure that takes two values, as [`function`](Self::function) does for one value.
    pub fn function2<T: Scalar, U: Scalar, R, F: Fn(Val<'k, T>, Val<'k, U>) -> R>(self, function: F) -> F {
        function
    }
}
