//! Every typed emitter, called once: the emitted instruction is in the table, ptxas accepts it, and every row has an emitter.
#![allow(unsafe_code, reason = "emits every access, raw ones too")]
#![allow(
    clippy::eq_op,
    clippy::type_complexity,
    reason = "every operator and shape is written once, on whatever is at hand"
)]

mod bulk;
mod hopper;

use std::collections::BTreeSet;

use warpwright::atoms::mma_atoms;
use warpwright::ptx::{
    B16, B32, B64, B128, BuildError, Builder, Class, Comparison, Const, FULL_MASK, Global, In, InOut, Kernel,
    Load, Local, MemoryScope, Minifloat, Mode, Order, Permute, Prefetch, Rounding, Shared, ShiftMode,
    Shuffle, Store, Target, Val, bf16, bf16x2, e2m3, e3m2, e4m3, e5m2, f16, f16x2, lop3_table,
    table::{self, Pattern},
};

use super::assemble::check;
use crate::{atom_kernel, require};

type Args = (InOut<u32>, In<f32>, u32, i32, u64, i64, f32, f64, f16, bf16);

/// Values of every type in registers.
struct Values<'k> {
    k: Builder<'k>,
    p: Val<'k, bool>,
    h: Val<'k, u16>,
    hs: Val<'k, i16>,
    u: Val<'k, u32>,
    s: Val<'k, i32>,
    ul: Val<'k, u64>,
    sl: Val<'k, i64>,
    f: Val<'k, f32>,
    d: Val<'k, f64>,
    half: Val<'k, f16>,
    brain: Val<'k, bf16>,
    halves: Val<'k, f16x2>,
    brains: Val<'k, bf16x2>,
}

fn build(name: &str, target: Target, write: impl for<'k> Fn(Values<'k>)) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build(name, target, |k, (_, _, u, s, ul, sl, f, d, half, brain)| {
        write(Values {
            k,
            p: u.lt(7),
            h: u.cast(),
            hs: s.cast(),
            u,
            s,
            ul,
            sl,
            f,
            d,
            half,
            brain,
            halves: Val::pack(half, half),
            brains: Val::pack(brain, brain),
        });
    })
}

fn integers(v: Values<'_>) {
    macro_rules! all {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x + x, x - x, x * x, x / x, x % x, x.mad(x, x), x.mul_hi(x), x.mad_hi(x, x), x.sad(x, x), x.min(x), x.max(x));
        )*};
    }
    all!(v.h, v.hs, v.u, v.s, v.ul, v.sl);
    let _ = (v.u.mul_wide(v.u), v.s.mul_wide(v.s), v.h.mul_wide(v.h), v.u.mad_wide(v.u, v.ul));
    let _ = (-v.hs, -v.s, -v.sl, v.hs.abs(), v.s.abs(), v.sl.abs());
    let _ = (v.s.saturating_add(v.s), v.s.saturating_sub(v.s), v.s.saturating_mad_hi(v.s, v.s));
    let _ = (v.s.min_relu(v.s), v.s.max_relu(v.s));
    let _ = (
        v.u.mul24_lo(v.u),
        v.s.mul24_hi(v.s),
        v.u.mad24_lo(v.u, v.u),
        v.s.mad24_hi(v.s, v.s),
        v.s.saturating_mad24_hi(v.s, v.s),
    );
    let _ = (v.u.count_ones(), v.ul.leading_zeros(), v.s.highest_bit(), v.ul.normalizing_shift());
    let _ = (
        v.u.find_nth_set(v.u, v.s),
        v.ul.reverse_bits(),
        v.s.extract_bits(v.u, 5),
        v.ul.insert_bits(v.ul, 3, v.u),
    );
    let _ = (
        v.s.extend_from(v.u, ShiftMode::Clamp),
        v.u.extend_from(v.u, ShiftMode::Wrap),
        Val::bit_mask(v.u, v.u, ShiftMode::Clamp),
    );
    let _ = (v.u.dp4a(v.s, v.s), v.s.dp2a_lo(v.u, v.s), v.u.dp2a_hi(v.u, v.u), v.u.cnot());
    let [a, b] = v.k.add_words([v.u, v.u], [v.u, v.u]);
    let [c, d] = v.k.sub_words([v.ul, v.ul], [v.ul, v.ul]);
    let _ = (v.k.add_words([c, d], [c, d]), v.k.sub_words([a, b], [a, b]));
    let _ = (v.k.mad_words([a, b, a], b, [a, b, a]), v.k.mad_words([c, d, c], d, [c, d, c]));
}

