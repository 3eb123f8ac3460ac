//! Tensor copies in im2col mode, run on every device that supports them.
#![allow(unsafe_code, reason = "im2col stores")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Hints, ProxySpace, ReduceOp, TensorMap},
    run::{Device, PixelColumn, Simulator, TensorBox},
};

use super::running_bulk::hopper;

/// The channels of a pixel, and the pixels of a copy.
const CHANNELS: u32 = 8;
const PIXELS: u32 = 20;
/// The images: channels, columns, rows and images.
const IMAGES: [u64; 4] = [CHANNELS as u64, 6, 5, 3];
const LENGTH: usize = (IMAGES[0] * IMAGES[1] * IMAGES[2] * IMAGES[3]) as usize;

/// `(x, y, z, start, shift, to)`: the pixels of X from `start` (column, row, image) on, shifted by `shift`, are copied to Y and added to
/// the pixels of Z from `to` on.
type Args = (TensorMap<In<f32>>, Out<f32>, TensorMap<InOut<f32>>, [i32; 3], [u16; 2], [i32; 3]);

fn column() -> Kernel<Args> {
    let kernel = Kernel::<Args>::build(
        "column(x, y, z, column, row, image, right, down, to_column, to_row, to_image)",
        Target::SM_90,
        |k, (x, y, z, [column, row, image], shift, [to_column, to_row, to_image])| {
            let block = k.block([CHANNELS * PIXELS]);
            k.grid([1]);
            let (pixels, full) = (k.shared_aligned::<f32>(CHANNELS * PIXELS, 128), k.mbarriers(1));
            let first = block.thread().eq(0);
            let at = [0.into(), column, row, image];
            k.if_(first, || {
                full.init(1);
                k.fence_mbarrier_init();
                full.arrive_expect_tx(CHANNELS * PIXELS * 4);
                x.prefetch_im2col(at, shift, Hints::default());
                x.load_im2col(pixels, at, shift, full, Hints::default());
            });
            block.sync();
            full.wait(0);
            let element = pixels.at(block.thread());
            k.slice(y, CHANNELS * PIXELS).at(block.thread()).store(element.load());
            element.store(element.load() + 1.0);
            k.fence_proxy_async(ProxySpace::Shared);
            block.sync();
            k.if_(first, || {
                let to = [0.into(), to_column, to_row, to_image];
                // SAFETY: the tests pass coordinates in the images.
                unsafe { z.reduce_im2col(ReduceOp::Add, pixels, to, Hints::default()) };
                k.cp_async_bulk_commit_group();
                k.cp_async_bulk_wait_group(0);
            });
        },
    );
    kernel.unwrap_or_else(|why| panic!("{why}"))
}

/// The index of the first channel of each pixel that a copy from `start` on moves, shifted by `shift`; none out of bounds. The bounding box
/// goes from (`first`, `first`) to the last pixel plus `last`.
fn pixels(start: [i32; 3], [first, last]: [i32; 2], shift: [u16; 2]) -> Vec<Option<usize>> {
    let [_, width, height, images] = IMAGES.map(|extent| extent as i32);
    let [mut column, mut row, mut image] = start;
    let mut found = Vec::new();
    for _ in 0..PIXELS {
        let (x, y) = (column + i32::from(shift[0]), row + i32::from(shift[1]));
        let inside = (0..width).contains(&x) && (0..height).contains(&y) && (0..images).contains(&image);
        found.push(inside.then(|| (((image * height + y) * width + x) * CHANNELS as i32) as usize));
        column += 1;
        if column > width - 1 + last {
            (column, row) = (first, row + 1);
        }
        if row > height - 1 + last {
            (row, image) = (first, image + 1);
        }
    }
    found
}

