//! Tensor copies in im2col mode, compared with the gather of a convolution.

use super::support::{bytes, kernel, one_block, parse, words};
use pretty_assertions::assert_eq;
use warpwright_sim::{Arg, FindingKind, Im2colMap, Memory, Sim, TensorMap, TensorSwizzle, TensorType};

/// The number of channels, columns, rows and images.
const DIMS: [usize; 4] = [16, 7, 5, 3];
const CHANNELS: usize = 8;
const PIXELS: usize = 24;
const FILTER: i32 = 3;

fn map(tensor: u64, pad: i32, stride: u32) -> Im2colMap {
    let [c, w, h, _] = DIMS.map(|dim| dim as u64);
    Im2colMap {
        ty: TensorType::U32,
        address: tensor,
        dims: DIMS.map(|dim| dim as u64).to_vec(),
        strides: vec![4 * c, 4 * c * w, 4 * c * w * h],
        lower_corner: vec![-pad; 2],
        upper_corner: vec![pad - (FILTER - 1); 2],
        channels: CHANNELS as u32,
        pixels: PIXELS as u32,
        element_strides: vec![1, stride, stride, 1],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    }
}

/// Loads a column of pixels from the coordinates in `at`, and stores it to `out`; the filter's tap is `(s, r)`.
fn load(mode: &str, offsets: &str) -> String {
    kernel(
        ".param .u64 out, .param .u64 at, .param .align 64 .b8 map[128]",
        &format!(
            ".reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p<3>; .reg .b16 %h<3>;
            .shared .align 8 .b64 bar; .shared .align 128 .b8 tile[{0}];
            ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [at]; mov.u64 %rd2, map; cvta.param.u64 %rd2, %rd2;
            mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra WAIT;
            mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
            mbarrier.arrive.expect_tx.shared.b64 _, [bar], {0};
            ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd1]; ld.global.v2.u16 {{%h1, %h2}}, [%rd1+16];
            cp.async.bulk.tensor.4d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [tile], [%rd2, {{%r2, %r3, %r4, %r5}}], [bar]{offsets};
            WAIT: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;
            mov.u32 %r6, tile; mad.lo.u32 %r6, %r0, 4, %r6; ld.shared.u32 %r7, [%r6];
            mul.wide.u32 %rd3, %r0, 4; add.u64 %rd3, %rd0, %rd3; st.global.u32 [%rd3], %r7; ret;",
            4 * CHANNELS * PIXELS
        ),
    )
}

/// Returns the memory with a tensor of different numbers, and the addresses of the output, the coordinates and the tensor.
fn memory(at: [i32; 4], tap: [u16; 2]) -> (Memory, [u64; 3]) {
    let mut memory = Memory::new();
    let elements: usize = DIMS.iter().product();
    let addresses = [memory.alloc(4 * CHANNELS * PIXELS), memory.alloc(20), memory.alloc(4 * elements)];
    memory.write(addresses[2], &bytes(&(1..=elements as u32).collect::<Vec<_>>())).expect("in bounds");
    let tap = u32::from(tap[0]) | u32::from(tap[1]) << 16;
    memory
        .write(addresses[1], &bytes(&[at.map(|x| x as u32).as_slice(), &[tap]].concat()))
        .expect("in bounds");
    (memory, addresses)
}

#[test]
fn columns_are_the_gather_of_a_convolution() {
    let module = parse(&load("im2col", ", {%h1, %h2}"));
    for (pad, stride) in [(0, 1), (1, 1), (1, 2)] {
        let outputs = |dim: usize| (DIMS[dim] as i32 + 2 * pad - FILTER) / stride + 1;
        let (columns, rows) = (outputs(1), outputs(2));
        for (first, channel, tap) in [(0, 0, [0, 0]), (4, 8, [2, 1]), (columns * rows - 2, 4, [1, 2])] {
            // Output pixels are numbered along rows, then images.
            let pixel =
                |p: i32| [p % columns * stride - pad, p / columns % rows * stride - pad, p / columns / rows];
            let [x, y, image] = pixel(first);
            let (mut memory, [out, at, tensor]) = memory([channel, x, y, image], tap);
            let args = [
                out.into(),
                at.into(),
                Arg::try_from(&map(tensor, pad, stride as u32)).expect("a valid map"),
            ];
            Sim::new()
                .launch(&module, "k", &one_block((CHANNELS * PIXELS) as u32), &args, &mut memory)
                .unwrap_or_else(|e| panic!("{e}"))
                .assert_clean();
            let mut found = vec![0; 4 * CHANNELS * PIXELS];
            memory.read(out, &mut found).expect("in bounds");
            let value = |i: usize| {
                let [x, y, image] = pixel(first + (i / CHANNELS) as i32);
                let at =
                    [channel + (i % CHANNELS) as i32, x + i32::from(tap[0]), y + i32::from(tap[1]), image];
                let inside = at.iter().zip(DIMS).all(|(&at, dim)| (0..dim as i32).contains(&at));
                let index = at.iter().zip(DIMS).rev().fold(0, |index, (&at, dim)| index * dim as i32 + at);
                if inside { index as u32 + 1 } else { 0 }
            };
            let expected: Vec<u32> = (0..CHANNELS * PIXELS).map(value).collect();
            assert_eq!(words(&found), expected, "pad {pad}, stride {stride}, from {first}, tap {tap:?}");
        }
    }
}

