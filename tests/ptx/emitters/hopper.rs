//! Emitters of mbarriers, clusters, and products of a warpgroup.

use warpwright::{
    atoms::{Group, Metadata, MmaOperand, Source, WgmmaOptions, mma_atoms},
    prelude::*,
    ptx::{
        Load, MatrixDescriptor, MatrixLayout, Mbarrier, MemoryScope, ProxySpace, ReduceOp, RegClass,
        SharedCluster, Space, Store, SwizzleMode, WgmmaA,
    },
};

/// Every order and scope of a barrier's operations.
fn semantics<'k, S: Space>(barrier: Mbarrier<'k, S>) -> [Mbarrier<'k, S>; 5] {
    let [block, cluster] = [MemoryScope::Cta, MemoryScope::Cluster].map(|scope| barrier.scope(scope));
    [barrier, block, cluster, block.relaxed(), cluster.relaxed()]
}

pub(super) fn mbarriers() -> Result<Kernel<(InOut<u32>, u32, u64)>, BuildError> {
    Kernel::<(InOut<u32>, u32, u64)>::build("mbarriers", Target::SM_90, |k, (global, n, state)| {
        let barriers = k.mbarriers(4);
        barriers.init(n);
        barriers.at(n).init(7);
        k.fence_mbarrier_init();
        for barrier in semantics(barriers.at(1)) {
            barrier.expect_tx(n);
            barrier.complete_tx(16);
            let _ = (barrier.arrive(), barrier.arrive_count(n), barrier.arrive_expect_tx(64));
            let _ = (barrier.arrive_drop(), barrier.arrive_drop_count(2), barrier.arrive_drop_expect_tx(n));
            let _ = (barrier.test_wait(state), barrier.test_wait_parity(n));
            let _ = (barrier.try_wait(state), barrier.try_wait_for(state, 1000));
            let _ = (barrier.try_wait_parity(1), barrier.try_wait_parity_for(n, n));
            barrier.wait(n);
        }
        for barrier in [barriers, barriers.scope(MemoryScope::Cta)] {
            let state = barrier.arrive_no_complete(2);
            let _ = (k.mbarrier_pending_count(state), barrier.arrive_drop_no_complete(n));
        }
        for barrier in semantics(barriers.at(2).in_block(n)) {
            barrier.expect_tx(n);
            barrier.complete_tx(16);
            barrier.arrive();
            barrier.arrive_count(n);
            barrier.arrive_expect_tx(64);
            barrier.arrive_drop();
            barrier.arrive_drop_count(2);
            barrier.arrive_drop_expect_tx(n);
        }
        let shared = k.shared::<u32>(32);
        shared.copy_async::<4>(k.slice(global, 1).at(0));
        barriers.arrive_after_copies();
        barriers.arrive_after_copies_counted();
        barriers.invalidate();
    })
}

pub(super) fn fences() -> Result<Kernel<()>, BuildError> {
    Kernel::<()>::build("fences", Target::SM_90, |k, ()| {
        for space in [ProxySpace::All, ProxySpace::Global, ProxySpace::Shared, ProxySpace::SharedCluster] {
            k.fence_proxy_async(space);
        }
        k.fence_proxy_alias();
        for scope in [MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::Sys] {
            k.fence_proxy_tensormap_release(scope);
        }
        k.fence_release_restricted();
        k.fence_acquire_restricted();
        k.fence_proxy_async_release_restricted();
        k.fence_proxy_async_acquire_restricted();
    })
}

