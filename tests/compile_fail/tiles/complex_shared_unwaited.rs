//! A complex shared tile is read before its data have arrived.

use warpwright::prelude::*;
use warpwright::tiles::{Crt, Cst};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let tile = k.shared_tile::<Cst<f32, 1, 1>>().store(&Crt::<f32, 1, 1>::zeros(k));
        let _ = tile.load::<Row>();
    });
}
