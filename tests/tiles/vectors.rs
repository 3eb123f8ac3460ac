//! Vectors from and to global memory: every layout and type, with and without edges, aligned and not, with conversion.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Aligned, Convert, Naive, Orthogonal, VectorLayout},
};

use super::codes::{Coded, code, coded};
use crate::cases::everywhere;

/// The canary that surrounds outputs: a NaN of every type.
fn poison<T: Coded>() -> T {
    T::from_f64(f64::NAN)
}

fn bits<T: Coded>(all: &[T]) -> Vec<u64> {
    all.iter().map(|x| x.to_mem_bits()).collect()
}

/// Tiles of a vector of `length` elements, of which each block takes two, are loaded as `U`, written out register by register,
/// and stored as `T`.
fn load_and_store<T, U, const N: usize, V: VectorLayout>(length: u32, divisor: u32)
where
    T: Coded + Convert<U>,
    U: Coded + Convert<T>,
{
    type Args<T> = (In<T>, Out<u32>, InOut<T>, u32, u32);
    let tiles = length.div_ceil(16 * N as u32).next_multiple_of(2) + 2;
    let registers = Rv::<U, N, V>::fragment().registers() as u32;
    let kernel = Kernel::<Args<T>>::build(
        "vectors(x, words, y, n, blocks)",
        Target::SM_80,
        |k, (x, words, y, n, blocks)| {
            k.block([64]);
            k.grid([blocks]);
            let n = n.multiple_of(divisor);
            let (x, y) = (k.global(x, vector(n)), k.global(y, vector(n)));
            let tile = k.ctaid_x() * 2 + k.warp();
            let v: Rv<U, N, V> = x.tile(tile).load_or(U::code(77));
            let words = k.slice(words, blocks.into_dim() * u64::from(64 * registers));
            let first = (tile * 32 + k.lane().rank()) * registers;
            for (i, register) in (0u32..).zip(v.registers()) {
                words.at(first + i).store(register.bits::<u32>());
            }
            y.tile(tile).store(&v);
        },
    )
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (words, stored) = everywhere(|device| {
        let x = device.upload(&coded::<T>(1, length)).unwrap();
        let mut words = device.output::<u32>((tiles * 32 * registers) as usize).unwrap();
        let mut y = device.upload(&vec![poison::<T>(); length as usize + 40]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut words, &mut y, length, tiles / 2)).unwrap();
        }
        (device.download(&words).unwrap(), bits(&device.download(&y).unwrap()))
    });
    let what = format!("{N} · 16 of {length} {} as {}, {}", T::NAME, U::NAME, V::NAME);
    let fragment = Rv::<U, N, V>::fragment();
    for tile in 0..tiles {
        for lane in 0..32 {
            for e in fragment.elements(lane.into()).unwrap() {
                let index = tile * 16 * N as u32 + e.row() as u32;
                let want: U =
                    if index < length { U::from_f64(code::<T>(0, index).to_f64()) } else { U::code(77) };
                let word = words[((tile * 32 + lane) * registers + e.register as u32) as usize];
                let width = 8 * U::SIZE;
                let found =
                    u64::from(word >> (u32::try_from(e.slot).unwrap() * width)) & (u64::MAX >> (64 - width));
                assert_eq!(found, want.to_mem_bits(), "{what}: element {index} in lane {lane}");
            }
        }
    }
    let want = (0..length + 40).map(|at| if at < length { code::<T>(0, at) } else { poison() });
    assert_eq!(stored, bits(&want.collect::<Vec<_>>()), "{what}");
}

fn lengths<T, U, V: VectorLayout>()
where
    T: Coded + Convert<U>,
    U: Coded + Convert<T>,
{
    load_and_store::<T, U, 1, V>(64, 16);
    load_and_store::<T, U, 2, V>(49, 1);
    load_and_store::<T, U, 3, V>(130, 2);
    load_and_store::<T, U, 4, V>(256, 64);
    load_and_store::<T, U, 4, V>(100, 4);
    load_and_store::<T, U, 16, V>(600, 8);
}

macro_rules! layouts {
    ($($name:ident: $from:ty => $to:ty;)*) => {$(
        #[test]
        fn $name() {
            lengths::<$from, $to, Orthogonal>();
            lengths::<$from, $to, Aligned>();
            lengths::<$from, $to, Naive>();
        }
    )*};
}

layouts! {
    bf16_to_itself: bf16 => bf16;
    f16_to_itself: f16 => f16;
    f32_to_itself: f32 => f32;
    bf16_as_f32: bf16 => f32;
    f16_as_f32: f16 => f32;
    f32_as_bf16: f32 => bf16;
    bf16_as_f16: bf16 => f16;
}

