//! One row of the result of attention.

/// The result for one query.
#[derive(Clone, Debug)]
pub struct Expected {
    /// For each column, the weighted sum of the values, and the sum of the absolute values of its terms.
    pub o: Vec<[f64; 2]>,
    /// The logarithm of the sum of the exponentials of the scores.
    pub lse: f64,
}

/// Returns the sum of the rows of values, weighted by the softmax of their scores. `values` returns the row for the index of a score; it
/// must have at least `columns` elements. The exponential of a sink is added to the denominator of the weights. If no score is greater than
/// −∞, the sum is zero.
pub fn weighted_values<'a>(
    scores: &[f64],
    sink: Option<f64>,
    columns: usize,
    values: &dyn Fn(usize) -> &'a [f64],
) -> Expected {
    let all = scores.iter().copied().chain(sink);
    let max = all.clone().fold(f64::NEG_INFINITY, f64::max);
    let mut o = vec![[0.0; 2]; columns];
    if max == f64::NEG_INFINITY && !scores.iter().any(|score| score.is_nan()) {
        return Expected { o, lse: f64::NEG_INFINITY };
    }
    let total: f64 = all.map(|score| (score - max).exp()).sum();
    for (index, score) in scores.iter().enumerate() {
        let weight = (score - max).exp() / total;
        for ([sum, size], value) in o.iter_mut().zip(&values(index)[..columns]) {
            let term = weight * value;
            *sum += term;
            *size += term.abs();
        }
    }
    Expected { o, lse: max + total.ln() }
}
