//! Cases recorded from Rust, run by `warpwright sim`.
#![allow(unsafe_code, reason = "plain pointers to results")]

use std::{fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Element, Hints, ReduceOp, SwizzleMode, TensorMap},
    run::{Device, PixelColumn, RecordError, Simulator, TensorBox},
    tiles::{Schedule, consumers, producer},
};

use super::command::{files, scratch, warpwright};

type Args = (In<bf16>, Out<f32>, InOut<i32>, u32, i32, f32, u64);

/// y = x·by + shift, with a counter that is incremented for each element.
fn kernel() -> Kernel<Args> {
    let signature = "affine(x, y, counts, n, step, by, unused)";
    Kernel::<Args>::build(signature, Target::SM_80, |k, (x, y, counts, n, step, by, _)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let i = k.ctaid_x() * 32 + k.tid_x();
        k.if_(i.lt(n), || {
            unsafe { y.at(i).store(x.at(i).load().cast::<f32>() * by) };
            unsafe { counts.at(i).store(counts.at(i).load() + step) };
        });
    })
    .expect("it builds")
}

/// Returns the elements of a `.npy` file as bytes: everything after its header.
fn elements(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("the file exists");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[header..].to_vec()
}

fn bytes<T: Element>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_mem_bits().to_le_bytes()[..T::SIZE as usize].to_vec()).collect()
}