fn floats(v: Values<'_>) {
    let (f, d, h, b, hh, bb) = (v.f, v.d, v.half, v.brain, v.halves, v.brains);
    for rounding in Rounding::ALL {
        let _ = (
            f.add_with(f, rounding),
            f.sub_with(f, rounding),
            f.mul_with(f, rounding),
            f.fma_with(f, f, rounding),
        );
        let _ = (
            d.add_with(d, rounding),
            d.sub_with(d, rounding),
            d.mul_with(d, rounding),
            d.fma_with(d, d, rounding),
        );
        let _ = (
            f.div_with(f, rounding),
            d.div_with(d, rounding),
            f.rcp_with(rounding),
            d.rcp_with(rounding),
            f.sqrt_with(rounding),
            d.sqrt_with(rounding),
        );
        let _ = (f.round(rounding), d.round(rounding), h.round(rounding), b.round(rounding));
    }
    let mode = Mode::from(Rounding::Rz).ftz();
    let _ = (
        f.add_with(f, mode.sat()),
        f.fma_with(f, f, mode.sat()),
        f.div_with(f, mode),
        f.rcp_with(mode),
        f.sqrt_with(mode),
    );
    let _ = (h.add_with(h, Mode::RN.ftz().sat()), h.fma_with(h, h, Mode::RN.sat()));
    macro_rules! all {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x + x, x - x, x * x, x.mad(x, x), x.min(x), x.max(x), -x, x.abs(), x.copysign(-x));
        )*};
    }
    all!(f, d, h, b, hh, bb);
    let _ = (f / f, d / d, f.copysign(d.cast()), d.copysign(d), f.is(Class::Finite), d.is(Class::Subnormal));
    let _ = (
        f.min_nan(f),
        f.max_nan(f),
        h.min_nan(h),
        hh.max_nan(hh),
        b.min_nan(b),
        bb.max_nan(bb),
        h.max_nan(h),
        b.max_nan(b),
    );
    let _ = (h.fma_relu(h, h), b.fma_relu(b, b), hh.fma_relu(hh, hh), bb.fma_relu(bb, bb));
    let k = v.k;
    let _ =
        (k.rcp_approx(f), k.rcp_approx_ftz(f), k.rcp_approx_f64(d), k.sqrt_approx(f), k.sqrt_approx_ftz(f));
    let _ = (k.rsqrt_approx(f), k.rsqrt_approx_ftz(f), k.rsqrt_approx_f64(d), k.rsqrt_approx_ftz_f64(d));
    let _ = (
        k.sin_approx(f),
        k.sin_approx_ftz(f),
        k.cos_approx(f),
        k.cos_approx_ftz(f),
        k.lg2_approx(f),
        k.lg2_approx_ftz(f),
    );
    let _ = (
        k.ex2_approx(f),
        k.ex2_approx_ftz(1.5),
        k.ex2_approx_f16(h),
        k.ex2_approx_f16x2(hh),
        k.ex2_approx_bf16(b),
        k.ex2_approx_bf16x2(bb),
    );
    let _ = (
        k.tanh_approx(f),
        k.tanh_approx_f16(h),
        k.tanh_approx_f16x2(hh),
        k.tanh_approx_bf16(b),
        k.tanh_approx_bf16x2(bb),
    );
    let _ = (k.div_approx(f, f), k.div_approx_ftz(f, f), k.div_full(f, 3.0), k.div_full_ftz(f, f));
}

