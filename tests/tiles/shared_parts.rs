//! Parts of shared tiles that warps change in place, memory that two tiles share, and reductions of shared vectors.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::BuildErrorKind,
    run::Device,
    tiles::{Accumulate, Plain, Swizzle128},
};

use super::{
    codes::{code, coded},
    numbers::Numeral,
};
use crate::cases::everywhere;

/// Each of four warps changes a rectangle, two of them as columns, and then its rows of the tile; other elements stay.
#[test]
fn rectangles_change_in_place() {
    type Args = (In<bf16>, Out<bf16>, Out<bf16>);
    let kernel = Kernel::<Args>::build("parts(x, y, z)", Target::SM_90, |k, (x, y, z)| {
        let block = k.block([128]);
        k.grid([2]);
        let shape = row_major(128, 48);
        let (x, y, z) = (k.global(x, shape), k.global(y, shape), k.global(z, shape));
        let at = (k.ctaid_x(), 0);
        let tile = k.shared_tile::<St<bf16, 4, 3>>().fill(x.tile(at.0, at.1)).wait();
        let warp = k.warp().rank();
        let tile = tile.update_with(|tile| {
            k.if_else(
                warp.lt(2),
                || tile.subtile(warp * 2, 1).update(|t: Rt<bf16, 1, 1>| -t),
                || tile.subtile(warp * 2 - 4, 2).update(|t: Rt<bf16, 2, 1, Col>| t * bf16::from_f32(2.0)),
            );
        });
        let tile = tile.wait();
        y.tile(at.0, at.1).store_shared(&tile);
        let tile = tile.update_with(|tile| tile.tile_of(block).update(|t: Rt<bf16, 1, 3>| t.abs())).wait();
        z.tile(at.0, at.1).store_shared(&tile);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x = coded::<bf16>(128, 48);
    let [y, z] = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut results = [(); 2].map(|()| device.upload(&vec![bf16::from_f32(-77.0); 128 * 48]).unwrap());
        for _ in 0..2 {
            let [y, z] = &mut results;
            device.launch(&kernel, (&x, y, z)).unwrap();
        }
        results.map(|y| device.download(&y).unwrap())
    });
    let factor = |row: u32, col: u32| match (row % 64 / 16, col / 16) {
        (0 | 2, 1) => -1.0,
        (_, 2) => 2.0,
        _ => 1.0,
    };
    let elements = || (0..128 * 48).map(|i| (i / 48, i % 48));
    let expected = |row, col| bf16::from_f32(code::<bf16>(row, col).to_f32() * factor(row, col));
    assert_eq!(y, elements().map(|(row, col)| expected(row, col)).collect::<Vec<_>>());
    let absolute = elements().map(|(row, col)| bf16::from_f32(expected(row, col).to_f32().abs()));
    assert_eq!(z, absolute.collect::<Vec<_>>());
}

