//! Copies between shared memory and registers by `ldmatrix` and `stmatrix`: those requested, and those that `copy` selects.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::MmaOperand,
    layout::{Layout, Swizzle},
    prelude::*,
    ptx::{Read, Write},
    run::Device,
    tensor::{Fragment, SharedLayout, Tensor, TensorElement, copy, load_matrices, store_matrices},
};

use crate::devices::all;

use super::support::count;

/// From shared memory by `ldmatrix` to registers, and from there to global memory: nothing is lost or moved.
fn matrices_through_registers(atom: &str, threads: &str, values: &str, tensor: &str) {
    type Args = (In<bf16>, Out<bf16>);
    let kernel = Kernel::<Args>::build("round(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let layout = k.layout(tensor);
        let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
        let tile = k.shared_tensor::<bf16>(&layout);
        let lanes = k.layout("32:1");
        let flat = x.compose(k.layout(&format!("{0}:1", layout.size()))).local_partition(&lanes, k.tid_x());
        let flat_tile =
            tile.compose(k.layout(&format!("{0}:1", layout.size()))).local_partition(&lanes, k.tid_x());
        let tile =
            copy(&flat_tile, &flat).wait().compose(Layout::column_major(layout.shape().clone()).unwrap());
        let tiled = k.tiled_copy::<bf16>(atom, threads, values);
        let part = tiled.thread(k.tid_x());
        let (from, to) = (part.partition_s(&tile), part.partition_d(&y));
        let held = k.fragment_of_shape::<bf16>(to.shape());
        load_matrices(&tiled, &held, &from);
        copy(&to, &held);
    });
    let kernel = kernel.unwrap();
    assert!(count(&kernel, "ldmatrix") > 0);
    let size = tensor.parse::<Layout>().unwrap().size() as usize;
    let x: Vec<bf16> = (0..size).map(|i| bf16::from_bits(i as u16)).collect();
    for device in all() {
        let (from, mut to) = (device.upload(&x).unwrap(), device.output::<bf16>(size).unwrap());
        device.launch(&kernel, (&from, &mut to)).unwrap();
        assert_eq!(device.download(&to).unwrap(), x, "{atom}");
    }
}

#[test]
fn ldmatrix_round_trips() {
    for atom in ["SM75_U32x1_LDSM_N", "SM75_U32x2_LDSM_N", "SM75_U32x4_LDSM_N"] {
        matrices_through_registers(atom, "(16,2):(1,16)", "(2,4):(1,2)", "(32,32):(1,32)");
    }
    for (atom, values) in [("SM75_U16x2_LDSM_T", 2), ("SM75_U16x4_LDSM_T", 4), ("SM75_U16x8_LDSM_T", 8)] {
        let values = format!("({values},1):(1,0)");
        matrices_through_registers(atom, "(4,8):(1,4)", &values, "(32,32):(32,1)");
    }
}

#[test]
fn stmatrix_inverts_ldmatrix() {
    type Args = (In<bf16>, Out<bf16>);
    let kernel = Kernel::<Args>::build("matrices(x, y)", Target::SM_90, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let layout = k.layout("(32,32):(1,32)");
        let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
        let tile = k.shared_tensor::<bf16>(SharedLayout::swizzled(layout, Swizzle::BYTES_64));
        let tiled = k.tiled_copy::<bf16>("SM90_U32x4_STSM_N", "(16,2):(1,16)", "(2,4):(1,2)");
        let part = tiled.thread(k.tid_x());
        let from = part.partition_s(&x);
        let held = k.fragment_of_shape::<bf16>(from.shape());
        copy(&held, &from);
        let tile = store_matrices(&tiled, &part.partition_d(&tile), &held).wait();
        copy(&y.slice((.., k.tid_x())), &tile.slice((.., k.tid_x())));
    });
    let kernel = kernel.unwrap();
    assert_eq!(count(&kernel, "stmatrix"), 4);
    let x: Vec<bf16> = (0..1024).map(bf16::from_bits).collect();
    for device in all() {
        let (from, mut to) = (device.upload(&x).unwrap(), device.output::<bf16>(1024).unwrap());
        device.launch(&kernel, (&from, &mut to)).unwrap();
        assert_eq!(device.download(&to).unwrap(), x);
    }
}

