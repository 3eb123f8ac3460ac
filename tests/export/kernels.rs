//! Kernels that cover the features of a header.
#![allow(unsafe_code, reason = "a kernel of plain pointers, whose manifest counts them")]

use warpwright::{
    prelude::*,
    ptx::{Dim, Hints, Module, TensorMap, Variable},
};

/// A grid of three extents, an assumption, dynamic shared memory.
pub(super) fn scale() -> Kernel<(In<f32>, Out<f32>, u32, f32)> {
    Kernel::<(In<f32>, Out<f32>, u32, f32)>::build(
        "scale(x, y, n, by)",
        Target::SM_90A,
        |k, (x, y, n, by)| {
            k.describe("y = x * by\n/* and a comment that ends */ here: “quoted”, 100%");
            k.block([128]);
            k.grid([n.tiles(128), n.multiple_of(4).tiles(32), Dim::Const(2)]);
            let slow = k.shared::<f32>(16 << 10);
            let i = k.ctaid_x() * 128 + k.tid_x();
            k.if_(i.lt(n), || {
                slow.at(k.tid_x()).store(unsafe { x.at(i).load() });
                unsafe { y.at(i).store(slow.at(k.tid_x()).load() * by) };
            });
        },
    )
    .expect("it builds")
}

/// No parameters, no block, no grid.
pub(super) fn bare() -> Kernel<()> {
    Kernel::build("bare", Target::SM_75, |_, ()| ()).expect("it builds")
}

type Scalars = (u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64);

/// Every scalar type, with reserved words as names.
pub(super) fn scalars() -> Kernel<Scalars> {
    let signature = "int(int, class, NULL, linux, template, restrict, driver, args, grid, copy)";
    Kernel::<Scalars>::build(signature, Target::SM_80, |k, (_, _, c, d, e, ..)| {
        k.max_block([256]);
        k.min_blocks(2);
        k.max_registers(64);
        d.multiple_of(3);
        let c = c.at_most(100);
        e.multiple_of(2).multiple_of(3);
        k.grid([c.tiles(7) * e.tiles(2), Dim::Const(1)]);
    })
    .expect("it builds")
}

/// A block shape without a grid rule.
pub(super) fn gridless() -> Kernel<(InOut<bf16>,)> {
    Kernel::build("gridless(values)", Target::SM_90, |k, _| _ = k.block([8, 4])).expect("it builds")
}

/// Blocks in clusters.
pub(super) fn clustered() -> Kernel<(u32, u32)> {
    Kernel::<(u32, u32)>::build("clustered(m, n)", Target::SM_90, |k, (m, n)| {
        k.block([32]);
        k.cluster([2, 2]);
        k.grid([m.tiles(1), n.tiles(1)]);
    })
    .expect("it builds")
}

type Views = (In<f32>, Out<u16>, InOut<f32>, u32, u32, u64);

/// Buffers with extents: two views of one, sizes of 32 and 64 bits, a product computed in 32 bits.
pub(super) fn views() -> Kernel<Views> {
    Kernel::<Views>::build("views(x, y, z, m, n, big)", Target::SM_80, |k, (x, y, z, m, n, _)| {
        k.describe("Z = X·Zᵀ");
        k.block([32]);
        k.grid([m.tiles(32)]);
        k.tensor(x, [m, n], [n, 1.into()]);
        k.tensor(y, [m * n], [2.into()]);
        k.tensor(z, [m, 4.into()], [8.into(), 1.into()]);
        k.tensor(z, [n], [1.into()]);
    })
    .expect("it builds")
}

type Mapped = (TensorMap<In<bf16>>, Out<u32>, TensorMap<InOut<f32>>, u32);

/// Tensor maps in addition to a buffer and a number.
pub(super) fn mapped() -> Kernel<Mapped> {
    Kernel::<Mapped>::build("mapped(tiles, y, sums, n)", Target::SM_90, |k, (tiles, _, sums, _)| {
        k.block([32]);
        k.grid([Dim::Const(1)]);
        tiles.prefetch_descriptor();
        sums.prefetch([0, 0], Hints::default());
    })
    .expect("it builds")
}

/// Two kernels that share a variable.
pub(super) fn module() -> Module {
    let state = Variable::<u32, _>::zeroed("state", 4);
    let kernel = |name: &str| {
        Kernel::<(u32,)>::build(name, Target::SM_80, |k, (x,)| {
            k.block([32]);
            k.grid([Dim::Const(1)]);
            k.variable(&state).at(k.tid_x() & 3u32).store(x);
        })
        .expect("it builds")
    };
    let mut module = Module::new(Target::SM_80);
    module.add(&kernel("first(x)")).and_then(|m| m.add(&kernel("second(y)"))).expect("they fit together");
    module
}
