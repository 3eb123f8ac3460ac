//! Sizes that exceed all buffers: every call returns an error, however large the sizes are.

use proptest::prelude::*;
use warpwright::{
    kernels::{
        AttentionMask, NormFunction, Reduction, ScaleGroup,
        call::{self, AttentionGradients, AttentionShape, CacheShape, GemmShape, HeadOrder, PackedShape},
    },
    prelude::*,
    run::{BufferMut, BufferRef, Device, KernelCache, Simulator},
    sim::Arch,
};

fn size() -> impl Strategy<Value = u32> {
    let special =
        prop::sample::select(vec![1, 2, 7, 64, 128, 1 << 21, 1 << 24, 1 << 31, u32::MAX - 7, u32::MAX]);
    prop_oneof![4 => special, 1 => 1..=u32::MAX]
}

/// Sizes of which at least one exceeds all buffers.
fn sizes<const N: usize>() -> impl Strategy<Value = [u32; N]> {
    (prop::array::uniform(size()), 0..N, prop::sample::select(vec![1 << 24, 1 << 31, u32::MAX])).prop_map(
        |(mut sizes, at, huge): ([u32; N], usize, u32)| {
            sizes[at] = huge;
            sizes
        },
    )
}

/// Simulators with and without the instructions of sm_90a.
fn devices() -> [Simulator; 2] {
    [Simulator::new(), Simulator::new().arch(Arch::Sm80)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows([m, n] in sizes()) {
        for device in devices() {
            let kernels = KernelCache::new(&device);
            let few = device.upload(&[bf16::ONE; 8]).expect("room");
            let targets = device.upload(&[0i32; 8]).expect("room");
            let mut y = device.output::<bf16>(8).expect("room");
            let mut q = device.output::<i8>(8).expect("room");
            let mut numbers = [(); 5].map(|()| device.output::<f32>(8).expect("room"));
            let [a, b, c, d, _] = &mut numbers;
            let (rms, on) = (NormFunction::Rms, &kernels);
            prop_assert!(call::norm(on, rms, [m, n], 0.0, &few, &few, &mut y).is_err());
            prop_assert!(call::norm_backward(on, rms, [m, n], 0.0, &few, &few, &few, &mut y, (&mut *a, &mut *b), [&mut *c, &mut *d]).is_err());
            prop_assert!(call::softmax(on, false, [m, n], 1.0, &few, &mut y).is_err());
            prop_assert!(call::softmax_backward(on, false, [m, n], 1.0, &few, &few, &mut y).is_err());
            prop_assert!(call::cross_entropy(on, [m, n], -1, &few, &targets, &mut *a, &mut *b).is_err());
            prop_assert!(call::quantize(on, ScaleGroup::Block, [m, n], &few, &mut q, &mut *a).is_err());
            prop_assert!(call::cumulative_sum(on, true, [m, n], &few, &mut y).is_err());
            prop_assert!(call::reduce_rows(on, Reduction::Mean, [m, n], &few, &mut *a).is_err());
            prop_assert!(call::reduce_columns(on, Reduction::Sum, [m, n], &few, &mut *a, &mut *b).is_err());
            let _ = call::norm_backward_workspace::<bf16>(on, [m, n]);
            let _ = call::column_workspace::<bf16>(on, Reduction::Sum, [m, n]);
        }
    }

    #[test]
    fn permutations(extents in sizes::<5>(), order in Just([0usize, 1, 2, 3, 4]).prop_shuffle()) {
        for device in devices() {
            let kernels = KernelCache::new(&device);
            let x = device.upload(&[bf16::ONE; 8]).expect("room");
            let mut y = device.output::<bf16>(8).expect("room");
            prop_assert!(call::permute(&kernels, &extents, &order, &x, &mut y).is_err());
        }
    }

    #[test]
    fn products([m, n, k] in sizes()) {
        for device in devices() {
            let kernels = KernelCache::new(&device);
            let [a, b] = [(); 2].map(|()| device.upload(&[bf16::ONE; 8]).expect("room"));
            let mut d = device.output::<bf16>(8).expect("room");
            prop_assert!(call::gemm(&kernels, &GemmShape::new(m, n, k), &a, &b, &mut d).is_err());
        }
    }

    #[test]
    fn attention(
        [batches, heads, queries, keys] in sizes(), multi_query in any::<bool>(), head_size in prop_oneof![3 => Just(64), 3 => Just(128), 1 => size()],
        causal in any::<bool>(), positions in any::<bool>(),
    ) {
        let device = Simulator::new();
        let kernels = KernelCache::new(&device);
        let few = [(); 3].map(|()| device.upload(&[bf16::ONE; 8]).expect("room"));
        let mut results = [(); 4].map(|()| device.output::<bf16>(8).expect("room"));
        let mut numbers = [(); 3].map(|()| device.output::<f32>(8).expect("room"));
        let shape = AttentionShape {
            kv_heads: if multi_query { 1 } else { heads },
            keys,
            mask: if causal { AttentionMask::CausalFromEnd } else { AttentionMask::Full },
            order: if positions { HeadOrder::Positions } else { HeadOrder::Heads },
            ..AttentionShape::new(batches, heads, queries, head_size)
        };
        let _ = (shape.workspace(false), shape.workspace(true), shape.transposed_values());
        let [q, k, v] = &few;
        let ([o, dq, dk, dv], [lse, rows, sums]) = (&mut results, &mut numbers);
        prop_assert!(call::attention(&kernels, &shape, q, k, v, &mut *o, &mut *lse).is_err());
        let gradients = AttentionGradients {
            o: BufferRef::from(&*o),
            lse: BufferRef::from(&*lse),
            d_o: BufferRef::from(q),
            dq: BufferMut::from(dq),
            dk: BufferMut::from(dk),
            dv: BufferMut::from(dv),
            workspace: [BufferMut::from(rows), BufferMut::from(sums)],
            dropout: None,
        };
        prop_assert!(call::attention_backward(&kernels, &shape, false, q, k, v, gradients).is_err());
    }

    #[test]
    fn caches([batches, heads, capacity] in sizes(), queries in 1u32..10, head_size in prop_oneof![3 => Just(128), 1 => size()]) {
        for device in devices() {
            let kernels = KernelCache::new(&device);
            let [q, k, v] = [(); 3].map(|()| device.upload(&[bf16::ONE; 8]).expect("room"));
            let lengths = device.upload(&[0u32; 8]).expect("room");
            let (mut o, mut lse) = (device.output::<bf16>(8).expect("room"), device.output(8).expect("room"));
            let shape = CacheShape { batches, heads, kv_heads: heads, queries, capacity, head_size, scale: None };
            prop_assert!(call::cached_attention(&kernels, &shape, &q, &k, &v, &lengths, &mut o, &mut lse).is_err());
        }
    }
}

#[test]
fn workspaces_of_packed_sequences() {
    let shape =
        PackedShape { longest: u32::MAX, ..PackedShape::new(u32::MAX, u32::MAX, u32::MAX, u32::MAX, 128) };
    assert!(shape.workspace(false).into_iter().all(|length| length > 1 << 40));
}
