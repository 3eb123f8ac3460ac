//! Elementwise operations compute in place: the instruction that computes a register's next value writes the register.

use std::cell::Cell;

use pretty_assertions::assert_eq;
use warpwright::{prelude::*, ptx::BuildErrorKind, run::Device};

use crate::devices::everywhere;

/// The number of PTX instructions of a kernel whose loop carries a tile of `W` subtiles.
fn instructions<const W: usize>() -> u32 {
    let kernel = Kernel::<(Out<f32>,)>::build("carried", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let tile = k.fold(4u32, k.filled::<Rt<f32, 1, W>>(0.5), |_, mut tile| {
            tile *= 0.5;
            tile -= &tile.row_max();
            tile.exp2()
        });
        k.global(y, row_major(16, 16 * W as u32)).tile(0, 0).store(&tile);
    });
    kernel.unwrap().entry().instructions
}

#[test]
fn a_carried_tile_is_not_moved() {
    // Per subtile and lane: 8 values to initialize, multiply, subtract, exponentiate; 8 comparisons of the maxima; 4 stores.
    assert_eq!(instructions::<3>() - instructions::<2>(), 8 * 5 + 4);
}

#[test]
fn a_value_from_outside_is_not_renamed() {
    let kernel = Kernel::<(Out<f32>, u32)>::build("outside", Target::SM_80, |k, (y, n)| {
        k.block([32]);
        k.grid([1]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let value = n.cast::<f32>();
        tile.apply(|_| value);
        tile += value;
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y, 3)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [6.0; 256]);
}

#[test]
fn a_value_that_escapes_is_rejected() {
    let error = Kernel::<(Out<f32>,)>::build("escapes", Target::SM_80, |k, (y,)| {
        k.block([32]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let escaped = Cell::new(None);
        tile.apply(|x| {
            escaped.set(Some(x * 2.0));
            escaped.get().unwrap_or(x)
        });
        tile += escaped.get().unwrap_or(Val::from(0.0));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap_err();
    assert!(matches!(error.kind(), BuildErrorKind::Overwritten { .. }), "{error}");
}

#[test]
fn every_iteration_starts_from_a_tile_that_the_loop_does_not_carry() {
    let kernel = Kernel::<(Out<f32>,)>::build("not_carried", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let start = k.filled::<Rt<f32, 1, 1>>(3.0);
        let sum = k.fold(4u32, k.zeros::<Rt<f32, 1, 1>>(), |_, sum| sum + (start * 2.0));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [24.0; 256]);
}

/// The loop's state is a value from the previous iteration, whose register the body has reused.
#[test]
fn a_carried_register_may_be_reused_before_the_end() {
    let kernel = Kernel::<(Out<f32>,)>::build("reused", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let start = (k.filled::<Rt<f32, 1, 1>>(1.0), k.zeros::<Rt<f32, 1, 1>>());
        let (_, sum) = k.fold(3u32, start, |_, (last, sum)| {
            let next = &last * 3.0;
            let difference = next.map(|x| x) - &last;
            (next, sum + (last * 10.0) + difference)
        });
        k.global(y, row_major(16, 16)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [(1.0 + 3.0 + 9.0) * 12.0; 256]);
}

/// The simulator checks the assumption by the register's name, so the result is moved instead of renamed.
#[test]
fn an_assumption_about_a_result_keeps_its_register() {
    let kernel = Kernel::<(Out<f32>,)>::build("assumed", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let warp = k.warp();
        tile.apply(|x| (x * 2.0).assume_uniform(warp));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [2.0; 256]);
}
