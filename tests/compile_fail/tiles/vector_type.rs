//! A vector of integers is loaded as floating-point numbers.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<(In<u16>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let _: Rv<f32, 4, Naive> = k.global(a, vector(64)).tile(0).load();
    });
}
