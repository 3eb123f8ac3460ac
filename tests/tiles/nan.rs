//! Tiles with one NaN, of every type that has it.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Accumulate, RegisterLayout},
};

use super::numbers::{Numeral, element_types};
use crate::cases::everywhere_of;

/// One NaN, at each of several places of the tile of one of two blocks, and none in the other.
#[test]
fn a_nan_of_every_type() {
    fn check<T: Numeral + Accumulate, L: RegisterLayout>() {
        if !T::of(f64::NAN).number().is_nan() {
            return;
        }
        let (rows, cols) = (Rt::<T, 2, 1, L>::ROWS, Rt::<T, 2, 1, L>::COLS);
        let kernel = Kernel::<(In<T>, Out<u32>)>::build("nan(x, y)", T::TARGET, |k, (x, y)| {
            k.block([32]);
            k.grid([2]);
            let tile: Rt<T, 2, 1, L> = k.global(x, row_major(2 * rows, cols)).tile(k.ctaid_x(), 0).load();
            k.slice(y, 2).at(k.ctaid_x()).store(tile.has_nan().select(1u32, 0u32));
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
        crate::assemble::kernel(&kernel);
        let size = (rows * cols) as usize;
        let places = [0, 1, 3, size / 2 + 7, size - 1, size + 2, 2 * size - 1];
        let found = everywhere_of(T::TARGET, |device| {
            let mut y = device.upload(&[77u32; 2]).unwrap();
            places.map(|place| {
                let mut x: Vec<T> = (0..2 * size).map(|at| T::of((at % 7) as f64)).collect();
                x[place] = T::of(f64::NAN);
                device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
                device.download(&y).unwrap()
            })
        });
        let expected = places.map(|place| [0, 1].map(|block| u32::from(place / size == block)).to_vec());
        assert_eq!(found, expected, "{} {:?}", T::NAME, L::LAYOUT);
    }
    macro_rules! nan_of {
        ($($t:ident)*) => {$(
            check::<$t, Row>();
            check::<$t, Col>();
        )*};
    }
    element_types! { computed, nan_of }
}
