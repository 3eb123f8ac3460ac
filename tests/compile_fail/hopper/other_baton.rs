// Three consumers do not pass on a baton of two.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
        k.block([512]);
        let baton = k.baton::<2>();
        k.specialize(producer(40, |_| ()), consumers::<3, _>(152, |c| c.hold(&baton, || ())));
    });
}
