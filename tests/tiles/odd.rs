//! Unusual sizes: 8-bit vectors of every length, and shared vectors changed in place by blocks of any number of warps.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::e4m3,
    run::Device,
    tiles::{Aligned, Convert, Length32, Naive, Orthogonal, VectorLayout},
};

use crate::cases::everywhere;

/// A vector of 8-bit elements, loaded as such and as f32, and converted to another layout, in two blocks, up to an edge.
fn bytes<T, const N: usize, V: VectorLayout, V2: VectorLayout>(
    from_byte: impl Fn(u8) -> T,
    to_f32: impl Fn(u8) -> f32,
) where
    T: Convert<f32>,
{
    type Args<T> = (In<T>, Out<T>, Out<f32>, Out<f32>, u32);
    let kernel = Kernel::<Args<T>>::build("bytes(x, a, b, c, n)", Target::SM_89, |k, (x, a, b, c, n)| {
        k.block([32]);
        k.grid([2]);
        let at = k.ctaid_x();
        let (x, a) = (k.global(x, vector(n)), k.global(a, vector(n)));
        let (b, c) = (k.global(b, vector(n)), k.global(c, vector(n)));
        let v = x.tile(at).load::<T, N, V>();
        a.tile(at).store(&v);
        b.tile(at).store(&v.convert::<f32>());
        c.tile(at).store(&v.to_layout::<V2>().convert::<f32>());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let length = 2 * Rv::<T, N, V>::LENGTH as usize - 5;
    let data: Vec<u8> = (0..length).map(|i| (i * 7 % 120) as u8).collect();
    let found = everywhere(|device| {
        let x = device.upload(&data.iter().map(|&byte| from_byte(byte)).collect::<Vec<_>>()).unwrap();
        let mut a = device.upload(&vec![from_byte(1); length + 9]).unwrap();
        let mut b = device.upload(&vec![f32::NAN; length + 9]).unwrap();
        let mut c = device.upload(&vec![f32::NAN; length + 9]).unwrap();
        device.launch(&kernel, (&x, &mut a, &mut b, &mut c, length as u32)).unwrap();
        let bytes: Vec<u64> = device.download(&a).unwrap().iter().map(|x| x.to_mem_bits()).collect();
        let numbers = |y| device.download(&y).unwrap().iter().map(|y: &f32| y.to_bits()).collect::<Vec<_>>();
        (bytes, numbers(b), numbers(c))
    });
    let bytes = data.iter().copied().chain([1; 9]).map(|byte| from_byte(byte).to_mem_bits());
    let numbers = data.iter().map(|&byte| to_f32(byte)).chain([f32::NAN; 9]).map(f32::to_bits);
    let numbers: Vec<u32> = numbers.collect();
    assert_eq!(
        found,
        (bytes.collect(), numbers.clone(), numbers),
        "{} {N} {} {}",
        T::NAME,
        V::NAME,
        V2::NAME
    );
}

#[test]
fn vectors_of_bytes() {
    bytes::<u8, 1, Naive, Aligned>(|byte| byte, f32::from);
    bytes::<u8, 3, Naive, Aligned>(|byte| byte, f32::from);
    bytes::<u8, 1, Aligned, Naive>(|byte| byte, f32::from);
    bytes::<u8, 2, Orthogonal, Naive>(|byte| byte, f32::from);
    bytes::<u8, 4, Naive, Orthogonal>(|byte| byte, f32::from);
    bytes::<u8, 3, Orthogonal, Aligned>(|byte| byte, f32::from);
    bytes::<i8, 1, Naive, Orthogonal>(|byte| byte as i8 - 60, |byte| f32::from(byte as i8 - 60));
    bytes::<u8, 3, Aligned<Length32>, Naive<Length32>>(|byte| byte, f32::from);
    bytes::<i8, 5, Naive, Aligned>(|byte| byte as i8 - 60, |byte| f32::from(byte as i8 - 60));
    bytes::<e4m3, 6, Naive, Orthogonal>(e4m3::from_bits, |byte| e4m3::from_bits(byte).into());
    bytes::<e4m3, 8, Naive, Naive>(e4m3::from_bits, |byte| e4m3::from_bits(byte).into());
}

/// Vectors whose lanes own two elements, half a register of bytes: loaded from bytes and stored as such.
fn converted<T, const N: usize>(from_byte: impl Fn(u8) -> T)
where
    T: Convert<f32> + Convert<bf16>,
    f32: Convert<T>,
    bf16: Convert<T>,
{
    type Args<T> = (In<T>, Out<T>, Out<T>, Out<T>, u32);
    let kernel = Kernel::<Args<T>>::build("converted(x, a, b, c, n)", Target::SM_89, |k, (x, a, b, c, n)| {
        k.block([32]);
        k.grid([2]);
        let at = k.ctaid_x();
        let (x, a) = (k.global(x, vector(n)), k.global(a, vector(n)));
        let (b, c) = (k.global(b, vector(n)), k.global(c, vector(n)));
        a.tile(at).store(&x.tile(at).load::<f32, N, Orthogonal>());
        b.tile(at).store(&x.tile(at).load::<bf16, N, Orthogonal>());
        let shared = k.shared_tile::<Sv<T, N>>().store(&x.tile(at).load::<f32, N, Orthogonal>()).wait();
        let again: Rv<f32, N, Orthogonal> = shared.load_as();
        c.tile(at).store(&again);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let length = 32 * N - 3;
    let data: Vec<T> = (0..length).map(|i| from_byte((i * 7 % 100) as u8)).collect();
    let found = everywhere(|device| {
        let x = device.upload(&data).unwrap();
        let mut y = [(); 3].map(|()| device.upload(&vec![from_byte(1); length]).unwrap());
        let [a, b, c] = &mut y;
        device.launch(&kernel, (&x, a, b, c, length as u32)).unwrap();
        y.map(|y| device.download(&y).unwrap().iter().map(|x| x.to_mem_bits()).collect::<Vec<_>>())
    });
    let data: Vec<u64> = data.iter().map(|x| x.to_mem_bits()).collect();
    assert_eq!(found, [data.clone(), data.clone(), data], "{} {N}", T::NAME);
}

#[test]
fn vectors_of_half_a_register() {
    converted::<u8, 1>(|byte| byte);
    converted::<i8, 3>(|byte| byte as i8 - 50);
    converted::<e4m3, 1>(e4m3::from_bits);
    converted::<e4m3, 5>(e4m3::from_bits);
}

/// A shared vector is changed by the first warp and by all threads, in blocks whose threads do not divide it, in two blocks.
fn in_place<const N: usize>(threads: u32) {
    type Args = (In<f32>, Out<f32>, Out<u8>);
    let kernel = Kernel::<Args>::build("in_place(x, y, z)", Target::SM_80, |k, (x, y, z)| {
        k.block([threads]);
        k.grid([2]);
        let (x, y) = (k.global(x, vector(32 * N as u32)), k.global(y, vector(32 * N as u32)));
        let v = k.shared_tile::<Sv<f32, N>>().fill(x.tile(k.ctaid_x())).wait();
        // Every element depends on all of them.
        let v = v
            .update(|v| {
                let sum = v.sum();
                v + sum
            })
            .wait();
        let v = v.map(|x| x * 2.0).wait();
        y.tile(k.ctaid_x()).store_shared(&v);
        let bytes = k.shared_tile::<Sv<u8, N>>().store_with(|bytes| {
            k.when_warp(0, |_| bytes.tile(0).store(&k.filled::<Rv<u8, N, Naive>>(3)));
        });
        // A word has four bytes.
        let bytes = bytes.wait().map_words(|word| word + 0x0102_0304).wait();
        k.global(z, vector(32 * N as u32)).tile(k.ctaid_x()).store_shared(&bytes);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let data: Vec<f32> = (0..32 * N).map(|i| (i * 3 % 17) as f32).collect();
    let found = everywhere(|device| {
        let x = device.upload(&data).unwrap();
        let mut y = device.upload(&vec![f32::NAN; data.len()]).unwrap();
        let mut z = device.upload(&vec![0xffu8; data.len()]).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut z)).unwrap();
        (device.download(&y).unwrap(), device.download(&z).unwrap())
    });
    let expected = data.chunks(16 * N).flat_map(|block| {
        let sum: f32 = block.iter().sum();
        block.iter().map(move |x| 2.0 * (x + sum))
    });
    let bytes = (0..32 * N).map(|i| [7, 6, 5, 4][i % 4]);
    assert_eq!(found, (expected.collect::<Vec<f32>>(), bytes.collect::<Vec<u8>>()), "{N}, {threads} threads");
}

#[test]
fn shared_vectors_change_in_place() {
    in_place::<1>(32);
    in_place::<1>(128);
    in_place::<3>(32);
    in_place::<4>(64);
    in_place::<5>(96);
    in_place::<8>(1024);
}
