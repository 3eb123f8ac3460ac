//! The functions of rows, computed in f64.

use super::contender::Rows;

/// A function of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    Softmax,
    LogSoftmax,
    RmsNorm { residual: bool },
    LayerNorm { residual: bool },
}

/// The value added to the mean square.
pub(super) const EPSILON: f32 = 1e-5;

impl Reference {
    /// Returns a row of the result. Sums with r are rounded.
    pub(super) fn row(self, Rows { x, r, w, b, round, .. }: &Rows) -> Vec<f64> {
        let sums = || x.iter().zip(r).map(|(x, r)| round(x + r)).collect::<Vec<_>>();
        match self {
            Self::Softmax | Self::LogSoftmax => {
                let sum: f64 = x.iter().map(|x| x.exp()).sum();
                let log = self == Self::LogSoftmax;
                x.iter().map(|x| if log { x - sum.ln() } else { x.exp() / sum }).collect()
            }
            Self::RmsNorm { residual } => {
                let x = if residual { sums() } else { x.to_vec() };
                let scale = scale(&x);
                x.iter().zip(w).map(|(x, w)| x * scale * w).collect()
            }
            Self::LayerNorm { residual } => {
                let x = if residual { sums() } else { x.to_vec() };
                let mean = x.iter().sum::<f64>() / x.len() as f64;
                let x: Vec<f64> = x.iter().map(|x| x - mean).collect();
                let scale = scale(&x);
                x.iter().zip(w).zip(b).map(|((x, w), b)| x * scale * w + b).collect()
            }
        }
    }
}

/// Returns 1 / √(mean square + ε).
fn scale(x: &[f64]) -> f64 {
    let squares: f64 = x.iter().map(|x| x * x).sum();
    1.0 / (squares / x.len() as f64 + f64::from(EPSILON)).sqrt()
}
