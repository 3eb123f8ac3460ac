//! Sums of products.

/// Returns the sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the sum of products and the sum of their absolute values.
pub fn dot_with_size(a: &[f64], b: &[f64]) -> [f64; 2] {
    a.iter().zip(b).fold([0.0; 2], |[sum, size], (a, b)| [sum + a * b, size + (a * b).abs()])
}

/// Returns the sum of products of integers.
pub fn dot_of_integers(a: &[i32], b: &[i32]) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The operation that computes a term from a pair of elements.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// a · b.
    Product,
    /// a ^ b.
    Xor,
    /// a & b.
    And,
}

/// Returns the sum of the terms of two rows.
pub fn sum_of_terms(term: Term, a: &[i64], b: &[i64]) -> i64 {
    let pairs = a.iter().zip(b);
    match term {
        Term::Product => pairs.map(|(a, b)| a * b).sum(),
        Term::Xor => pairs.map(|(a, b)| a ^ b).sum(),
        Term::And => pairs.map(|(a, b)| a & b).sum(),
    }
}

/// Returns A·B in row-major order, where A is `m`×`k` and B is `k`×`n`, both row-major.
pub fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let mut product = vec![0.0; m * n];
    for (row, sums) in product.chunks_mut(n.max(1)).enumerate() {
        for (i, a) in a[row * k..][..k].iter().enumerate() {
            sums.iter_mut().zip(&b[i * n..][..n]).for_each(|(sum, b)| *sum += a * b);
        }
    }
    product
}

/// Adds a row times `factor` to the sums, and the row's absolute values times `size` to the sums of absolute values.
pub fn add_scaled(sums: &mut [[f64; 2]], [factor, size]: [f64; 2], row: &[f64]) {
    for ([sum, sizes], x) in sums.iter_mut().zip(row) {
        *sum += factor * x;
        *sizes += size * x.abs();
    }
}