/// An operand of a tiled product in shared memory.
#[derive(Clone, Copy)]
struct InShared {
    target: Target,
    atom: &'static str,
    /// Extents of the tile of two warps side by side along M: past one instruction for each, values repeat.
    tile: (i64, i64, i64),
    operand: MmaOperand,
    layout: &'static str,
    swizzle: Swizzle,
}

const A: InShared = InShared {
    target: Target::SM_90,
    atom: "SM80_16x8x16_F32BF16BF16F32_TN",
    tile: (32, 8, 16),
    operand: MmaOperand::A,
    layout: "(64,32):(32,1)",
    swizzle: Swizzle::BYTES_64,
};
const B: InShared = InShared { tile: (32, 16, 16), operand: MmaOperand::B, ..A };
const C: InShared = InShared { tile: (32, 16, 16), operand: MmaOperand::C, ..A };

/// The traversal of an operand's rest modes.
#[derive(Clone, Copy, PartialEq)]
enum Walk {
    AtOnce,
    /// The last mode slice by slice.
    Sliced,
    /// The last mode in an emitted loop.
    Looped,
}

/// Copies the operand from shared memory to registers, and from there to y.
fn walk<'k, T: TensorElement>(
    k: Builder<'k>,
    walk: Walk,
    shared: &Tensor<'k, Shared, T, Read>,
    held: &Fragment<'k, T>,
    y: &Tensor<'k, Global, T, Write>,
) {
    let steps = shared.size_of(2);
    match walk {
        Walk::AtOnce => {
            copy(held, shared);
            copy(y, held);
        }
        Walk::Sliced => {
            (0..steps).for_each(|step| copy(&held.slice((.., .., step)), &shared.slice((.., .., step))));
            copy(y, held);
        }
        Walk::Looped => k.for_(0..steps as u32, |step| {
            let one = held.slice((.., .., 0));
            copy(&one, &shared.slice((.., .., step)));
            copy(&y.slice((.., .., step)), &one);
        }),
    }
}

impl InShared {
    /// Copies x through shared memory and registers to y. Checks that y equals x, and the numbers of emitted instructions.
    #[track_caller]
    fn loads<T: TensorElement + PartialEq + std::fmt::Debug>(
        &self,
        way: Walk,
        values: impl Fn(usize) -> T,
        instructions: &[(&str, usize)],
    ) {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("loads(x, y)", self.target, |k, (x, y)| {
            k.block([64]);
            k.grid([1]);
            let layout = k.layout(self.layout);
            let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
            let tile = k.shared_tensor::<T>(SharedLayout::swizzled(layout, self.swizzle));
            let (rows, thread) = (k.layout("(64,1):(1,0)"), k.tid_x());
            let tile = copy(&tile.local_partition(&rows, thread), &x.local_partition(&rows, thread)).wait();
            let mma = k.tiled_mma(self.atom, "(2,1,1):(1,2,2)", self.tile);
            let part = mma.thread(k, thread);
            let shared = part.partition(self.operand, &tile);
            let y = part.partition(self.operand, &y);
            walk(k, way, &shared, &part.fragment_like(self.operand, &shared), &y);
        });
        passes(&kernel.unwrap(), self.layout, values, instructions);
    }

    /// Copies x through registers and shared memory to y, with the same checks.
    #[track_caller]
    fn stores(&self, instructions: &[(&str, usize)]) {
        let kernel = Kernel::<(In<u16>, Out<u16>)>::build("stores(x, y)", self.target, |k, (x, y)| {
            k.block([64]);
            k.grid([1]);
            let layout = k.layout(self.layout);
            let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
            let tile = k.shared_tensor::<u16>(SharedLayout::swizzled(layout, self.swizzle));
            let (rows, thread) = (k.layout("(64,1):(1,0)"), k.tid_x());
            let mma = k.tiled_mma(self.atom, "(2,1,1):(1,2,2)", self.tile);
            let part = mma.thread(k, thread);
            let x = part.partition(self.operand, &x);
            let held = k.fragment_of_shape::<u16>(x.shape().clone());
            copy(&held, &x);
            let tile = copy(&part.partition(self.operand, &tile), &held).wait();
            copy(&y.local_partition(&rows, thread), &tile.local_partition(&rows, thread));
        });
        passes(&kernel.unwrap(), self.layout, |i| i as u16, instructions);
    }
}

