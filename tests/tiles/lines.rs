//! Every line of a kernel's PTX is attributed to the Rust line that emitted it, even through closures of the crate.

use std::collections::BTreeSet;

use warpwright::{
    kernels::matmul,
    prelude::*,
    tensor::Arithmetic,
    tiles::{Auto, Convert, Plain, SharedSwizzle},
};

/// The Rust files that a module's `.loc` directives name.
fn files(ptx: &str) -> BTreeSet<&str> {
    ptx.lines().filter_map(|line| line.strip_prefix(".file ")?.split('"').nth(1)).collect()
}

fn everything<T, S: SharedSwizzle>(divisor: u32, target: Target) -> String
where
    T: Arithmetic + Convert<f32>,
    f32: Convert<T>,
{
    Kernel::<(In<T>, Out<T>, u32, u32)>::build("everything", target, |k, (a, d, m, n)| {
        k.block([32]);
        k.return_if(m.eq(0));
        let layout = row_major(m, n.multiple_of(divisor));
        let (a, d) = (k.global(a, layout), k.global(d, layout));
        let x = Rt::<T, 1, 2>::load(a.tile(0, 0));
        let y = Rt::<T, 1, 2, Col>::load(a.tile(0, 0));
        let tile = k.shared_tile::<St<T, 1, 2, S>>().fill(a.tile(1, 0)).wait();
        let z = tile.load::<Col>() * &y;
        let tile = tile.release().store(&x).wait();
        let x = (tile.load::<Row>() + &x) * T::ONE;
        let w = k.pipeline::<(St<T, 1, 2, S>,), 3>().run(
            n / 32,
            k.filled::<Rt<T, 1, 2>>(T::ONE),
            |i, stage| stage.fill((a.tile(0, i),)),
            |w, (tile,)| w.zip(&tile.load(), |x, y| x.max(y)),
        );
        let total = k.fold(4u32, x, |_, x| x.map(|x| x + x).convert::<f32>().convert());
        d.tile(0, 0).store(&z);
        d.tile(0, 1).store(&(w + total));
    })
    .unwrap()
    .ptx_with_lines()
}

#[test]
fn lines_are_those_of_the_caller() {
    for divisor in [1, 2, 16] {
        for target in [Target::SM_80, Target::SM_90] {
            for ptx in [
                everything::<f32, Auto>(divisor, target),
                everything::<f16, Plain>(divisor, target),
                everything::<bf16, Auto>(divisor, target),
            ] {
                assert_eq!(files(&ptx), BTreeSet::from([file!()]), "{ptx}");
            }
        }
    }
    // The product's lines, and not those of the tiles that it calls.
    let ptx = matmul::<bf16>(Target::SM_80, 1).unwrap().ptx_with_lines();
    assert_eq!(files(&ptx), BTreeSet::from(["src/kernels/gemm/mma_sync.rs", "src/kernels/matmul.rs"]));
}
