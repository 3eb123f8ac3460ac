//! The storage orders of the factors of a matrix product, written as two letters.

use std::{fmt, str::FromStr};

use warpwright::kernels::{Gemm, MatrixOrder};

/// The orders of A and B: `n` for row-major, `t` for column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout(pub(crate) [MatrixOrder; 2]);

impl Layout {
    /// Returns the product with factors in these orders.
    pub(crate) fn of(self, gemm: Gemm) -> Gemm {
        let Self([a, b]) = self;
        Gemm { a, b, ..gemm }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.0.map(|order| if order == MatrixOrder::Row { 'n' } else { 't' });
        letters.iter().try_for_each(|letter| write!(f, "{letter}"))
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected two letters n or t, found `{text}`");
        let order = |letter| match letter {
            'n' => Ok(MatrixOrder::Row),
            't' => Ok(MatrixOrder::Col),
            _ => Err(wrong()),
        };
        let orders = text.chars().map(order).collect::<Result<Vec<_>, _>>()?;
        <[MatrixOrder; 2]>::try_from(orders).map(Self).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn layouts_are_two_letters() {
        for text in ["nn", "nt", "tn", "tt"] {
            assert_eq!(text.parse::<Layout>().map(|layout| layout.to_string()), Ok(text.to_string()));
        }
        for text in ["", "n", "nnn", "nx"] {
            let expected = format!("expected two letters n or t, found `{text}`");
            assert_eq!(text.parse::<Layout>(), Err(expected));
        }
    }
}
