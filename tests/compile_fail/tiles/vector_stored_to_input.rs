//! A vector is stored to an input.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, vector(64));
        let v: Rv<f32, 4, Naive> = a.tile(0).load();
        a.tile(0).store(&v);
    });
}
