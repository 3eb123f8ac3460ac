//! A complex tile of 8-bit elements, mapped as if its registers were numbers.

use warpwright::prelude::*;
use warpwright::tiles::Crt;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = Crt::<e4m3, 1, 1>::zeros(k).map(|z| z);
    });
}
