//! Barriers, clusters and asynchronous stores, run on every device that supports them.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BUFFER_ALIGN, MemoryScope, ReduceOp},
    run::{AnyDevice, Device, Simulator},
};

use crate::devices;

/// The output of a kernel with one output buffer of `length` words.
fn words(device: &impl Device, kernel: &Kernel<(Out<u32>,)>, length: usize) -> Vec<u32> {
    let mut out = device.output::<u32>(length).unwrap();
    device.launch(kernel, (&mut out,)).unwrap_or_else(|why| panic!("{why}"));
    device.download(&out).unwrap()
}

/// The same, on the simulator and, if it is of sm_90, the GPU.
fn everywhere(kernel: &Kernel<(Out<u32>,)>, length: usize) -> Vec<u32> {
    let capable = |device: &AnyDevice| !matches!(device, AnyDevice::Gpu(_)) || device.capability() >= (9, 0);
    let results = devices::all().into_iter().filter(capable).map(|device| words(&device, kernel, length));
    let mut results = results.collect::<Vec<_>>().into_iter();
    let first = results.next().expect("the simulator comes first");
    assert!(results.all(|other| other == first), "the simulator and the GPU differ");
    first
}

/// A producer warp hands `rounds` numbers per lane to a consumer warp through one slot; without `waits`, the consumer does not wait.
fn handoff(rounds: u32, waits: bool) -> Kernel<(Out<u32>,)> {
    Kernel::<(Out<u32>,)>::build("handoff(out)", Target::SM_90, |k, (out,)| {
        let block = k.block([64]);
        k.grid([1]);
        let out = k.slice(out, 32 * rounds);
        let (slot, full, empty) = (k.shared::<u32>(32), k.mbarriers(1), k.mbarriers(1));
        k.if_(block.thread().eq(0), || {
            full.init(32);
            empty.init(32);
        });
        block.sync();
        let lane = block.thread() & 31;
        k.if_else(
            block.thread().lt(32),
            || {
                k.for_(rounds, |i| {
                    // The slot is empty at first: the phase before the first one counts as complete.
                    empty.wait((i & 1) ^ 1);
                    slot.at(lane).store(lane * 100 + i);
                    full.arrive();
                });
            },
            || {
                k.for_(rounds, |i| {
                    if waits {
                        full.wait(i & 1);
                    }
                    // The element of another lane: only the barrier orders the accesses.
                    out.at(i * 32 + lane).store(slot.at(31 - lane).load());
                    empty.arrive();
                });
            },
        );
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_slot_is_handed_over_in_phases() {
    let found = everywhere(&handoff(5, true), 160);
    let expected: Vec<u32> = (0..160).map(|i| (31 - i % 32) * 100 + i / 32).collect();
    assert_eq!(found, expected);
}

#[test]
fn without_the_wait_the_simulator_finds_a_race() {
    let device = Simulator::new();
    let mut out = device.output::<u32>(160).unwrap();
    let report = device.launch(&handoff(5, false), (&mut out,)).expect_err("a race").to_string();
    assert!(report.contains("race") || report.contains("uninitialized"), "{report}");
}

fn bit<'k>(value: Val<'k, bool>) -> Val<'k, u32> {
    value.select(1, 0)
}

#[test]
fn states_counts_and_bytes_complete_phases() {
    let kernel = Kernel::<(Out<u32>,)>::build("phases(out)", Target::SM_90, |k, (out,)| {
        k.block([32]);
        k.grid([1]);
        let out = k.slice(out, 32);
        let barriers = k.mbarriers(3);
        k.if_(k.laneid().eq(0), || {
            let mut slot = 0;
            let mut note = |value| {
                out.at(slot).store(value);
                slot += 1;
            };
            // Five arrivals.
            let barrier = barriers.at(0);
            barrier.init(5);
            let first = barrier.arrive_no_complete(2);
            note(k.mbarrier_pending_count(first));
            note(k.mbarrier_pending_count(barrier.arrive()));
            note(bit(barrier.test_wait(first)));
            let last = barrier.arrive_count(2);
            note(bit(barrier.test_wait(last)));
            note(bit(barrier.test_wait_parity(0)));
            note(bit(barrier.test_wait_parity(1)));
            // Later phases expect three arrivals; the two that are dropped still count in this phase.
            barrier.arrive_drop();
            barrier.arrive_drop_no_complete(1);
            barrier.relaxed().arrive_count(2);
            note(bit(barrier.test_wait_parity(1)));
            barrier.scope(MemoryScope::Cta).arrive();
            note(bit(barrier.try_wait_parity(1)));
            let state = barrier.arrive_count(3);
            note(bit(barrier.try_wait_for(state, 100)));
            // Bytes: a phase ends when all of them have been copied.
            let barrier = barriers.at(1);
            barrier.init(1);
            let state = barrier.arrive_expect_tx(24);
            note(bit(barrier.test_wait(state)));
            barrier.complete_tx(8);
            barrier.expect_tx(8);
            barrier.complete_tx(24);
            note(bit(barrier.try_wait(state)));
            barrier.wait(0);
            // The last arrival of its thread.
            let barrier = barriers.at(2);
            barrier.init(2);
            barrier.arrive_drop_expect_tx(4);
            barrier.arrive();
            note(bit(barrier.test_wait_parity(0)));
            barrier.complete_tx(4);
            note(bit(barrier.test_wait_parity(0)));
            barrier.arrive();
            note(bit(barrier.test_wait_parity(1)));
            barriers.invalidate();
        });
        k.if_(k.laneid().gt(13), || out.at(k.laneid()).store(0));
    });
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    let found = everywhere(&kernel, 32);
    // The state is that before the arrival.
    assert_eq!(found[..14], [5, 3, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1]);
}

#[test]
fn copies_arrive_at_barriers() {
    let kernel = Kernel::<(In<u32>, Out<u32>)>::build("copies(x, out)", Target::SM_80, |k, (x, out)| {
        k.block([32]);
        k.grid([1]);
        let (x, out, lane) = (k.slice(x, 32), k.slice(out, 32), k.laneid());
        let (shared, full, counted) = (k.shared::<u32>(32), k.mbarriers(1), k.mbarriers(1));
        k.if_(lane.eq(0), || {
            full.init(32);
            counted.init(32);
        });
        k.sync_threads();
        shared.at(lane).copy_async::<4>(x.at(lane));
        full.arrive_after_copies();
        counted.arrive_after_copies_counted();
        full.arrive();
        full.wait(0);
        counted.wait(0);
        out.at(lane).store(shared.at(31 - lane).load());
    });
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    for device in devices::all() {
        let x = device.upload(&(0..32u32).map(|i| i * i).collect::<Vec<_>>()).unwrap();
        let mut out = device.output::<u32>(32).unwrap();
        device.launch(&kernel, (&x, &mut out)).unwrap_or_else(|why| panic!("{why}"));
        let expected: Vec<u32> = (0..32).map(|i| (31 - i) * (31 - i)).collect();
        assert_eq!(device.download(&out).unwrap(), expected);
    }
}

#[test]
fn blocks_of_a_cluster_share_memory() {
    let kernel = Kernel::<(Out<u32>,)>::build("cluster(out)", Target::SM_90, |k, (out,)| {
        let block = k.block([32]);
        let cluster = k.cluster([4]);
        k.grid([8]);
        let (out, lane) = (k.slice(out, 8 * 32 * 4), k.laneid());
        let cells = k.shared::<u32>(32);
        let total = k.shared::<u32>(1);
        // A relaxed arrival does not order accesses.
        cluster.arrive_relaxed();
        cluster.wait();
        cells.at(lane).store(block.rank() * 1000 + lane);
        k.if_(lane.eq(0), || total.store(0));
        cluster.sync();
        let next = (block.rank() + 1) & 3;
        let there = cells.at(lane).in_block(next);
        // Every thread adds to the first block's total, and takes the next block's cell.
        total.in_block(0).reduction().add(lane);
        let mut row = k.ctaid_x() * 128 + lane;
        let mut note = |value| {
            out.at(row).store(value);
            row = row + 32;
        };
        note(there.load());
        note(there.block_rank());
        cluster.arrive();
        cluster.wait();
        there.store(block.rank());
        k.barrier_cluster_arrive();
        k.barrier_cluster_wait();
        note(cells.at(lane).load());
        note(total.in_block(0).load());
        // A block must not end while others read its memory.
        cluster.sync();
    });
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    let found = everywhere(&kernel, 8 * 128);
    for (block, rows) in (0u32..).zip(found.chunks(128)) {
        let (rank, next) = (block % 4, (block + 1) % 4);
        for lane in 0..32usize {
            let column = [0, 32, 64, 96].map(|row| rows[row + lane]);
            assert_eq!(column, [next * 1000 + lane as u32, next, (rank + 3) % 4, 4 * 496], "block {block}");
        }
    }
}

#[test]
fn asynchronous_stores_complete_at_the_barrier_of_their_block() {
    let kernel = Kernel::<(Out<u32>,)>::build("stores(out)", Target::SM_90, |k, (out,)| {
        let block = k.block([32]);
        let cluster = k.cluster([2]);
        k.grid([2]);
        let (out, lane) = (k.slice(out, 2 * 32 * 6), k.laneid());
        let words = k.shared_aligned::<u32>(32 * 4, BUFFER_ALIGN);
        let sums = k.shared::<u32>(ReduceOp::ALL.len() as u32);
        let full = k.mbarriers(1);
        k.if_(lane.eq(0), || {
            full.init(1);
            full.arrive_expect_tx(32 * 16 + 32 * 8 * 4);
            k.fence_mbarrier_init();
        });
        k.if_(lane.lt(8), || sums.at(lane).store(0xff));
        cluster.sync();
        let other = block.rank() ^ 1;
        let barrier = full.in_block(other);
        let value = block.rank() * 1000 + lane;
        words
            .at(lane * 4)
            .in_block(other)
            .store_vector_async([value, value + 1, value + 2, value + 3], barrier);
        for (i, op) in (0u32..).zip(ReduceOp::ALL) {
            sums.at(i).in_block(other).reduce_async(op, lane + 1, barrier);
        }
        full.scope(MemoryScope::Cluster).wait(0);
        let mut row = k.ctaid_x() * 192 + lane;
        for value in [0, 1, 2, 3].map(|i| words.at(lane * 4 + i).load()) {
            out.at(row).store(value);
            row = row + 32;
        }
        out.at(row).store(sums.at(lane & 7).load());
        out.at(row + 32).store(0);
        cluster.sync();
    });
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    let found = everywhere(&kernel, 384);
    for (block, rows) in (0u32..).zip(found.chunks(192)) {
        for (i, &value) in (0u32..).zip(&rows[..128]) {
            assert_eq!(value, (block ^ 1) * 1000 + i % 32 + i / 32, "block {block}, word {i}");
        }
        let combined = &rows[128..136];
        assert_eq!(combined[..3], [0xff + 528, 1, 0xff], "sum, minimum, maximum");
        // The order decides the two that wrap around: `inc` ends at most at its largest limit.
        assert!(combined[3] <= 32 && combined[4] <= 0xff, "{combined:?}");
        let xor = (1..=32u32).fold(0xff, |x, y| x ^ y);
        assert_eq!(combined[5..], [0, 0xff, xor], "and, or, exclusive or");
    }
}

#[test]
fn wrong_requests_are_refused() {
    let refused = |target, write: &dyn Fn(Builder<'_>)| {
        Kernel::<()>::build("k", target, |k, ()| write(k)).expect_err("it is refused").kind().to_string()
    };
    assert_eq!(
        refused(Target::SM_90, &|k| {
            k.mbarriers(1).scope(MemoryScope::Gpu).arrive();
        }),
        "expected `Cta` or `Cluster` as the scope of an mbarrier, found Gpu"
    );
    assert_eq!(
        refused(Target::SM_90A, &|k| {
            k.setmaxnreg_inc(60);
        }),
        "setmaxnreg: expected a multiple of 8 from 24 to 256, found 60"
    );
    assert_eq!(
        refused(Target::SM_90A, &|k| {
            k.block([128]);
            k.setmaxnreg_inc(64);
        }),
        "setmaxnreg requires the number of registers at the start: call `max_registers`, or `block` and `min_blocks`, first"
    );
    assert_eq!(
        refused(Target::SM_90, &|k| {
            k.shared::<f32>(1).in_block(0).reduce_async(ReduceOp::Max, 1.0, k.mbarriers(1).in_block(0));
        }),
        "`red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes` does not support `max` on f32"
    );
    let divergent = refused(Target::SM_90A, &|k| {
        k.block([256]);
        k.min_blocks(1);
        k.if_(k.tid_x().lt(64), || k.setmaxnreg_dec(40));
    });
    assert!(
        divergent.starts_with(
            "`setmaxnreg.dec.sync.aligned.u32` must be reached by all threads of the warpgroup, but they are not known to agree on the branch"
        ),
        "{divergent}"
    );
    let old = refused(Target::SM_80, &|k| {
        k.shared::<u32>(1).in_block(0);
    });
    assert!(old.contains("sm_90"), "{old}");
}