fn comparisons(v: Values<'_>) {
    macro_rules! ordered {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x.eq(x), x.ne(x), x.lt(x), x.le(x), x.gt(x), x.ge(x), x.compare_mask(Comparison::Lt, x));
        )*};
    }
    ordered!(v.h, v.hs, v.u, v.s, v.ul, v.sl, v.f, v.d, v.half, v.brain);
    macro_rules! unordered {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x.equ(x), x.neu(x), x.ltu(x), x.leu(x), x.gtu(x), x.geu(x), x.num(x), x.nan(x));
        )*};
    }
    unordered!(v.f, v.d, v.half, v.brain);
    let _ = (v.half.compare_unit(Comparison::Leu, v.half), v.halves.compare_unit(Comparison::Nan, v.halves));
    let _ = (v.brain.compare_unit(Comparison::Eq, v.brain), v.brains.compare_unit(Comparison::Gt, v.brains));
    let _ =
        (v.halves.compare_each(Comparison::Lt, v.halves), v.brains.compare_each(Comparison::Num, v.brains));
    let (b16, b32, b64) = (v.h.bits::<B16>(), v.u.bits::<B32>(), v.ul.bits::<B64>());
    let _ = (b16.eq(b16), b32.ne(b32), b64.eq(b64));
    let _ = (
        v.p.select(v.f, 1.0),
        v.p.select(v.half, f16::ONE),
        v.p.select(v.halves, v.halves),
        v.p.select(v.sl, 3),
    );
    let _ = (v.s.select_by_sign(v.d, v.d), v.f.select_by_sign(v.half, v.half), v.f.select_by_sign(v.ul, 7));
}

fn logic(v: Values<'_>) {
    let q = v.u.gt(3);
    let _ = (v.p & q, v.p | q, v.p ^ q, !v.p);
    macro_rules! all {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x & x, x | x, x ^ x, !x, x << v.u, x >> v.u);
        )*};
    }
    all!(v.h, v.hs, v.u, v.s, v.ul, v.sl, v.u.bits::<B32>());
    let majority = lop3_table(|a, b, c| a & b | b & c | c & a);
    let _ = (
        v.u.lop3(v.u, 5, majority),
        v.u.lop3_or(v.u, v.u, majority, v.p),
        v.u.lop3_and(v.u, v.u, majority, true),
    );
    let _ = (v.u.funnel_left(v.u, v.u, ShiftMode::Wrap), v.u.funnel_right(v.u, 3, ShiftMode::Clamp));
    let _ = (v.u.permute(v.u, 0x3210), v.u.permute_with(v.u, v.u, Permute::Rc16));
}

fn conversions(v: Values<'_>) {
    macro_rules! from {
        ($($x:expr),*) => {$(
            let x = $x;
            let _ = (x.cast::<u16>(), x.cast::<i16>(), x.cast::<u32>(), x.cast::<i32>(), x.cast::<u64>(), x.cast::<i64>());
            let _ = (x.cast::<f16>(), x.cast::<bf16>(), x.cast::<f32>(), x.cast::<f64>());
            let _ = (x.convert::<f16>(Rounding::Rz), x.convert::<bf16>(Rounding::Rm), x.convert::<f32>(Rounding::Rp));
            let _ = (x.convert::<f64>(Rounding::Rz), x.convert::<i32>(Rounding::Rm), x.convert::<u64>(Rounding::Rn));
        )*};
    }
    from!(v.h, v.hs, v.u, v.s, v.ul, v.sl, v.half, v.brain, v.f, v.d);
    let _ = (
        v.s.cast_saturating::<u16>(),
        v.ul.cast_saturating::<i16>(),
        v.sl.cast_saturating::<u32>(),
        v.ul.cast_saturating::<i32>(),
    );
    let _ = (
        v.s.cast_saturating::<u64>(),
        v.ul.cast_saturating::<i64>(),
        v.h.cast_saturating::<u32>(),
        v.u.cast_saturating::<u32>(),
    );
    let _ = (
        v.f.cast_saturating::<f16>(),
        v.half.cast_saturating::<f32>(),
        v.half.cast_saturating::<f64>(),
        v.f.cast_saturating::<f64>(),
    );
    let _ = (
        v.d.cast_saturating::<f16>(),
        v.d.cast_saturating::<f32>(),
        v.s.cast_saturating::<f32>(),
        v.f.cast_saturating::<f32>(),
    );
    let _ = (v.f.cast_saturating::<i32>(), v.half.cast_saturating::<f16>(), v.d.cast_saturating::<f64>());
    let _ = (v.u.wrap_to::<u8>(), v.ul.wrap_to::<i8>(), v.s.clamp_to::<u8>(), v.u.clamp_to::<i8>());
    let _ = (v.f.convert_relu::<f16>(Rounding::Rn), v.f.convert_relu::<bf16>(Rounding::Rz));
    let _ = (
        Val::<f16x2>::pack_f32(v.f, 1.0),
        Val::<bf16x2>::pack_f32(v.f, v.f),
        Val::<f16x2>::pack_f32_relu(v.f, v.f),
        Val::<f16x2>::pack_f32_saturating(v.f, v.f),
    );
    let _ = (
        Val::<u64>::pack(v.u, 5u32),
        Val::<u32>::pack(v.h, v.h),
        v.ul.unpack(),
        v.halves.unpack_f32(),
        v.d.unpack(),
    );
    let _ = (v.f.bits::<u32>(), v.half.bits::<u16>(), v.d.bits::<i64>());
    for rounding in [Rounding::Rn, Rounding::Rz] {
        let _ = (v.f.to_tf32_with(rounding), v.f.to_tf32_relu(rounding), v.f.to_tf32().to_f32());
    }
    minifloats::<e4m3>(&v);
    minifloats::<e5m2>(&v);
    for rounding in Rounding::ALL {
        let _ = (v.f.round_to::<i8>(rounding), v.f.round_to::<u8>(rounding));
    }
    let _ =
        (Val::pack_bytes::<i8>([v.s, v.s, v.s, v.s]), Val::pack_bytes::<u8>([v.s, 5.into(), v.s, 6.into()]));
    let wide = v.k.var(Val::constant(B128(0)));
    wide.set(wide.get());
}

