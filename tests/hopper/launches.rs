//! Launches that are rejected: tensors that a map cannot describe, and buffers that are too short.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Auto, consumers, producer},
};

use super::{
    gemm::{Blocks, How, kernel, launch},
    problem::{Problem, assert_same},
};
use crate::devices::everywhere;

/// X, m, n, the pitch.
type Args = (In<bf16>, Out<f32>, u32, u32, u32);

/// A kernel that loads the first tile of X, of m×n elements and a pitch.
fn load() -> Kernel<Args> {
    Kernel::<Args>::build("load(x, y, m, n, pitch)", Target::SM_90A, |k, (x, y, m, n, pitch)| {
        k.block([256]);
        k.grid([1]);
        let x = k.global(x, row_major(m, n).with_row_stride(pitch));
        let y = k.global(y, row_major(64, 64));
        let ring = k.ring::<(St<'_, bf16, 4, 4, Auto>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| stage.fill((x.tile(0, 0),)))),
            consumers::<1, _>(232, |c| {
                c.each(&ring, 1, (), |_, (), (tile,)| {
                    let tile: Rt<bf16, 1, 4> = tile.tile_of(c.group()).load();
                    y.tile_of(c.group(), 0, 0).store(&tile);
                });
            }),
        );
    })
    .unwrap()
}

/// The error of a launch with a buffer of `length` elements.
fn refused(length: usize, m: u32, n: u32, pitch: u32) -> String {
    let kernel = load();
    everywhere(|device| {
        let x = device.output::<bf16>(length).unwrap();
        let mut y = device.output::<f32>(64 * 64).unwrap();
        device.launch(&kernel, (&x, &mut y, m, n, pitch)).expect_err("it must be refused").to_string()
    })
}

#[test]
fn rows_must_be_multiples_of_16_bytes_apart() {
    assert_eq!(
        refused(4096, 64, 60, 60),
        "kernel `load`: parameter `x`: expected rows that are a multiple of 16 bytes apart, found 120 bytes"
    );
    assert_eq!(
        refused(4096, 2, 8, 9),
        "kernel `load`: parameter `x`: expected rows that are a multiple of 16 bytes apart, found 18 bytes"
    );
}

#[test]
fn a_buffer_contains_its_tensor() {
    assert_eq!(
        refused(64 * 64 - 1, 64, 64, 64),
        "kernel `load`: parameter `x`: expected a buffer of at least 4096 elements, found 4095"
    );
}

/// Rows without a distance take no memory, however many there are.
#[test]
fn coordinates_have_31_bits() {
    assert_eq!(
        refused(64, 1 << 31, 64, 0),
        "kernel `load`: parameter `x`: expected at most 2147483647 coordinates along a dimension, found 2147483648"
    );
}

/// Rows that a buffer of several gigabytes would have.
#[test]
fn strides_have_64_bits() {
    assert_eq!(
        refused(64, 1 << 20, 64, 1 << 20),
        format!(
            "kernel `load`: parameter `x`: expected a buffer of at least {} elements, found 64",
            ((1u64 << 20) - 1) * (1 << 20) + 64
        )
    );
}

/// Neither the maps nor the stages of an empty tensor are used.
#[test]
fn empty_matrices() {
    let kernel = kernel::<4, 2, 1>(How::Run, Blocks::ALONE);
    for [m, n, depth] in [[0, 64, 64], [64, 0, 64], [72, 56, 0], [0, 0, 0]] {
        let problem = Problem::new::<bf16, bf16>(m, n, depth);
        let found = everywhere(|device| launch(device, &kernel, &problem).unwrap().0);
        assert_same(&format!("{m}×{n}×{depth}"), &found, &vec![0.0; m * n], n.max(1));
    }
}