#[test]
fn the_mode_of_the_map_is_that_of_the_copy() {
    let (mut memory, [out, at, tensor]) = memory([0; 4], [0; 2]);
    let im2col = map(tensor, 0, 1);
    let tiled = TensorMap {
        ty: im2col.ty,
        address: tensor,
        dims: im2col.dims.clone(),
        strides: im2col.strides.clone(),
        tile: vec![8, 6, 4, 1],
        element_strides: vec![1; 4],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    };
    let (tiled, im2col) = (Arg::try_from(&tiled).expect("valid"), Arg::try_from(&im2col).expect("valid"));
    let mut run = |mode: &str, offsets: &str, map: &Arg| {
        let args = [out.into(), at.into(), map.clone()];
        let module = parse(&load(mode, offsets));
        Sim::new().launch(&module, "k", &one_block(192), &args, &mut memory).map(|_| ())
    };
    run("tile", "", &tiled).expect("both in tile mode");
    let error = run("im2col", ", {1, 2}", &tiled).expect_err("a tiled map");
    assert_eq!(error.kind(), Some(FindingKind::InvalidDescriptor));
    assert_eq!(
        run("tile", "", &im2col).expect_err("an im2col map").kind(),
        Some(FindingKind::InvalidDescriptor)
    );
}

/// Stores pixels from the coordinates in `at`; element i of the tile is 1000 + i.
fn store() -> String {
    kernel(
        ".param .u64 at, .param .align 64 .b8 map[128]",
        &format!(
            ".reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p<3>; .shared .align 128 .b8 tile[{}];
            mov.u64 %rd2, map; cvta.param.u64 %rd2, %rd2; mov.u32 %r0, %tid.x; mov.u32 %r6, tile;
            mad.lo.u32 %r6, %r0, 4, %r6; add.u32 %r1, %r0, 1000; st.shared.u32 [%r6], %r1;
            fence.proxy.async; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 bra E;
            ld.param.u64 %rd1, [at]; ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd1];
            cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {{%r2, %r3, %r4, %r5}}], [tile];
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E: ret;",
            4 * CHANNELS * PIXELS
        ),
    )
}

#[test]
fn columns_are_stored_without_offsets() {
    // The bounding box has columns 1 to 5 and rows 0 to 3; the copy crosses images.
    let inner =
        |tensor| Im2colMap { lower_corner: vec![1, 0], upper_corner: vec![-1, -1], ..map(tensor, 0, 1) };
    let (mut memory, [_, at, tensor]) = memory([8, 4, 2, 1], [0; 2]);
    let args = [at.into(), Arg::try_from(&inner(tensor)).expect("a valid map")];
    let report = Sim::new().launch(&parse(&store()), "k", &one_block(192), &args, &mut memory);
    report.unwrap_or_else(|e| panic!("{e}")).assert_clean();
    let elements: usize = DIMS.iter().product();
    let mut found = vec![0; 4 * elements];
    memory.read(tensor, &mut found).expect("in bounds");
    let mut expected: Vec<u32> = (1..=elements as u32).collect();
    for i in 0..CHANNELS * PIXELS {
        // Numbered from the first pixel of the bounding box of image 0, with 5 columns and 4 rows per image; the first is (4, 2, 1).
        let pixel = 20 + 2 * 5 + 3 + i / CHANNELS;
        let at = [8 + i % CHANNELS, 1 + pixel % 5, pixel / 5 % 4, pixel / 20];
        if at[3] < DIMS[3] {
            let index = at.iter().zip(DIMS).rev().fold(0, |index, (&at, dim)| index * dim + at);
            expected[index] = 1000 + i as u32;
        }
    }
    assert_eq!(words(&found), expected);
}

#[test]
fn copies_start_in_the_bounding_box_and_stores_stay_in_the_images() {
    let run = |text: &str, loads: bool, pad: i32, start: [i32; 3]| {
        let (mut memory, [out, at, tensor]) = memory([0, start[0], start[1], start[2]], [0; 2]);
        let mut args = vec![at.into(), Arg::try_from(&map(tensor, pad, 1)).expect("a valid map")];
        if loads {
            args.insert(0, out.into());
        }
        let report = Sim::new().launch(&parse(text), "k", &one_block(192), &args, &mut memory);
        report.err().and_then(|error| error.kind())
    };
    let (load, store) = (load("im2col", ", {0, 0}"), store());
    // With a padding of 1, columns -1 to 5 and rows -1 to 3; otherwise, columns 0 to 4 and rows 0 to 2.
    let illegal = Some(FindingKind::InvalidOperand);
    for (pad, start, loaded, stored) in [
        (1, [-1, -1, 0], None, Some(FindingKind::InvalidDescriptor)),
        (1, [5, 3, 0], None, Some(FindingKind::InvalidDescriptor)),
        (1, [6, 0, 0], illegal, Some(FindingKind::InvalidDescriptor)),
        (0, [4, 2, 2], None, None),
        (0, [5, 2, 2], illegal, illegal),
        (0, [-1, 0, 0], illegal, illegal),
        (0, [0, 3, 0], illegal, illegal),
        (0, [0, 0, 3], None, None),
        (0, [0, 0, -1], None, illegal),
    ] {
        assert_eq!(run(&load, true, pad, start), loaded, "a load from {start:?}, padding {pad}");
        assert_eq!(run(&store, false, pad, start), stored, "a store from {start:?}, padding {pad}");
    }
}
