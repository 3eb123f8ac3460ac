//! Reference sums that the tests compare with the results of kernels.
//!
//! The tests are compiled without optimization, because most of their code runs once. These sums have billions of terms, so they are in a
//! separate package, which is compiled with optimization.

mod attention;
mod product;

pub use attention::{Expected, weighted_values};
pub use product::{Term, add_scaled, dot, dot_of_integers, dot_with_size, product, sum_of_terms};
