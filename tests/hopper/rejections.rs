//! Bugs that the builder finds: each is an error with the Rust line that caused it.

use warpwright::{
    prelude::*,
    ptx::{BuildError, Params, Read},
    tensor::TensorElement,
    tiles::{
        Auto, EmptyStage, Filled, FillingStage, InFlight, Padded, Persistent, Plain, Schedule, SharedSwizzle,
        consumers, producer,
    },
};

/// Builds a kernel that must be rejected at `line`; returns the error.
#[track_caller]
fn refused<A: Params>(line: u32, write: &dyn for<'k> Fn(Builder<'k>, A::Handles<'k>)) -> String {
    let error: BuildError = Kernel::<A>::build("rejected", Target::SM_90A, |k, args| write(k, args))
        .expect_err("the kernel must be refused");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line), "{error}");
    error.kind().to_string()
}

type Sum<'k> = Rt<'k, f32, 1, 1>;

/// Two accumulators in flight.
fn two<'k>(k: Builder<'k>) -> [InFlight<'k, Sum<'k>>; 2] {
    k.block([128]);
    let group = k.warp_group();
    [(); 2].map(|()| group.accumulate(k.zeros::<Sum<'k>>()))
}

const MOVED: &str = "expected products in flight in the same registers before and after an iteration, found others: wait for them, and \
                     accumulate the next products in the tile that `wait` returns";

/// Uses a value that a test creates only for the instructions that create it.
fn ignore<T>(_: T) {}

#[test]
fn accumulators_in_flight_are_not_exchanged() {
    let text = refused::<(u32,)>(line!() + 1, &|k, (n,)| {
        let [x, y] = k.fold(n, two(k), |_, [x, y]| [y, x]);
        let _ = (x.wait(), y.wait());
    });
    assert_eq!(text, MOVED);
}

#[test]
fn products_in_flight_are_not_replaced() {
    let text = refused::<(u32,)>(line!() + 3, &|k, (n,)| {
        let [x, _] = two(k);
        let group = k.warp_group();
        let x = k.fold(n, x, |_, x| {
            let _ = x.wait();
            group.accumulate(k.zeros::<Sum<'_>>())
        });
        let _ = x.wait();
    });
    assert_eq!(text, MOVED);
}

#[test]
fn products_in_flight_do_not_leave_a_branch() {
    let text = refused::<(u32,)>(line!() + 3, &|k, (n,)| {
        k.block([128]);
        let start = || k.warp_group().accumulate(k.zeros::<Sum<'_>>());
        let x = k.if_else_with(n.gt(1), start, start);
        let _ = x.wait();
    });
    assert_eq!(text, "expected a branch to wait for its products, found products in flight as its value");
}

/// A loop that does not carry its products.
#[test]
fn a_loop_carries_its_products() {
    let text = refused::<(In<bf16>, u32)>(line!() + 5, &|k, (a, n)| {
        let [sum, _] = two(k);
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let mut sum = Some(sum);
        k.for_(n, |_| {
            sum = sum.take().map(|sum| sum.mma_abt(&tile, tile.rows::<1>(0)));
        });
        let _ = sum.map(|sum| sum.wait());
    });
    assert!(
        text.ends_with("in an emitted loop that does not carry it: pass the tile to the loop as state"),
        "{text}"
    );
}

/// The next iteration would load A into the registers that products in flight read.
#[test]
fn a_loop_does_not_overwrite_operands() {
    let expected = "expected products whose operands are registers of the loop to be complete after an iteration, found products in flight: \
                    wait for them, or multiply a tile in shared memory";
    let text = refused::<(In<bf16>, u32)>(line!() + 4, &|k, (a, n)| {
        let tile = tile::<_, 4, 4, Auto>(k, a);
        let group = k.warp_group();
        let sum = group.accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let sum = k.fold(n, sum, |_, sum| {
            let a: Rt<'_, bf16, 1, 4> = tile.tile_of(group).load();
            sum.mma_abt(a, &tile)
        });
        let _ = sum.wait();
    });
    assert_eq!(text, expected);
    // Loaded in the outer loop, and in flight until its next iteration.
    let text = refused::<(In<bf16>, u32)>(line!() + 4, &|k, (a, n)| {
        let tile = tile::<_, 4, 4, Auto>(k, a);
        let group = k.warp_group();
        let sum = group.accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let sum = k.fold(n, sum, |_, sum| {
            let a = tile.tile_of(group).load::<1, 4, Row>().frozen();
            k.fold(n, sum, |_, sum| sum.mma_abt(&a, &tile))
        });
        let _ = sum.wait();
    });
    assert_eq!(text, expected);
    // The loop writes the registers that it carries.
    let text = refused::<(In<bf16>, u32)>(line!() + 4, &|k, (a, n)| {
        let tile = tile::<_, 4, 4, Auto>(k, a);
        let group = k.warp_group();
        let state = (group.accumulate(k.zeros::<Rt<f32, 1, 4>>()), tile.tile_of(group).load::<1, 4, Row>());
        let (sum, _) = k.fold(n, state, |_, (sum, a)| (sum.mma_abt(a, &tile), tile.tile_of(group).load()));
        let _ = sum.wait();
    });
    assert_eq!(text, expected);
}

/// Loops that do not overwrite the operands of products in flight.
#[test]
fn operands_in_registers_outlive_their_products() {
    let kernel = Kernel::<(In<bf16>, u32)>::build("operands", Target::SM_90A, |k, (a, n)| {
        let tile = tile::<_, 4, 4, Auto>(k, a);
        let group = k.warp_group();
        let zeros = || group.accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let load = || tile.tile_of(group).load::<1, 4, Row>().frozen();
        let a = load();
        let (x, y, z) = k.fold(n, (zeros(), zeros(), zeros()), |_, (x, y, z)| {
            // A of this loop in an inner loop, before a wait; A of an inner loop, which waits; A of the kernel.
            let b = load();
            let y = k.fold(n, y, |_, y| y.mma_abt(&b, &tile)).wait();
            let z = k.fold(n, z, |_, z| group.accumulate(z.mma_abt(&load(), &tile).wait()));
            (x.mma_abt(&a, &tile), group.accumulate(y), z)
        });
        let _ = (x.wait(), y.wait(), z.wait());
    });
    crate::assemble::kernel(&kernel.expect("it builds"));
}

/// Fills a tile with the start of a matrix.
fn tile<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(
    k: Builder<'k>,
    a: Ptr<'k, T, Global, Read>,
) -> Filled<St<'k, T, H, W, S>> {
    k.block([128]);
    k.shared_tile::<St<'k, T, H, W, S>>().fill(k.global(a, row_major(128, 128)).tile(0, 0)).wait()
}

#[test]
fn products_require_a_swizzle_of_wgmma() {
    let text = refused::<(In<bf16>,)>(line!() + 3, &|k, (a,)| {
        let a = tile::<_, 4, 4, Plain>(k, a);
        let sum = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let _ = sum.mma_abt(&a, &a);
    });
    assert_eq!(
        text,
        "wgmma: expected a swizzled tile, found one without a swizzle, whose rows are not in core matrices"
    );
    let text = refused::<(In<bf16>,)>(line!() + 3, &|k, (a,)| {
        let a = tile::<_, 4, 4, Padded>(k, a);
        let sum = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let _ = sum.mma_abt(&a, &a);
    });
    assert_eq!(text, "wgmma: expected a tile without padding, found `Padded`");
}

#[test]
fn only_16_bits_are_read_along_m_or_n() {
    let expected =
        "wgmma: expected rows along k for types other than those of 16 bits, found rows along m or n";
    let text = refused::<(In<tf32>,)>(line!() + 3, &|k, (a,)| {
        let a = tile::<_, 4, 4, Auto>(k, a);
        let sum = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let _ = sum.mma_ab(&a, &a);
    });
    assert_eq!(text, expected);
    let text = refused::<(In<i8>,)>(line!() + 3, &|k, (a,)| {
        let a = tile::<_, 4, 4, Auto>(k, a);
        let sum = k.warp_group().accumulate(k.zeros::<Rt<i32, 1, 4>>());
        let _ = sum.mma_atbt(&a, &a);
    });
    assert_eq!(text, expected);
}

#[test]
fn parts_are_in_the_tile() {
    let text = refused::<(In<bf16>,)>(line!() + 2, &|k, (a,)| {
        let a = tile::<_, 8, 4, Auto>(k, a);
        let _ = a.rows::<4>(2);
    });
    assert_eq!(text, "expected a part of a shared tile below 2, found 2");
    let text = refused::<(In<bf16>,)>(line!() + 2, &|k, (a,)| {
        let a = tile::<_, 4, 4, Auto>(k, a);
        let _ = a.cols::<2>(1);
    });
    assert_eq!(text, "expected columns of a multiple of 128 bytes, the width of the swizzle, found 64");
}

#[test]
fn products_need_sm_90a() {
    let error = Kernel::<(In<bf16>,)>::build("rejected", Target::SM_90, |k, (a,)| {
        let a = tile::<_, 4, 4, Auto>(k, a);
        let sum = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let _ = sum.mma_abt(&a, &a).wait();
    });
    let text = error.expect_err("sm_90 has no wgmma").kind().to_string();
    assert_eq!(
        text,
        "`wgmma.fence.sync.aligned`: expected target sm_90a or a successor that supports it, found sm_90"
    );
}

#[test]
fn clusters_of_resident_blocks() {
    let text = refused::<(u32,)>(line!() + 3, &|k, (n,)| {
        k.block([128]);
        k.cluster([1, 2]);
        let _ = k.persistent(Schedule::linear(), n, n);
    });
    assert_eq!(text, "expected a cluster along x for resident blocks, found 2 blocks along y and 1 along z");
    let text = refused::<(u32,)>(line!() + 3, &|k, (n,)| {
        k.block([128]);
        k.cluster([4]);
        let _ = k.persistent(Schedule::linear().per_cluster(2, 1), n, n);
    });
    assert_eq!(text, "expected as many tiles per cluster as it has blocks, 4, found 2×1");
}

/// Code for blocks without a cluster would share nothing among the blocks of one.
#[test]
fn clusters_precede_code_for_single_blocks() {
    let late = |line: u32, code: &dyn for<'k> Fn(Builder<'k>, Val<'k, u32>)| {
        let text = refused::<(u32,)>(line!() + 3, &|k, (n,)| {
            k.block([256]);
            code(k, n);
            k.cluster([2]);
        });
        let expected = format!(
            "expected the cluster to be declared before code that depends on it, found it after the code for single blocks of {}:{line}:",
            file!()
        );
        assert!(text.starts_with(&expected), "{text}");
    };
    late(line!(), &|k, n| ignore(k.persistent(Schedule::linear(), n, n)));
    late(line!(), &|k, _| ignore(k.ring::<Square<'_>, 2, 1>()));
    late(line!(), &|k, _| ignore(k.this_block().rank()));
}

#[test]
fn roles_need_their_warpgroups() {
    let text = refused::<()>(line!() + 2, &|k, ()| {
        k.block([256]);
        k.specialize(producer(40, |_| ()), consumers::<2, _>(232, |_| ()));
    });
    assert_eq!(text, "expected a block of 384 threads for a producer and 2 consumer warpgroups, found 256");
}

#[test]
fn a_role_does_not_wait_for_the_block() {
    for in_producer in [true, false] {
        let text = refused::<()>(line!() + 4, &|k, ()| {
            let block = k.block([256]);
            let sync = |is_here: bool| {
                if is_here {
                    block.sync();
                }
            };
            k.specialize(producer(40, |_| sync(in_producer)), consumers::<1, _>(232, |_| sync(!in_producer)));
        });
        assert!(text.starts_with("`bar.sync` must be reached by all threads of the block"), "{text}");
    }
}

/// A tile of a buffer, given a size that is known only at launch.
type Source<'s> =
    dyn for<'k> Fn(Builder<'k>, Ptr<'k, bf16, Global, Read>, Val<'k, u32>) -> GlTile<'k, bf16, Read> + 's;

/// Builds a kernel whose ring is filled from this tile of `x`, which must be rejected in this file; returns the error.
fn not_copied<S: SharedSwizzle>(source: &Source<'_>) -> String {
    let error = Kernel::<(In<bf16>, u32)>::build("rejected", Target::SM_90A, |k, (x, n)| {
        k.block([256]);
        let ring = k.ring::<(St<'_, bf16, 4, 4, S>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| stage.fill((source(k, x, n),)))),
            consumers::<1, _>(232, |c| c.each(&ring, 1, (), |_, (), _| ())),
        );
    })
    .expect_err("the kernel must be refused");
    assert_eq!(error.location().file(), file!(), "{error}");
    error.kind().to_string()
}

#[test]
fn tensor_copies_need_rows_of_adjacent_elements() {
    let expected = "tensor copy: expected rows of adjacent elements: load the transposed matrix, and transpose the product";
    assert_eq!(not_copied::<Auto>(&|k, x, n| k.global(x, col_major(n, n)).tile(0, 0)), expected);
    assert_eq!(not_copied::<Auto>(&|k, x, n| k.global(x, row_major(n, n)).transposed().tile(0, 0)), expected);
    let strided = not_copied::<Auto>(&|k, x, _| {
        k.global(x, row_major(64, 64).with_row_stride(256).with_col_stride(2)).tile(0, 0)
    });
    assert_eq!(strided, expected);
}

#[test]
fn tensor_copies_need_extents_of_the_launch() {
    // The extents of the part depend on those of the whole.
    let text = not_copied::<Auto>(&|k, x, n| {
        k.global(x, row_major(n, n)).sub_matrix((8, 16), (40u32, 24u32)).tile(0, 0)
    });
    assert!(text.starts_with("tensor copy: expected extents that a launch can compute"), "{text}");
}

#[test]
fn tensor_copies_need_rows_without_padding() {
    let text = not_copied::<Padded>(&|k, x, n| k.global(x, row_major(n, n)).tile(0, 0));
    assert_eq!(text, "tensor copy: expected a tile without padding between its rows, found `Padded`");
}

/// A warpgroup would wait forever for registers that no other releases.
#[test]
fn roles_share_the_registers_of_the_block() {
    let text = refused::<()>(line!() + 2, &|k, ()| {
        k.block([512]);
        k.specialize(producer(40, |_| ()), consumers::<3, _>(160, |_| ()));
    });
    assert_eq!(
        text,
        "expected roles of at most 512 registers in total, counting one thread per warpgroup, found 520"
    );
    // 168 of the 65536 / 384 registers, in multiples of 8, are left for each thread.
    let text = refused::<()>(line!() + 2, &|k, ()| {
        k.block([384]);
        k.specialize(producer(176, |_| ()), consumers::<2, _>(160, |_| ()));
    });
    assert_eq!(text, "expected at most 160 registers per producer thread, the number at launch, found 176");
}

/// Other declarations must not change the number of registers that the roles share.
#[test]
fn roles_share_the_declared_registers() {
    let roles = |k: Builder<'_>| k.specialize(producer(40, |_| ()), consumers::<2, _>(232, |_| ()));
    let text = refused::<()>(line!() - 1, &|k, ()| {
        k.block([384]);
        k.max_registers(64);
        roles(k);
    });
    assert_eq!(
        text,
        "expected roles of at most 192 registers in total, counting one thread per warpgroup, found 504"
    );
    let text = refused::<()>(line!() - 10, &|k, ()| {
        k.block([384]);
        k.min_blocks(2);
        roles(k);
    });
    assert_eq!(
        text,
        "expected roles in a kernel with `min_blocks(1)`, whose registers they share, found `min_blocks(2)`"
    );
    let text = refused::<()>(line!() + 3, &|k, ()| {
        k.block([384]);
        roles(k);
        k.min_blocks(2);
    });
    assert_eq!(
        text,
        "expected `min_blocks` before the roles, which share the registers, found `min_blocks(2)` after them"
    );
    let text = refused::<()>(line!() + 3, &|k, ()| {
        k.block([384]);
        roles(k);
        k.max_registers(64);
    });
    assert_eq!(
        text,
        "expected `max_registers` before the roles, which share the registers, found `max_registers(64)` after them"
    );
    let kernel = Kernel::<()>::build("declared", Target::SM_90A, |k, ()| {
        k.block([384]);
        k.min_blocks(1);
        k.max_registers(168);
        roles(k);
        k.min_blocks(1);
        k.max_registers(168);
    });
    crate::assemble::kernel(&kernel.expect("it builds"));
}

/// Copies from shared memory may be in flight when a thread returns.
#[test]
fn roles_do_not_return() {
    for in_producer in [true, false] {
        let text = refused::<(u32,)>(line!() + 4, &|k, (n,)| {
            k.block([256]);
            let leave = |is_here: bool| {
                if is_here {
                    k.return_if(n.eq(0));
                }
            };
            k.specialize(
                producer(40, |_| leave(in_producer)),
                consumers::<1, _>(232, |_| leave(!in_producer)),
            );
        });
        assert_eq!(
            text,
            "expected threads that reach the end of their role, which completes copies in flight, found `ret`"
        );
    }
}

/// Threads of the previous iteration may still use the barriers that the next one initializes.
#[test]
fn barriers_are_initialized_once() {
    let in_loop = |what: &str, line: u32, create: &dyn for<'k> Fn(Builder<'k>)| {
        let text = refused::<(u32,)>(line, &|k, (n,)| {
            k.block([256]);
            k.for_(n, |_| create(k));
        });
        assert_eq!(
            text,
            format!(
                "expected {what} that is created outside of emitted loops, found one in a loop, which would reinitialize barriers in use"
            )
        );
    };
    in_loop("a ring", line!(), &|k| ignore(k.ring::<Square<'_>, 2, 1>()));
    in_loop("turns", line!(), &|k| ignore(k.turns::<2>()));
    in_loop("a baton", line!(), &|k| ignore(k.baton::<2>()));
    in_loop("an assembly", line!(), &|k| ignore(k.assembly::<bf16, 4, 4, 1>()));
    let text = refused::<(u32,)>(line!() + 4, &|k, (n,)| {
        k.block([256]);
        k.cluster([2]);
        let tiles = k.persistent(Schedule::linear().per_cluster(1, 1).split(2), n, 1);
        tiles.each(|_, _| ignore(tiles.reduce_scatter::<f32, 1, 4, 2>()));
    });
    assert!(
        text.starts_with("expected an exchange among blocks that is created outside of emitted loops"),
        "{text}"
    );
}

/// A stage of 64×64 elements, in one block of the swizzle, and the copies that fill it.
type Square<'k> = (St<'k, bf16, 4, 4>,);
type Fill<'a> =
    &'a dyn for<'k> Fn(EmptyStage<'k, Square<'k>>, &Gl<'k, bf16, Read>) -> FillingStage<'k, Square<'k>>;

/// Builds a kernel whose ring is filled by `fill`, which must be rejected in this file; returns the error.
fn not_filled(fill: Fill<'_>) -> String {
    let error = Kernel::<(In<bf16>,)>::build("rejected", Target::SM_90A, |k, (x,)| {
        k.block([256]);
        let x = k.global(x, row_major(256, 256));
        let ring = k.ring::<Square<'_>, 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| fill(stage, &x))),
            consumers::<1, _>(232, |c| c.each(&ring, 1, (), |_, (), _| ())),
        );
    })
    .expect_err("the kernel must be refused");
    assert_eq!(error.location().file(), file!(), "{error}");
    error.kind().to_string()
}

#[test]
fn parts_of_a_stage_are_equal_and_whole() {
    assert_eq!(
        not_filled(&|stage, x| stage.fill((GlTile::stacked(vec![x.tile(0, 0), x.tile(1, 0), x.tile(2, 0)]),))),
        "tensor copy: expected tiles in equal parts of a shared tile of 64 rows and 64 columns, found 3"
    );
    assert_eq!(
        not_filled(&|stage, x| stage.fill((x.tile(0, 0).left_of(x.tile(0, 1)),))),
        "tensor copy: expected 2 parts of whole blocks of the swizzle, found 1 blocks"
    );
    assert_eq!(
        not_filled(&|stage, x| stage.fill((x.tile(0, 0).first_rows(24),))),
        "tensor copy: expected a divisor of the 64 rows of the shared tile, found 24"
    );
    assert_eq!(
        not_filled(&|stage, x| stage.fill((x.tile(0, 0).first_rows(u32::MAX),))),
        "tensor copy: expected a divisor of the 64 rows of the shared tile, found 4294967295"
    );
}

#[test]
fn outboxes_store_whole_units_of_rows() {
    let text = refused::<()>(line!() + 1, &|k, ()| {
        let _ = k.outbox::<bf16, 4, 1, 1>().first_rows(24);
    });
    assert_eq!(text, "expected 8, 16, 32 or 64 rows of an outbox, found 24");
}

/// Tensor copies start at whole units of 16 bytes.
#[test]
fn tensor_copies_start_at_units_of_rows() {
    let expected = "expected a first column that is known to be a multiple of 8, 16 bytes, found ";
    let text = not_copied::<Auto>(&|k, x, n| k.global(x, row_major(n, n)).tile_at(0, 4));
    assert_eq!(text, format!("tensor copy: {expected}column 4"));
    let text = refused::<(InOut<bf16>, u32)>(line!() + 7, &|k, (d, n)| {
        k.block([256]);
        let d = k.global(d, row_major(64, 80));
        let outbox = k.outbox::<bf16, 4, 1, 1>();
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(232, |c| {
                c.add(&outbox, [k.zeros::<Rt<f32, 1, 4>>()], |_| d.tile_at(0, n));
            }),
        );
    });
    assert_eq!(text, format!("tensor copy: {expected}one that is not"));
}

#[test]
fn each_part_of_a_tile_has_its_columns() {
    let text = refused::<(u32,)>(line!() + 4, &|k, (n,)| {
        k.block([256]);
        k.cluster([2]);
        let tiles = k.persistent(Schedule::linear().per_cluster(1, 1).split(2), n, 1);
        let parts = tiles.reduce_scatter::<f32, 1, 4, 1>();
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(232, |c| {
                let _ = c.reduce_scatter(&parts, [k.zeros()]);
            }),
        );
    });
    assert_eq!(text, "expected 4 columns of subtiles in parts of 1 for 2 blocks of a cluster, found 4 parts");
    // Fewer columns than the blocks of the cluster require.
    let text = refused::<(u32,)>(line!() + 4, &|k, (n,)| {
        k.block([256]);
        k.cluster([4]);
        let tiles = k.persistent(Schedule::linear().per_cluster(1, 1).split(4), n, 1);
        let parts = tiles.reduce_scatter::<f32, 1, 8, 4>();
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(232, |c| {
                let _ = c.reduce_scatter(&parts, [k.zeros()]);
            }),
        );
    });
    assert_eq!(text, "expected 8 columns of subtiles in parts of 4 for 4 blocks of a cluster, found 2 parts");
}

/// Registers whose size in bytes exceeds 32 bits.
#[test]
fn exchanges_fit_into_shared_memory() {
    let refused = |create: &dyn for<'k> Fn(Persistent<'k>)| {
        let built = Kernel::<(u32,)>::build("rejected", Target::SM_90A, |k, (n,)| {
            k.block([256]);
            create(k.persistent(Schedule::linear(), n, 1));
        });
        built.expect_err("no block has this much shared memory").kind().to_string()
    };
    let expected = "expected at most 232448 bytes of shared memory per block on sm_90a, found 4294967312";
    assert_eq!(refused(&|tiles| ignore(tiles.all_to_all::<f32, { 1 << 20 }>())), expected);
    assert_eq!(
        refused(&|tiles| ignore(tiles.reduce_scatter::<f32, 1, { 1 << 26 }, { 1 << 26 }>())),
        expected
    );
}