#[test]
fn columns_of_pixels_are_those_of_a_convolution() {
    let kernel = column();
    let x: Vec<f32> = (0..LENGTH).map(|i| 0.5 * i as f32).collect();
    for device in hopper() {
        let input = device.upload(&x).unwrap();
        // Filters of 3×3 with a padding of 1 visit (−1, −1) to the last pixel minus 1; the copy crosses rows, images, and the last image.
        // Sums are stored to the pixels without a padding, and to those that are at least one from the right and lower edges.
        for (start, shift, to, last) in [
            ([-1, -1, 0], [0, 0], [0, 0, 0], 0),
            ([-1, -1, 0], [2, 2], [5, 4, 1], 0),
            ([3, 2, 1], [1, 2], [1, 3, 0], -1),
            ([0, 2, 2], [2, 0], [4, 1, 2], -1),
        ] {
            let images = |lower, upper| {
                let column = PixelColumn {
                    lower_corner: vec![lower; 2],
                    upper_corner: vec![upper; 2],
                    pixels: PIXELS,
                };
                TensorBox::im2col(IMAGES, CHANNELS, column)
            };
            let mut y = device.output::<f32>((CHANNELS * PIXELS) as usize).unwrap();
            let mut z = device.upload(&vec![100.0f32; LENGTH]).unwrap();
            let args = (images(-1, -1).of(&input), &mut y, images(0, last).of(&mut z), start, shift, to);
            device.launch(&kernel, args).unwrap_or_else(|why| panic!("{why}"));

            let channels = 0..CHANNELS as usize;
            let loaded: Vec<f32> = pixels(start, [-1, -1], shift)
                .into_iter()
                .flat_map(|first| channels.clone().map(move |i| first.map(|first| first + i)))
                .map(|at| at.map_or(0.0, |at| x[at]))
                .collect();
            assert_eq!(device.download(&y).unwrap(), loaded, "{start:?} {shift:?}");
            let mut sums = vec![100.0; LENGTH];
            for (i, at) in pixels(to, [0, last], [0, 0]).into_iter().enumerate() {
                for channel in channels.clone() {
                    if let Some(at) = at {
                        sums[at + channel] += loaded[i * CHANNELS as usize + channel] + 1.0;
                    }
                }
            }
            assert_eq!(device.download(&z).unwrap(), sums, "{start:?} {shift:?} {to:?}");
        }
    }
}

#[test]
fn maps_in_another_mode_are_refused() {
    let (kernel, device) = (column(), Simulator::new());
    let column = PixelColumn { lower_corner: vec![0; 2], upper_corner: vec![0; 2], pixels: PIXELS };
    let fine = TensorBox::im2col(IMAGES, CHANNELS, column.clone());
    let refused = |tensor: TensorBox| {
        let input = device.upload(&vec![0.0f32; LENGTH]).unwrap();
        let (mut y, mut z) = (device.output::<f32>(1000).unwrap(), device.output::<f32>(LENGTH).unwrap());
        let args = (tensor.of(&input), &mut y, fine.clone().of(&mut z), [0; 3], [0; 2], [0; 3]);
        device.launch(&kernel, args).expect_err("it is refused").to_string()
    };
    assert_eq!(
        refused(TensorBox::new(IMAGES, [CHANNELS, 1, 1, 1])),
        "kernel `column`: parameter `x`: expected a tensor map in im2col mode, found one in tiled mode"
    );
    assert_eq!(
        refused(TensorBox::im2col([8, 6, 5], CHANNELS, column.clone())),
        "kernel `column`: parameter `x`: expected a tensor map of 4 dimensions, found 3"
    );
    assert_eq!(
        refused(TensorBox::im2col([8, 6, 5, 4], CHANNELS, column)),
        "kernel `column`: parameter `x`: expected a buffer of at least 960 elements, found 720"
    );
    let padded = PixelColumn { lower_corner: vec![0, -1], upper_corner: vec![0; 2], pixels: PIXELS };
    let input = device.upload(&vec![0.0f32; LENGTH]).unwrap();
    let (mut y, mut z) = (device.output::<f32>(1000).unwrap(), device.output::<f32>(LENGTH).unwrap());
    let padded = TensorBox::im2col(IMAGES, CHANNELS, padded);
    let args = (padded.clone().of(&input), &mut y, padded.of(&mut z), [0; 3], [0; 2], [0; 3]);
    assert_eq!(
        device.launch(&kernel, args).expect_err("it is refused").to_string(),
        "kernel `column`: parameter `z`: expected a bounding box inside the images, because the GPU stores no padding, found the lower corner \
         [0, -1] and the upper corner [0, 0]"
    );
}
