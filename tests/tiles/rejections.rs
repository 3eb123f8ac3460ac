//! Bugs that the compiler cannot detect: each is an error with the Rust line that caused it.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{self, BuildError, BuildErrorKind, Params},
    run::{Device, Simulator},
    tensor::copy,
    tiles::{Filled, Orthogonal, Swizzle128},
};

/// Builds a kernel that must be rejected; the error's line must be `line`.
fn refused<A: Params>(
    target: Target,
    line: u32,
    write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>),
) -> (String, BuildErrorKind) {
    let error: BuildError =
        Kernel::<A>::build("rejected", target, write).expect_err("the kernel must be refused");
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

/// Waiting for the copies to one tile does not make another one readable.
#[test]
fn copies_to_another_tile_do_not_fill_a_tile() {
    let (text, _) = refused::<(In<f32>,)>(Target::SM_80, line!() + 7, |k, (x,)| {
        k.block([32]);
        k.grid([1]);
        let x = k.global(x, row_major(32, 32));
        let [filled, other] = [(); 2].map(|()| k.shared_tile::<St<f32, 2, 2>>());
        let to = filled.tensor().slice((k.tid_x(), ..));
        let pending = copy(&to, &x.tensor().local_tile((32, 32), (0, 0)).slice((k.tid_x(), ..)));
        let _ = other.written(pending).wait();
    });
    assert!(
        text.ends_with("expected copies to the tensor of this tile, found copies to another tensor"),
        "{text}"
    );
    let (text, _) = refused::<(In<f32>,)>(Target::SM_80, line!() + 6, |k, (x,)| {
        k.block([32]);
        k.grid([1]);
        let x = k.global(x, vector(32));
        let [filled, other] = [(); 2].map(|()| k.shared_tile::<Sv<f32, 2>>());
        let pending = copy(&filled.tensor(), &x.tensor());
        let _ = other.written(pending).wait();
    });
    assert!(
        text.ends_with("expected copies to the tensor of this vector, found copies to another tensor"),
        "{text}"
    );
}

#[test]
fn a_rectangle_stays_in_its_tile() {
    let (text, _) = refused::<(In<bf16>,)>(Target::SM_80, line!() + 4, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(32, 32));
        let tile = k.shared_tile::<St<bf16, 2, 2>>().fill(a.tile(0, 0)).wait();
        let _: Rt<bf16, 2, 1> = tile.subtile(1, 0).load();
    });
    assert!(
        text.contains(
            "2×1 subtiles of 16×16 elements at subtile (1, 0) extends past the edge of a shared tile of 32×32"
        ),
        "{text}"
    );
}

#[test]
fn warps_must_make_up_the_block() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 2, |k, ()| {
        k.block([96]);
        k.warp_grid(2, 2);
    });
    assert!(text.contains("2×2 warps: expected a block of 128 threads, found 96"), "{text}");
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
    let max = 163 << 10;
    assert_eq!(*error.kind(), BuildErrorKind::TooMuchShared { bytes: 192 << 10, max, target: Target::SM_80 });
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
fn an_accumulator_is_part_of_the_loop_state() {
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
fn loop_steps_are_positive() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 1, |k, ()| {
        k.for_(Steps::new(0u32, 4u32).by(0u32), |_| {});
    });
    assert!(text.contains("expected a positive loop step, found 0"), "{text}");
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
    assert!(text.contains("found one to which all warps of the block store"), "{text}");
    let kernel = Kernel::<(InOut<f32>,)>::build("rows", Target::SM_80, |k, (x,)| {
        k.block([64]);
        let x = k.global(x, row_major(64, 16));
        double(k.ctaid_x() * 2 + k.warp(), &x);
        k.when_warp(1, |_| double(k.ctaid_x(), &x));
    });
    assert!(kernel.is_ok(), "{kernel:?}");
}

