//! The programs of the examples with small sizes, and small products with known results.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::MmaOperand,
    prelude::*,
    ptx,
    run::{Device, RunError, Simulator},
    sim::FindingKind,
    tensor::{Pending, Tensor, copy, fill, gemm},
};

use crate::devices::all;

use super::support::{count, counts, numbers};

#[path = "../../examples/support/product.rs"]
pub(super) mod product;

#[path = "../../examples/matmul_simt/kernel.rs"]
mod simt;

#[path = "../../examples/matmul_async/kernel.rs"]
mod asynchronous;

#[path = "../../examples/matmul_tensor_core/kernel.rs"]
mod tensor_core;

#[path = "../../examples/transpose/kernel.rs"]
mod transposes;

use product::{Order, Size, run_and_check};

pub(super) const SIZES: [Size; 3] =
    [Size { m: 128, n: 128, k: 24 }, Size { m: 4, n: 8, k: 4 }, Size { m: 132, n: 140, k: 20 }];

/// Asserts that the product is correct on all devices.
pub(super) fn everywhere(
    kernel: &Kernel<product::Args>,
    size: Size,
    order: Order,
) -> Result<(), Box<dyn std::error::Error>> {
    all().iter().try_for_each(|device| run_and_check(device, kernel, size, order).map(drop))
}

#[test]
fn products_on_fused_multiply_adds() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = simt::matmul(Target::SM_75, simt::Copies::Elements)?;
    for size in SIZES.into_iter().chain([Size { m: 131, n: 129, k: 9 }]) {
        everywhere(&kernel, size, Order::Columns)?;
    }
    let kernel = simt::matmul(Target::SM_75, simt::Copies::Vectors)?;
    assert_eq!(count(&kernel, "ld.global.nc.v4"), 4);
    assert_eq!(count(&kernel, "st.shared.v4"), 2);
    for size in SIZES {
        everywhere(&kernel, size, Order::Columns)?;
    }
    Ok(())
}

#[test]
fn products_with_asynchronous_copies() -> Result<(), Box<dyn std::error::Error>> {
    for (bytes, pad, copies) in [(4, 1, 8), (8, 2, 4), (16, 4, 2)] {
        let kernel = asynchronous::matmul(Target::SM_80, asynchronous::Wait::AllCopies, bytes, pad)?;
        assert_eq!(count(&kernel, "cp.async.ca"), copies);
        for size in SIZES {
            everywhere(&kernel, size, Order::Columns)?;
        }
    }
    Ok(())
}

/// Asserts that the simulator stopped at a race in shared memory.
#[track_caller]
fn assert_race(error: &RunError) {
    match error {
        RunError::Simulation(why) => assert_eq!(why.kind(), Some(FindingKind::SharedRace), "{error}"),
        _ => panic!("{error}"),
    }
}

#[test]
fn the_race_between_asynchronous_copies_and_the_product_is_found() {
    let race = asynchronous::matmul(Target::SM_80, asynchronous::Wait::OwnCopies, 4, 1).unwrap();
    let error = run_and_check(&Simulator::new(), &race, SIZES[0], Order::Columns).unwrap_err();
    assert_race(error.downcast_ref().expect("an error of the run"));
}

#[test]
fn asynchronous_copies_onto_an_odd_pad_are_refused() {
    assert!(asynchronous::matmul(Target::SM_80, asynchronous::Wait::AllCopies, 8, 1).is_err());
}

#[test]
fn products_on_tensor_cores() -> Result<(), Box<dyn std::error::Error>> {
    let start = std::time::Instant::now();
    let kernel = tensor_core::matmul(Target::SM_80)?;
    println!("built in {:?}", start.elapsed());
    assert_eq!(count(&kernel, "mma.sync"), 64);
    assert_eq!(count(&kernel, "ldmatrix.sync.aligned.m8n8.x4"), 8);
    for size in SIZES {
        everywhere(&kernel, size, Order::Rows)?;
    }
    Ok(())
}