pub(super) fn clusters() -> Result<Kernel<(u32, u64, f32, f64)>, BuildError> {
    Kernel::<(u32, u64, f32, f64)>::build("clusters", Target::SM_90, |k, (u, l, f, d)| {
        k.block([64]);
        let cluster = k.cluster([2]);
        let barrier = k.mbarriers(1).in_block(u);
        let words = k.shared::<u32>(64).in_block(u);
        let longs = k.shared::<u64>(64).in_block(u);
        let floats = k.shared::<f32>(64).in_block(u);
        let doubles = k.shared::<f64>(64).in_cluster();
        let halves = k.shared::<f16>(64).in_block(1);
        let pairs = k.shared::<bf16x2>(64).in_block(1);
        cluster.arrive();
        cluster.wait();
        cluster.arrive_relaxed();
        cluster.wait();
        k.barrier_cluster_arrive();
        k.barrier_cluster_wait();
        k.barrier_cluster_arrive_relaxed();
        k.barrier_cluster_wait();
        let _ = (words.block_rank(), words.generic().block_rank(), words.generic().in_block(u));
        let _ = words.generic().is_in::<SharedCluster>();
        unsafe { words.generic().to_space::<SharedCluster>() }.store(u);
        for how in [
            Load::Default,
            Load::Volatile,
            Load::Relaxed(MemoryScope::Cluster),
            Load::Acquire(MemoryScope::Cluster),
        ] {
            let _: (_, [_; 4], [_; 2]) =
                (words.at(u).load_with(how), floats.load_vector_with(how), doubles.load_vector_with(how));
        }
        for how in [Store::Default, Store::Volatile, Store::Release(MemoryScope::Cluster)] {
            words.at(u).store_with(how, u);
            floats.store_vector_with(how, [f; 4]);
            doubles.store_vector_with(how, [d; 2]);
        }
        let a = words.atomic();
        let _ = (a.add(u), a.min(u), a.max(u), a.and(u), a.or(u), a.xor(u), a.inc(u), a.dec(u));
        let _ =
            (a.exchange(u), a.compare_exchange(u, 1), halves.atomic().compare_exchange(f16::ONE, f16::ONE));
        let r = words.reduction();
        r.add(u);
        r.min(u);
        r.or(u);
        r.inc(u);
        floats.reduction().add(f);
        halves.reduction().add(f16::ONE);
        let _ = pairs.atomic().add(pairs.load());
        words.store_async(u, barrier);
        words.store_vector_async([u; 4], barrier);
        longs.store_async(l, barrier);
        doubles.store_vector_async([d; 2], barrier);
        for op in ReduceOp::ALL {
            words.reduce_async(op, u, barrier);
        }
        longs.reduce_async(ReduceOp::Add, l, barrier);
        k.griddepcontrol_wait();
        k.griddepcontrol_launch_dependents();
    })
}

pub(super) fn warpgroups() -> Result<Kernel<()>, BuildError> {
    Kernel::<()>::build("warpgroups", Target::SM_90A, |k, ()| {
        let block = k.block([256]);
        k.min_blocks(1);
        k.if_else(block.thread().lt(128), || k.setmaxnreg_dec(40), || k.setmaxnreg_inc(232));
    })
}

/// The products of a warpgroup at N = 8, of every type, with A in shared memory and in registers.
pub(super) fn products() -> Result<Kernel<(Out<f32>, Out<u32>, u32)>, BuildError> {
    Kernel::<(Out<f32>, Out<u32>, u32)>::build("products", Target::SM_90A, |k, (floats, words, bits)| {
        let block = k.block([128]);
        let (floats, words) = (k.slice(floats, 128), k.slice(words, 128));
        let layout = MatrixLayout { stride_bytes: 256, swizzle: SwizzleMode::B32, ..Default::default() };
        let matrix = MatrixDescriptor::new(k.shared_aligned::<u8>(8192, 1024), layout);
        for atom in mma_atoms().filter(|atom| atom.group() == Group::Warpgroup && atom.shape().1 == 8) {
            let metadata = atom.sparsity().map(|_| Metadata { bits, selector: 0 });
            let options = WgmmaOptions { accumulate: false.into(), metadata, ..Default::default() };
            let registers = [bits; 4];
            let a = match atom.source(MmaOperand::A) {
                Source::Shared => WgmmaA::Shared(matrix),
                Source::Registers => WgmmaA::Registers(&registers),
            };
            match atom.register_class(MmaOperand::D) {
                RegClass::F32 => {
                    let mut sums = k.wgmma_accumulators::<f32>(atom);
                    k.wgmma_fence();
                    k.wgmma(atom, &mut sums, a, matrix, options);
                    k.wgmma_commit_group();
                    k.wgmma_wait_group(0);
                    floats.at(block.thread()).store(sums[0]);
                }
                _ => {
                    let mut sums = k.wgmma_accumulators::<u32>(atom);
                    k.wgmma_fence();
                    k.wgmma(atom, &mut sums, a, matrix, options);
                    k.wgmma_commit_group();
                    k.wgmma_wait_group(0);
                    words.at(block.thread()).store(sums[0]);
                }
            }
        }
    })
}
