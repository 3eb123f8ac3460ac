//! Sizes of products, given as numbers or as the name of a set.

pub(in crate::bench) use crate::orders::Layout;
use std::{fmt, str::FromStr};

/// m, n and k of a product, at least 1 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Size(pub(in crate::bench) [usize; 3]);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [m, n, k] = self.0;
        write!(f, "{m}x{n}x{k}")
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |n: &str| match n.trim().parse::<u32>() {
            Ok(0) => Err("expected sizes of at least 1, found 0".to_string()),
            Ok(n) => Ok(n as usize),
            Err(error) => Err(format!("{n}: {error}")),
        };
        let numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        let sizes = <[usize; 3]>::try_from(numbers);
        sizes.map(Self).map_err(|found| format!("expected M,N,K, found {} numbers", found.len()))
    }
}

/// A set of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shapes {
    /// Llama-3 8B and 70B: QKV, output, gate and up, down, for 16, 512, 4096 and 8192 tokens
    Llama,
    /// 512 to 16384, powers of two
    Square,
    /// Few rows, small k, and 1000x1000x1000
    Skinny,
    /// Sizes that are not multiples of 8
    Odd,
}

/// The linear layers of a transformer: the width, the total number of columns of K and V, and the width of the hidden layers.
struct Transformer {
    width: usize,
    keys_and_values: usize,
    inner: usize,
}

/// Llama-3 8B and 70B: 8 KV heads with 128 columns each (Meta, "The Llama 3 Herd of Models", table 3).
const LLAMA: [Transformer; 2] = [
    Transformer { width: 4096, keys_and_values: 2048, inner: 14_336 },
    Transformer { width: 8192, keys_and_values: 2048, inner: 28_672 },
];

impl Transformer {
    /// Returns n and k of each product.
    fn layers(&self) -> [[usize; 2]; 4] {
        let Self { width, keys_and_values, inner } = *self;
        [[width + keys_and_values, width], [width, width], [2 * inner, width], [width, inner]]
    }
}

impl Shapes {
    /// Returns the sizes.
    pub(super) fn sizes(self) -> Vec<Size> {
        let sizes: Vec<[usize; 3]> = match self {
            Self::Llama => {
                let of_layer = |[n, k]: [usize; 2]| [16, 512, 4096, 8192].map(|tokens| [tokens, n, k]);
                LLAMA.iter().flat_map(Transformer::layers).flat_map(of_layer).collect()
            }
            Self::Square => (9..=14).map(|log| [1 << log; 3]).collect(),
            Self::Skinny => {
                let few_rows = [4096, 8192].into_iter().flat_map(|n| [1, 16, 64, 128].map(|m| [m, n, n]));
                few_rows.chain([[4096, 4096, 512], [1000; 3]]).collect()
            }
            Self::Odd => vec![[4095, 4097, 4096], [1001, 1003, 1007]],
        };
        sizes.into_iter().map(Size).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Shapes, Size};

    #[test]
    fn sizes_are_three_numbers_from_1() {
        assert_eq!("1, 2,3".parse(), Ok(Size([1, 2, 3])));
        assert_eq!("1,2".parse::<Size>(), Err("expected M,N,K, found 2 numbers".into()));
        assert_eq!("1,0,3".parse::<Size>(), Err("expected sizes of at least 1, found 0".into()));
        assert_eq!("1,x,3".parse::<Size>(), Err("x: invalid digit found in string".into()));
    }

    #[test]
    fn sets_have_the_sizes_of_their_descriptions() {
        let llama = Shapes::Llama.sizes();
        assert_eq!(llama.len(), 2 * 4 * 4);
        assert_eq!(llama[0], Size([16, 6144, 4096]));
        assert!(llama.contains(&Size([8192, 28_672, 4096])), "gate and up of 8B");
        assert!(llama.contains(&Size([512, 10_240, 8192])), "QKV of 70B");
        assert_eq!(llama[31], Size([8192, 8192, 28_672]));
        assert_eq!(Shapes::Square.sizes().last(), Some(&Size([16_384; 3])));
        assert_eq!(Shapes::Skinny.sizes().len(), 10);
        assert_eq!(Shapes::Odd.sizes()[0], Size([4095, 4097, 4096]));
    }
}