fn minifloats<T: Minifloat>(v: &Values<'_>) {
    let pair = Val::pack_minifloats::<T>(v.f, 1.0);
    let _ = (
        pair,
        Val::pack_minifloats_relu::<T>(v.f, v.f),
        v.halves.to_minifloats::<T>(),
        v.halves.to_minifloats_relu::<T>(),
    );
    let _ =
        (pair.unpack_minifloats::<T>(), v.h.unpack_minifloats_relu::<T>(), v.f.to_minifloat::<T>().to_f32());
}

/// Conversions that sm_90 lacks.
fn sm_100a_conversions(v: Values<'_>) {
    let (k, x) = (v.k, v.f);
    minifloats::<e3m2>(&v);
    minifloats::<e2m3>(&v);
    let _ = (k.pack_stochastic::<f16x2>(x, 1.0, 7u32), k.pack_stochastic::<bf16x2>(0.5, x, k.laneid()));
    let _ = k.pack_minifloats_stochastic::<e4m3>([x, x, 2.0.into(), x], k.laneid());
    let _ = k.pack_minifloats_stochastic::<e5m2>([x; 4], 9u32);
    let _ = k.pack_minifloats_stochastic::<e3m2>([x; 4], v.u);
    let _ = k.pack_minifloats_stochastic::<e2m3>([x; 4], v.u);
}

