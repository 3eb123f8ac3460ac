//! Elementwise functions, gates and sums, and their gradients.

use std::f32::consts::{FRAC_2_SQRT_PI, SQRT_2};

use super::{
    RowTiling,
    tiling::{MOST_UNALIGNED, same_or},
};
use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Target, Val},
    tensor::TensorElement,
    tiles::Convert,
};

/// The arguments of the kernel that [`Pointwise::kernel`] builds: `(x, ldx, y, ldy, m, n)`. x and y are m×n, with row pitches of `ldx` and
/// `ldy` elements.
pub type PointwiseArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32);

/// The arguments of the kernel that [`Pointwise::gated_kernel`] builds: `(x, ldx, u, ldu, y, ldy, m, n)`. u is m×n, with a row pitch of
/// `ldu` elements; see [`PointwiseArgs`] for the other arguments.
pub type GatedArgs<X, Y> = (In<X>, u32, In<X>, u32, Out<Y>, u32, u32, u32);

/// The arguments of the kernel that [`Pointwise::gated_backward_kernel`] builds: `(x, ldx, u, ldu, dy, lddy, dx, lddx, du, lddu, m, n)`.
/// dy, dx and du are m×n, with row pitches of `lddy`, `lddx` and `lddu` elements; see [`GatedArgs`] for the other arguments.
pub type GatedBackwardArgs<X> = (In<X>, u32, In<X>, u32, In<X>, u32, Out<X>, u32, Out<X>, u32, u32, u32);

/// A function that is applied to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointwiseFunction {
    /// x itself. With this function, [`Pointwise::kernel`] only converts between types, and [`Pointwise::gated_kernel`] computes the
    /// product x · u.
    Identity,
    /// max(x, 0).
    Relu,
    /// x / (1 + e^−x).
    #[doc(alias = "swish")]
    #[doc(alias = "SwiGLU")]
    Silu,
    /// x · Φ(x), where Φ is the cumulative distribution function of the standard normal distribution.
    #[doc(alias = "GeGLU")]
    Gelu,
    /// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
    GeluTanh,
}

impl PointwiseFunction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Relu => "relu",
            Self::Silu => "silu",
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_tanh",
        }
    }

    /// Returns f(`x`).
    #[track_caller]
    pub(super) fn of<'k>(self, k: Builder<'k>, x: Val<'k, f32>) -> Val<'k, f32> {
        match self {
            Self::Identity => x,
            Self::Relu => x.lt(0.0).select(0.0, x),
            Self::Silu => k.silu(x),
            Self::Gelu => k.gelu(x),
            Self::GeluTanh => k.gelu_tanh(x),
        }
    }

    /// Returns f(`x`) and the derivative f′(`x`).
    #[track_caller]
    fn with_derivative<'k>(self, k: Builder<'k>, x: Val<'k, f32>) -> [Val<'k, f32>; 2] {
        let value = self.of(k, x);
        let derivative = match self {
            Self::Identity => 1.0.into(),
            Self::Relu => x.gt(0.0).select(1.0, 0.0),
            Self::Silu => {
                let s = k.sigmoid(x);
                value.mad(Val::from(1.0) - s, s)
            }
            Self::Gelu => {
                // The derivative is Φ + x·φ. Φ is recomputed, because it cannot be derived from the value if x = 0.
                let density = k.exp(x * x * -0.5) * (FRAC_2_SQRT_PI / SQRT_2 / 2.0);
                let distribution = k.gelu(x.abs()) / x.abs();
                let distribution = x.lt(0.0).select(Val::from(1.0) - distribution, distribution);
                x.eq(0.0).select(0.5, x.mad(density, distribution))
            }
            Self::GeluTanh => {
                // s = sigmoid(2u), and the derivative of x·s is s + x·s·(1 − s)·2u′.
                let twice = FRAC_2_SQRT_PI * SQRT_2;
                let squared = x * x;
                let s = k.sigmoid(x * squared.mad(0.044_715 * twice, twice));
                let slope = squared.mad(3.0 * 0.044_715 * twice, twice);
                (value * (Val::from(1.0) - s)).mad(slope, s)
            }
        };
        [value, derivative]
    }
}

/// A function of two corresponding elements of different matrices.
type OfTwo<'f> = dyn for<'k> Fn(Builder<'k>, Val<'k, f32>, Val<'k, f32>) -> Val<'k, f32> + 'f;

/// Kernels that apply a function f to each element: y = f(x), the gate y = f(x) · u, the sum y = f(x) + u, and the gradients of f and of
/// the gate.
///
/// Arithmetic is performed in f32, and results are rounded once. Rows may have any length; long rows are divided among blocks (see
/// [`RowTiling::for_elements`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointwise {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// The function f.
    pub function: PointwiseFunction,
}

impl Pointwise {
    /// Returns the kernels for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_elements`].
    #[must_use]
    pub fn for_rows(function: PointwiseFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        Self { tiling: RowTiling::for_elements(target, bytes, sizes), function }
    }

    /// Returns [1, m · n] if no m×n matrix with the given row pitches has gaps between its rows, and m · n is at most 2³⁰; otherwise,
    /// returns [m, n]. Elementwise functions need not distinguish rows, and the length of the single row is often a multiple of the group
    /// size even if n is not. Choose the kernel for this length, and pass the length as every row pitch.
    #[must_use]
    pub fn as_one_row([m, n]: [u32; 2], pitches: &[u32]) -> [u32; 2] {
        let is_flat = pitches.iter().all(|&pitch| pitch == n);
        match m.checked_mul(n) {
            Some(all) if is_flat && (1..=MOST_UNALIGNED).contains(&all) => [1, all],
            _ => [m, n],
        }
    }

