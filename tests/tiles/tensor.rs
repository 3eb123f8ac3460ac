//! Tiles as tensors: the memory and the registers are the same.

use pretty_assertions::assert_eq;
use warpwright::{
    layout::LayoutError,
    prelude::*,
    run::{Device, Simulator},
    tensor::{TensorElement, copy, transform},
    tiles::{Auto, Plain, SharedSwizzle, Swizzle32, Swizzle64, shared_layout},
};

/// The 16-byte chunks of each swizzled row, exclusive-ored with the row's number as the swizzle modes of TMA and wgmma have them
/// (PTX ISA, "Shared Memory Matrix Layout"); column blocks of a swizzled row follow each other.
fn has_rows_of<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(row_bytes: i64) {
    let bytes = St::<T, H, W, S>::shared_layout().unwrap().bytes::<T>().unwrap();
    let (rows, size) = (16 * H as i64, i64::from(T::SIZE));
    let width = row_bytes / size;
    for row in 0..rows {
        for col in 0..16 * W as i64 {
            let (block, within) = (col / width, col % width * size);
            // Rows that share 128 bytes of banks share a permutation.
            let step = row * row_bytes / 128 % (row_bytes / 16);
            let expect = (block * rows + row) * row_bytes + (within ^ (16 * step));
            assert_eq!(bytes.at((row, (col % width, block))).unwrap(), expect, "({row}, {col})");
        }
    }
}

#[test]
fn shared_tiles_have_the_swizzles_of_the_manual() {
    has_rows_of::<bf16, 2, 4, Auto>(128);
    has_rows_of::<bf16, 1, 8, Auto>(128);
    has_rows_of::<bf16, 2, 2, Auto>(64);
    has_rows_of::<bf16, 2, 1, Swizzle32>(32);
    has_rows_of::<f32, 2, 4, Swizzle64>(64);
    let plain = St::<f32, 2, 3, Plain>::shared_layout().unwrap().bytes::<f32>().unwrap();
    assert_eq!(plain.at((5, (7, 0))).unwrap(), (5 * 48 + 7) * 4);
}

#[test]
fn shared_tiles_have_elements() {
    for (rows, cols) in [(0, 16), (16, 0), (0, 0)] {
        assert!(matches!(
            shared_layout::<f32, Plain>(rows, cols),
            Err(LayoutError::Extent { extent: 0, .. })
        ));
        assert!(matches!(
            shared_layout::<bf16, Auto>(rows, cols),
            Err(LayoutError::Extent { extent: 0, .. })
        ));
    }
    // Offsets of more than 32 bits.
    let tall = shared_layout::<f32, Auto>(1 << 30, 64).unwrap().bytes::<f32>().unwrap();
    assert_eq!(tall.at((0, (0, 1))).unwrap(), (1 << 30) * 128);
}

#[test]
fn a_tile_through_tensors() {
    type Args = (In<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("views(x, y, m, n)", Target::SM_80, |k, (x, y, m, n)| {
        k.block([32]);
        k.grid([1]);
        let x = k.global(x, row_major(m, n));
        let y = k.global(y, row_major(m, n));
        // The matrix as a tensor fills the tile as a tensor; the tile's own load reads it.
        let tile = k.shared_tile::<St<f32, 2, 2>>();
        let to = tile.tensor().slice((k.tid_x(), ..));
        let from = x.tensor().local_tile((32, 32), (0, 0)).slice((k.tid_x(), ..));
        let pending = copy(&to, &from);
        let tile = tile.written(pending).wait();
        let registers: Rt<f32, 2, 2> = tile.subtile(0, 0).load();
        let fragment = registers.into_fragment();
        transform(&fragment, &fragment, |value| value * 2.0);
        y.tile(0, 0).store(&Rt::<f32, 2, 2>::from_fragment(k, &fragment));
    });
    let kernel = kernel.unwrap();
    let device = Simulator::new();
    let (m, n) = (30, 27);
    let x: Vec<f32> = (0..m * n).map(|i| i as f32).collect();
    let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(m * n).unwrap());
    device.launch(&kernel, (&from, &mut to, m as u32, n as u32)).unwrap();
    assert_eq!(device.download(&to).unwrap(), x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn a_filled_tile_is_read_as_a_tensor() {
    type Args = (In<bf16>, Out<bf16>);
    let kernel = Kernel::<Args>::build("read(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let tile = k.shared_tile::<St<bf16, 2, 8>>().fill(k.global(x, row_major(32, 128)).tile(0, 0)).wait();
        let lane = k.tid_x();
        let y = k.tensor_with_layout(y, &k.layout("(32,(64,2)):(128,(1,64))")).slice((lane, ..));
        copy(&y, &tile.tensor().slice((lane, ..)));
    });
    let x: Vec<bf16> = (0..32 * 128).map(bf16::from_bits).collect();
    let device = Simulator::new();
    let (from, mut to) = (device.upload(&x).unwrap(), device.output::<bf16>(x.len()).unwrap());
    device.launch(&kernel.unwrap(), (&from, &mut to)).unwrap();
    assert_eq!(device.download(&to).unwrap(), x);
}