#[test]
fn a_minimal_product_in_tf32() {
    // C = A·Bᵀ, A = 1 … 128 by columns, B = 1 … 64.
    let kernel =
        Kernel::<(In<f32>, In<f32>, Out<f32>)>::build("tf32(a, b, c)", Target::SM_80, |k, (a, b, c)| {
            k.block([32]);
            k.grid([1]);
            let a = k.tensor_with_layout(a, &k.layout("(16,8):(1,16)"));
            let b = k.tensor_with_layout(b, &k.layout("(8,8):(8,1)"));
            let c = k.tensor_with_layout(c, &k.layout("(16,8):(8,1)"));
            let mma = k.tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", "(1,1,1):(0,0,0)", ..);
            let thread = mma.thread(k, k.tid_x());
            let (a, b, c) = (thread.partition_a(&a), thread.partition_b(&b), thread.partition_c(&c));
            let (held_a, held_b) =
                (thread.fragment_like(MmaOperand::A, &a), thread.fragment_like(MmaOperand::B, &b));
            let sum = thread.fragment_like(MmaOperand::C, &c);
            copy(&held_a, &a);
            copy(&held_b, &b);
            fill(&sum, 0.0);
            gemm(&mma, &sum, &held_a, &held_b, &sum);
            copy(&c, &sum);
        });
    for device in all() {
        let counted = |count: i32| (1..=count).map(|i| i as f32).collect::<Vec<_>>();
        let (a, b) = (device.upload(&counted(128)).unwrap(), device.upload(&counted(64)).unwrap());
        let mut c = device.output::<f32>(128).unwrap();
        device.launch(kernel.as_ref().unwrap(), (&a, &b, &mut c)).unwrap();
        let found = device.download(&c).unwrap();
        assert_eq!(found[..8], [2724.0, 6372.0, 10020.0, 13668.0, 17316.0, 20964.0, 24612.0, 28260.0]);
    }
}

type Halves = (In<f16>, In<f16>, Out<f32>);
/// Tiles of A and B that can be read.
type Tiles<'k> = (Tensor<'k, Shared, f16, ptx::Read>, Tensor<'k, Shared, f16, ptx::Read>);

/// C = A·Bᵀ of 16×8×16 by one warp through shared memory; `wait` selects the wait for its asynchronous copies.
fn one_warp(wait: impl for<'k> FnOnce(Builder<'k>, Pending<'k, Tiles<'k>>) -> Tiles<'k>) -> Kernel<Halves> {
    let kernel = Kernel::<Halves>::build("halves(a, b, c)", Target::SM_80, |k, (a, b, c)| {
        k.block([32]);
        k.grid([1]);
        let (a_lies, b_lies) = (k.layout("(16,16):(16,1)"), k.layout("(8,16):(16,1)"));
        let (a, b) = (k.tensor_with_layout(a, &a_lies), k.tensor_with_layout(b, &b_lies));
        let c = k.tensor_with_layout(c, &k.layout("(16,8):(8,1)"));
        let (a_tile, b_tile) = (k.shared_tensor::<f16>(&a_lies), k.shared_tensor::<f16>(&b_lies));
        let thread = k.tid_x();
        let tiled = k.tiled_copy::<f16>("SM80_CP_ASYNC_CACHEALWAYS<u64>", "(8,4):(4,1)", "(1,4):(0,1)");
        let part = tiled.thread(thread);
        let a_in = copy(&part.partition_d(&a_tile), &part.partition_s(&a));
        let b_in = copy(&part.partition_d(&b_tile), &part.partition_s(&b));
        let (a_tile, b_tile) = wait(k, a_in.and(b_in));
        let mma = k.tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(1,1,1):(0,0,0)", ..);
        let part = mma.thread(k, thread);
        let a = part.load(MmaOperand::A, &a_tile);
        let b = part.load(MmaOperand::B, &b_tile);
        let c = part.partition_c(&c);
        let sum = part.fragment_like(MmaOperand::C, &c);
        fill(&sum, 0.0);
        gemm(&mma, &sum, &a, &b, &sum);
        copy(&c, &sum);
    });
    kernel.unwrap()
}

/// Returns the results of a device for factors of small integers, and the expected results.
fn halves(device: &impl Device, kernel: &Kernel<Halves>) -> Result<[Vec<f32>; 2], RunError> {
    let half = |i: usize| f16::from_f32((i % 13) as f32 - 6.0);
    let (a, b): (Vec<_>, Vec<_>) = ((0..256).map(half).collect(), (0..128).map(|i| half(i * 5)).collect());
    let (from_a, from_b) = (device.upload(&a)?, device.upload(&b)?);
    let mut c = device.output::<f32>(128)?;
    device.launch(kernel, (&from_a, &from_b, &mut c))?;
    let dot =
        |i: usize, j: usize| (0..16).map(|p| a[16 * i + p].to_f32() * b[16 * j + p].to_f32()).sum::<f32>();
    Ok([device.download(&c)?, (0..128).map(|at| dot(at / 8, at % 8)).collect()])
}

#[test]
fn a_product_of_halves_through_ldmatrix() {
    fn own_and_warp<'k>(k: Builder<'k>, pending: Pending<'k, Tiles<'k>>) -> Tiles<'k> {
        let tiles = pending.wait_own();
        k.sync_warp(u32::MAX);
        tiles
    }
    for kernel in [one_warp(|_, pending| pending.wait()), one_warp(own_and_warp)] {
        let loads = ["x4", "x2"].map(|count| format!("ldmatrix.sync.aligned.m8n8.{count}"));
        assert_eq!(loads.map(|load| count(&kernel, &load)), [1, 1]);
        assert_eq!(count(&kernel, "cp.async.ca"), 3);
        for device in all() {
            let [found, expect] = halves(&device, &kernel).unwrap();
            assert_eq!(found, expect);
        }
    }
}