#[track_caller]
fn passes<T: TensorElement + PartialEq + std::fmt::Debug>(
    kernel: &Kernel<(In<T>, Out<T>)>,
    layout: &str,
    values: impl Fn(usize) -> T,
    instructions: &[(&str, usize)],
) {
    for &(instruction, times) in instructions {
        assert_eq!(count(kernel, instruction), times, "{instruction} in\n{}", kernel.ptx());
    }
    let layout: Layout = layout.parse().unwrap();
    let x: Vec<T> = (0..layout.cosize() as usize).map(values).collect();
    for device in all() {
        let (from, mut to) = (device.upload(&x).unwrap(), device.upload(&x[..1].repeat(x.len())).unwrap());
        device.launch(kernel, (&from, &mut to)).unwrap();
        let found = device.download(&to).unwrap();
        for at in layout.values() {
            assert_eq!(found[at as usize], x[at as usize], "at {at}");
        }
    }
}

/// `ldmatrix` of this many matrices.
const LDMATRIX: [&str; 3] =
    ["ldmatrix.sync.aligned.m8n8.x1", "ldmatrix.sync.aligned.m8n8.x2", "ldmatrix.sync.aligned.m8n8.x4"];

#[test]
fn copy_loads_operands_with_ldmatrix() {
    let half = |i| i as u16;
    let [_, x2, x4] = LDMATRIX;
    let trans = "ldmatrix.sync.aligned.m8n8.x4.trans";
    // 64×32 by tiles of 32×16: two along M, two along K.
    A.loads(Walk::AtOnce, half, &[(x4, 4), ("ld.shared", 0)]);
    A.loads(Walk::Sliced, half, &[(x4, 4), ("ld.shared", 0)]);
    A.loads(Walk::Looped, half, &[(x4, 2), ("ld.shared", 0)]);
    // 64×32 by tiles of 16×16 and 8×16.
    B.loads(Walk::AtOnce, half, &[(x4, 8), ("ld.shared", 0)]);
    B.loads(Walk::Looped, half, &[(x4, 4), ("ld.shared", 0)]);
    // Neighboring instructions share one: each alone needs two matrices.
    InShared { tile: A.tile, ..B }.loads(Walk::AtOnce, half, &[(x4, 8), (x2, 0), ("ld.shared", 0)]);
    // M and N side by side.
    let columns = "(64,32):(1,64)";
    let swizzle = Swizzle::BYTES_128;
    InShared { layout: columns, swizzle, ..A }.loads(Walk::AtOnce, half, &[(trans, 4), ("ld.shared", 0)]);
    InShared { layout: columns, swizzle, ..B }.loads(Walk::Sliced, half, &[(trans, 8), ("ld.shared", 0)]);
    // Rows padded to an odd number of 16 bytes.
    let padded = InShared { layout: "(64,32):(40,1)", swizzle: Swizzle::NONE, ..A };
    padded.loads(Walk::Looped, half, &[(x4, 2), ("ld.shared", 0)]);
}

#[test]
fn copy_loads_operands_of_other_widths_with_ldmatrix() {
    let [.., x4] = LDMATRIX;
    let tf32 = InShared {
        atom: "SM80_16x8x8_F32TF32TF32F32_TN",
        tile: (32, 8, 8),
        swizzle: Swizzle::BYTES_128,
        ..A
    };
    tf32.loads(Walk::AtOnce, |i| i as u32, &[(x4, 8), ("ld.shared", 0)]);
    let bytes =
        InShared { atom: "SM80_16x8x32_S32U8U8S32_TN", tile: (32, 8, 32), swizzle: Swizzle::NONE, ..A };
    bytes.loads(Walk::AtOnce, |i| (i % 251) as u8, &[(x4, 2), ("ld.shared", 0)]);
}

