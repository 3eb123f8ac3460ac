//! Tiles as tensors: the same memory and the same registers.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
    tensor::{copy, transform},
    tiles::{Plain, SharedSwizzle},
};

fn lies_alike<T, const H: usize, const W: usize, S: SharedSwizzle>()
where
    T: warpwright::tiles::TileElement + warpwright::tensor::TensorElement,
{
    type Tile<'k, T, const H: usize, const W: usize, S> = St<'k, T, H, W, S>;
    let bytes = Tile::<T, H, W, S>::shared_layout().unwrap().bytes::<T>().unwrap();
    let width = bytes.shape().modes()[1].modes()[0].size();
    for row in 0..16 * H as i64 {
        for col in 0..16 * W as i64 {
            let found = bytes.at((row, (col % width, col / width))).unwrap();
            assert_eq!(
                found,
                i64::from(Tile::<T, H, W, S>::offset(row as u32, col as u32)),
                "({row}, {col})"
            );
        }
    }
}

#[test]
fn shared_tiles_lie_as_their_tensors() {
    use warpwright::tiles::{Auto, Swizzle32, Swizzle64};
    lies_alike::<bf16, 2, 4, Auto>();
    lies_alike::<bf16, 1, 8, Auto>();
    lies_alike::<bf16, 2, 2, Auto>();
    lies_alike::<bf16, 2, 1, Swizzle32>();
    lies_alike::<f32, 2, 4, Swizzle64>();
    lies_alike::<f32, 2, 3, Plain>();
}

#[test]
fn a_tile_through_tensors() {
    type Args = (In<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("views(x, y, m, n)", Target::SM_80, |k, (x, y, m, n)| {
        k.block([32]);
        k.grid([1.into()]);
        let x = k.global(x, row_major(m, n));
        let y = k.global(y, row_major(m, n));
        // The matrix as a tensor fills the tile as a tensor; the tile's own load reads it.
        let tile = k.shared_tile::<St<f32, 2, 2>>();
        let to = tile.tensor().slice((k.tid_x(), ..));
        let from = x.tensor().local_tile((32, 32), (0, 0)).slice((k.tid_x(), ..));
        let arrived = copy(&to, &from).wait();
        let tile = tile.filled(&arrived);
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
        k.grid([1.into()]);
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
