//! Tilings with arbitrary fields, and tilings for arbitrary sizes: the result is a kernel or an error.

use proptest::prelude::*;
use warpwright::{
    kernels::{
        AdamW, ColumnReduction, CrossEntropy, CumulativeSum, Dropout, Embedding, Norm, NormBackward,
        NormFunction, Permute, Pointwise, PointwiseFunction, Quantize, Reduction, Rotary, RotaryPairs,
        RowReduction, RowTiling, Sample, ScaleGroup, Softmax, SoftmaxBackward, TopK,
    },
    ptx::{BuildError, Target},
};

const TARGET: Target = Target::SM_90A;

fn number() -> impl Strategy<Value = u32> {
    let special = prop::sample::select(vec![
        0,
        1,
        2,
        3,
        4,
        8,
        16,
        17,
        31,
        32,
        64,
        96,
        512,
        1024,
        1056,
        1 << 16,
        1 << 27,
        1 << 31,
    ]);
    prop_oneof![4 => special, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn arbitrary() -> impl Strategy<Value = RowTiling> {
    let sizes = (number(), number(), number(), number(), number());
    (sizes, number(), number(), number(), any::<bool>(), any::<bool>()).prop_map(
        |((threads, rows, cluster, adjacent, stripes), resident, ahead, turns, unaligned, streamed)| {
            RowTiling {
                threads,
                rows,
                cluster,
                adjacent,
                stripes,
                resident,
                ahead,
                turns,
                unaligned,
                streamed,
            }
        },
    )
}

/// Tilings that differ from a valid one in a field or two.
fn nearly_valid() -> impl Strategy<Value = RowTiling> {
    let lengths = prop::sample::select(vec![1, 7, 60, 64, 500, 513, 4096, 4097, 8192, 30_000, 65_536]);
    let valid = (lengths, any::<bool>(), any::<bool>()).prop_map(|(n, held, summed)| match (held, summed) {
        (true, true) => RowTiling::for_summed_rows(TARGET, 4, &[n]),
        (true, _) => RowTiling::for_held_rows(TARGET, 4, &[n]),
        _ => RowTiling::for_rows(TARGET, 4, &[n]),
    });
    (valid, number(), 0..10, arbitrary(), 0..3).prop_map(|(valid, number, field, other, fields)| {
        let mut tiling = valid;
        match field {
            0 => tiling.threads = number,
            1 => tiling.rows = number,
            2 => tiling.cluster = number,
            3 => tiling.adjacent = number,
            4 => tiling.stripes = number,
            5 => tiling.resident = number,
            6 => tiling.ahead = number,
            7 => tiling.turns = number,
            8 => tiling.unaligned ^= true,
            _ => tiling.streamed ^= true,
        }
        match fields {
            0 => tiling,
            1 => RowTiling { ahead: other.ahead, turns: other.turns, ..tiling },
            _ => RowTiling { resident: other.resident, stripes: other.stripes, ..tiling },
        }
    })
}

/// The results of all kernels with a tiling.
fn kernels(tiling: RowTiling) -> Vec<Result<(), BuildError>> {
    let log = false;
    let softmax = Softmax { tiling, log };
    let quantize = |group| Quantize { tiling, group };
    let mut built = vec![
        softmax.kernel::<f32, f32>(TARGET).map(drop),
        softmax.causal_kernel::<f32, f32>(TARGET).map(drop),
        softmax.lengths_kernel::<f32, f32>(TARGET).map(drop),
        SoftmaxBackward { tiling, log }.kernel::<f32, f32>(TARGET).map(drop),
        CrossEntropy { tiling, backward: tiling }.kernel::<f32>(TARGET).map(drop),
        CrossEntropy { tiling, backward: tiling }.backward_kernel::<f32>(TARGET).map(drop),
        Sample { tiling }.kernel::<f32>(TARGET).map(drop),
        TopK { tiling }.kernel::<f32>(TARGET).map(drop),
        CumulativeSum { tiling, inclusive: true }.kernel::<f32, f32>(TARGET).map(drop),
        Dropout { tiling }.kernel::<f32, f32>(TARGET).map(drop),
        Embedding { tiling }.kernel::<f32>(TARGET).map(drop),
        Embedding { tiling }.add_kernel::<f32>(TARGET).map(drop),
        AdamW { tiling }.kernel::<f32, f32>(TARGET).map(drop),
        RowReduction { tiling, function: Reduction::Sum }.kernel::<f32>(TARGET).map(drop),
        ColumnReduction { tiling, function: Reduction::Sum }.kernel::<f32>(TARGET).map(drop),
        Pointwise { tiling, function: PointwiseFunction::Silu }.kernel::<f32, f32>(TARGET).map(drop),
        Pointwise { tiling, function: PointwiseFunction::Silu }.gated_kernel::<f32, f32>(TARGET).map(drop),
        Permute::UnalignedRows { tiling }.kernel::<f32>(TARGET).map(drop),
    ];
    for group in [ScaleGroup::Row, ScaleGroup::Block] {
        built.push(quantize(group).kernel::<f32, i8>(TARGET).map(drop));
        built.push(quantize(group).norm_kernel::<f32, f32, i8>(NormFunction::Rms, TARGET).map(drop));
        built.push(quantize(group).gated_kernel::<f32, i8>(PointwiseFunction::Silu, TARGET).map(drop));
    }
    for function in [NormFunction::Rms, NormFunction::Layer] {
        built.push(Norm { tiling, function }.kernel::<f32, f32, f32>(TARGET).map(drop));
        built.push(Norm { tiling, function }.residual_biased_kernel::<f32, f32, f32>(TARGET).map(drop));
        built.push(Norm { tiling, function }.dropout_kernel::<f32, f32, f32>(TARGET).map(drop));
        built.push(NormBackward { tiling, function }.kernel::<f32, f32>(TARGET).map(drop));
    }
    built
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tilings_are_built_or_rejected(arbitrary in arbitrary(), nearly_valid in nearly_valid()) {
        kernels(arbitrary);
        kernels(nearly_valid);
    }

    #[test]
    fn rotary_embeddings_are_built_or_rejected(
        [threads, rows, resident, adjacent] in prop::array::uniform4(number()), halves in any::<bool>(),
    ) {
        let pairs = if halves { RotaryPairs::Halves } else { RotaryPairs::Adjacent };
        let _ = Rotary { threads, rows, resident, adjacent, pairs, inverse: false }.kernel::<f32>(TARGET);
    }

    #[test]
    fn every_size_has_a_tiling(
        bytes in 0u32..20, n in number(), pitch in number(), [multiprocessors, m] in prop::array::uniform2(number()),
    ) {
        for target in [Target::SM_80, TARGET] {
            let sizes = &[n, pitch];
            let _ = Softmax::for_rows(target, bytes, sizes);
            let _ = Softmax::for_masked_rows(target, bytes, sizes);
            let _ = SoftmaxBackward::for_rows(target, bytes, sizes);
            let _ = CrossEntropy::for_rows(target, bytes, sizes);
            let _ = Sample::for_rows(target, bytes, sizes);
            let _ = Sample::for_many_rows(target, bytes, sizes);
            let _ = TopK::for_many_rows(target, bytes, sizes, m);
            let _ = RowTiling::for_elements(target, bytes, sizes);
            let _ = RowTiling::for_summed_rows(target, bytes, sizes);
            let columns = ColumnReduction::for_rows(Reduction::Mean, target, bytes, sizes);
            let _ = columns.parts(multiprocessors, [m, n]);
            let _ = Rotary::for_rows(RotaryPairs::Halves, bytes, sizes);
            for group in [ScaleGroup::Row, ScaleGroup::Block] {
                let _ = Quantize::for_rows(group, target, bytes, sizes);
                let _ = Quantize::for_norm_rows(group, target, bytes, sizes);
            }
            for function in [NormFunction::Rms, NormFunction::Layer] {
                let _ = Norm::for_rows(function, target, bytes, sizes);
                let _ = Norm::for_residual_rows(function, target, bytes, sizes);
                let _ = Norm::for_biased_rows(function, target, bytes, sizes);
                let _ = Norm::for_dropout_rows(function, target, bytes, sizes);
                let _ = NormBackward::for_rows(function, target, bytes, sizes).parts(multiprocessors);
            }
        }
    }
}
