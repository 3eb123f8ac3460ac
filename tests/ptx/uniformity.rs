//! Facts about the uniformity of registers, and collective operations that some of their threads do not reach.
#![allow(unsafe_code, reason = "plain pointers to results")]

use std::cell::Cell;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, ConditionKind, FULL_MASK, Uniformity},
    tiles::Naive,
};

type Args = (InOut<u32>, InOut<u32>, u32);

/// Builds a kernel of 128 threads.
fn build(
    write: impl for<'k> FnOnce(Builder<'k>, Ptr<'k, u32, Global>, Ptr<'k, u32, Global>, Val<'k, u32>),
) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("f(x, y, n)", Target::SM_90, |k, (x, y, n)| {
        k.block([128]);
        write(k, x, y, n);
    })
}

/// Asserts that a kernel is accepted.
#[track_caller]
fn accepted(result: Result<Kernel<Args>, BuildError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Asserts that the collective operation on one line is rejected because of the condition, of this kind, on another line.
#[track_caller]
fn refused(
    result: Result<Kernel<Args>, BuildError>,
    collective_line: u32,
    condition: (ConditionKind, u32),
    threads: Uniformity,
) -> Option<u32> {
    let error = result.expect_err("the collective is under a divergent condition");
    let BuildErrorKind::Divergent { threads: found, condition: kind, condition_at, varies_at, .. } =
        error.kind()
    else {
        panic!("expected a divergent collective, found {error}");
    };
    assert_eq!(
        (error.location().line(), *kind, condition_at.line(), *found),
        (collective_line, condition.0, condition.1, threads),
        "{error}"
    );
    varies_at.map(|at| at.line())
}

#[test]
fn levels_follow_from_operands() {
    use Uniformity::{Block, Grid, Threads};
    let kernel = build(|k, x, _, n| {
        let (t, warp) = (k.tid_x(), k.tid_x() >> 5);
        let levels = [
            (Val::from(3u32).uniformity(), Grid),
            ((n + 1).uniformity(), Grid),
            ((k.ctaid_x() * n).uniformity(), Block),
            (k.clusterid_x().uniformity(), Uniformity::Cluster),
            (t.uniformity(), Uniformity::NONE),
            (k.laneid().uniformity(), Uniformity::NONE),
            (warp.uniformity(), Uniformity::WARP),
            ((warp * n + k.ctaid_x()).uniformity(), Uniformity::WARP),
            ((t / 32).uniformity(), Uniformity::WARP),
            // A block of 128 has one value: the constant 0.
            ((t >> 7).uniformity(), Grid),
            ((t >> 2).uniformity(), Threads(4)),
            ((t / 24).uniformity(), Threads(24)),
            ((t & 96).uniformity(), Uniformity::WARP),
            ((t % 64 / 32).uniformity(), Uniformity::WARP),
            (((t - 64) >> 5).uniformity(), Uniformity::WARP),
            (((t + 16) >> 5).uniformity(), Threads(16)),
            (((t * 4) >> 7).uniformity(), Uniformity::WARP),
            (((t >> 1) % 16).uniformity(), Threads(2)),
            (t.extract_bits(6, 1).uniformity(), Threads(64)),
            (t.lt(64).uniformity(), Threads(64)),
            (t.lt(65).uniformity(), Uniformity::NONE),
            (t.le(63).uniformity(), Threads(64)),
            (t.lt(n).uniformity(), Uniformity::NONE),
            (t.eq(64).uniformity(), Uniformity::NONE),
            (unsafe { x.load() }.uniformity(), Uniformity::NONE),
            (k.shfl_idx(t, 0).uniformity(), Uniformity::WARP),
            (k.shfl_idx(n, t & 31).uniformity(), Grid),
            (k.shfl_idx(t, t & 31).uniformity(), Uniformity::NONE),
            (k.shfl_bfly(t, 1).uniformity(), Uniformity::NONE),
            (k.vote_any(t.eq(0), FULL_MASK).uniformity(), Uniformity::WARP),
            (k.redux_add(t, FULL_MASK).uniformity(), Uniformity::WARP),
            (k.elect(FULL_MASK).0.uniformity(), Uniformity::WARP),
            (k.elect(FULL_MASK).1.uniformity(), Uniformity::NONE),
            (k.elect(t).0.uniformity(), Uniformity::NONE),
            (k.sync_threads_or(t.eq(0)).uniformity(), Block),
            (k.warp().rank().uniformity(), Uniformity::WARP),
            (k.warps::<2>().rank().uniformity(), Threads(64)),
        ];
        for (i, (found, expected)) in levels.into_iter().enumerate() {
            assert_eq!(found, expected, "value {i}");
        }
    });
    accepted(kernel);
}

/// A value that varies is replaced within the same iteration, so it does not vary after the loop.
#[test]
fn a_value_that_varies_only_within_an_iteration() {
    let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        k.block([64]);
        let value = k.var(0u32);
        k.for_(0..4u32, |_| {
            value.set(k.tid_x());
            value.set(k.warp().sum(value.get()));
        });
        k.if_(value.get().gt(0), || k.warp().sync());
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn blocks_of_two_and_three_dimensions_have_warps() {
    let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        k.block([16, 8, 4]);
        assert_eq!(k.tid_y().uniformity(), Uniformity::Threads(16));
        assert_eq!((k.tid_y() >> 1).uniformity(), Uniformity::Threads(16));
        assert_eq!(k.tid_z().uniformity(), Uniformity::Threads(128));
        assert_eq!((k.tid_x() >> 3).uniformity(), Uniformity::Threads(8));
        assert_eq!((k.tid_x() >> 4).uniformity(), Uniformity::Grid);
        assert_eq!(k.warp().rank().uniformity(), Uniformity::WARP);
        assert_eq!(k.warp_group().rank().uniformity(), Uniformity::WARP_GROUP);
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
    // Rows of 24 threads: their parts of 16 do not start at multiples of 16.
    let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        k.block([24, 4]);
        assert_eq!((k.tid_x() >> 4).uniformity(), Uniformity::Threads(8));
        assert_eq!(k.tid_y().uniformity(), Uniformity::Threads(24));
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
    // Nothing is known before the shape is declared.
    let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        assert_eq!((k.tid_x() >> 5).uniformity(), Uniformity::NONE);
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_barrier_of_the_block_under_a_branch_of_one_warp() {
    let lines = Cell::new([0; 2]);
    let kernel = build(|k, _, _, _| {
        let condition = line!() + 1;
        k.if_(k.tid_x().lt(32), || {
            lines.set([condition, line!() + 1]);
            k.sync_threads();
        });
    });
    let [condition, collective] = lines.get();
    refused(kernel, collective, (ConditionKind::If, condition), Uniformity::Block);
    // The condition is the same for all threads of a warp.
    accepted(build(|k, _, _, _| k.if_(k.tid_x().lt(32), || k.sync_warp(FULL_MASK))));
    accepted(build(|k, _, _, n| k.if_(n.lt(32), || k.sync_threads())));
}

#[test]
fn a_shared_tile_waited_for_under_a_branch_of_one_warp() {
    let lines = Cell::new([0; 2]);
    let kernel = Kernel::<(In<bf16>,)>::build("f(x)", Target::SM_80, |k, (x,)| {
        k.block([64]);
        let tile = k.shared_tile::<St<bf16, 1, 1>>();
        let pending = tile.fill(k.global(x, row_major(16, 16)).tile(0, 0));
        let condition = line!() + 1;
        k.if_(k.tid_x().lt(32), || {
            lines.set([condition, line!() + 1]);
            let _ = pending.wait();
        });
    });
    let error = kernel.err().unwrap_or_else(|| panic!("one warp waits at the block's barrier"));
    let BuildErrorKind::Divergent { condition_at, .. } = error.kind() else { panic!("{error}") };
    assert_eq!([condition_at.line(), error.location().line()], lines.get());
    assert!(error.to_string().contains("`bar.sync` must be reached by all threads of the block"), "{error}");
}

#[test]
fn every_kind_of_condition() {
    let line = Cell::new(0);
    let kernel = build(|k, _, _, _| {
        k.if_else(
            k.laneid().eq(0),
            || {},
            || {
                line.set(line!() + 1);
                k.sync_warp(FULL_MASK);
            },
        );
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get() - 5), Uniformity::WARP);

    let kernel = build(|k, _, _, _| {
        let lane = k.laneid();
        k.for_(lane, |_| {
            line.set(line!() + 1);
            let _ = k.shfl_idx(lane, 0);
        });
    });
    refused(kernel, line.get(), (ConditionKind::Steps, line.get() - 2), Uniformity::WARP);

    let kernel = build(|k, _, _, _| {
        let (even, lane) = ((k.laneid() & 1).eq(0), k.laneid());
        k.when(even, || {
            line.set(line!() + 1);
            let _ = k.redux_add(lane, FULL_MASK);
        });
    });
    refused(kernel, line.get(), (ConditionKind::When, line.get() - 2), Uniformity::WARP);

    let kernel = build(|k, _, _, n| {
        line.set(line!() + 1);
        k.return_if((k.ctaid_x() * 128 + k.tid_x()).ge(n));
        k.sync_threads();
    });
    refused(kernel, line.get() + 1, (ConditionKind::Return, line.get()), Uniformity::Block);

    let kernel = build(|k, _, _, _| {
        let first = k.tid_x().eq(0);
        line.set(line!() + 1);
        k.when(first, || k.exit());
        k.sync_threads();
    });
    refused(kernel, line.get() + 1, (ConditionKind::Return, line.get()), Uniformity::Block);
}

#[test]
fn threads_that_left_a_loop_do_not_reach_its_collectives() {
    let line = Cell::new(0);
    let kernel = build(|k, x, _, _| {
        k.loop_(|l| {
            line.set(line!() + 1);
            k.sync_threads();
            l.break_if(unsafe { x.load() }.eq(0));
        });
    });
    refused(kernel, line.get(), (ConditionKind::Break, line.get() + 1), Uniformity::Block);

    // Threads that continue with the next iteration do reach it.
    accepted(build(|k, x, _, n| {
        k.loop_(|l| {
            k.sync_threads();
            l.break_if(n.eq(0));
            l.continue_if(unsafe { x.load() }.eq(0));
        });
    }));
    let kernel = build(|k, x, _, n| {
        k.loop_(|l| {
            l.break_if(n.eq(0));
            line.set(line!() + 1);
            l.continue_if(unsafe { x.load() }.eq(0));
            k.sync_threads();
        });
    });
    refused(kernel, line.get() + 1, (ConditionKind::Continue, line.get()), Uniformity::Block);

    // Of those that have not continued, some or all end the loop; the others come back.
    let kernel = build(|k, x, _, _| {
        k.loop_(|l| {
            line.set(line!() + 1);
            k.sync_threads();
            l.continue_if(unsafe { x.load() }.eq(0));
            l.break_();
        });
    });
    refused(kernel, line.get(), (ConditionKind::Break, line.get() + 2), Uniformity::Block);

    // Threads that continue with the outer loop leave the inner one.
    let kernel = build(|k, x, _, n| {
        k.loop_(|outer| {
            outer.break_if(n.eq(0));
            k.for_(4u32, |_| {
                line.set(line!() + 1);
                k.sync_threads();
                outer.continue_if(unsafe { x.load() }.eq(0));
            });
        });
    });
    refused(kernel, line.get(), (ConditionKind::Continue, line.get() + 1), Uniformity::Block);

    // A warp that leaves the inner loop still reaches the rest of the outer loop's iteration.
    accepted(build(|k, _, _, n| {
        k.for_(n, |_| {
            k.for_(k.tid_x() >> 5, |_| k.sync_warp(FULL_MASK));
            k.sync_threads();
        });
    }));
}

/// Of signed numbers, division rounds toward zero, and the sign is a bit of the number.
#[test]
fn signed_numbers_of_threads() {
    fn signed(k: Builder<'_>) -> Val<'_, i32> {
        k.tid_x().cast()
    }
    for is_divided in [true, false] {
        let kernel = build(|k, _, _, _| {
            let t = signed(k) - 64;
            let quotient: Val<i32> = if is_divided { t / 64 } else { (t % 64) >> 5 };
            k.if_(quotient.eq(0), || {
                let _ = k.warp().sum(k.tid_x());
            });
        });
        assert!(matches!(kernel.expect_err("divergent").kind(), BuildErrorKind::Divergent { .. }));
    }
    let kernel = build(|k, _, _, _| k.if_((signed(k) << 27).lt(0), || k.sync_threads()));
    assert!(matches!(kernel.expect_err("divergent").kind(), BuildErrorKind::Divergent { .. }));
    // The bits above the highest one are copies of it.
    let extended: [fn(Builder<'_>) -> Val<'_, i32>; 5] = [
        |k| (signed(k) << 28) >> 28,
        |k| (k.tid_x() << 4).wrap_to::<i8>(),
        |k| (k.tid_x() << 12).cast::<u16>().cast::<i16>().cast(),
        |k| signed(k).extract_bits(0, 4),
        |k| (signed(k) << 30).extract_bits(30, 32),
    ];
    for extended in extended {
        let kernel = build(|k, _, _, _| {
            k.if_((extended(k).bits::<u32>() >> 10).eq(0), || {
                let _ = k.warp().sum(k.tid_x());
            });
        });
        assert!(matches!(kernel.expect_err("divergent").kind(), BuildErrorKind::Divergent { .. }));
    }
    // The signs of factors are extended first, and a negative factor changes all bits above.
    let products: [fn(Builder<'_>) -> Val<'_, i64>; 2] =
        [|k| (signed(k) << 30).mul_wide(2), |k| signed(k).mul_wide(i32::MIN)];
    for product in products {
        let kernel = build(|k, _, _, _| {
            k.if_((product(k).bits::<u64>() >> 36).eq(0), || {
                let _ = k.warp().sum(k.tid_x());
            });
        });
        assert!(matches!(kernel.expect_err("divergent").kind(), BuildErrorKind::Divergent { .. }));
    }
    accepted(build(|k, _, _, _| {
        k.if_((signed(k).mul_wide(4).bits::<u64>() >> 7).eq(0), || k.sync_warp(FULL_MASK));
    }));
    accepted(build(|k, _, _, _| {
        k.if_((signed(k) >> 5).eq(0), || {
            let _ = k.warp().sum(k.tid_x());
        });
    }));
    accepted(build(|k, _, _, _| k.if_(signed(k).lt(0), || k.sync_threads())));
    accepted(build(|k, _, _, _| k.if_(signed(k).lt(64), || k.sync_warp(FULL_MASK))));
}

/// In 8 bits, threads 192 to 287 have two quotients by 96.
#[test]
fn narrow_numbers_of_threads() {
    let by_96 = |narrow: for<'k> fn(Val<'k, u32>) -> Val<'k, u32>| {
        Kernel::<()>::build("f", Target::SM_90, |k, ()| {
            k.block([288]);
            k.if_((narrow(k.tid_x()) / 96).eq(0), || k.warps::<3>().sync());
        })
    };
    let error = by_96(|t| t.wrap_to::<u8>()).expect_err("divergent");
    assert!(matches!(error.kind(), BuildErrorKind::Divergent { .. }), "{error}");
    by_96(|t| t.cast::<u16>().cast()).expect("16 bits suffice for every thread");
}

/// The last warp of 48 threads has 16 lanes, so the votes of the two warps differ.
#[test]
fn votes_of_a_partial_warp() {
    let under_vote = |threads: u32, of_block: bool| {
        Kernel::<()>::build("f", Target::SM_90, |k, ()| {
            k.block([threads]);
            let is_whole = k.vote_ballot(true, FULL_MASK).eq(u32::MAX);
            k.if_(is_whole, || if of_block { k.sync_threads() } else { k.sync_warp(FULL_MASK) });
        })
    };
    let error = under_vote(48, true).expect_err("divergent");
    assert!(matches!(error.kind(), BuildErrorKind::Divergent { .. }), "{error}");
    under_vote(48, false).expect("the vote is the same in a warp");
    under_vote(64, true).expect("the votes of whole warps are the same");
}

/// Lanes that own the same element of a vector may hold different values.
#[test]
fn reductions_of_vectors() {
    type Reduced = for<'k> fn(Builder<'k>) -> Val<'k, f32>;
    fn replicated(k: Builder<'_>) -> ColVec<'_, f32, 1> {
        k.zeros::<ColVec<'_, f32, 1>>().map(|x| x + k.laneid().cast::<f32>())
    }
    fn single(k: Builder<'_>) -> Rv<'_, f32, 8, Naive> {
        k.zeros::<Rv<'_, f32, 8, Naive>>().map(|x| x + k.laneid().cast::<f32>())
    }
    let under =
        |reduced: Reduced| build(|k, _, _, _| k.if_(reduced(k).gt(50.0), || _ = k.warp().sum(k.tid_x())));
    let varying: [Reduced; 5] = [
        |k| replicated(k).sum(),
        |k| replicated(k).argmax().0,
        |k| replicated(k).argmax_over(k.warp()).0,
        |k| replicated(k).scan_with(0.0).1,
        |k| single(k).scan_with(k.laneid().cast::<f32>()).1,
    ];
    for reduced in varying {
        let error = under(reduced).expect_err("divergent");
        assert!(matches!(error.kind(), BuildErrorKind::Divergent { .. }), "{error}");
    }
    let uniform: [Reduced; 5] = [
        |k| single(k).sum(),
        |k| single(k).argmax().0,
        |k| single(k).scan_with(0.0).1,
        |k| replicated(k).sum_over(k.warp()),
        |k| k.zeros::<ColVec<'_, f32, 1>>().sum(),
    ];
    uniform.into_iter().for_each(|reduced| accepted(under(reduced)));
}

#[test]
fn values_of_a_lane_that_varies() {
    fn by<'k>(k: Builder<'k>, lane: Val<'k, u32>) -> Val<'k, bool> {
        k.warp().broadcast(k.tid_x(), lane).eq(0)
    }
    let kernel = build(|k, _, _, _| {
        k.if_(by(k, k.laneid()), || {
            let _ = k.warp().sum(k.tid_x());
        });
    });
    assert!(matches!(kernel.expect_err("divergent").kind(), BuildErrorKind::Divergent { .. }));
    accepted(build(|k, _, _, n| {
        k.if_(by(k, n & 31), || {
            let _ = k.warp().sum(k.tid_x());
        });
    }));
}

#[test]
fn a_loop_preserves_the_uniformity_of_its_state() {
    // The count is carried, and stays the same in the block.
    accepted(build(|k, _, _, n| {
        k.fold(n, Val::from(0u32), |i, sum| {
            k.if_(sum.lt(100), || k.sync_threads());
            sum + i
        });
    }));
    // Two values that depend on each other.
    accepted(build(|k, _, _, n| {
        k.fold(n, (Val::from(0u32), n), |_, (a, b)| {
            k.if_(a.lt(b), || k.sync_threads());
            (b + 1, a)
        });
    }));
    // The value at the back edge differs between lanes, but no collective operation relied on it.
    accepted(build(|k, _, y, n| {
        let sum = k.fold(n, Val::from(0u32), |i, sum| sum + i + k.laneid());
        unsafe { y.store(sum) };
    }));
}

#[test]
fn a_loop_that_reduces_the_uniformity_of_its_state() {
    let line = Cell::new(0);
    let kernel = build(|k, _, _, n| {
        k.fold(n, Val::from(0u32), |i, sum| {
            line.set(line!() + 1);
            k.if_(sum.lt(100), || k.sync_threads());
            sum + i + k.laneid()
        });
    });
    let varies_at = refused(kernel, line.get(), (ConditionKind::If, line.get()), Uniformity::Block);
    assert_eq!(varies_at, Some(line.get() - 2));

    // A chain: the second value is taken from the first, an iteration late.
    let kernel = build(|k, _, _, n| {
        k.fold(n, (Val::from(0u32), Val::from(0u32)), |_, (a, b)| {
            line.set(line!() + 1);
            k.if_(b.lt(100), || k.sync_warp(FULL_MASK));
            (k.laneid(), a)
        });
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get()), Uniformity::WARP);

    // A warp-uniform value is sufficient for a collective operation of the warp, but not of the block.
    accepted(build(|k, _, _, n| {
        k.fold(n, Val::from(0u32), |_, sum| {
            k.if_(sum.lt(100), || k.sync_warp(FULL_MASK));
            sum + k.warp()
        });
    }));
}

#[test]
fn a_variable_is_as_uniform_as_the_values_written_to_it() {
    accepted(build(|k, _, _, n| {
        let v = k.var(n);
        v.set(n + 1);
        assert_eq!(v.get().uniformity(), Uniformity::Grid);
        v.set(k.laneid());
        assert_eq!(v.get().uniformity(), Uniformity::NONE);
        v.set(0);
        assert_eq!(v.get().uniformity(), Uniformity::Grid);
        k.if_(k.warp().rank().eq(0), || v.set(1));
        assert_eq!(v.get().uniformity(), Uniformity::WARP, "written by one warp");
        v.set(0);
        k.when(k.laneid().eq(0), || v.set(1));
        assert_eq!(v.get().uniformity(), Uniformity::NONE, "written by one lane");
    }));
    // Warps leave the loop at different times, with different counts.
    accepted(build(|k, _, _, n| {
        let v = k.var(n);
        k.for_(k.warp().rank() + 1, |i| v.set(i));
        assert_eq!(v.get().uniformity(), Uniformity::WARP);
        let v = k.var(n);
        k.loop_(|l| {
            v.update(|v| v + 1);
            l.break_if(v.get().gt(k.laneid()));
        });
        assert_eq!(v.get().uniformity(), Uniformity::NONE);
    }));
    let line = Cell::new(0);
    let kernel = build(|k, x, _, n| {
        let go_on = k.var(n);
        k.for_(n, |_| {
            line.set(line!() + 1);
            k.if_(go_on.get().ne(0), || k.sync_threads());
            go_on.set(unsafe { x.load() });
        });
    });
    let varies_at = refused(kernel, line.get(), (ConditionKind::If, line.get()), Uniformity::Block);
    assert_eq!(varies_at, Some(line.get() + 1));
    // A loop around a loop: the inner one relies on what the outer one writes later.
    let kernel = build(|k, x, _, n| {
        let go_on = k.var(n);
        k.for_(n, |_| {
            k.for_(n, |_| {
                line.set(line!() + 1);
                k.if_(go_on.get().ne(0), || k.sync_threads());
            });
            go_on.set(unsafe { x.load() });
        });
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get()), Uniformity::Block);
    // The loop's own condition.
    let kernel = build(|k, x, _, n| {
        let go_on = k.var(n);
        line.set(line!() + 1);
        k.while_(
            || go_on.get().ne(0),
            |_| {
                k.sync_threads();
                go_on.set(unsafe { x.load() });
            },
        );
    });
    refused(kernel, line.get() + 3, (ConditionKind::Break, line.get()), Uniformity::Block);
}

#[test]
fn assumptions_hold_until_the_branch_ends() {
    accepted(build(|k, x, _, n| {
        let loaded = unsafe { x.load() };
        let block = k.this_block();
        k.if_(n.eq(1), || {
            k.if_(loaded.ne(0).assume_uniform(block), || block.sync());
            let _ = loaded.assume_uniform(k.warp());
            assert_eq!(loaded.uniformity(), Uniformity::WARP);
        });
        assert_eq!(loaded.uniformity(), Uniformity::NONE);
    }));
}

/// The body of a loop may run zero times.
#[test]
fn assumptions_in_a_loop_hold_until_its_end() {
    accepted(build(|k, x, _, n| {
        let loaded = unsafe { x.load() };
        let block = k.this_block();
        let assume = || {
            k.if_(loaded.ne(0).assume_uniform(block), || block.sync());
            let _ = loaded.assume_uniform(block);
            assert_eq!(loaded.uniformity(), Uniformity::Block);
        };
        k.loop_(|l| {
            l.break_if(n.eq(0));
            let _ = loaded.assume_uniform(k.warp());
            k.loop_(|inner| {
                assume();
                inner.break_();
            });
            assert_eq!(loaded.uniformity(), Uniformity::WARP, "assumed by the outer loop");
            k.if_(n.eq(1), assume);
            assert_eq!(loaded.uniformity(), Uniformity::WARP, "assumed by the outer loop");
            l.break_if(n.eq(2));
        });
        assert_eq!(loaded.uniformity(), Uniformity::NONE);
        k.while_(|| n.eq(0), |_| assume());
        assert_eq!(loaded.uniformity(), Uniformity::NONE);
        k.for_(n, |_| assume());
        assert_eq!(loaded.uniformity(), Uniformity::NONE);
        // Leaving a loop or an iteration does not end an assumption.
        k.loop_(|l| {
            let _ = loaded.assume_uniform(block);
            l.continue_if(n.eq(0));
            l.break_if(n.eq(1));
            k.if_(loaded.ne(0), || block.sync());
        });
    }));
    let line = Cell::new(0);
    let kernel = build(|k, x, _, n| {
        let loaded = unsafe { x.load() }.ne(0);
        k.while_(|| n.eq(0), |_| _ = loaded.assume_uniform(k.this_block()));
        line.set(line!() + 1);
        k.if_(loaded, || k.sync_threads());
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get()), Uniformity::Block);
}

#[test]
fn matrix_instructions_and_raw_lines_require_the_whole_warp() {
    let line = Cell::new(0);
    let kernel = build(|k, _, _, _| {
        let tile = k.shared::<bf16>(256);
        k.if_(k.laneid().lt(16), || {
            line.set(line!() + 1);
            let _ = tile.ldmatrix::<1, warpwright::ptx::B32>();
        });
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get() - 2), Uniformity::WARP);
    let kernel = build(|k, _, _, _| {
        k.if_(k.laneid().lt(16), || {
            line.set(line!() + 1);
            unsafe { k.raw("wgmma.fence.sync.aligned;") }.emit();
        });
    });
    refused(kernel, line.get(), (ConditionKind::If, line.get() - 2), Uniformity::WARP_GROUP);
    accepted(build(|k, _, _, _| {
        let v = k.var(0u32);
        unsafe { k.raw("mov.u32 {v}, %laneid;") }.input("v", v).emit();
        assert_eq!(v.get().uniformity(), Uniformity::NONE);
        let out = unsafe { k.raw("mov.u32 {d}, 7;") }.out::<u32>("d").emit();
        assert_eq!(out.uniformity(), Uniformity::NONE);
    }));
}

#[test]
fn shared_by_returns_the_scope_of_equal_values() {
    accepted(build(|k, _, _, n| {
        let (row, warp) = (k.ctaid_x(), k.warp().rank());
        assert_eq!(k.shared_by([row, n]), Uniformity::Block);
        assert_eq!(k.shared_by([row * 4 + warp, n]), Uniformity::WARP);
        k.when_warp(0, |_| assert_eq!(k.shared_by([row, n]), Uniformity::WARP));
        k.return_if(warp.gt(0));
        assert_eq!(k.shared_by([row, n]), Uniformity::WARP);
    }));
}

/// A condition that differs between the blocks of a cluster is uniform for barriers of a block, but not for those of the cluster.
#[test]
fn collectives_of_a_cluster_need_conditions_of_the_cluster() {
    let built = |of_cluster: bool| {
        Kernel::<()>::build("f", Target::SM_90, |k, ()| {
            let block = k.block([64]);
            let cluster = k.cluster([2]);
            k.if_(k.this_block().rank().eq(0), || if of_cluster { cluster.sync() } else { block.sync() });
        })
    };
    built(false).expect("the condition is uniform in the block");
    let error = built(true).expect_err("the condition differs between blocks");
    let BuildErrorKind::Divergent { threads, condition, .. } = error.kind() else {
        panic!("expected a divergent collective, found {error}");
    };
    assert_eq!((*threads, *condition), (Uniformity::Cluster, ConditionKind::If), "{error}");
}
