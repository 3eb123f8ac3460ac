use warpwright::prelude::*;

fn main() {
    Kernel::<(In<f64>, In<u16>)>::build("k", Target::SM_80, |k, (values, metadata)| {
        let _ = k.sparse(values, metadata, 16, 32);
    })
    .unwrap();
}
