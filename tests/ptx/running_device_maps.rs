//! Tensor maps that a kernel creates for matrices of different sizes, run on every device that supports them.
#![allow(unsafe_code, reason = "maps that the kernel creates")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Global, Hints, MemoryScope, ProxySpace, Ptr, TensorMap, TensorMapPtr, Writable},
    run::{Device, TensorBox},
};

use super::running_bulk::hopper;

/// The first element, the number of columns, the number of rows, and the distance between rows, of each matrix.
type Matrix = [u32; 4];

/// X and Y as boxes of 32×8, the matrices, memory for two maps per matrix.
type Args = (TensorMap<In<f32>>, TensorMap<Out<f32>>, In<f32>, Out<f32>, In<u32>, u32, InOut<u32>);

/// Returns the map of a matrix in `buffer`: `template` with another address, other extents and another stride. A warp executes this.
fn mapped<'k, T: warpwright::ptx::Element, A, B, W: Writable>(
    template: TensorMapPtr<'k, T, A>,
    buffer: Ptr<'k, T, Global, B>,
    [cols, rows, pitch]: [Val<'k, u32>; 3],
    memory: Ptr<'k, u32, Global, W>,
) -> TensorMapPtr<'k, T, W> {
    let k = template.kernel();
    let edit = k.shared_tensor_map();
    let lane = k.laneid();
    // SAFETY: a template is a parameter of 128 bytes.
    edit.pointer().at(lane).store(unsafe { template.bytes().at(lane).load() });
    k.sync_warp(warpwright::ptx::FULL_MASK);
    k.if_(lane.eq(0), || {
        edit.global_address(buffer);
        edit.global_dim(0, cols);
        edit.global_dim(1, rows);
        edit.global_stride(1, pitch.cast::<u64>() * 4);
    });
    k.sync_warp(warpwright::ptx::FULL_MASK);
    // SAFETY: the matrix is in the buffer, and `memory` has 128 bytes for this map alone.
    let map = unsafe { edit.publish(memory.cast::<T>(), MemoryScope::Gpu) };
    map.acquire(MemoryScope::Gpu);
    map
}

/// Y = X + 1 for several matrices: a block of one warp for each matrix.
fn kernel() -> Kernel<Args> {
    let name = "add_one(x_map, y_map, x, y, matrices, count, memory)";
    let built = Kernel::<Args>::build(name, Target::SM_90A, |k, parameters| {
        let (x_map, y_map, x, y, matrices, count, memory) = parameters;
        let block = k.block([32]);
        k.grid([count]);
        let matrices = k.slice(matrices, count * 4);
        let [first, cols, rows, pitch] =
            [0, 1, 2, 3].map(|field| matrices.at(k.ctaid_x() * 4 + field).load_or(0));
        let memory = memory.at(k.ctaid_x() * 64);
        let size = [cols, rows, pitch];
        let x = mapped(x_map, x.at(first), size, memory);
        let y = mapped(y_map, y.at(first), size, memory.at(32));

        let (tile, full) = (k.shared_aligned::<f32>(256, 128), k.mbarriers(1));
        let lane = block.thread();
        k.if_(lane.eq(0), || {
            full.init(1);
            k.fence_mbarrier_init();
        });
        block.sync();
        let parity = k.var(0u32);
        k.for_(Steps::new(0, rows.ceil_div(8)), |i| {
            k.for_(Steps::new(0, cols.ceil_div(32)), |j| {
                let at = [j * 32, i * 8].map(|at| at.cast::<i32>());
                k.if_(lane.eq(0), || {
                    full.arrive_expect_tx(1024);
                    x.load(tile, at, full, Hints::default());
                });
                full.wait(parity.get());
                parity.set(parity.get() ^ 1);
                for row in 0..8 {
                    let element = tile.at(lane + row * 32);
                    element.store(element.load() + 1.0);
                }
                k.fence_proxy_async(ProxySpace::Shared);
                block.sync();
                k.if_(lane.eq(0), || {
                    y.store(tile, at, Hints::default());
                    k.cp_async_bulk_commit_group();
                    k.cp_async_bulk_wait_group(0);
                });
                block.sync();
            });
        });
    });
    built.unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn blocks_create_maps_of_matrices_of_different_sizes() {
    let kernel = kernel();
    // Tensor copies store whole units of four elements.
    let matrices: [Matrix; 5] =
        [[0, 40, 10, 44], [448, 32, 8, 32], [704, 4, 1, 4], [708, 8, 100, 12], [2_000, 132, 17, 136]];
    let length = 5_000;
    let host: Vec<f32> = (0..length as u16).map(f32::from).collect();
    let mut expected = vec![-1.0; length];
    for [first, cols, rows, pitch] in matrices {
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let at = (first + row * pitch + col) as usize;
            expected[at] = host[at] + 1.0;
        }
    }
    let template = TensorBox::new([32, 8], [32, 8]);
    for device in hopper() {
        let x = device.upload(&host).unwrap();
        let x_again = device.upload(&host).unwrap();
        let mut template_of_y = device.upload(&[0.0f32; 256]).unwrap();
        let mut y = device.upload(&vec![-1.0f32; length]).unwrap();
        let described = device.upload(&matrices.concat()).unwrap();
        let mut memory = device.upload(&vec![0u32; 64 * matrices.len()]).unwrap();
        let maps = (template.clone().of(&x_again), template.clone().of(&mut template_of_y));
        let args = (maps.0, maps.1, &x, &mut y, &described, matrices.len() as u32, &mut memory);
        device.launch(&kernel, args).unwrap_or_else(|why| panic!("{why}"));
        let found = device.download(&y).unwrap();
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "the index of the first wrong element");
        assert_eq!(device.download(&template_of_y).unwrap(), [0.0; 256]);
    }
}