fn synchronization(v: Values<'_>) {
    let k = v.k;
    k.sync_threads();
    k.bar_sync(1, 64);
    k.bar_arrive(1, v.u);
    let _ = (k.sync_threads_count(v.p), k.sync_threads_and(v.p), k.sync_threads_or(v.p));
    let _ = (k.bar_red_popc(1, 64, v.p), k.bar_red_and(1, 64, v.p), k.bar_red_or(v.u, 64, true));
    k.barrier_sync(2, 64);
    k.barrier_arrive(2, 64);
    k.sync_warp(FULL_MASK);
    for scope in [MemoryScope::Cta, MemoryScope::Gpu, MemoryScope::Sys] {
        k.membar(scope);
    }
    for scope in [MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::Sys] {
        k.fence(scope);
        k.fence_sc(scope);
    }
    let _ = (k.shfl_up(v.f, 1), k.shfl_down(v.u, v.u), k.shfl_bfly(v.halves, 16), k.shfl_idx(v.s, 0));
    let _ = k.shfl_with(Shuffle::Bfly, v.f, 1, 31, FULL_MASK);
    let _ = (k.vote_all(v.p, FULL_MASK), k.vote_any(v.p, v.u), k.vote_uni(v.p, v.u), k.vote_ballot(v.p, v.u));
    let _ =
        (k.match_any(v.u, FULL_MASK), k.match_any(v.ul, v.u), k.match_all(v.s, v.u), k.match_all(v.sl, v.u));
    let _ = (k.activemask(), k.elect(FULL_MASK));
    let _ = (k.redux_add(v.u, FULL_MASK), k.redux_min(v.s, v.u), k.redux_max(v.u, v.u));
    let _ = (k.redux_and(v.u, v.u), k.redux_or(v.s, v.u), k.redux_xor(v.u, v.u));
    k.print("{} of {}", (v.u, v.f));
    k.nanosleep(100);
    k.brkpt();
    k.return_if(v.p);
    k.if_(v.p, || k.trap());
    k.exit();
}

fn special_registers(v: Values<'_>) {
    let k = v.k;
    let _ = (
        k.tid_x(),
        k.ntid_x(),
        k.laneid(),
        k.warpid(),
        k.nwarpid(),
        k.ctaid_x(),
        k.nctaid_x(),
        k.smid(),
        k.nsmid(),
        k.gridid(),
    );
    let _ = (
        k.is_explicit_cluster(),
        k.clusterid_x(),
        k.nclusterid_x(),
        k.cluster_ctaid_x(),
        k.cluster_nctaid_x(),
    );
    let _ = (k.cluster_ctarank(), k.cluster_nctarank());
    let _ = (k.lanemask_eq(), k.lanemask_le(), k.lanemask_lt(), k.lanemask_ge(), k.lanemask_gt());
    let _ =
        (k.clock(), k.clock_hi(), k.clock64(), k.globaltimer(), k.total_smem_size(), k.dynamic_smem_size());
}

type Buffers = (
    InOut<u32>,
    InOut<f32>,
    InOut<f64>,
    InOut<f16>,
    InOut<bf16>,
    InOut<f16x2>,
    InOut<bf16x2>,
    InOut<i64>,
    InOut<u8>,
    InOut<i32>,
);

