//! Emitters of bulk copies, tensor maps and cache policies.

use warpwright::{
    prelude::*,
    ptx::{
        CachePolicy, CopyHints, Eviction, Hints, MapField, MemoryScope, PrefetchSize, ReduceOp, TensorMap,
    },
};

/// Every combination of hints of a load.
fn hints<'k>(blocks: Val<'k, u16>, policy: CachePolicy<'k>) -> [Hints<'k>; 4] {
    let none = Hints::default();
    [none, none.multicast(blocks), none.policy(policy), none.multicast(blocks).policy(policy)]
}

type Buffers =
    (InOut<u32>, InOut<u64>, InOut<i64>, InOut<f32>, InOut<f16>, InOut<bf16>, InOut<f64>, u32, u16);

pub(super) fn copies() -> Result<Kernel<Buffers>, BuildError> {
    Kernel::<Buffers>::build("bulk", Target::SM_90A, |k, (u, ul, sl, f, h, b, d, n, blocks)| {
        let policy = k.cache_policy(Eviction::Last);
        let n = n.multiple_of(16);
        let shared = k.shared_aligned::<u32>(64, 128);
        let barrier = k.mbarriers(1);
        for hints in hints(blocks, policy) {
            unsafe { shared.copy_bulk(u, n, barrier, hints) };
            unsafe { shared.in_block(1).copy_bulk(u, 64, barrier.in_block(1), hints) };
        }
        shared.in_block(1).copy_bulk_shared(shared, n, barrier.in_block(1));
        for op in ReduceOp::ALL {
            shared.in_block(1).reduce_bulk_shared(op, shared, 64, barrier.in_block(1));
        }
        shared.cast().in_block(1).reduce_bulk_shared(
            ReduceOp::Add,
            shared.cast::<u64>(),
            64,
            barrier.in_block(1),
        );
        for hints in [Hints::default(), Hints::default().policy(policy)] {
            unsafe { u.copy_bulk_out(shared, n, hints) };
            for op in ReduceOp::ALL {
                unsafe { u.reduce_bulk_out(op, shared, n, hints) };
            }
            for op in [ReduceOp::Add, ReduceOp::Min, ReduceOp::Max] {
                unsafe { h.reduce_bulk_out(op, shared.cast(), n, hints) };
                unsafe { b.reduce_bulk_out(op, shared.cast(), n, hints) };
                unsafe { ul.reduce_bulk_out(op, shared.cast(), n, hints) };
                unsafe { sl.reduce_bulk_out(op, shared.cast(), n, hints) };
            }
            unsafe { ul.reduce_bulk_out(ReduceOp::Xor, shared.cast(), n, hints) };
            unsafe { f.reduce_bulk_out(ReduceOp::Add, shared.cast(), n, hints) };
            unsafe { d.reduce_bulk_out(ReduceOp::Add, shared.cast(), n, hints) };
            unsafe { u.prefetch_bulk(n, hints) };
        }
        k.cp_async_bulk_commit_group();
        k.cp_async_bulk_wait_group_read(1);
        k.cp_async_bulk_wait_group(0);
    })
}

type Maps = (TensorMap<In<f16>>, TensorMap<Out<f16>>, TensorMap<InOut<u32>>, InOut<u32>, u16);

