// A raw line is not checked, so it requires `unsafe` code.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        k.raw("st.global.u32 {y}, 1;").input("y", y).emit();
    });
}