fn memory() -> Result<Kernel<Buffers>, BuildError> {
    Kernel::<Buffers>::build("memory", Target::SM_90, |k, (u, f, d, h, b, hh, bb, l, bytes, s)| {
        let i = k.tid_x();
        for how in [
            Load::Default,
            Load::Ca,
            Load::Cg,
            Load::Cs,
            Load::Lu,
            Load::Cv,
            Load::Nc,
            Load::Volatile,
            Load::Relaxed(MemoryScope::Cta),
            Load::Relaxed(MemoryScope::Cluster),
            Load::Acquire(MemoryScope::Gpu),
            Load::Acquire(MemoryScope::Sys),
        ] {
            let _: (_, [_; 4], [_; 2], _) = (
                unsafe { u.at(i).load_with(how) },
                unsafe { f.load_vector_with(how) },
                unsafe { d.load_vector_with(how) },
                unsafe { bytes.load_with(how) },
            );
        }
        for how in [
            Store::Default,
            Store::Wb,
            Store::Cg,
            Store::Cs,
            Store::Wt,
            Store::Volatile,
            Store::Relaxed(MemoryScope::Gpu),
            Store::Relaxed(MemoryScope::Cluster),
            Store::Release(MemoryScope::Sys),
        ] {
            unsafe { u.at(i).store_with(how, i) };
            unsafe { f.store_vector_with(how, [Val::from(1.0); 4]) };
            unsafe { d.store_vector_with(how, [Val::from(1.0); 2]) };
        }
        unsafe { h.store_vector([Val::from(f16::ONE); 4]) };
        unsafe { bytes.at(i).store(i) };
        let shared = k.shared::<u32>(64);
        let generic = shared.generic();
        let _ = (
            generic.is_in::<Shared>(),
            generic.is_in::<Global>(),
            generic.is_in::<Local>(),
            generic.is_in::<Const>(),
        );
        unsafe { generic.to_space::<Shared>() }.store(1);
        unsafe { u.generic().to_space::<Global>().store(generic.load()) };
        for into in [Prefetch::L1, Prefetch::L2, Prefetch::L2EvictLast, Prefetch::L2EvictNormal] {
            unsafe { u.prefetch(into) };
        }
        shared.atomic().add(1);
        for order in [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel] {
            for scope in [MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::Sys] {
                let a = unsafe { u.atomic() }.order(order).scope(scope);
                let _ = (
                    a.add(1),
                    a.min(1),
                    a.max(1),
                    a.and(1),
                    a.or(1),
                    a.xor(1),
                    a.inc(5),
                    a.dec(5),
                    a.exchange(1),
                    a.compare_exchange(0, 1),
                );
                unsafe { f.atomic() }.order(order).scope(scope).exchange(1.0);
                unsafe { h.atomic() }.order(order).scope(scope).add(f16::ONE);
                unsafe { bb.atomic() }.order(order).scope(scope).add(unsafe { bb.load() });
            }
        }
        let _ = (
            unsafe { f.atomic() }.add(1.0),
            unsafe { d.atomic() }.add(1.0),
            unsafe { hh.atomic() }.add(unsafe { hh.load() }),
            unsafe { b.atomic() }.add(bf16::ONE),
            unsafe { l.atomic() }.add(1),
            unsafe { s.atomic() }.add(1),
        );
        let _ = (
            unsafe { l.atomic() }.max(-1),
            unsafe { s.atomic() }.min(-1),
            unsafe { l.atomic() }.xor(1),
            unsafe { h.atomic() }.compare_exchange(f16::ONE, f16::ONE),
            unsafe { d.atomic() }.exchange(1.0),
        );
        for order in [Order::Relaxed, Order::Release] {
            for scope in [MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::Sys] {
                let a = unsafe { u.reduction() }.order(order).scope(scope);
                a.add(1);
                a.min(1);
                a.max(1);
                a.and(1);
                a.or(1);
                a.xor(1);
                a.inc(5);
                a.dec(5);
                unsafe { bb.reduction() }.order(order).scope(scope).add(unsafe { bb.load() });
                unsafe { h.reduction() }.order(order).scope(scope).add(f16::ONE);
            }
        }
        unsafe { f.reduction() }.add_vector([Val::from(1.0); 4]);
        unsafe { f.reduction() }
            .order(Order::Relaxed)
            .scope(MemoryScope::Gpu)
            .add_vector([Val::from(1.0); 2]);
        unsafe { h.reduction() }.add_vector([Val::from(f16::ONE); 8]);
        unsafe { bb.reduction() }.add_vector([unsafe { bb.load() }; 4]);
    })
}

