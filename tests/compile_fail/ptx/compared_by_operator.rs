use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>, u32)>::build("k(x, n)", Target::SM_80, |k, (x, n)| {
        let i = k.ctaid_x();
        let x = k.slice(x, n);
        if i < n {
            let _ = x.at(i).load();
        }
        if i == n {}
        if i == 0 || x.at(i).load() > 0.0 {}
    });
}
