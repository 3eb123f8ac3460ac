//! The operations on a thread's sums before the sums are stored.

use crate::{
    kernels::{Activation, Epilogue, gemm::Parameters},
    ptx::{Builder, Global, Read, Val, Write},
    tensor::{Fragment, Tensor, copy, in_order, words_of},
    tiles::{Gl, contiguous, row_major},
};

/// The operations that turn a sum of products into an element of D: multiplications by factors, additions of terms, and an activation
/// function. Each matrix has the shape of D; the matrices of scales and of the bias repeat one row or one column.
#[derive(Default)]
pub(super) struct Finish<'k> {
    alpha: Option<Val<'k, f32>>,
    row_scales: Option<Gl<'k, f32, Read>>,
    col_scales: Option<Gl<'k, f32, Read>>,
    c: Option<(Val<'k, f32>, Gl<'k, f32, Read>)>,
    bias: Option<Gl<'k, f32, Read>>,
    function: Option<Activation>,
}

impl<'k> Finish<'k> {
    /// Returns the operations for the activation function alone, without factors and terms.
    pub(super) fn function(function: Option<Activation>) -> Self {
        Self { function, ..Self::default() }
    }

    /// Declares the operands of the epilogue of an m×n result.
    #[track_caller]
    pub(super) fn epilogue(
        self,
        epilogue: Epilogue,
        (alpha, beta, c, ldc, bias, row_scales, col_scales): Parameters<'k, f32>,
        [m, n]: [Val<'k, u32>; 2],
    ) -> Self {
        let k = bias.kernel();
        let of_columns = |row| k.global(row, row_major(m, n).with_row_stride(0));
        Self {
            alpha: epilogue.alpha.then_some(alpha),
            row_scales: epilogue
                .row_scales
                .then(|| k.global(row_scales, contiguous([m, n]).with_strides([1, 0]))),
            col_scales: epilogue.col_scales.then(|| of_columns(col_scales)),
            c: epilogue.c.then(|| (beta, k.global(c, row_major(m, n).with_row_stride(ldc)))),
            bias: epilogue.bias.then(|| of_columns(bias)),
            ..self
        }
    }

    /// Returns whether sums are stored unchanged.
    const fn is_identity(&self) -> bool {
        let Self { alpha, row_scales, col_scales, c, bias, function } = self;
        alpha.is_none()
            && row_scales.is_none()
            && col_scales.is_none()
            && c.is_none()
            && bias.is_none()
            && function.is_none()
    }

    /// Stores the results for a thread's sums. `own` returns the thread's elements of a matrix with the shape of D. Its value modes are
    /// columns and rows. `rows` is the number of rows of these elements.
    #[track_caller]
    pub(super) fn store(
        &self,
        own: impl Fn(&Gl<'k, f32, Read>) -> Tensor<'k, Global, f32, Read>,
        to: &Tensor<'k, Global, f32, Write>,
        sums: &Fragment<'k, f32>,
        rows: usize,
    ) {
        if self.is_identity() {
            return copy(to, sums);
        }
        let k = sums.kernel();
        let cols = sums.size() as usize / rows;
        let loaded = |part: Tensor<'k, Global, f32, Read>| {
            let elements = k.fragment::<f32>(&in_order(part.size()));
            copy(&elements, &part);
            words_of(&elements)
        };
        let row_of = |matrix: &Gl<'k, f32, Read>, row: u32| loaded(own(matrix).slice((.., row)));
        let [col_scales, bias] =
            [&self.col_scales, &self.bias].map(|row| row.as_ref().map(|row| row_of(row, 0)));
        for (row, sums) in words_of(sums).chunks(cols).enumerate() {
            let row = row as u32;
            let scale = self.row_scales.as_ref().map(|scales| loaded(own(scales).slice((0, row)))[0]);
            let c = self.c.as_ref().map(|(beta, c)| (*beta, row_of(c, row)));
            let results = k.fragment::<f32>(&in_order(cols as i64));
            for (col, &sum) in sums.iter().enumerate() {
                let mut result = sum;
                for factor in
                    [self.alpha, scale, col_scales.as_ref().map(|scales| scales[col])].into_iter().flatten()
                {
                    result = result * factor;
                }
                if let Some((beta, c)) = &c {
                    result = result + c[col] * *beta;
                }
                if let Some(bias) = &bias {
                    result = result + bias[col];
                }
                results.set(col as i64, activated(k, self.function, result));
            }
            copy(&to.slice((.., row)), &results);
        }
    }
}

/// Applies the activation function, if any.
#[track_caller]
fn activated<'k>(k: Builder<'k>, function: Option<Activation>, x: Val<'k, f32>) -> Val<'k, f32> {
    match function {
        None => x,
        Some(Activation::Relu) => x.relu(),
        Some(Activation::GeluTanh) => k.gelu_tanh(x),
        Some(Activation::Silu) => k.silu(x),
    }
}
