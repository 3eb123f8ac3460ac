// Waiting for one shared tensor does not make another readable.
use warpwright::{prelude::*, tensor::copy};
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>)>::build("k", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        let rows = k.layout("(32,4):(4,1)");
        let (x, y) = (k.tensor_with_layout(x, &rows), k.tensor_with_layout(y, &rows));
        let (a, b) = (k.shared_tensor::<f32>(&rows), k.shared_tensor::<f32>(&rows));
        let row = k.tid_x();
        let _a = copy(&a.slice((row, ..)), &x.slice((row, ..))).wait();
        copy(&y.slice((row, ..)), &b.slice((row, ..)));
    });
}