#[test]
fn copy_loads_other_layouts_with_plain_loads() {
    let half = |i| i as u16;
    let without = [("ldmatrix", 0)];
    // Rows not aligned to 16 bytes.
    InShared { layout: "(64,32):(34,1)", swizzle: Swizzle::NONE, ..A }.loads(Walk::AtOnce, half, &without);
    // No row has 16 bytes side by side.
    InShared { layout: "(64,(4,8)):(4,(1,256))", swizzle: Swizzle::NONE, ..A }.loads(
        Walk::Sliced,
        half,
        &without,
    );
    // Only 16-bit elements can be transposed.
    let tf32 =
        InShared { atom: "SM80_16x8x8_F32TF32TF32F32_TN", tile: (32, 8, 8), swizzle: Swizzle::NONE, ..A };
    InShared { layout: "(64,32):(1,64)", ..tf32 }.loads(Walk::AtOnce, |i| i as u32, &without);
}

#[test]
fn copy_stores_operands_with_stmatrix() {
    let [x2, x4, trans] = ["x2", "x4", "x4.trans"].map(|count| format!("stmatrix.sync.aligned.m8n8.{count}"));
    C.stores(&[(&x4, 4), ("st.shared", 0)]);
    InShared { tile: A.tile, ..C }.stores(&[(&x4, 4), (&x2, 0), ("st.shared", 0)]);
    InShared { layout: "(64,32):(1,64)", swizzle: Swizzle::BYTES_128, ..C }
        .stores(&[(&trans, 4), ("st.shared", 0)]);
    A.stores(&[(&x4, 4), ("st.shared", 0)]);
    InShared { target: Target::SM_80, ..C }.stores(&[("stmatrix", 0), ("st.shared.b32", 16)]);
}

/// On sm_75, lanes that provide no row must provide valid addresses, too: here, nothing follows the matrices in shared memory.
#[test]
fn one_and_two_matrices_on_sm_75() {
    for (operand, rows, instruction) in [(MmaOperand::A, 16, LDMATRIX[1]), (MmaOperand::B, 8, LDMATRIX[0])] {
        let kernel = Kernel::<(In<f16>, Out<f16>)>::build("few(x, y)", Target::SM_75, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let layout = Layout::row_major((rows, 8)).unwrap();
            let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
            let lanes = Layout::row_major((8, 4)).unwrap();
            let tile = k.shared_tensor::<f16>(&layout);
            let tile =
                copy(&tile.local_partition(&lanes, k.tid_x()), &x.local_partition(&lanes, k.tid_x())).wait();
            let mma = k.tiled_mma("SM75_16x8x8_F32F16F16F32_TN", "(1,1,1):(0,0,0)", ..);
            let part = mma.thread(k, k.tid_x());
            copy(&part.partition(operand, &y), &part.load(operand, &tile));
        });
        passes(
            &kernel.unwrap(),
            &format!("({rows},8):(8,1)"),
            |i| f16::from_bits(i as u16),
            &[(instruction, 1)],
        );
    }
}

