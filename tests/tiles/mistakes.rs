//! Bugs that the compiler cannot detect: each is an error with the Rust line that caused it.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{self, BuildError, BuildErrorKind, Params},
    tiles::Swizzle128,
};

/// Builds a kernel that must be rejected; the error's line must be `line`.
fn refused<A: Params>(
    target: Target,
    line: u32,
    write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>),
) -> (String, BuildErrorKind) {
    let error: BuildError =
        Kernel::<A>::build("mistake", target, write).expect_err("the kernel must be refused");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line), "{error}");
    (error.to_string(), error.kind().clone())
}

#[test]
fn a_shared_tile_needs_the_blocks_shape() {
    let (text, _) = refused::<(In<bf16>,)>(Target::SM_80, line!() + 2, |k, (a,)| {
        let a = k.global(a, row_major(16, 16));
        let _ = k.shared_tile::<St<bf16, 1, 1>>().fill(a.tile(0, 0));
    });
    assert!(text.ends_with("scopes require the block's shape: call `block` first"), "{text}");
}

#[test]
fn a_swizzle_must_divide_the_row() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 1, |k, ()| {
        k.shared_tile::<St<bf16, 1, 3, Swizzle128>>();
    });
    assert!(text.contains("rows of 96 bytes cannot have a swizzle of 128"), "{text}");
}

#[test]
fn a_rectangle_stays_in_its_tile() {
    let (text, _) = refused::<(In<bf16>,)>(Target::SM_80, line!() + 4, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(32, 32));
        let tile = k.shared_tile::<St<bf16, 2, 2>>().fill(a.tile(0, 0)).wait();
        let _: Rt<bf16, 2, 1> = tile.subtile(1, 0).load();
    });
    assert!(text.contains("2×1 subtiles reaches past the edge"), "{text}");
}

#[test]
fn warps_must_make_up_the_block() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 2, |k, ()| {
        k.block([96]);
        k.warp_grid(2, 2);
    });
    assert!(text.contains("2×2 warps is 128 threads, but the block has 96"), "{text}");
}

#[test]
fn bf16_products_need_sm_80() {
    let (_, kind) = refused::<()>(Target::SM_75, line!() + 2, |k, ()| {
        let (a, b) = (k.zeros::<Rt<bf16, 1, 1>>(), k.zeros::<Rt<bf16, 1, 1, Col>>());
        let _ = k.zeros::<Rt<f32, 1, 1>>().mma_ab(&a, &b);
    });
    let BuildErrorKind::Unsupported { mnemonic, lowest, target, .. } = kind else { panic!("{kind}") };
    assert_eq!(mnemonic, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
    assert_eq!((lowest, target), (Target::SM_80, Target::SM_75));
}

#[test]
fn a_pipeline_must_fit_into_shared_memory() {
    let kernel = Kernel::<()>::build("large", Target::SM_80, |k, ()| {
        k.pipeline::<(St<f32, 8, 8>,), 3>();
    });
    let error = kernel.expect_err("192 KiB do not fit");
    let most = 163 << 10;
    assert_eq!(
        *error.kind(),
        BuildErrorKind::TooMuchShared { bytes: 192 << 10, most, target: Target::SM_80 }
    );
}

/// A handle to an accumulator's register, used after the product was summed into it.
#[test]
fn an_overwritten_register_is_not_read() {
    let (_, kind) = refused::<(Out<f32>,)>(Target::SM_80, line!() + 5, |k, (y,)| {
        let (a, b) = (k.zeros::<Rt<bf16, 1, 1>>(), k.zeros::<Rt<bf16, 1, 1, Col>>());
        let sum = k.zeros::<Rt<f32, 1, 1>>();
        let before = sum.registers()[0];
        let _sum = sum.mma_ab(&a, &b);
        k.slice(y, 1).at(0).store(before);
    });
    assert!(matches!(kind, BuildErrorKind::Overwritten { .. }), "{kind}");
}

/// A tile created inside a loop and used after it.
#[test]
fn a_tile_stays_in_its_block() {
    let (_, kind) = refused::<(Out<f32>,)>(Target::SM_80, line!() + 3, |k, (y,)| {
        let mut kept = None;
        k.for_(4u32, |_| kept = Some(k.zeros::<Rt<f32, 1, 1>>()));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&kept.unwrap());
    });
    assert!(matches!(kind, BuildErrorKind::NotDominated { .. }), "{kind}");
}

