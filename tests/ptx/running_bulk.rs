//! Bulk copies and tensor maps, run on every device that supports them.
#![allow(unsafe_code, reason = "bulk copies through plain pointers")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Eviction, Hints, ProxySpace, ReduceOp, SwizzleMode, TensorMap},
    run::{AnyDevice, Device, RunError, Simulator, TensorBox},
};

use crate::devices;

/// The simulator, and the GPU if it is of sm_90a.
pub(super) fn hopper() -> Vec<AnyDevice> {
    let runs = |device: &AnyDevice| !matches!(device, AnyDevice::Gpu(_)) || device.capability() == (9, 0);
    devices::all().into_iter().filter(runs).collect()
}

fn build<A: warpwright::ptx::Params>(
    name: &str,
    write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>),
) -> Kernel<A> {
    Kernel::<A>::build(name, Target::SM_90A, write).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn contiguous_bytes_move_both_ways() {
    type Args = (In<u32>, InOut<u32>, InOut<u32>);
    let kernel = build::<Args>("bulk(x, y, z)", |k, (x, y, z)| {
        let block = k.block([64]);
        k.grid([1]);
        let (tile, full) = (k.shared_aligned::<u32>(64, 128), k.mbarriers(1));
        let first = block.thread().eq(0);
        k.if_(first, || {
            full.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(256);
            let hints = Hints::default().policy(k.cache_policy(Eviction::First));
            unsafe { x.prefetch_bulk(256, Hints::default()) };
            unsafe { tile.copy_bulk(x, 256, full, hints) };
        });
        block.sync();
        full.wait(0);
        let cell = tile.at(block.thread());
        cell.store(cell.load() + 1000);
        k.fence_proxy_async(ProxySpace::Shared);
        block.sync();
        k.if_(first, || {
            unsafe { y.copy_bulk_out(tile, 256, Hints::default()) };
            k.cp_async_bulk_commit_group();
            unsafe { z.reduce_bulk_out(ReduceOp::Add, tile, 128, Hints::default()) };
            unsafe { z.byte_offset(128).reduce_bulk_out(ReduceOp::Max, tile.at(32), 128, Hints::default()) };
            k.cp_async_bulk_commit_group();
            k.cp_async_bulk_wait_group_read(1);
            k.cp_async_bulk_wait_group(0);
        });
    });
    let x: Vec<u32> = (0..64).map(|i| i * 3).collect();
    for device in hopper() {
        let input = device.upload(&x).unwrap();
        let (mut y, mut z) = (device.upload(&[7u32; 64]).unwrap(), device.upload(&[1100u32; 64]).unwrap());
        device.launch(&kernel, (&input, &mut y, &mut z)).unwrap_or_else(|why| panic!("{why}"));
        let moved: Vec<u32> = x.iter().map(|x| x + 1000).collect();
        assert_eq!(device.download(&y).unwrap(), moved);
        let combined: Vec<u32> = moved
            .iter()
            .zip(0..)
            .map(|(&moved, i)| if i < 32 { 1100 + moved } else { moved.max(1100) })
            .collect();
        assert_eq!(device.download(&z).unwrap(), combined);
    }
}

#[test]
fn blocks_of_a_cluster_send_and_combine_bytes() {
    let kernel = build::<(In<u32>, Out<u32>)>("sent(x, y)", |k, (x, y)| {
        let block = k.block([32]);
        let cluster = k.cluster([2]);
        k.grid([2]);
        let [own, sent, sums, all] = [(); 4].map(|()| k.shared_aligned::<u32>(32, 128));
        let [full, everywhere] = [(); 2].map(|()| k.mbarriers(1));
        let (lane, rank) = (block.thread(), block.rank());
        own.at(lane).store(rank * 100 + lane);
        sums.at(lane).store(10_000);
        k.fence_proxy_async(ProxySpace::Shared);
        k.if_(lane.eq(0), || {
            full.init(1);
            everywhere.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(256);
            everywhere.arrive_expect_tx(128);
        });
        cluster.sync();
        k.if_(lane.eq(0), || {
            let other = rank ^ 1;
            let barrier = full.in_block(other);
            sent.in_block(other).copy_bulk_shared(own, 128, barrier);
            sums.in_block(other).reduce_bulk_shared(ReduceOp::Add, own, 128, barrier);
            // The first block copies to both.
            k.if_(rank.eq(0), || unsafe { all.copy_bulk(x, 128, everywhere, Hints::default().multicast(3)) });
        });
        full.wait(0);
        everywhere.wait(0);
        let y = k.slice(y, 2 * 96);
        for (i, tile) in (0u32..).zip([sent, sums, all]) {
            y.at(rank * 96 + i * 32 + lane).store(tile.at(lane).load());
        }
        cluster.sync();
    });
    for device in hopper() {
        let x: Vec<u32> = (0..32).map(|i| i * i).collect();
        let input = device.upload(&x).unwrap();
        let mut y = device.output::<u32>(192).unwrap();
        device.launch(&kernel, (&input, &mut y)).unwrap_or_else(|why| panic!("{why}"));
        let y = device.download(&y).unwrap();
        for (rank, rows) in (0u32..).zip(y.chunks(96)) {
            let sent: Vec<u32> = (0..32).map(|lane| (rank ^ 1) * 100 + lane).collect();
            assert_eq!(rows[..32], sent);
            assert_eq!(rows[32..64], sent.iter().map(|sent| sent + 10_000).collect::<Vec<_>>());
            assert_eq!(rows[64..], x);
        }
    }
}

type Boxes = (TensorMap<In<f32>>, TensorMap<Out<f32>>, TensorMap<InOut<f32>>);

/// Each block moves a box of 32×8 elements and adds 1; `swizzle` is that of the maps.
fn boxes(swizzle: SwizzleMode) -> Kernel<Boxes> {
    build::<Boxes>("boxes(x, y, z)", |k, (x, y, z)| {
        let block = k.block([256]);
        k.grid([2, 2]);
        let (tile, full) = (k.shared_aligned::<f32>(256, 1024), k.mbarriers(1));
        let [column, row] = [k.ctaid_x() * 32, k.ctaid_y() * 8].map(|at| at.cast::<i32>());
        let first = block.thread().eq(0);
        k.if_(first, || {
            x.prefetch_descriptor();
            full.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(1024);
            x.load(tile, [column, row], full, Hints::default());
        });
        block.sync();
        full.wait(0);
        // Every element of the box, regardless of its position.
        let (i, j) = (block.thread() >> 5, block.thread() & 31);
        let chunk = match swizzle {
            SwizzleMode::B128 => (j >> 2) ^ (i & 7),
            _ => j >> 2,
        };
        let cell = tile.at(i * 32 + chunk * 4 + (j & 3));
        let number = (k.ctaid_y() * 8 + i) * 100 + k.ctaid_x() * 32 + j;
        // Out of bounds, the box contains zeros.
        cell.store(cell.load() + number.cast::<f32>());
        k.fence_proxy_async(ProxySpace::Shared);
        block.sync();
        k.if_(first, || {
            y.store(tile, [column, row], Hints::default());
            z.reduce(ReduceOp::Add, tile, [column, row], Hints::default());
            k.cp_async_bulk_commit_group();
            k.cp_async_bulk_wait_group(0);
        });
    })
}

#[test]
fn boxes_of_a_tensor_are_filled_and_clipped_at_its_edges() {
    // 40×10 of rows of 44 elements: the boxes reach beyond both edges.
    let (width, height, pitch) = (40, 10, 44);
    for swizzle in [SwizzleMode::None, SwizzleMode::B128] {
        let kernel = boxes(swizzle);
        let tensor = TensorBox::new([width, height], [32, 8]).strides([pitch]).swizzle(swizzle);
        for device in hopper() {
            let length = (pitch * height) as usize;
            let x: Vec<f32> = (0..length).map(|i| 0.25 * i as f32).collect();
            let input = device.upload(&x).unwrap();
            let (mut y, mut z) = (
                device.upload(&vec![-1.0f32; length]).unwrap(),
                device.upload(&vec![2.0f32; length]).unwrap(),
            );
            let args = (tensor.clone().of(&input), tensor.clone().of(&mut y), tensor.clone().of(&mut z));
            device.launch(&kernel, args).unwrap_or_else(|why| panic!("{why}"));
            let (y, z) = (device.download(&y).unwrap(), device.download(&z).unwrap());
            for (i, ((x, y), z)) in x.iter().zip(&y).zip(&z).enumerate() {
                let (row, column) = (i / pitch as usize, i % pitch as usize);
                let moved = x + (row * 100 + column) as f32;
                let expected = if column < width as usize { (moved, 2.0 + moved) } else { (-1.0, 2.0) };
                assert_eq!((*y, *z), expected, "row {row}, column {column}, {swizzle:?}");
            }
        }
    }
}

#[test]
fn maps_that_do_not_fit_are_refused_before_the_launch() {
    let (kernel, device) = (boxes(SwizzleMode::None), Simulator::new());
    let refused = |tensor: TensorBox| -> RunError {
        let input = device.upload(&[0.0f32; 512]).unwrap();
        let (mut y, mut z) = (device.output::<f32>(512).unwrap(), device.upload(&[0.0f32; 512]).unwrap());
        let fine = TensorBox::new([32, 16], [32, 8]);
        let args = (tensor.of(&input), fine.clone().of(&mut y), fine.of(&mut z));
        device.launch(&kernel, args).expect_err("it is refused")
    };
    let message = |tensor| refused(tensor).to_string();
    assert_eq!(
        message(TensorBox::new([32, 17], [32, 8])),
        "kernel `boxes`: parameter `x`: expected a buffer of at least 544 elements, found 512"
    );
    assert_eq!(
        message(TensorBox::new([32, 16], [32, 8]).strides([36])),
        "kernel `boxes`: parameter `x`: expected a buffer of at least 572 elements, found 512"
    );
    assert_eq!(
        message(TensorBox::new([32, 4, 4], [32, 8, 1])),
        "kernel `boxes`: parameter `x`: expected a tensor map of 2 dimensions, found 3"
    );
    assert_eq!(
        message(TensorBox::new([32, 16], [32, 8]).strides([])),
        "kernel `boxes`: parameter `x`: expected 1 strides for 2 dimensions, found 0"
    );
    assert_eq!(
        message(TensorBox { element_strides: vec![2, 1], ..TensorBox::new([32, 16], [32, 8]) }),
        "kernel `boxes`: parameter `x`: expected an element stride of 1 along dimension 0, found 2"
    );
    assert!(matches!(refused(TensorBox::new([30, 16], [30, 8])), RunError::TensorMap { .. }));
    assert!(matches!(
        refused(TensorBox::new([1 << 62, 1 << 62], [32, 8])),
        RunError::TooShort { .. } | RunError::ExtentOverflow { .. }
    ));
}

#[test]
fn wrong_copies_are_refused() {
    let refused = |write: &dyn Fn(Builder<'_>, Val<'_, u32>)| {
        let built = Kernel::<(u32,)>::build("k", Target::SM_90A, |k, (n,)| write(k, n));
        built.expect_err("it is refused").kind().to_string()
    };
    assert_eq!(
        refused(&|k, _| {
            let tile = k.shared_aligned::<u32>(64, 128);
            tile.in_cluster().copy_bulk_shared(tile, 24, k.mbarriers(1).in_block(0));
        }),
        "bulk copy: expected a size known to be a multiple of 16 bytes, found one of 24"
    );
    assert_eq!(
        refused(&|k, _| {
            let tile = k.shared_aligned::<u32>(64, 128);
            tile.in_cluster().copy_bulk_shared(tile, 1 << 20, k.mbarriers(1).in_block(0));
        }),
        "bulk copy: expected at most 1048560 bytes, found 1048576"
    );
    assert_eq!(
        refused(&|k, _| {
            let tile = k.shared_aligned::<f32>(64, 128);
            tile.in_cluster().reduce_bulk_shared(ReduceOp::Add, tile, 64, k.mbarriers(1).in_block(0));
        }),
        "`cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes` does not support `add` on f32"
    );
    let built = Kernel::<(TensorMap<InOut<f32>>,)>::build("k(x)", Target::SM_90, |k, (x,)| {
        x.reduce(ReduceOp::Xor, k.shared_aligned(64, 128), [0], Hints::default());
        x.reduce(ReduceOp::Min, k.shared_aligned(64, 128), [0], Hints::default());
    });
    assert_eq!(
        built.expect_err("it is refused").kind().to_string(),
        "`cp.reduce.async.bulk.tensor.1d.global.shared::cta` does not support `min` on f32"
    );
    assert_eq!(
        refused(&|k, _| k.shared_tensor_map().rank(6)),
        "tensor map: expected 1 to 5 dimensions, found 6"
    );
}

/// The table in the section on `cp.reduce.async.bulk.tensor` of the PTX ISA.
#[test]
fn reductions_through_tensor_maps_are_those_of_the_manual() {
    use ReduceOp::{Add, And, Max, Min, Or, Xor};
    macro_rules! check {
        ($($t:ty: $supported:expr;)*) => {$(
            let supported: &[ReduceOp] = &$supported;
            for op in ReduceOp::ALL {
                let built = Kernel::<(TensorMap<InOut<$t>>,)>::build("k(x)", Target::SM_90, |k, (x,)| {
                    x.reduce(op, k.shared_aligned(64, 128), [0], Hints::default());
                });
                match built {
                    Ok(_) => assert!(supported.contains(&op), "{op:?} of {}", stringify!($t)),
                    Err(error) => {
                        assert!(!supported.contains(&op), "{error}");
                        assert!(error.to_string().contains("shared::cta` does not support `"), "{error}");
                    }
                }
            }
        )*};
    }
    check! {
        u32:  ReduceOp::ALL;
        i32:  [Add, Min, Max, And, Or, Xor];
        u64:  [Add, Min, Max, And, Or, Xor];
        i64:  [Min, Max, And, Or, Xor];
        f16:  [Add, Min, Max];
        bf16: [Add, Min, Max];
        f32:  [Add, And, Or, Xor];
        f64:  [And, Or, Xor];
        u16:  [];
        u8:   [];
    }
}