/// A shared tile of the block that each warp would fill with, or store to, another tile of global memory.
#[test]
fn the_threads_of_a_scope_copy_one_tile() {
    fn each(line: u32, copy: impl for<'k> FnOnce(Builder<'k>, &Gl<'k, f32, ptx::ReadWrite>)) {
        let (text, _) = refused::<(InOut<f32>,)>(Target::SM_80, line, |k, (x,)| {
            k.block([128]);
            copy(k, &k.global(x, row_major(128, 64)));
        });
        assert!(
            text.contains("expected the same tile for all threads of the block, which copy it together"),
            "{text}"
        );
    }
    each(line!(), |k, x| drop(k.shared_tile::<St<f32, 1, 1>>().fill(x.tile(k.warp(), 0))));
    each(line!(), |k, x| drop(k.shared_tile::<St<f32, 1, 1>>().fill(x.tile_at(0, k.warp() * 16))));
    each(line!(), |k, x| drop(k.shared_tile::<Sv<f32, 1>>().fill(x.row(k.warp()).tile(0))));
    each(line!(), |k, x| drop(k.shared_tile::<St<f32, 1, 1>>().fill_or(x.tile(k.warp(), 0), 1.0)));
    each(line!(), |k, x| drop(k.shared_tile::<Sv<f32, 1>>().fill_or(x.row(0).tile(k.warp()), 1.0)));
    each(line!(), |k, x| drop(k.shared_tile::<St<f32, 1, 1>>().fill(x.tile(k.tid_x(), 0))));
    each(line!() + 2, |k, x| {
        let tile = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0).wait();
        x.tile(k.warp(), 0).store_shared(&tile);
    });
    each(line!() + 2, |k, x| {
        let vector = k.shared_tile::<Sv<f32, 1>>().fill_with(0.0).wait();
        x.row(k.warp()).tile(0).store_shared(&vector);
    });
    each(line!() + 3, |k, x| {
        let warp = k.warp().rank();
        let pipeline = k.pipeline::<(St<f32, 1, 1>,), 2>();
        pipeline.run(4, (), |_, stage| stage.fill((x.tile(warp, 0),)), |(), _| ());
    });
    // The tile of one of the block's warps, which only that warp copies, and one whose coordinates are declared to be the same.
    let kernel = Kernel::<(InOut<f32>,)>::build("tiles", Target::SM_80, |k, (x,)| {
        k.block([128]);
        let x = k.global(x, row_major(128, 64));
        let tile = k.shared_tile_of::<St<f32, 1, 1>>(k.warp()).fill(x.tile(k.warp(), 0)).wait();
        x.tile(k.warp(), 1).store_shared(&tile);
        let row = (k.tid_x() / 128).assume_uniform(k.this_block());
        let _ = k.shared_tile::<St<f32, 1, 1>>().fill(x.tile(row, 0)).wait();
    });
    assert!(kernel.is_ok(), "{kernel:?}");
}