/// A product accumulated in place inside a loop, into a tile that the loop does not carry: it would add up over the iterations.
#[test]
fn an_accumulator_is_the_loops_state() {
    let (_, kind) = refused::<()>(Target::SM_80, line!() + 4, |k, ()| {
        let (a, b) = (k.zeros::<Rt<bf16, 1, 1>>(), k.zeros::<Rt<bf16, 1, 1, Col>>());
        let sum = k.zeros::<Rt<f32, 1, 1>>();
        k.for_(4u32, |_| {
            let _ = sum.mma_ab(&a, &b);
        });
    });
    assert!(matches!(kind, BuildErrorKind::NotCarried { .. }), "{kind}");
}

#[test]
fn a_loop_goes_forward() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 1, |k, ()| {
        k.for_(Steps::new(0u32, 4u32).by(0u32), |_| {});
    });
    assert!(text.contains("a loop's step must be above 0, but it is 0"), "{text}");
}

#[test]
fn two_warps_do_not_store_to_one_tile() {
    fn double<'k>(row: Val<'k, u32>, x: &Gl<'k, f32, ptx::ReadWrite>) {
        let tile: Rt<f32, 1, 1> = Rt::load(x.tile(row, 0));
        x.tile(row, 0).store(&(&tile + &tile));
    }
    let (text, _) = refused::<(InOut<f32>,)>(Target::SM_80, line!() + 5, |k, (x,)| {
        k.block([64]);
        let x = k.global(x, row_major(16, 16));
        let tile: Rt<f32, 1, 1> = Rt::load(x.tile(k.ctaid_x(), 0));
        // Each of the two warps would double the result.
        x.tile(k.ctaid_x(), 0).store(&(&tile + &tile));
    });
    assert!(text.contains("all warps of the block store to the same tile"), "{text}");
    let kernel = Kernel::<(InOut<f32>,)>::build("rows", Target::SM_80, |k, (x,)| {
        k.block([64]);
        let x = k.global(x, row_major(64, 16));
        double(k.ctaid_x() * 2 + k.warp(), &x);
        k.when_warp(1, |_| double(k.ctaid_x(), &x));
    });
    assert!(kernel.is_ok(), "{kernel:?}");
}

#[test]
fn the_lanes_of_a_warp_address_one_tile() {
    let (text, _) = refused::<(In<f32>,)>(Target::SM_80, line!() + 3, |k, (x,)| {
        k.block([32]);
        let x = k.global(x, row_major(512, 16));
        let _: Rt<f32, 1, 1> = Rt::load(x.tile(k.tid_x(), 0));
    });
    assert!(text.contains("expected the same tile for all lanes of a warp"), "{text}");
}

#[test]
fn a_register_of_a_tile_is_not_read_after_the_tile_was_written() {
    let (_, kind) = refused::<(Out<f32>,)>(Target::SM_80, line!() + 6, |k, (out,)| {
        k.block([32]);
        let tile = k.zeros::<Rt<f32, 1, 1>>();
        let stale = tile.registers()[0];
        let fragment = tile.into_fragment();
        fragment.set(0, 1.0);
        let doubled = stale * 2.0;
        let _ = (out, doubled);
    });
    assert!(matches!(kind, BuildErrorKind::Overwritten { .. }), "{kind:?}");
}

#[test]
fn the_block_does_not_wait_under_a_condition_of_threads() {
    let (text, kind) = refused::<(In<bf16>,)>(Target::SM_80, line!() + 5, |k, (a,)| {
        k.block([64]);
        let a = k.global(a, row_major(16, 16));
        let pending = k.shared_tile::<St<bf16, 1, 1>>().fill(a.tile(0, 0));
        k.if_(k.tid_x().lt(32), || {
            let _ = pending.wait();
        });
    });
    assert!(matches!(kind, BuildErrorKind::Divergent { .. }), "{text}");
}