/// A lane's part of a tensor in shared memory, as elements of another type: it starts at the lane's elements.
#[test]
fn parts_as_elements_of_another_type() {
    type Args = (In<u16>, Out<u32>, Out<u32>);
    let kernel = Kernel::<Args>::build("words(x, y, z)", Target::SM_80, |k, (x, y, z)| {
        k.block([32]);
        k.grid([1]);
        let layout = k.layout("(16,16):(16,1)");
        let (x, tile) = (k.tensor_with_layout(x, &layout), k.shared_tensor::<u16>(&layout));
        let mma = k.tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(1,1,1):(0,0,0)", ..);
        let part = mma.thread(k, k.tid_x());
        let own = part.partition_a(&x);
        let held = part.fragment_like(MmaOperand::A, &own);
        copy(&held, &own);
        let tile = copy(&part.partition_a(&tile).recast::<u32>(), &held.recast::<u32>()).wait();
        let (y, lanes) = (k.tensor_with_layout(y, &k.layout("(16,8):(8,1)")), k.layout("(16,2):(2,1)"));
        copy(&y.local_partition(&lanes, k.tid_x()), &tile.local_partition(&lanes, k.tid_x()));
        let words = k.fragment_of_shape::<u32>(4);
        copy(&words, &part.partition_a(&tile.recast::<u16>()).recast::<u32>());
        copy(&k.tensor_with_layout(z, &k.layout("(32,4):(4,1)")).slice((k.tid_x(), ..)), &words);
    });
    let kernel = kernel.unwrap();
    let x: Vec<u16> = (0..256).collect();
    let words: Vec<u32> = x.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 16).collect();
    for device in all() {
        let from = device.upload(&x).unwrap();
        let [mut y, mut z] = [(); 2].map(|()| device.output::<u32>(128).unwrap());
        device.launch(&kernel, (&from, &mut y, &mut z)).unwrap();
        assert_eq!(device.download(&y).unwrap(), words);
        let of_lane =
            |lane: usize, value: usize| words[(lane / 4 + value % 2 * 8) * 8 + lane % 4 + value / 2 * 4];
        let expected: Vec<u32> = (0..128).map(|at| of_lane(at / 4, at % 4)).collect();
        assert_eq!(device.download(&z).unwrap(), expected);
    }
}

/// The index of the thread is not the lane, so the lanes of a warp do not move matrices together.
#[test]
fn threads_that_are_not_lanes() {
    type Thread = for<'k> fn(Builder<'k>) -> Val<'k, u32>;
    type Index = fn(usize) -> usize;
    let threads: [(&str, [u32; 2], Thread, Index, usize); 7] = [
        ("y", [4, 32], |k| k.tid_y(), |thread| thread / 4, 0),
        ("constant", [32, 1], |_| 5.into(), |_| 5, 0),
        ("reversed", [32, 1], |k| k.tid_x() ^ 31, |thread| 31 - thread, 0),
        ("x of 16", [16, 2], |k| (k.tid_x() | 32) & 31, |thread| thread % 16, 0),
        ("x", [32, 2], |k| k.tid_x(), |thread| thread % 32, 1),
        ("lane", [16, 4], |k| k.laneid(), |thread| thread % 32, 1),
        ("rest", [128, 1], |k| (k.tid_x() + 64) & 31, |thread| thread % 32, 1),
    ];
    for (name, block, thread, index, matrices) in threads {
        let kernel = Kernel::<(In<f32>, Out<f32>)>::build("threads(x, y)", Target::SM_80, |k, (x, y)| {
            k.block(block);
            k.grid([1]);
            let layout = k.layout("(8,4):(4,1)");
            let x = k.tensor_with_layout(x, &layout);
            let tile = k.shared_tensor::<f32>(&layout).unchecked();
            let own = k.tid_x() + k.tid_y() * block[0];
            k.if_(own.lt(32), || drop(copy(&tile.slice(own), &x.slice(own)).wait_own()));
            k.sync_threads();
            let tiled = k.tiled_copy::<f32>("UniversalCopy<u32>", "(8,4):(4,1)", "(1,1):(0,0)");
            let held = k.fragment_of_shape::<f32>(1);
            let part = tiled.thread(thread(k)).partition_s(&tile);
            copy(&held, &part.compose(k.layout("1:1")));
            k.slice(y, block.iter().product::<u32>()).at(own).store(held.get(0));
        });
        let kernel = kernel.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(count(&kernel, "ldmatrix"), matrices, "{name}");
        let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
        let size = block.iter().product::<u32>() as usize;
        for device in all() {
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(size).unwrap());
            device.launch(&kernel, (&from, &mut to)).unwrap();
            let expected: Vec<f32> = (0..size).map(|thread| x[index(thread)]).collect();
            assert_eq!(device.download(&to).unwrap(), expected, "{name}");
        }
    }
}