/// A warp's vector would receive only the rows that the warp reduces, and a block's tile parts of the tiles of several warps.
#[test]
fn a_shared_result_has_the_owner_of_its_source() {
    fn refusal(line: u32, write: impl for<'k> FnOnce(Builder<'k>)) -> String {
        let write = |k: Builder<'_>, ()| {
            k.block([64]);
            write(k);
        };
        refused::<()>(Target::SM_80, line, write).0
    }
    fn tile<'k>(k: Builder<'k>) -> Filled<St<'k, f32, 2, 1>> {
        k.shared_tile::<St<f32, 2, 1>>().fill_with(0.0).wait()
    }
    fn tile_of_warp<'k>(k: Builder<'k>) -> Filled<St<'k, f32, 2, 1>> {
        k.shared_tile_of::<St<f32, 2, 1>>(k.warp()).fill_with(0.0).wait()
    }
    let of_block = [
        refusal(line!(), |k| drop(tile(k).row_sum(k.shared_tile_of::<Sv<_, 2>>(k.warp())))),
        refusal(line!(), |k| drop(tile(k).col_max(k.shared_tile_of::<Sv<_, 1>>(k.warp())))),
    ];
    for text in of_block {
        let expected = "expected a result that all threads of the block own, like the source, found one of all lanes of the warp";
        assert!(text.contains(expected), "{text}");
    }
    let of_warp = [
        refusal(line!(), |k| drop(tile_of_warp(k).row_min(k.shared_tile::<Sv<_, 2>>()))),
        refusal(line!(), |k| drop(k.shared_tile::<St<bf16, 2, 1>>().copy_from(&tile_of_warp(k)))),
        refusal(line!() + 2, |k| {
            let vector = k.shared_tile_of::<Sv<f32, 1>>(k.warp()).fill_with(0.0).wait();
            let _ = k.shared_tile::<Sv<bf16, 1>>().copy_from(&vector);
        }),
    ];
    for text in of_warp {
        let expected = "expected a result that all lanes of the warp own, like the source, found one of all threads of the block";
        assert!(text.contains(expected), "{text}");
    }
    // Each warp copies the block's tile.
    let kernel = Kernel::<()>::build("copies", Target::SM_80, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile_of::<St<bf16, 2, 1>>(k.warp()).copy_from(&tile(k)).wait();
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

/// A block of one and a half warps, or less than one.
#[test]
fn tiles_require_whole_warps() {
    for threads in [1, 16, 48] {
        let (text, _) = refused::<(In<f32>,)>(Target::SM_80, line!() + 2, |k, (x,)| {
            k.block([threads]);
            let _: Rt<f32, 1, 1> = k.global(x, row_major(16, 16)).tile(0, 0).load();
        });
        assert!(
            text.ends_with(&format!("expected a block of whole warps for tiles and vectors in registers, found one of {threads} threads")),
            "{text}"
        );
        let (text, _) = refused::<()>(Target::SM_80, line!() + 2, |k, ()| {
            k.block([threads]);
            let _ = k.zeros::<Rt<f32, 1, 1>>();
        });
        assert!(text.contains("expected a block of whole warps"), "{text}");
    }
}

#[test]
fn the_lanes_of_a_warp_read_one_part_of_shared_memory() {
    fn each(
        line: u32,
        read: impl for<'k> FnOnce(Builder<'k>, &Filled<St<'k, bf16, 2, 1>>, &Filled<Sv<'k, f32, 2>>),
    ) {
        let (text, _) = refused::<()>(Target::SM_80, line, |k, ()| {
            k.block([32]);
            let tile = k.shared_tile::<St<bf16, 2, 1>>().fill_with(bf16::ZERO).wait();
            let vector = k.shared_tile::<Sv<f32, 2>>().store(&k.zeros::<Rv<f32, 2>>()).wait();
            read(k, &tile, &vector);
        });
        assert!(text.contains("expected the same tile for all lanes of a warp"), "{text}");
    }
    each(line!(), |k, tile, _| drop(tile.subtile(k.tid_x() & 1, 0).load::<1, 1, Row>()));
    each(line!(), |k, tile, _| drop(tile.subtile(0, k.tid_x() & 1).load::<1, 1, Col>()));
    each(line!(), |k, tile, _| drop(tile.row(k.tid_x() & 31).load::<1, Orthogonal>()));
    each(line!(), |k, tile, _| drop(tile.col(k.tid_x() & 15).load::<2, Orthogonal>()));
    each(line!(), |k, _, vector| drop(vector.tile(k.tid_x() & 1).load::<1, Orthogonal>()));
}

#[test]
fn the_parts_of_warps_divide_a_tile() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 4, |k, ()| {
        let block = k.block([64]);
        let part = k.zeros::<Rt<f32, 1, 1>>();
        let tile = k.shared_tile::<St<f32, 4, 1>>();
        let _ = tile.store_with(|tile| tile.tile_of(block).store(&part)).wait();
    });
    assert!(text.contains("expected register tiles of 32 rows to divide the 64 rows of a shared tile among 2 warps, found 16"), "{text}");
    let (text, _) = refused::<()>(Target::SM_80, line!() + 2, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<Rt<f32, 1, 1>>().sum_over(k.lane());
    });
    assert!(
        text.contains(
            "expected a scope of whole warps, each of which has a part of a tile, found one of 1 threads"
        ),
        "{text}"
    );
}

/// The memory through which warps combine results belongs to one block.
#[test]
fn the_warps_of_a_cluster_do_not_reduce() {
    fn each(line: u32, reduce: impl for<'k> FnOnce(Rt<'k, f32, 1, 1>, Cluster<'k>)) {
        let (text, _) = refused::<()>(Target::SM_90, line, |k, ()| {
            k.block([64]);
            k.grid([2]);
            k.cluster([2]);
            reduce(k.zeros(), k.this_cluster());
        });
        let expected = "expected a scope of whole warps of a block to divide a tile among, found a cluster";
        assert!(text.contains(expected), "{text}");
    }
    each(line!(), |t, cluster| _ = t.sum_over(cluster));
    each(line!(), |t, cluster| _ = t.maximum_over(cluster));
    each(line!(), |t, cluster| _ = t.any_over(cluster, |x| x.gt(0.0)));
    each(line!(), |t, cluster| _ = t.all_over(cluster, |x| x.gt(0.0)));
    each(line!(), |t, cluster| _ = t.argmax_over(cluster));
    each(line!(), |t, cluster| drop(t.row_sum_over(cluster)));
}

#[test]
fn parts_divide_a_shared_vector() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 3, |k, ()| {
        k.block([64]);
        let part = k.zeros::<Rv<f32, 2>>();
        let _ = k.shared_tile::<Sv<f32, 3>>().store_with(|v| v.tile(k.warp()).store(&part)).wait();
    });
    assert!(text.contains("expected a shared vector of a multiple of 32 elements, found 48"), "{text}");
}

