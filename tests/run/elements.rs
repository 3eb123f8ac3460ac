//! Buffers of every element type: uploaded, copied by a kernel through views and register tiles, and downloaded.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{B16, B32, B64, Element},
    run::Device,
    tensor::TensorElement,
};

use crate::{devices::everywhere, numbers::element_types};

/// The elements with these bits.
fn elements<T: Element>(len: usize) -> Vec<T> {
    (0..len as u64).map(|i| T::from_mem_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 ^ i)).collect()
}

fn bits<T: Element>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|x| x.to_mem_bits()).collect()
}

/// d = x, one element per thread.
fn through_slices<T: Element>() {
    let kernel = Kernel::<(In<T>, Out<T>, u32)>::build("copy(x, d, n)", Target::SM_80, |k, (x, d, n)| {
        k.block([64]);
        k.grid([n.tiles(64)]);
        let i = k.ctaid_x() * 64 + k.tid_x();
        k.slice(d, n).at(i).store(k.slice(x, n).at(i).load());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x = elements::<T>(300);
    let found = everywhere(|device| {
        let (x, mut d) = (device.upload(&x).unwrap(), device.output::<T>(x.len()).unwrap());
        device.launch(&kernel, (&x, &mut d, 300)).unwrap();
        bits(&device.download(&d).unwrap())
    });
    assert_eq!(found, bits(&x), "{}", T::NAME);
}

/// d = x, as a register tile of 32 rows and two subtiles of columns, with edges.
fn through_tiles<T: TensorElement>() {
    let (rows, cols) = (29u32, 2 * T::SUBTILE_LENGTH - 3);
    let kernel =
        Kernel::<(In<T>, Out<T>, u32, u32)>::build("tile(x, d, m, n)", Target::SM_80, |k, (x, d, m, n)| {
            k.block([32]);
            k.grid([1]);
            let tile = Rt::<T, 2, 2>::load(k.global(x, row_major(m, n)).tile(0, 0));
            k.global(d, row_major(m, n)).tile(0, 0).store(&tile);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let x = elements::<T>((rows * cols) as usize);
    let found = everywhere(|device| {
        let (x, mut d) = (device.upload(&x).unwrap(), device.output::<T>(x.len()).unwrap());
        device.launch(&kernel, (&x, &mut d, rows, cols)).unwrap();
        bits(&device.download(&d).unwrap())
    });
    assert_eq!(found, bits(&x), "{}", T::NAME);
}

macro_rules! all_through {
    ($($t:ident)*) => {$(
        through_slices::<$t>();
        through_tiles::<$t>();
    )*};
}

#[test]
fn buffers_of_every_type() {
    element_types! { all, all_through }
}
