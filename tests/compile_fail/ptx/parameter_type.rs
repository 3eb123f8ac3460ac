// A `String` is not a valid kernel parameter.
use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>, String)>::build("k", Target::SM_90, |_, _| {});
}
