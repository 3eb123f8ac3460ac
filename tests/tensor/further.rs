//! Programs of MoYe's documentation beyond those of the examples.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::MmaOperand,
    layout::Layout,
    prelude::*,
    run::Device,
    tensor::{
        Partition, copy, copy_tiled, fill, gemm, load_matrices, local_partition_projected,
        local_tile_projected,
    },
};

use crate::devices::all;

use super::{
    programs::{SIZES, everywhere, product},
    support::count,
};

/// A matrix of a product on the host, and which of its modes (m, n, k) and of the threads' modes (along m and n) it has.
struct Operand {
    layout: Layout,
    modes: [bool; 3],
    threads: [bool; 2],
}

impl Operand {
    fn new(rows: i64, cols: i64, modes: [bool; 3], threads: [bool; 2]) -> Self {
        Self { layout: Layout::column_major((rows, cols)).unwrap(), modes, threads }
    }

    /// The positions of a thread's elements in the tile at `at`, in tiles of 4×4×4 by 2×2 threads.
    fn part(&self, at: (i64, i64, i64), thread: i64) -> Partition {
        let tile = local_tile_projected(&self.layout, (4, 4, 4), at, &self.modes).unwrap();
        let threads = Layout::column_major((2, 2)).unwrap();
        let part = local_partition_projected(&tile.layout, &threads, thread, &self.threads).unwrap();
        Partition { offset: tile.offset + part.offset, layout: part.layout }
    }
}

#[test]
fn a_product_on_the_host_by_projections() {
    let (m, n, depth) = (8, 12, 16);
    let a_lies = Operand::new(m, depth, [true, false, true], [true, false]);
    let b_lies = Operand::new(n, depth, [false, true, true], [false, true]);
    let c_lies = Operand::new(m, n, [true, true, false], [true, true]);
    let a: Vec<i64> = (0..m * depth).map(|i| i * 7 % 11).collect();
    let b: Vec<i64> = (0..n * depth).map(|i| i * 5 % 13).collect();
    let mut c = vec![0; (m * n) as usize];
    let place =
        |part: &Partition, row: i64, col: i64| (part.offset + part.layout.at((row, col)).unwrap()) as usize;
    for step in 0..(m / 4) * (n / 4) * (depth / 4) * 4 {
        let (thread, tile) = (step % 4, step / 4);
        let at = (tile % (m / 4), tile / (m / 4) % (n / 4), tile / (m / 4) / (n / 4));
        let [a_part, b_part, c_part] = [&a_lies, &b_lies, &c_lies].map(|operand| operand.part(at, thread));
        for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let products = (0..4).map(|p| a[place(&a_part, i, p)] * b[place(&b_part, j, p)]);
            c[place(&c_part, i, j)] += products.sum::<i64>();
        }
    }
    let dot = |i, j| (0..depth).map(|p| a[(i + p * m) as usize] * b[(j + p * n) as usize]).sum::<i64>();
    let expect: Vec<i64> = (0..m * n).map(|at| dot(at % m, at / m)).collect();
    assert_eq!(c, expect);
}

