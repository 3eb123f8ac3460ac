//! Sums with which the tests compare the results of kernels.
//!
//! The tests are compiled without optimization, because most of their code runs once. These sums have billions of terms, so that they are in
//! a package of their own, which is optimized.

mod attention;
mod product;

pub use attention::{Expected, weighted_values};
pub use product::{Term, add_scaled, dot, dot_of_integers, dot_with_size, product, sum_of_terms};