fn matrices() -> Result<Kernel<(InOut<f16x2>, InOut<bf16x2>)>, BuildError> {
    Kernel::<(InOut<f16x2>, InOut<bf16x2>)>::build("matrices", Target::SM_90, |k, (global, brains)| {
        k.block([32]);
        k.max_registers(64);
        k.cluster([2]).sync();
        let shared = k.shared_aligned::<f16x2>(1024, 16);
        shared.copy_async::<16>(unsafe { global.when(true) });
        shared.copy_async::<4>(unsafe { global.when(true) });
        k.cp_async_commit_group();
        k.cp_async_wait_group(0);
        k.cp_async_wait_all();
        let ([a0], [a1, a2], a): ([Val<'_, f16x2>; 1], [Val<'_, f16x2>; 2], [Val<'_, f16x2>; 4]) =
            (shared.ldmatrix(), shared.ldmatrix_trans(), shared.ldmatrix());
        let f = [Val::from(0.0f32); 4];
        let _ = (k.mma_m16n8k16(a, [a1, a2], f), k.mma_m16n8k16(a, [a1, a2], [a1, a2]));
        let _ = (k.mma_m16n8k8([a1, a2], [a0], f), k.mma_m16n8k8([a1, a2], [a0], [a1, a2]));
        let b = unsafe { brains.load() };
        let _ = (k.mma_m16n8k16([b; 4], [b; 2], f), k.mma_m16n8k8([b; 2], [b], f));
        shared.stmatrix(a);
        shared.stmatrix_trans([a1, a2]);
        shared.stmatrix([k.movmatrix(a0)]);
        // Constants are moved to registers.
        let one = Val::<f16x2>::pack(f16::ONE, f16::ONE);
        shared.stmatrix([one]);
        shared.stmatrix([a0, one]);
        shared.stmatrix([Val::from(5u32)]);
        shared.stmatrix_trans([Val::from(1.0f32); 4]);
        shared.stmatrix([k.movmatrix(one)]);
    })
}

fn limits() -> Result<Kernel<()>, BuildError> {
    Kernel::<()>::build("limits", Target::SM_90, |k, ()| {
        k.max_block([128]);
        k.min_blocks(2);
    })
}

/// The largest block is not written beside the block itself.
fn block() -> Result<Kernel<()>, BuildError> {
    Kernel::<()>::build("block", Target::SM_90, |k, ()| {
        k.max_block([128]);
        k.block([64]);
    })
}

/// A kernel's target and text.
fn module<A>(kernel: Result<Kernel<A>, BuildError>) -> (Target, String) {
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    (kernel.entry().target, kernel.ptx())
}

/// The targets and texts of every kernel above, in [`hopper`] and in [`bulk`].
fn texts() -> Vec<(Target, String)> {
    let kernels: [(&str, Target, for<'k> fn(Values<'k>)); 8] = [
        ("integers", Target::SM_90, integers),
        ("floats", Target::SM_90, floats),
        ("comparisons", Target::SM_90, comparisons),
        ("logic", Target::SM_90, logic),
        ("conversions", Target::SM_90, conversions),
        ("sm_100a_conversions", Target::SM_100A, sm_100a_conversions),
        ("synchronization", Target::SM_90, synchronization),
        ("special_registers", Target::SM_90, special_registers),
    ];
    let mut texts: Vec<_> =
        kernels.into_iter().map(|(name, target, write)| module(build(name, target, write))).collect();
    texts.extend([module(memory()), module(matrices()), module(limits()), module(block())]);
    texts.extend([module(hopper::mbarriers()), module(hopper::fences())]);
    texts.extend([module(hopper::clusters()), module(hopper::warpgroups())]);
    texts.push(module(hopper::products()));
    texts.extend([
        module(bulk::copies()),
        module(bulk::tensors()),
        module(bulk::policies()),
        module(bulk::edits()),
    ]);
    texts
}

/// A module for each matrix instruction.
fn products() -> Vec<(Target, String)> {
    let atoms = mma_atoms().filter(|atom| atom.is_emitted());
    atoms.map(|atom| (atom.target(), atom_kernel::ptx(atom))).collect()
}

#[test]
fn ptxas_accepts_every_emitter() {
    let Some(ptxas) = require::ptxas() else { return };
    for (target, text) in texts() {
        check(&ptxas, &text, &target.to_string());
    }
}

#[test]
fn ptxas_accepts_every_matrix_product() {
    let Some(ptxas) = require::ptxas() else { return };
    for (target, text) in products() {
        check(&ptxas, &text, &target.to_string());
    }
}

#[test]
fn every_row_has_an_emitter() {
    let texts: Vec<_> = texts().into_iter().chain(products()).collect();
    let words: BTreeSet<&str> = texts
        .iter()
        .flat_map(|(_, text)| text.lines())
        .flat_map(|line| line.split([' ', ',', ';']).filter(|word| !word.is_empty()))
        .collect();
    let silent: Vec<&str> = table::forms()
        .filter(|form| form.rust != "Builder::raw")
        .filter(|form| {
            let pattern = Pattern::new(form.mnemonic);
            !words.iter().any(|word| pattern.matches(word))
        })
        .map(|form| form.mnemonic)
        .collect();
    assert_eq!(silent, Vec::<&str>::new(), "rows that no emitter above writes a line of");
    let unnamed: Vec<&str> =
        table::forms().filter(|form| form.rust.is_empty()).map(|form| form.mnemonic).collect();
    assert_eq!(unnamed, Vec::<&str>::new(), "rows that name no Rust method");
}