#[test]
fn a_recorded_case_gives_the_same_result() {
    const N: usize = 45;
    let device = Simulator::new();
    let x: Vec<bf16> = (0..N).map(|i| bf16::from_f32(i as f32 / 8.0 - 2.0)).collect();
    let x = device.upload(&x).expect("uploaded");
    // Longer than n: the kernel does not modify the rest.
    let mut y = device.output::<f32>(N + 3).expect("allocated");
    let mut counts = device.upload(&[-7_i32; N]).expect("uploaded");

    let folder = scratch("recorded");
    let case = folder.join("case");
    let n = N as u32;
    let signaling_nan = f32::from_bits(0x7f80_0001);
    for (by, name) in [(0.1_f32, "plain"), (f32::INFINITY, "infinite"), (signaling_nan, "nan")] {
        let kernel = kernel();
        device.record_case(&case, &kernel, (&x, &mut y, &mut counts, n, -3, by, u64::MAX)).expect("recorded");
        assert_eq!(files(&case), ["case.json", "in_counts.npy", "in_x.npy", "in_y.npy", "kernel.ptx"]);
        device.launch(&kernel, (&x, &mut y, &mut counts, n, -3, by, u64::MAX)).expect("it runs");

        let out = folder.join(name);
        let run = warpwright(["sim".as_ref(), case.as_os_str(), "--out".as_ref(), out.as_os_str()]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{name}");
        assert_eq!(files(&out), ["counts.npy", "y.npy"]);
        assert_eq!(elements(&out.join("y.npy")), bytes(&device.download(&y).expect("copied")), "{name}");
        assert_eq!(
            elements(&out.join("counts.npy")),
            bytes(&device.download(&counts).expect("copied")),
            "{name}"
        );
    }
}

/// Runs a case; returns the elements of its outputs.
fn rerun<const N: usize>(case: &Path, outputs: [&str; N]) -> [Vec<u8>; N] {
    let out = case.join("out");
    let run = warpwright(["sim".as_ref(), case.as_os_str(), "--out".as_ref(), out.as_os_str()]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(files(&out), outputs.map(|name| format!("{name}.npy")));
    outputs.map(|name| elements(&out.join(format!("{name}.npy"))))
}

type Mapped = (u32, TensorMap<In<f32>>, TensorMap<InOut<f32>>, Out<f32>);

/// Reads a box of x that extends past its edges, adds it to the same box of sums, and stores the box unchanged in shared memory.
fn mapped() -> Kernel<Mapped> {
    Kernel::<Mapped>::build("mapped(at, x, sums, y)", Target::SM_90, |k, (at, x, sums, y)| {
        let block = k.block([128]);
        k.grid([1]);
        let (tile, full) = (k.shared_aligned::<f32>(8 * 32, 1024), k.mbarriers(1));
        k.if_(block.thread().eq(0), || {
            full.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(8 * 32 * 4);
            x.load(tile, [at.cast::<i32>(), 4.into()], full, Hints::default());
        });
        block.sync();
        full.wait(0);
        k.if_(block.thread().eq(0), || {
            sums.reduce(ReduceOp::Add, tile, [at.cast::<i32>(), 4.into()], Hints::default());
            k.cp_async_bulk_commit_group();
            k.cp_async_bulk_wait_group(0);
        });
        let y = k.slice(y, 256);
        for half in [0, 128] {
            y.at(block.thread() + half).store(tile.at(block.thread() + half).load());
        }
    })
    .expect("it builds")
}

/// Copies 16 pixels with 4 channels, from pixel (−1, −1) of the first image on, shifted by one column.
fn pixels() -> Kernel<(TensorMap<In<f32>>, Out<f32>)> {
    Kernel::<(TensorMap<In<f32>>, Out<f32>)>::build("pixels(x, y)", Target::SM_90, |k, (x, y)| {
        let block = k.block([64]);
        k.grid([1]);
        let (tile, full) = (k.shared_aligned::<f32>(64, 128), k.mbarriers(1));
        k.if_(block.thread().eq(0), || {
            full.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(64 * 4);
            x.load_im2col(tile, [0, -1, -1, 0], [1, 0], full, Hints::default());
        });
        block.sync();
        full.wait(0);
        k.slice(y, 64).at(block.thread()).store(tile.at(block.thread()).load());
    })
    .expect("it builds")
}

#[test]
fn columns_of_pixels_are_recorded() {
    let (device, kernel) = (Simulator::new(), pixels());
    // 2 images of 3×5 pixels.
    let x = device.upload(&(1..=120).map(|i| i as f32).collect::<Vec<_>>()).expect("uploaded");
    let mut y = device.output::<f32>(64).expect("allocated");
    let column = PixelColumn { lower_corner: vec![-1, -1], upper_corner: vec![0, -1], pixels: 16 };
    let images = TensorBox::im2col([4, 5, 3, 2], 4, column);
    let case = scratch("recorded_pixels");
    device.record_case(&case, &kernel, (images.clone().of(&x), &mut y)).expect("recorded");
    device.launch(&kernel, (images.of(&x), &mut y)).expect("it runs");
    let y = device.download(&y).expect("copied");
    // The row above the image, and then columns 0 to 4 of row 0, and one past it.
    assert_eq!((y[23], y[24], y[43], y[44]), (0.0, 1.0, 20.0, 0.0));
    let [found] = rerun(&case, ["y"]);
    assert!(found == bytes(&y), "y");
}

#[test]
fn tensor_maps_are_recorded() {
    let (device, kernel) = (Simulator::new(), mapped());
    let x: Vec<f32> = (0..44 * 10).map(|i| i as f32).collect();
    let x = device.upload(&x).expect("uploaded");
    let mut sums = device.upload(&[0.5_f32; 48 * 10]).expect("uploaded");
    let mut y = device.output::<f32>(256).expect("allocated");
    // Columns 20 to 51 of 40, in rows 44 elements apart; rows 4 to 11 of 10.
    let of_x = TensorBox::new([40, 10], [32, 8]).strides([44]).swizzle(SwizzleMode::B128);
    let of_x = TensorBox { nan_fill: true, ..of_x };
    let of_sums = TensorBox::new([48, 10], [32, 8]).swizzle(SwizzleMode::B128);
    let case = scratch("recorded_maps");
    let args = (20, of_x.clone().of(&x), of_sums.clone().of(&mut sums), &mut y);
    device.record_case(&case, &kernel, args).expect("recorded");
    assert_eq!(files(&case), ["case.json", "in_sums.npy", "in_x.npy", "in_y.npy", "kernel.ptx"]);
    device.launch(&kernel, (20, of_x.of(&x), of_sums.of(&mut sums), &mut y)).expect("it runs");

    let [found_sums, found_y] = rerun(&case, ["sums", "y"]);
    let y = device.download(&y).expect("copied");
    // In bounds, element (4, 20) of x is first; out of bounds, elements are NaN.
    assert!(y[0] == 196.0 && y.iter().filter(|value| value.is_nan()).count() == 256 - 20 * 6);
    assert_eq!(found_y, bytes(&y));
    assert_eq!(found_sums, bytes(&device.download(&sums).expect("copied")));
}

type Product = (In<bf16>, In<bf16>, Out<bf16>, u32, u32, u32);

/// D = A·Bᵀ, with maps that the launch creates.
fn product() -> Kernel<Product> {
    Kernel::<Product>::build("product(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
        k.block([256]);
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
        let d = k.global(d, row_major(m, n));
        let tiles = k.persistent(Schedule::linear(), m.ceil_div(64), n.ceil_div(64));
        let (steps, ring) = (depth.ceil_div(64), k.ring::<(St<bf16, 4, 4>, St<bf16, 4, 4>), 2, 1>());
        let outbox = k.outbox::<bf16, 4, 1, 1>();
        k.specialize(
            producer(40, |p| {
                tiles.each(|i, j| {
                    p.run(&ring, steps, |step, stage| stage.fill((a.tile(i, step), b.tile(j, step))));
                });
            }),
            consumers::<1, _>(232, |c| {
                tiles.each(|i, j| {
                    let zeros = [k.zeros::<Rt<f32, 1, 4>>()];
                    let sums = c.run(&ring, steps, zeros, |sums, (a, b)| sums.mma_abt(a, b));
                    c.store(&outbox, sums, |_| d.tile(i, j));
                });
            }),
        );
    })
    .expect("it builds")
}

#[test]
fn maps_that_the_launch_creates_are_recorded() {
    let (device, kernel) = (Simulator::new().multiprocessors(2), product());
    // With no depth, A and B have no elements, and no maps.
    for (name, [m, n, depth]) in [("product", [70, 136, 72]), ("empty_product", [70, 136, 0])] {
        let matrix = |rows: usize, seed: usize| -> Vec<bf16> {
            (0..rows * depth).map(|i| bf16::from_f32(((i * seed) % 13) as f32 - 6.0)).collect()
        };
        let (a, b) = (matrix(m, 7919), matrix(n, 104_729));
        let (a, b) = (device.upload(&a).expect("uploaded"), device.upload(&b).expect("uploaded"));
        let mut d = device.output::<bf16>(m * n).expect("allocated");
        let case = scratch(name);
        let sizes = [m, n, depth].map(|size| size as u32);
        let [rows, cols, length] = sizes;
        device.record_case(&case, &kernel, (&a, &b, &mut d, rows, cols, length)).expect("recorded");
        device.launch(&kernel, (&a, &b, &mut d, rows, cols, length)).expect("it runs");
        let d = device.download(&d).expect("copied");
        assert!(d.iter().any(|&value| value != bf16::ZERO) == (depth > 0));
        assert_eq!(rerun(&case, ["d"]), [bytes(&d)], "{name}");
    }
}

/// Bugs are also found in the recorded case, at the Rust line that emitted the access.
#[test]
fn findings_name_the_rust_line() {
    let kernel = Kernel::<(Out<u32>,)>::build("past(y)", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        unsafe { y.at(k.tid_x()).store(k.tid_x()) };
    })
    .expect("it builds");
    let device = Simulator::new();
    let mut y = device.zeros::<u32>(31).expect("allocated");
    let folder = scratch("recorded_bug");
    device.record_case(&folder, &kernel, (&mut y,)).expect("recorded");
    let run =
        warpwright(["sim".as_ref(), folder.as_os_str(), "--out".as_ref(), folder.join("out").as_os_str()]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("tests/cli/record.rs:"), "{}", run.err);
}

#[test]
fn invalid_launches_and_folders_are_errors() {
    let device = Simulator::new();
    let x = device.zeros::<bf16>(1).expect("allocated");
    let mut y = Simulator::new().zeros::<f32>(1).expect("allocated");
    let mut counts = device.zeros::<i32>(1).expect("allocated");
    let folder = scratch("unrecorded");
    let args = (&x, &mut y, &mut counts, 1, 0, 0.0, 0);
    let error =
        device.record_case(folder.join("case"), &kernel(), args).expect_err("another simulator's buffer");
    assert!(matches!(error, RecordError::Run(_)), "{error}");
    assert!(files(&folder).is_empty());

    let mut y = device.zeros::<f32>(1).expect("allocated");
    fs::write(folder.join("file"), "").expect("written");
    let args = (&x, &mut y, &mut counts, 1, 0, 0.0, 0);
    let error = device.record_case(folder.join("file"), &kernel(), args).expect_err("not a folder");
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}
