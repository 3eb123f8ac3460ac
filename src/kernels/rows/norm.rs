//! RMSNorm and LayerNorm, optionally applied to a residual sum.

mod dropout;
mod tilings;

use super::{
    RowTiling,
    ahead::{Input, ReadAhead, Turns, Weights},
    dropout::Mask,
    tiling::{Line, Row, same_or},
};
use crate::{
    ptx::{BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Striped},
};

pub use dropout::DropoutNormArgs;

/// The arguments of the kernel that [`Norm::kernel`] builds: `(x, ldx, w, y, ldy, m, n, epsilon)`. x and y are m×n, with row pitches of
/// `ldx` and `ldy` elements. w has n elements, and `epsilon` is the ε of [`NormFunction`].
pub type NormArgs<X, W, Y> = (In<X>, u32, In<W>, Out<Y>, u32, u32, u32, f32);

/// The arguments of the kernel that [`Norm::biased_kernel`] builds: `(x, ldx, w, b, y, ldy, m, n, epsilon)`. b has n elements; see
/// [`NormArgs`] for the other arguments.
pub type BiasedNormArgs<X, W, Y> = (In<X>, u32, In<W>, In<W>, Out<Y>, u32, u32, u32, f32);

/// The arguments of the kernel that [`Norm::residual_kernel`] builds: `(x, ldx, r, ldr, w, h, ldh, y, ldy, m, n, epsilon)`. r and h are
/// m×n, with row pitches of `ldr` and `ldh` elements; see [`NormArgs`] for the other arguments.
pub type ResidualNormArgs<X, W, Y> = (In<X>, u32, In<X>, u32, In<W>, Out<X>, u32, Out<Y>, u32, u32, u32, f32);

/// The arguments of the kernel that [`Norm::residual_biased_kernel`] builds: `(x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon)`. b has
/// n elements; see [`ResidualNormArgs`] for the other arguments.
pub type ResidualBiasedNormArgs<X, W, Y> =
    (In<X>, u32, In<X>, u32, In<W>, In<W>, Out<X>, u32, Out<Y>, u32, u32, u32, f32);

/// The maximum number of registers per thread with which only one of two vectors of weights is in registers at a time.
const FEW_REGISTERS: u32 = 64;

/// The function that normalizes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormFunction {
    /// x / √(mean(x²) + ε).
    #[doc(alias = "RMSNorm")]
    Rms,
    /// (x − mean(x)) / √(mean((x − mean(x))²) + ε).
    #[doc(alias = "LayerNorm")]
    Layer,
}

impl NormFunction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rms => "rmsnorm",
            Self::Layer => "layernorm",
        }
    }
}

/// Kernels that normalize the rows of a matrix: y = norm(x) · w or y = norm(x) · w + b, where norm is a [`NormFunction`]. The residual
/// kernels normalize the sum h = x + r instead of x, and also store h.
///
/// Sums are computed in f32, and the result is rounded once; h is rounded to its type before it is normalized. As in PyTorch, if a row
/// contains NaN or ±∞, the corresponding row of y contains NaN. Each launch checks that the rows fit the [tiling](RowTiling). Rows that do
/// not fit in registers are read two or three times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Norm {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// The function that normalizes rows.
    pub function: NormFunction,
}