/// A by plain copies, B by `ldmatrix`, both into fragments of the product in the copies' order.
#[test]
fn operands_by_tiled_copies_of_the_product() {
    type Args = (In<f32>, In<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("retiled(a, b, c)", Target::SM_80, |k, (a, b, c)| {
        k.block([32]);
        k.grid([1]);
        let (a_lies, b_lies) = (k.layout("(16,8):(1,16)"), k.layout("(8,8):(8,1)"));
        let (a, b) = (k.tensor_with_layout(a, &a_lies), k.tensor_with_layout(b, &b_lies));
        let c = k.tensor_with_layout(c, &k.layout("(16,8):(8,1)"));
        let (a_tile, b_tile) = (k.shared_tensor::<f32>(&a_lies), k.shared_tensor::<f32>(&b_lies));
        let (thread, lanes) = (k.tid_x(), k.layout("(8,4):(1,8)"));
        let a_in = copy(&a_tile.local_partition(&lanes, thread), &a.local_partition(&lanes, thread));
        let b_in = copy(&b_tile.local_partition(&lanes, thread), &b.local_partition(&lanes, thread));
        let (a_tile, b_tile) = a_in.and(b_in).wait();

        let mma = k.tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", "(1,1,1):(0,0,0)", ..);
        let part = mma.thread(k, thread);
        let (held_a, held_b) = (
            part.fragment_like(MmaOperand::A, &part.partition_a(&a_tile)),
            part.fragment_like(MmaOperand::B, &part.partition_b(&b_tile)),
        );
        let a_copy = k.tiled_copy_a::<f32>("UniversalCopy<u32>", &mma);
        let a_part = a_copy.thread(thread);
        copy_tiled(&a_copy, &a_part.retile(&held_a), &a_part.partition_s(&a_tile));
        let b_copy = k.tiled_copy_b::<f32>("SM75_U32x2_LDSM_N", &mma);
        let b_part = b_copy.thread(thread);
        load_matrices(&b_copy, &b_part.retile(&held_b), &b_part.partition_s(&b_tile));

        let sum = part.fragment::<f32>(MmaOperand::C, 16, 8);
        fill(&sum, 0.0);
        gemm(&mma, &sum, &held_a, &held_b, &sum);
        let c_copy = k.tiled_copy_c::<f32>("UniversalCopy<u32>", &mma);
        let c_part = c_copy.thread(thread);
        copy_tiled(&c_copy, &c_part.partition_d(&c), &c_part.retile(&sum));
    });
    let kernel = kernel.unwrap();
    assert_eq!(count(&kernel, "ldmatrix.sync.aligned.m8n8.x2"), 1);
    for device in all() {
        let counted = |count: i32| (1..=count).map(|i| i as f32).collect::<Vec<_>>();
        let (a, b) = (device.upload(&counted(128)).unwrap(), device.upload(&counted(64)).unwrap());
        let mut c = device.output::<f32>(128).unwrap();
        device.launch(&kernel, (&a, &b, &mut c)).unwrap();
        let found = device.download(&c).unwrap();
        assert_eq!(found[..8], [2724.0, 6372.0, 10020.0, 13668.0, 17316.0, 20964.0, 24612.0, 28260.0]);
    }
}

/// C = A·Bᵀ from two slabs of shared memory in turn, with the next column of a slab fetched to registers while one is multiplied.
fn double_buffered(target: Target) -> Result<Kernel<product::Args>, BuildError> {
    Kernel::<product::Args>::build(
        "double_buffered(a, b, c, m, n, k)",
        target,
        |k, (a, b, c, m, n, depth)| {
            k.block([256]);
            k.grid([m.tiles(128), n.tiles(128)]);
            let (m, n) = (m.multiple_of(2), n.multiple_of(2));
            let (row, col, thread) = (k.ctaid_x(), k.ctaid_y(), k.tid_x());
            let a = k.tensor(a, [m, depth], [1.into(), m]);
            let b = k.tensor(b, [n, depth], [1.into(), n]);
            let c = k.tensor(c, [m, n], [1.into(), m]).local_tile((128, 128), (row, col));
            let slabs = k.layout("(128,8,2):(1,130,1040)");
            let (a_slabs, b_slabs) = (k.shared_tensor::<f32>(&slabs), k.shared_tensor::<f32>(&slabs));

            let tiled = k.tiled_copy::<f32>("SM80_CP_ASYNC_CACHEALWAYS<u64>", "(32,8):(1,32)", "(2,1):(1,0)");
            let part = tiled.thread(thread);
            let fetch = |i, slab| {
                let (a_to, b_to) = (a_slabs.slice((.., .., slab)), b_slabs.slice((.., .., slab)));
                let a_from = part.partition_s(&a.local_tile((128, 8), (row, i)));
                let b_from = part.partition_s(&b.local_tile((128, 8), (col, i)));
                let a_in = copy_tiled(&tiled, &part.partition_d(&a_to), &a_from);
                a_in.and(copy_tiled(&tiled, &part.partition_d(&b_to), &b_from))
            };

            let mma = k.tiled_mma("UniversalFMA<f32>", "(32,8):(1,32)", ..);
            let product = mma.thread(k, thread);
            let c = product.partition_c(&c);
            let sum = k.fragment_of_shape::<f32>(c.shape());
            fill(&sum, 0.0);

            let first = fetch(Val::from(0), Val::from(0));
            let last = k.fold(depth.ceil_div(8), first, |i, in_flight| {
                let (a, b) = in_flight.wait();
                let next = fetch(i + 1, (i + 1) & 1);
                let (a, b) = (product.partition_a(&a), product.partition_b(&b));
                let held = [0, 1].map(|_| {
                    (
                        k.fragment_of_shape::<f32>((1, a.size_of(1))),
                        k.fragment_of_shape::<f32>((1, b.size_of(1))),
                    )
                });
                let prefetch = |column: i64| {
                    let (held_a, held_b) = &held[column as usize % 2];
                    copy(held_a, &a.slice((.., .., column)));
                    copy(held_b, &b.slice((.., .., column)));
                };
                prefetch(0);
                for column in 0..8 {
                    if column < 7 {
                        prefetch(column + 1);
                    }
                    let (held_a, held_b) = &held[column as usize % 2];
                    gemm(&mma, &sum, held_a, held_b, &sum);
                }
                next
            });
            last.wait_own();
            copy(&c, &sum);
        },
    )
}

#[test]
fn products_from_two_slabs() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = double_buffered(Target::SM_80)?;
    assert_eq!(count(&kernel, "cp.async.ca"), 2 * 2 * 2);
    for size in SIZES {
        everywhere(&kernel, size, product::Order::Columns)?;
    }
    Ok(())
}