#[test]
fn the_race_between_the_copies_and_the_product_of_one_warp_is_found() {
    assert_race(&halves(&Simulator::new(), &one_warp(|_, pending| pending.wait_own())).unwrap_err());
}

#[test]
fn ranks_of_gemm() {
    // d (m, n) = a (m) · b (n) and (m, k) · (n, k), in the registers of one thread.
    let kernel = Kernel::<(Out<f32>,)>::build("ranks(d)", Target::SM_75, |k, (d,)| {
        k.block([1]);
        k.grid([1]);
        let mma = k.tiled_mma("UniversalFMA<f32>", "(1,1):(0,0)", ..);
        let (m, n, depth) = (3, 2, 4);
        let (a, b) = (k.fragment_of_shape::<f32>((m, depth)), k.fragment_of_shape::<f32>((n, depth)));
        for i in 0..m * depth {
            a.set(i, (i as f32) + 1.0);
        }
        for i in 0..n * depth {
            b.set(i, (i as f32) * 2.0);
        }
        let (outer, inner) = (k.fragment_of_shape::<f32>((m, n)), k.fragment_of_shape::<f32>((m, n)));
        fill(&outer, 0.0);
        fill(&inner, 0.0);
        gemm(&mma, &outer, &a.slice((.., 1)), &b.slice((.., 3)), &outer);
        gemm(&mma, &inner, &a, &b, &inner);
        let (sum, addend) = (k.fragment_of_shape::<f32>((m, n)), k.fragment_of_shape::<f32>((m, n)));
        fill(&addend, 10.0);
        gemm(&mma, &sum, &a, &b, &addend);
        let one = k.fragment_of_shape::<f32>((1,));
        fill(&one, 0.5);
        gemm(&mma, &one, &one, &one, &one);
        let rows = k.tensor_with_layout(d, &k.layout("(6,3):(1,6)"));
        copy(&rows.slice((.., 0)), &outer);
        copy(&rows.slice((.., 1)), &inner);
        copy(&rows.slice((.., 2)), &sum);
        k.slice(d, 19).at(18).store(one.get(0));
    });
    for device in all() {
        let mut d = device.output::<f32>(19).unwrap();
        device.launch(kernel.as_ref().unwrap(), (&mut d,)).unwrap();
        let (a, b) =
            (|i: usize, p: usize| (i + 3 * p) as f32 + 1.0, |j: usize, p: usize| (j + 2 * p) as f32 * 2.0);
        let mut expect: Vec<f32> = (0..6).map(|at| a(at % 3, 1) * b(at / 3, 3)).collect();
        let inner = |at: usize| (0..4).map(|p| a(at % 3, p) * b(at / 3, p)).sum::<f32>();
        expect.extend((0..6).map(inner));
        expect.extend((0..6).map(|at| inner(at) + 10.0));
        expect.push(0.75);
        assert_eq!(device.download(&d).unwrap(), expect);
    }
}

#[test]
fn padding_keeps_a_transpose_free_of_conflicts() -> Result<(), Box<dyn std::error::Error>> {
    let device = Simulator::new();
    let x = numbers(64 * 96);
    // 32 lanes in one bank are 31 passes too many, for each of the 32 columns of six tiles.
    for (tile, conflicts) in [("(32,32):(1,33)", 0), ("(32,32):(1,32)", 31 * 32 * 6)] {
        let kernel = transposes::transpose_kernel(Target::SM_80, &tile.parse()?)?;
        let (src, mut dst) = (device.upload(&x)?, device.output::<f32>(x.len())?);
        let launched = device.launch(&kernel, (&mut dst, &src, 64, 96))?;
        assert_eq!(counts(&launched).bank_conflicts(), conflicts, "{tile}");
        let found = device.download(&dst)?;
        assert!((0..64).all(|i| (0..96).all(|j| found[i * 96 + j] == x[j * 64 + i])));
    }
    let plain = "(32,32):(1,32)".parse()?;
    for way in [transposes::Way::Registers, transposes::Way::Chosen] {
        let kernel = transposes::copy_kernel(Target::SM_80, way, &plain)?;
        let (src, mut dst) = (device.upload(&x)?, device.output::<f32>(x.len())?);
        device.launch(&kernel, (&mut dst, &src, 64, 96))?;
        assert_eq!(device.download(&dst)?, x);
    }
    Ok(())
}

#[test]
fn the_product_on_tensor_cores_has_no_conflicts() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = tensor_core::matmul(Target::SM_80)?;
    let device = Simulator::new();
    let (a, b) = (device.upload(&numbers(128 * 32))?, device.upload(&numbers(128 * 32))?);
    let mut c = device.output::<f32>(128 * 128)?;
    let launched = device.launch(&kernel, (&a, &b, &mut c, 128, 128, 32))?;
    assert_eq!(counts(&launched).bank_conflicts(), 0);
    Ok(())
}