impl Norm {
    /// Returns the kernels that normalize x, with the tiling chosen for the target and the sizes. `bytes` is the size of the widest element
    /// that is read or written. `sizes` contains the maximum row length, followed by the row pitches; see [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        Self { tiling: tilings::of_rows(function, target, bytes, sizes), function }
    }

    /// Returns the kernels that normalize x and add a bias; see [`for_rows`](Self::for_rows) for the parameters. If rows are long, the same
    /// threads may process more rows than with `for_rows`, so that each load of the weights and the bias is used for more rows.
    #[must_use]
    pub fn for_biased_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let Self { tiling, .. } = Self::for_rows(function, target, bytes, sizes);
        let is_long = tiling.groups(sizes) > 3072 && tiling.ahead > 0 && !tiling.unaligned;
        let tiling = match function {
            NormFunction::Rms if is_long => RowTiling { turns: 4, ..tiling },
            _ => tiling,
        };
        Self { tiling, function }
    }

    /// Returns the kernels for residual sums; see [`for_rows`](Self::for_rows) for the parameters. Because there are two input matrices,
    /// rows are copied to shared memory in fewer cases.
    #[must_use]
    pub fn for_residual_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        Self { tiling: tilings::of_residual_rows(function, target, bytes, sizes), function }
    }

    /// Builds the kernel that computes y = norm(x) · w. Its name contains the function, the types and the tiling, as in
    /// `rmsnorm_bf16_8192_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for clusters on a target older than sm_90.
    pub fn kernel<X, W, Y>(&self, target: Target) -> Result<Kernel<NormArgs<X, W, Y>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        let signature = self.signature::<X, W, Y>("", "x, ldx, w, y, ldy, m, n, epsilon");
        self.tiling.build::<NormArgs<X, W, Y>>(&signature, target, |k, (x, ldx, w, y, ldy, m, n, epsilon)| {
            self.describe::<X, W, Y>(k, "x", "");
            let turns = self.tiling.turns_of_segments(k, [m, n, ldy]);
            self.emit(&turns, &Inputs::new(&turns, (x, ldx), w), (y, ldy), epsilon);
        })
    }

    /// Builds the kernel that computes y = norm(x) · w + b.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn biased_kernel<X, W, Y>(
        &self,
        target: Target,
    ) -> Result<Kernel<BiasedNormArgs<X, W, Y>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        let signature = self.signature::<X, W, Y>("_bias", "x, ldx, w, b, y, ldy, m, n, epsilon");
        self.tiling.build::<BiasedNormArgs<X, W, Y>>(
            &signature,
            target,
            |k, (x, ldx, w, b, y, ldy, m, n, epsilon)| {
                self.describe::<X, W, Y>(k, "x", " + b");
                let turns = self.tiling.turns_of_segments(k, [m, n, ldy]);
                let inputs = Inputs::new(&turns, (x, ldx), w).with_bias(&turns, b);
                self.emit(&turns, &inputs, (y, ldy), epsilon);
            },
        )
    }

    /// Builds the kernel that computes h = x + r and y = norm(h) · w. Use the tiling of [`for_residual_rows`](Self::for_residual_rows);
    /// kernels with other tilings may spill registers.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "add_rmsnorm")]
    pub fn residual_kernel<X, W, Y>(
        &self,
        target: Target,
    ) -> Result<Kernel<ResidualNormArgs<X, W, Y>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        let signature =
            self.signature::<X, W, Y>("_residual", "x, ldx, r, ldr, w, h, ldh, y, ldy, m, n, epsilon");
        self.tiling.build::<ResidualNormArgs<X, W, Y>>(
            &signature,
            target,
            |k, (x, ldx, r, ldr, w, h, ldh, y, ldy, m, n, epsilon)| {
                self.describe::<X, W, Y>(k, "h = x + r", "");
                let turns = self.tiling.turns_of_segments(k, [m, n, ldy]);
                let inputs = Inputs::new(&turns, (x, ldx), w).with_residual(&turns, (r, ldr), (h, ldh));
                self.emit(&turns, &inputs, (y, ldy), epsilon);
            },
        )
    }

    /// Builds the kernel that computes h = x + r and y = norm(h) · w + b. Use the tiling of [`for_residual_rows`](Self::for_residual_rows);
    /// kernels with other tilings may spill registers.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn residual_biased_kernel<X, W, Y>(
        &self,
        target: Target,
    ) -> Result<Kernel<ResidualBiasedNormArgs<X, W, Y>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        let signature = self
            .signature::<X, W, Y>("_residual_bias", "x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon");
        self.tiling.build::<ResidualBiasedNormArgs<X, W, Y>>(
            &signature,
            target,
            |k, (x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon)| {
                self.describe::<X, W, Y>(k, "h = x + r", " + b");
                let turns = self.tiling.turns_of_segments(k, [m, n, ldy]);
                let inputs = Inputs::new(&turns, (x, ldx), w).with_bias(&turns, b);
                self.emit(&turns, &inputs.with_residual(&turns, (r, ldr), (h, ldh)), (y, ldy), epsilon);
            },
        )
    }

    fn signature<X: TensorElement, W: TensorElement, Y: TensorElement>(
        &self,
        form: &str,
        parameters: &str,
    ) -> String {
        let (w, y) = (same_or::<X, W>(), same_or::<X, Y>());
        format!("{}{form}_{}{w}{y}_{}({parameters})", self.function.name(), X::NAME, self.tiling)
    }

    fn describe<X: TensorElement, W: TensorElement, Y: TensorElement>(
        &self,
        k: Builder<'_>,
        of: &str,
        bias: &str,
    ) {
        let (function, x, w, y) = (self.function.name(), X::NAME, W::NAME, Y::NAME);
        k.describe(format!(
            "y = {function}({of})·w{bias} along rows: x m×n ({x}), w of n elements ({w}), y m×n ({y})"
        ));
    }

    #[track_caller]
    fn emit<'k, X, W, Y>(
        &self,
        turns: &Turns<'k>,
        inputs: &Inputs<'k, X, W>,
        (y, ldy): (Ptr<'k, Y, Global, Write>, Val<'k, u32>),
        epsilon: Val<'k, f32>,
    ) where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        turns.each(&inputs.read_ahead(), &|row| {
            let inputs = inputs.of(row);
            let y = row.of(y, ldy);
            let x = row.keep(|part| inputs.load(row, part));
            let statistics = Statistics::of(row, self.function, &x, epsilon);
            row.for_parts(&|part| {
                let x = x(part);
                inputs.store_sum(row, part, &x);
                let w = row.of_weights(inputs.w, part);
                let x = statistics.normalized(row, part, &x);
                let results = match inputs.b {
                    None => x.zip(&w, |x, w| x * w),
                    // The bias is loaded only after the registers of the weights are free.
                    Some(b) if self.tiling.registers() <= FEW_REGISTERS => {
                        x.zip(&w, |x, w| x * w).zip(&row.of_weights(b, part), |x, b| x + b)
                    }
                    Some(b) => x.mul_add(&w, &row.of_weights(b, part)),
                };
                row.store(&y, part, &results);
            });
        });
    }
}