/// The number of instructions that contain all of these.
fn count(kernel: &str, parts: &[&str]) -> usize {
    kernel.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count()
}

/// Long vectors move 16 bytes at a time, and whole tiles have no predicates.
#[test]
fn widest() {
    fn ptx<T: Coded, const N: usize>(length: u32) -> String {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("widest", Target::SM_80, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let v: Rv<T, N, Naive> = k.global(x, vector(length)).tile(0).load();
            k.global(y, vector(length)).tile(0).store(&v);
        })
        .unwrap();
        kernel.ptx().to_string()
    }
    for (text, moves) in [
        (ptx::<f32, 16>(256), 2),
        (ptx::<bf16, 16>(256), 1),
        (ptx::<f16, 64>(1024), 4),
        (ptx::<f32, 8>(128), 1),
    ] {
        assert_eq!(
            (count(&text, &["ld.global", ".v4"]), count(&text, &["st.global", ".v4"])),
            (moves, moves),
            "{text}"
        );
        assert_eq!((count(&text, &["ld.global"]), count(&text, &["st.global"])), (moves, moves), "{text}");
        assert_eq!(count(&text, &["@"]), 0, "{text}");
    }
}

/// Of the lanes that own copies of an element, only the first stores it.
#[test]
fn rows_and_columns_of_a_matrix() {
    type Args = (In<f32>, Out<f32>, u32, u32);
    let (m, n) = (21, 35);
    let kernel = Kernel::<Args>::build("lines(x, y, m, n)", Target::SM_80, |k, (x, y, m, n)| {
        k.block([32]);
        k.grid([2]);
        let x = k.global(x, row_major(m, n));
        let y = k.global(y, contiguous([2, 2, 64]));
        let b = k.ctaid_x();
        let row: Rv<f32, 4, Aligned> = x.row(b * 20).tile(0).load();
        let col: Rv<f32, 4, Orthogonal> = x.col(b * 34).tile_at(b).load();
        y.batch(b).row(0).tile(0).store(&row);
        y.batch(b).row(1).tile(0).store(&col);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<f32>(m, n)).unwrap();
        let mut y = device.upload(&[f32::NAN; 256]).unwrap();
        device.launch(&kernel, (&x, &mut y, m, n)).unwrap();
        device.download(&y).unwrap()
    });
    let at = |row: u32, col: u32| if row < m && col < n { code::<f32>(row, col) } else { 0.0 };
    for b in 0..2 {
        let part = &found[128 * b as usize..];
        assert_eq!(part[..64], *(0..64).map(|i| at(b * 20, i)).collect::<Vec<_>>());
        assert_eq!(part[64..128], *(0..64).map(|i| at(i + b, b * 34)).collect::<Vec<_>>());
    }
}

/// A bias per column and a scale per row, loaded for the tile that they are combined with.
#[test]
fn vectors_of_a_tile() {
    type Args = (In<bf16>, In<f32>, In<bf16>, Out<f32>, u32, u32);
    let (m, n) = (45, 70);
    let kernel = Kernel::<Args>::build(
        "affine(x, scale, bias, y, m, n)",
        Target::SM_80,
        |k, (x, scale, bias, y, m, n)| {
            k.block([32]);
            k.grid([m.tiles(32), n.tiles(48)]);
            let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(m, n)));
            let (scale, bias) = (k.global(scale, vector(m)), k.global(bias, vector(n)));
            let (row, col) = (k.ctaid_x(), k.ctaid_y());
            let mut t: Rt<f32, 2, 3> = x.tile(row, col).load();
            t *= &scale.col_vector(row);
            t += &bias.row_vector(col);
            y.tile(row, col).store(&t);
        },
    )
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<bf16>(m, n)).unwrap();
        let scale: Vec<f32> = (0..m).map(|row| (row % 7) as f32).collect();
        let (scale, bias) = (device.upload(&scale).unwrap(), device.upload(&coded::<bf16>(1, n)).unwrap());
        let mut y = device.upload(&vec![f32::NAN; (m * n) as usize]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &scale, &bias, &mut y, m, n)).unwrap();
        }
        device.download(&y).unwrap()
    });
    let want = (0..m * n)
        .map(|at| (at / n, at % n))
        .map(|(row, col)| code::<f32>(row, col) * (row % 7) as f32 + code::<f32>(0, col));
    assert_eq!(found, want.collect::<Vec<_>>());
}