#[test]
fn a_grid_of_warps_does_not_overflow() {
    let (text, _) = refused::<()>(Target::SM_80, line!() + 2, |k, ()| {
        k.block([64]);
        let _ = k.warp_grid(1 << 31, 1 << 31);
    });
    assert!(text.contains("expected a block of 147573952589676412928 threads, found 64"), "{text}");
}

#[test]
fn striped_vectors_have_one_arrangement() {
    let (zipped, _) = refused::<()>(Target::SM_80, line!() + 3, |k, ()| {
        k.block([32]);
        let [short, long] = [1, 2].map(|count| k.stripes(k.tid_x(), 32, 4, count).filled(1.0f32));
        let _ = long.zip(&short, |a, b| a + b);
    });
    let (stored, _) = refused::<(Out<f32>, u32)>(Target::SM_80, line!() + 3, |k, (y, n)| {
        k.block([32]);
        let [short, long] = [1, 2].map(|count| k.stripes(k.tid_x(), 32, 4, count));
        long.store(&k.global(y, contiguous([n])), 0, &short.filled(1.0f32));
    });
    for text in [zipped, stored] {
        let expected = "expected a vector in stripes of 32 threads with 4 adjacent elements, 2 per thread, found 32, 4 and 1";
        assert!(text.contains(expected), "{text}");
    }
    // Each stripe is stored separately, and the vector has no registers for the second one.
    let (text, _) = refused::<(Out<f32>, u32)>(Target::SM_80, line!() + 3, |k, (y, n)| {
        k.block([1024]);
        let [short, long] = [1, 2].map(|count| k.stripes(k.tid_x(), 1024, 64, count));
        long.store(&k.global(y, contiguous([n])), 0, &short.filled(0.0f32));
    });
    let expected = "expected a vector in stripes of 1024 threads with 64 adjacent elements, 2 per thread, found 1024, 64 and 1";
    assert!(text.ends_with(expected), "{text}");
}

/// That a part ends inside the matrix may only be known in the branch in which it is taken.
#[test]
fn a_part_of_a_matrix_stays_in_its_branch() {
    let (text, _) = refused::<(InOut<f32>, u32, u32)>(Target::SM_80, line!() + 8, |k, (x, n, rows)| {
        k.block([32]);
        let x = k.global(x, row_major(n, 16));
        let mut part = None;
        k.if_(rows.lt(n), || {
            part = Some(x.sub_matrix((0, 0), (rows, 16)));
        });
        let part = part.expect("the branch is emitted");
        part.tile(0, 0).store(&k.zeros::<Rt<f32, 1, 1>>());
    });
    assert!(text.contains("found one created in a branch or loop that has ended"), "{text}");
}

/// Scopes of two and of three warps share warps, but neither contains the other.
#[test]
fn overlapping_scopes_wait_as_a_block() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("overlap", Target::SM_80, |k, (x, y)| {
        k.block([192]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(96, 16)), k.global(y, row_major(96, 16)));
        let two = k.shared_tile_of::<St<f32, 2, 1>>(k.warps::<2>());
        let three = k.shared_tile_of::<St<f32, 3, 1>>(k.warps::<3>());
        let (two_rank, three_rank) = (k.warps::<2>().rank(), k.warps::<3>().rank());
        let filled = two.fill(x.tile(two_rank, 0)).and(three.fill(x.tile(three_rank, 0)));
        let (two, three) = filled.wait();
        let rows: Rt<f32, 1, 1> = two.subtile(k.warp().rank() % 2, 0).load();
        let others: Rt<f32, 1, 1> = three.subtile(k.warp().rank() % 3, 0).load();
        y.tile(k.warp().rank(), 0).store(&(rows + &others));
    });
    let kernel = kernel.expect("it builds");
    let device = Simulator::new();
    let numbers: Vec<f32> = (0..96 * 16).map(|i| i as f32).collect();
    let (x, mut y) = (device.upload(&numbers).unwrap(), device.output::<f32>(numbers.len()).unwrap());
    device.launch(&kernel, (&x, &mut y)).unwrap_or_else(|error| panic!("{error}"));
    // Two times three warps, and three times two: each warp reads its own rows of both.
    let doubled: Vec<f32> = numbers.iter().map(|x| 2.0 * x).collect();
    assert_eq!(device.download(&y).unwrap(), doubled);
}