/// Two tiles in the memory of one are used together, the second at the next aligned address.
#[test]
fn memory_is_reused_for_two_tiles() {
    type Args = (In<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("two(x, y, v)", Target::SM_80, |k, (x, y, v)| {
        k.block([64]);
        k.grid([1]);
        let x = k.global(x, row_major(32, 32));
        let tile = k.shared_tile::<St<f32, 2, 2>>().fill(x.tile(0, 0)).wait();
        let (line, tile) = tile.release().reuse_for_two::<Sv<f32, 2>, St<f32, 1, 2>>();
        let tile = tile.fill(x.tile(1, 0)).wait();
        let line = line.fill(x.row(3).tile(0)).wait();
        k.global(y, row_major(16, 32)).tile(0, 0).store_shared(&tile);
        k.global(v, vector(32)).tile(0).store_shared(&line);
        let (first, second) = line.release().reuse_for_two::<Sv<f32, 1>, Sv<bf16, 2>>();
        drop((first, second));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let [y, v] = everywhere(|device| {
        let x = device.upload(&coded::<f32>(32, 32)).unwrap();
        let mut y = device.upload(&[-77.0f32; 512]).unwrap();
        let mut v = device.upload(&[-77.0f32; 32]).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut v)).unwrap();
        [y, v].map(|y| device.download(&y).unwrap())
    });
    assert_eq!(y, (512..1024).map(|i| code::<f32>(i / 32, i % 32)).collect::<Vec<_>>());
    assert_eq!(v, (0..32).map(|col| code::<f32>(3, col)).collect::<Vec<_>>());
}

/// The gap ahead of an aligned tile counts, and the memory itself must be aligned.
#[test]
fn two_tiles_must_fit_at_aligned_addresses() {
    let build = |write: &dyn Fn(Builder<'_>)| {
        let kernel = Kernel::<()>::build("two", Target::SM_80, |k, ()| {
            k.block([32]);
            write(k);
        });
        match kernel.unwrap_err().kind() {
            BuildErrorKind::Refused(why) => why.clone(),
            other => panic!("{other}"),
        }
    };
    let why = build(&|k| {
        let memory = k.shared_tile::<St<bf16, 7, 1>>();
        drop(memory.reuse_for_two::<Sv<f32, 17>, St<bf16, 1, 4, Swizzle128>>());
    });
    assert_eq!(
        why,
        "expected 4096 bytes for a tile of 1088 and one of 2048 that starts at an aligned address, found 3584"
    );
    let why = build(&|k| {
        let memory = k.shared_tile::<St<f32, 2, 2, Plain>>();
        drop(memory.reuse_for_two::<St<bf16, 1, 4, Swizzle128>, Sv<f32, 1>>());
    });
    assert!(
        why.starts_with("expected memory aligned to 1024 bytes for the swizzle of the tile, found 16"),
        "{why}"
    );
}

/// Each warp of two blocks reduces the whole vector, without a barrier between them.
fn reductions<T: Accumulate + Numeral>()
where
    T::Sum: Numeral,
{
    type Args<T> = (In<T>, Out<<T as Accumulate>::Sum>, Out<u32>);
    let kernel = Kernel::<Args<T>>::build("reductions(x, y, z)", Target::SM_80, |k, (x, y, z)| {
        k.block([96]);
        k.grid([2]);
        let v = k.shared_tile::<Sv<T, 4>>().fill(k.global(x, vector(128)).tile(k.ctaid_x())).wait();
        let ((most, first_most), (least, first_least)) = (v.argmax(), v.argmin());
        let results = [v.sum(), v.product(), v.maximum(), v.minimum(), most, least];
        let (y, z) = (k.slice(y, 2 * 96 * 6), k.slice(z, 2 * 96 * 6));
        let first = (k.ctaid_x() * 96 + k.tid_x()) * 6;
        (0u32..).zip(results).for_each(|(i, result)| y.at(first + i).store(result));
        let one = || T::Sum::of(1.0);
        let conditions =
            [v.any(|x| x.gt(one())), v.any(|x| x.lt(one())), v.all(|x| x.ge(one())), v.all(|x| x.le(one()))];
        let queries =
            [first_most, first_least].into_iter().chain(conditions.map(|holds| holds.select(1u32, 0u32)));
        (0u32..).zip(queries).for_each(|(i, result)| z.at(first + i).store(result));
    });
    let kernel = kernel.unwrap();
    crate::assemble::kernel(&kernel);
    // Powers of two, of which few are not 1: exact in every type. The first block of the second launch begins with a 2.
    let number = |launch: usize, at: usize| if (at + launch * 5) % 13 == 5 { 2.0 } else { 1.0 };
    let found = everywhere(|device| {
        let mut y = device.upload(&[T::Sum::of(-77.0); 2 * 96 * 6]).unwrap();
        let mut z = device.upload(&[77u32; 2 * 96 * 6]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<T> = (0..128).map(|at| T::of(number(launch, at))).collect();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut z)).unwrap();
            let y: Vec<f64> = device.download(&y).unwrap().into_iter().map(|y| y.number()).collect();
            (y, device.download(&z).unwrap())
        })
    });
    for (launch, (found, queries)) in found.into_iter().enumerate() {
        let all = |block: usize| (0..64).map(move |at| number(launch, 64 * block + at));
        let expected = (0..2).flat_map(|block| {
            let results = [all(block).sum(), all(block).product(), 2.0, 1.0, 2.0, 1.0];
            results.into_iter().cycle().take(96 * 6)
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "{}, launch {launch}", T::NAME);
        let expected = (0..2).flat_map(|block| {
            let first = |number: f64| all(block).position(|x| x == number).unwrap() as u32;
            [first(2.0), first(1.0), 1, 0, 1, 0].into_iter().cycle().take(96 * 6)
        });
        assert_eq!(
            queries,
            expected.collect::<Vec<_>>(),
            "positions and conditions of {}, launch {launch}",
            T::NAME
        );
    }
}

#[test]
fn vectors_are_reduced() {
    reductions::<f32>();
    reductions::<bf16>();
    reductions::<f64>();
    reductions::<i32>();
    reductions::<u8>();
}