    /// Builds the kernel that computes y = f(x). Its name contains the function, the types and the tiling, as in `silu_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling.
    pub fn kernel<X, Y>(&self, target: Target) -> Result<Kernel<PointwiseArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let signature = self.signature::<X, Y>("", "x, ldx, y, ldy, m, n");
        self.tiling.build::<PointwiseArgs<X, Y>>(&signature, target, |k, (x, ldx, y, ldy, m, n)| {
            self.describe(k, "y = f(x)");
            let (row, part) = self.tiling.part_of_elements(k, [m, n], &[ldy, ldx]);
            let (x, y) = (row.of(x, ldx), row.of(y, ldy));
            row.in_part(part, || {
                let x = row.load(&x, part, 0.0);
                row.store(&y, part, &x.map(|x| self.function.of(k, x)));
            });
        })
    }

    /// Builds the kernel that computes dx = f′(x) · dy, with arguments `(x, ldx, dy, lddy, dx, lddx, m, n)`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn backward_kernel<X>(&self, target: Target) -> Result<Kernel<GatedArgs<X, X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let form = ("_backward", "x, ldx, dy, lddy, dx, lddx, m, n", "dx = f′(x)·dy");
        self.of_two(target, form, &|k, x, dy| self.function.with_derivative(k, x)[1] * dy)
    }

    /// Builds the kernel that computes y = f(x) · u.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "SwiGLU")]
    #[doc(alias = "GeGLU")]
    pub fn gated_kernel<X, Y>(&self, target: Target) -> Result<Kernel<GatedArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let form = ("_gated", "x, ldx, u, ldu, y, ldy, m, n", "y = f(x)·u");
        self.of_two(target, form, &|k, x, u| self.function.of(k, x) * u)
    }

    /// Builds the kernel that computes y = f(x) + u. Its name contains the function, the types and the tiling, as in
    /// `identity_plus_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "add")]
    pub fn added_kernel<X, Y>(&self, target: Target) -> Result<Kernel<GatedArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let form = ("_plus", "x, ldx, u, ldu, y, ldy, m, n", "y = f(x) + u");
        self.of_two(target, form, &|k, x, u| self.function.of(k, x) + u)
    }

    /// Builds the kernel that computes dx = f′(x) · u · dy and du = f(x) · dy.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn gated_backward_kernel<X>(&self, target: Target) -> Result<Kernel<GatedBackwardArgs<X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let parameters = "x, ldx, u, ldu, dy, lddy, dx, lddx, du, lddu, m, n";
        let signature = self.signature::<X, X>("_gated_backward", parameters);
        self.tiling.build::<GatedBackwardArgs<X>>(
            &signature,
            target,
            |k, (x, ldx, u, ldu, dy, lddy, dx, lddx, du, lddu, m, n)| {
                self.describe(k, "dx = f′(x)·u·dy, du = f(x)·dy");
                let pitches = [lddx, lddu, ldx, ldu, lddy];
                let (row, part) = self.tiling.part_of_elements(k, [m, n], &pitches);
                let lines = [(x, ldx), (u, ldu), (dy, lddy)].map(|(x, ld)| row.of(x, ld));
                let (dx, du) = (row.of(dx, lddx), row.of(du, lddu));
                row.in_part(part, || {
                    let [x, u, dy] = row.load_each(lines.each_ref(), part, 0.0);
                    let products = u.zip(&dy, |u, dy| u * dy);
                    let dxs = x.zip(&products, |x, product| self.function.with_derivative(k, x)[1] * product);
                    row.store(&dx, part, &dxs);
                    row.store(&du, part, &x.zip(&dy, |x, dy| self.function.of(k, x) * dy));
                });
            },
        )
    }

    /// Builds the kernel that applies `of` to the elements of two matrices. `form` is appended to the function's name.
    #[track_caller]
    fn of_two<X, Y>(
        &self,
        target: Target,
        (form, parameters, formula): (&str, &str, &str),
        of: &OfTwo<'_>,
    ) -> Result<Kernel<GatedArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let signature = self.signature::<X, Y>(form, parameters);
        self.tiling.build::<GatedArgs<X, Y>>(&signature, target, |k, (x, ldx, u, ldu, y, ldy, m, n)| {
            self.describe(k, formula);
            let (row, part) = self.tiling.part_of_elements(k, [m, n], &[ldy, ldx, ldu]);
            let (x, u, y) = (row.of(x, ldx), row.of(u, ldu), row.of(y, ldy));
            row.in_part(part, || {
                let [x, u] = row.load_each([&x, &u], part, 0.0);
                row.store(&y, part, &x.zip(&u, |x, u| of(k, x, u)));
            });
        })
    }

    fn signature<X: TensorElement, Y: TensorElement>(&self, form: &str, parameters: &str) -> String {
        let (name, y) = (self.function.name(), same_or::<X, Y>());
        format!("{name}{form}_{}{y}_{}({parameters})", X::NAME, self.tiling)
    }

    fn describe(&self, k: Builder<'_>, formula: &str) {
        k.describe(format!("{formula}, where f is {}, on m×n matrices", self.function.name()));
    }
}