/// The statistics that normalize a row.
#[derive(Clone, Copy)]
pub(super) struct Statistics<'k> {
    function: NormFunction,
    pub(super) mean: Val<'k, f32>,
    /// 1 / √(v + ε), where v is the mean of x² for RMSNorm or the variance of x for LayerNorm.
    pub(super) scale: Val<'k, f32>,
}

impl<'k> Statistics<'k> {
    /// Computes the statistics of a row. `x` must return 0 for elements outside the row.
    #[track_caller]
    pub(super) fn of(
        row: &Row<'k>,
        function: NormFunction,
        x: &dyn Fn(Val<'k, u32>) -> Striped<'k, f32>,
        epsilon: Val<'k, f32>,
    ) -> Self {
        let per_element = Val::from(1.0) / row.length().cast::<f32>();
        let mean = match function {
            NormFunction::Rms => 0.0.into(),
            NormFunction::Layer => row.means(per_element, &|part| [x(part).combined(|a, b| a + b)])[0],
        };
        let unscaled = Self { function, mean, scale: 1.0.into() };
        let [variance] = row.means(per_element, &|part| {
            let x = unscaled.centered(row, part, &x(part));
            [x.dot(&x)]
        });
        Self { scale: row.k.rsqrt(variance + epsilon), ..unscaled }
    }

    /// Returns the deviations from the mean, and 0 outside the row.
    #[track_caller]
    fn centered(&self, row: &Row<'k>, part: Val<'k, u32>, x: &Striped<'k, f32>) -> Striped<'k, f32> {
        match self.function {
            NormFunction::Rms => x.clone(),
            NormFunction::Layer => row.deviations(part, x, self.mean),
        }
    }

    /// Returns norm(x). Elements outside the row are finite if the elements in the row are finite.
    #[track_caller]
    pub(super) fn normalized(
        &self,
        row: &Row<'k>,
        part: Val<'k, u32>,
        x: &Striped<'k, f32>,
    ) -> Striped<'k, f32> {
        match self.function {
            // Clearing elements outside the row takes instructions, or a branch, unless the deviations are still in registers.
            NormFunction::Layer if row.tiling.unaligned || row.is_reloaded() => {
                x.map(|x| (x - self.mean) * self.scale)
            }
            _ => self.centered(row, part, x).map(|x| x * self.scale),
        }
    }
}

/// The inputs of a kernel.
struct Inputs<'k, X: TensorElement, W: TensorElement> {
    x: Input<'k, X, Read>,
    /// The matrix that is added to x, and the matrix that receives the sums.
    residual: Option<(Input<'k, X, Read>, Output<'k, X>)>,
    /// The dropout mask; `None` if all elements of x are kept.
    mask: Option<Mask<'k>>,
    w: Weights<'k, W, Read>,
    b: Option<Weights<'k, W, Read>>,
}