pub(super) fn tensors() -> Result<Kernel<Maps>, BuildError> {
    Kernel::<Maps>::build("tensors", Target::SM_90A, |k, (a, d, u, buffer, blocks)| {
        let policy = k.cache_policy(Eviction::First);
        let shared = k.shared_aligned::<f16>(64, 128);
        let words = shared.cast::<u32>();
        let barrier = k.mbarriers(1);
        let (x, o) = (k.tid_x().cast::<i32>(), blocks);
        a.prefetch_descriptor();
        u.acquire(MemoryScope::Gpu);
        for hints in hints(blocks, policy) {
            a.load(shared, [x], barrier, hints);
            a.load(shared, [x, 1.into()], barrier, hints);
            a.load(shared, [x; 3], barrier, hints);
            a.load(shared, [x; 4], barrier, hints);
            a.load(shared.in_block(1), [0; 5], barrier.in_block(1), hints);
            a.load_im2col(shared, [x; 3], [o], barrier, hints);
            a.load_im2col(shared, [x; 4], [1, 2], barrier, hints);
            a.load_im2col(shared, [x; 5], [o; 3], barrier, hints);
        }
        for hints in [Hints::default(), Hints::default().policy(policy)] {
            d.store(shared, [x; 1], hints);
            d.store(shared, [x; 5], hints);
            unsafe { d.store_im2col(shared, [x; 4], hints) };
            for op in ReduceOp::ALL {
                u.reduce(op, words, [x; 2], hints);
                unsafe { u.reduce_im2col(op, words, [x; 3], hints) };
            }
            a.prefetch([x; 2], hints);
            a.prefetch_im2col([x; 5], [o; 3], hints);
        }
        let map = unsafe { buffer.byte_offset(128).tensor_map() };
        map.load(words, [0, 0], barrier, Hints::default());
    })
}

pub(super) fn policies() -> Result<Kernel<(InOut<f32>, u32, u64, f32)>, BuildError> {
    Kernel::<(InOut<f32>, u32, u64, f32)>::build("policies", Target::SM_80, |k, (x, n, bits, fraction)| {
        let priorities = [Eviction::Last, Eviction::Normal, Eviction::First, Eviction::Unchanged];
        let policies = priorities.map(|primary| k.cache_policy(primary));
        let [policy, ..] =
            priorities.map(|primary| k.cache_policy_fraction(primary, fraction, Eviction::First));
        k.cache_policy_fraction(Eviction::Last, 0.5, Eviction::Unchanged);
        k.cache_policy_range(x, (Eviction::Last, n), (Eviction::First, 4096));
        k.cache_policy_of_access_property(bits);
        let _ = (policies, CachePolicy::from_bits(policy.bits()));
        let line = k.shared::<f32>(32);
        let from = k.slice(x, n.multiple_of(4));
        for prefetch in [None, Some(PrefetchSize::B64), Some(PrefetchSize::B128), Some(PrefetchSize::B256)] {
            for policy in [None, Some(policy)] {
                let hints = CopyHints { prefetch, policy };
                line.copy_async_with::<16>(from.at(0), hints);
                line.copy_async_with::<4>(from.at(0), hints);
            }
        }
        unsafe { x.discard() };
        unsafe { x.at(n * 32).apply_normal_priority() };
    })
}

pub(super) fn edits() -> Result<Kernel<(TensorMap<In<f32>>, InOut<f32>, u32, u64)>, BuildError> {
    type Args = (TensorMap<In<f32>>, InOut<f32>, u32, u64);
    Kernel::<Args>::build("edits", Target::SM_90A, |k, (map, buffer, n, stride)| {
        k.block([32]);
        let edit = k.shared_tensor_map();
        let lane = k.laneid();
        edit.pointer().at(lane).store(unsafe { map.bytes().at(lane).load() });
        k.sync_warp(warpwright::ptx::FULL_MASK);
        edit.global_address(buffer);
        edit.rank(2);
        edit.box_dim(0, n);
        edit.global_dim(1, n);
        edit.global_stride(1, stride);
        edit.element_stride(0, 1);
        edit.choose(MapField::ElementType, 7);
        edit.choose(MapField::Interleave, 0);
        edit.choose(MapField::Swizzle, 3);
        edit.choose(MapField::Fill, 1);
        let global = buffer.cast::<u32>().at(k.ctaid_x() * 32);
        for scope in [MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::Sys] {
            unsafe { edit.publish(global.cast::<f32>(), scope) }.acquire(scope);
        }
        let edit = unsafe { global.edit_tensor_map() };
        edit.rank(1);
        edit.choose(MapField::Fill, 0);
    })
}
