// A raw line may do anything: it is written in `unsafe` code only.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        k.raw("st.global.u32 {y}, 1;").input("y", y).emit();
    });
}