/// A matrix of results, and the stride between its rows.
type Output<'k, X> = (Ptr<'k, X, Global, Write>, Val<'k, u32>);

impl<'k, X: TensorElement, W: TensorElement> Inputs<'k, X, W> {
    #[track_caller]
    fn new(
        turns: &Turns<'k>,
        (x, ldx): (Ptr<'k, X, Global, Read>, Val<'k, u32>),
        w: Ptr<'k, W, Global, Read>,
    ) -> Self {
        Self { x: turns.input(x, ldx), residual: None, mask: None, w: turns.weights(w), b: None }
    }

    #[track_caller]
    fn with_bias(self, turns: &Turns<'k>, b: Ptr<'k, W, Global, Read>) -> Self {
        Self { b: Some(turns.weights(b)), ..self }
    }

    #[track_caller]
    fn with_residual(
        self,
        turns: &Turns<'k>,
        (r, ldr): (Ptr<'k, X, Global, Read>, Val<'k, u32>),
        h: Output<'k, X>,
    ) -> Self {
        Self { residual: Some((turns.input(r, ldr), h)), ..self }
    }

    fn with_dropout(self, mask: Mask<'k>) -> Self {
        Self { mask: Some(mask), ..self }
    }

    /// Returns the input matrices, whose rows can be read ahead.
    fn read_ahead(&self) -> Vec<&dyn ReadAhead<'k>> {
        let r: Option<&dyn ReadAhead<'k>> = self.residual.as_ref().map(|(r, _)| r as _);
        std::iter::once(&self.x as _).chain(r).collect()
    }

    #[track_caller]
    fn of<'i>(&'i self, row: &Row<'k>) -> RowInputs<'i, 'k, X, W> {
        let residual = self.residual.as_ref().map(|(r, (h, ldh))| (row.of_input(r), row.of(*h, *ldh)));
        RowInputs { x: row.of_input(&self.x), residual, mask: self.mask, w: &self.w, b: self.b.as_ref() }
    }
}

/// The inputs of a row.
struct RowInputs<'i, 'k, X: TensorElement, W: TensorElement> {
    x: Line<'k, X, Read>,
    residual: Option<(Line<'k, X, Read>, Line<'k, X, Write>)>,
    mask: Option<Mask<'k>>,
    w: &'i Weights<'k, W, Read>,
    b: Option<&'i Weights<'k, W, Read>>,
}

impl<'k, X: Convert<f32>, W: TensorElement> RowInputs<'_, 'k, X, W>
where
    f32: Convert<X>,
{
    /// Loads a part of the row to be normalized: x or, with a residual input r, x + r rounded to the type of h. Dropout, if any, is applied
    /// to x.
    #[track_caller]
    fn load(&self, row: &Row<'k>, part: Val<'k, u32>) -> Striped<'k, f32> {
        let masked = |x: Striped<'k, f32>| match self.mask {
            None => x,
            Some(mask) => mask.applied(row, part, &x),
        };
        match &self.residual {
            None => masked(row.load(&self.x, part, 0.0)),
            Some((r, _)) => {
                let [x, r] = row.load_each([&self.x, r], part, 0.0);
                masked(x).zip(&r, |x, r| x + r).convert::<X>().convert()
            }
        }
    }

    /// Stores a part of x + r if the kernel has a residual input.
    #[track_caller]
    fn store_sum(&self, row: &Row<'k>, part: Val<'k, u32>, sum: &Striped<'k, f32>) {
        if let Some((_, h)) = &self.residual {
            row.store(h, part, sum);
        }
    }
}
