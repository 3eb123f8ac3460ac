//! Tilings: every way to divide rows, the longest rows, and those that are rejected.

use super::matrix::{Shape, assembled, check, mixed};
use warpwright::{
    kernels::{
        ColumnReduction, CrossEntropy, CumulativeSum, Dropout, Norm, NormBackward, NormFunction, Pointwise,
        PointwiseFunction, Quantize, Reduction, Rotary, RotaryPairs, RowTiling, Sample, ScaleGroup, Softmax,
        SoftmaxBackward, TopK,
    },
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;

/// Softmax with a tiling, of rows of `n` elements.
fn run(tiling: RowTiling, m: usize, n: usize) {
    let kernel = assembled(Softmax { tiling, log: false }.kernel::<f32, f32>(TARGET));
    let shape = Shape { m, n, pitch: n };
    let x = shape.filled::<f32>(&mixed);
    check::<f32>(
        &format!("{tiling:?}, rows of {n}"),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let [m, n, pitch] = shape.numbers();
            let launched = device.launch(&kernel, (&x, pitch, y, pitch, m, n, 1.0f32));
            launched.unwrap_or_else(|error| panic!("{tiling:?}: {error}"));
        },
        &|row| {
            let row: Vec<f64> = (0..n).map(|col| f64::from(mixed(row, col) as f32).exp()).collect();
            let sum: f64 = row.iter().sum();
            row.iter().map(|x| x / sum).collect()
        },
        0.0,
    );
}

#[test]
fn parts_of_warps_blocks_and_clusters() {
    let tiling = RowTiling { rows: 1, stripes: 2, ..RowTiling::for_rows(TARGET, 4, &[128]) };
    for (threads, rows) in [(1, 32), (2, 48), (4, 8), (8, 12), (16, 2), (32, 1), (32, 4)] {
        let tiling = RowTiling { threads, rows, ..tiling };
        run(tiling, 50, tiling.capacity() as usize);
        run(RowTiling { streamed: true, ..tiling }, 3, 4 * tiling.capacity() as usize - 4);
    }
    for (threads, cluster) in [(64, 1), (96, 2), (1024, 1), (128, 4), (64, 8), (32, 2), (512, 8)] {
        let tiling = RowTiling { threads, cluster, stripes: 1, ..tiling };
        run(tiling, 3, tiling.capacity() as usize - 4);
        run(RowTiling { streamed: true, ..tiling }, 2, 2 * tiling.capacity() as usize + 12);
    }
}

/// Rows that begin at every offset from an aligned address, and end at every one.
#[test]
fn unaligned_rows() {
    for (threads, cluster, stripes) in [(2, 1, 2), (32, 1, 1), (64, 1, 2), (32, 4, 1)] {
        let tiling = RowTiling {
            threads,
            rows: if threads <= 32 && cluster == 1 { 64 / threads } else { 1 },
            cluster,
            stripes,
            ..RowTiling::for_rows(TARGET, 4, &[1])
        };
        assert!(tiling.unaligned);
        let capacity = tiling.capacity() as usize;
        for n in capacity - 4..=capacity {
            run(tiling, 9, n);
            run(RowTiling { streamed: true, ..tiling }, 3, 2 * n + 1);
        }
    }
    run(RowTiling::for_rows(TARGET, 4, &[1]), 100, 1);
}

/// Rows that blocks process in turn, more of them than there are blocks.
#[test]
fn rows_read_ahead() {
    for (threads, rows, cluster, ahead) in
        [(32, 2, 1, 1), (8, 8, 1, 3), (64, 1, 1, 2), (96, 1, 1, 4), (64, 1, 2, 2), (32, 1, 4, 3)]
    {
        for unaligned in [false, true] {
            if unaligned && cluster > 1 {
                continue;
            }
            let chosen = RowTiling::for_rows(TARGET, 4, &[if unaligned { 1 } else { 4 }]);
            let tiling = RowTiling {
                threads,
                rows,
                cluster,
                stripes: 2,
                resident: 1,
                ahead,
                turns: 4,
                streamed: false,
                ..chosen
            };
            let capacity = tiling.capacity() as usize;
            let blocks = 132 / cluster as usize * rows as usize;
            run(tiling, 2 * blocks + 5, capacity);
            run(tiling, blocks + 1, capacity - if unaligned { 3 } else { 4 });
            run(tiling, 1, 4);
        }
    }
}

#[test]
fn long_rows() {
    for n in [65_536, 100_001, 131_072, 300_000] {
        run(RowTiling::for_rows(TARGET, 4, &[n]), 2, n as usize);
    }
}

#[test]
fn chosen_tilings_have_the_length() {
    for target in [Target::SM_80, TARGET] {
        for bytes in [1, 2, 4] {
            for n in
                (1..300).chain([511, 512, 513, 1024, 1025, 4097, 8192, 16384, 16385, 32768, 65_536, 131_072])
            {
                for sizes in [[n, 1], [16 * n, 0]] {
                    let tiling = RowTiling::for_rows(target, bytes, &sizes);
                    assert!(tiling.streamed || tiling.capacity() >= sizes[0], "{n}: {tiling:?}");
                    assert!(tiling.stripes * tiling.adjacent <= 128, "{n}: {tiling:?}");
                }
            }
        }
    }
    assert!(RowTiling::for_rows(Target::SM_80, 4, &[40_000]).streamed);
    assert!(!RowTiling::for_rows(TARGET, 4, &[131_072]).streamed);
}

#[test]
fn rows_are_aligned_if_16_bytes_divide_all_sizes() {
    let is_unaligned = |bytes, sizes: &[u32]| RowTiling::for_rows(TARGET, bytes, sizes).unaligned;
    assert!(!is_unaligned(2, &[4096, 4104, 8]));
    assert!(!is_unaligned(4, &[4096, 4104, 8, 4]));
    assert!(is_unaligned(1, &[4096, 40]));
    assert!(is_unaligned(2, &[4096, 4100]));
    assert!(is_unaligned(4, &[77]));
}

#[test]
fn other_tilings_are_rejected() {
    let good = RowTiling::for_rows(TARGET, 2, &[256]);
    let rejected = |tiling: RowTiling, expected: &str| {
        let found = Softmax { tiling, log: false }.kernel::<bf16, bf16>(TARGET).expect_err("it is rejected");
        assert!(found.to_string().contains(expected), "{found}");
    };
    rejected(RowTiling { threads: 24, ..good }, "found 24 threads for each of 8 rows in clusters of 1");
    rejected(RowTiling { threads: 64, ..good }, "found 64 threads for each of 8 rows");
    rejected(
        RowTiling { cluster: 2, threads: 64, rows: 1, adjacent: 3, ..good },
        "expected 1, 2, 4, 8 or 16 adjacent elements, found 3",
    );
    rejected(
        RowTiling { cluster: 3, threads: 64, rows: 1, ..good },
        "clusters of 1, 2, 4 or 8 blocks, found 3",
    );
    rejected(RowTiling { stripes: 0, ..good }, "expected 1 to 1024 elements per thread, found 0");
    // A softmax may depend on the column.
    let odd = RowTiling::for_rows(TARGET, 2, &[255]);
    rejected(
        RowTiling { threads: 64, rows: 1, cluster: 2, stripes: 2, ahead: 2, ..odd },
        "expected a tiling without segments of unaligned rows",
    );
    // Blocks process parts of a row independently.
    let tiling = RowTiling { cluster: 2, ..RowTiling::for_elements(TARGET, 2, &[4096]) };
    let found = Pointwise { tiling, function: PointwiseFunction::Silu }.kernel::<bf16, bf16>(TARGET);
    let found = found.expect_err("it is rejected").to_string();
    assert!(found.contains("expected a tiling without clusters"), "{found}");
}

#[test]
fn longer_rows_are_rejected() {
    let kernel = Softmax::for_rows(TARGET, 2, &[512]).kernel::<bf16, bf16>(TARGET).expect("it builds");
    let device = warpwright::run::Simulator::new();
    let x = device.upload(&[bf16::ZERO; 1040]).expect("room");
    let mut y = device.output::<bf16>(1040).expect("room");
    let mut launch = |n: u32| {
        device.launch(&kernel, (&x, n, &mut y, n, 2, n, 1.0)).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(launch(512), Ok(()));
    let found = launch(520).expect_err("it is too long");
    assert!(found.contains("parameter `n`: expected at most 512, found 520"), "{found}");
    let found = launch(510).expect_err("8 does not divide it");
    assert!(found.contains("expected a multiple of 8, found 510"), "{found}");
}

/// The chosen tilings fit the shared memory of every target.
#[test]
fn every_target_builds_every_length() {
    let targets = [Target::SM_80, Target::SM_86, Target::SM_90, Target::SM_90A, Target::SM_120A];
    let lengths = (1..16).flat_map(|step| [1 << step, 1 << (step - 1) | 1 << step, (1 << step) + 1]);
    for n in lengths.chain([
        300, 4605, 5000, 6146, 8190, 8697, 9218, 10_235, 12_002, 16_130, 18_432, 36_857, 48_001, 50_001,
    ]) {
        for target in targets {
            builds::<bf16>(target, n);
            builds::<f32>(target, n);
        }
        // Without copies to shared memory, and without bf16.
        let softmax = Softmax::for_rows(Target::SM_75, 2, &[n, n]).kernel::<f16, f16>(Target::SM_75);
        softmax.unwrap_or_else(|error| panic!("softmax of rows of {n}: {error}"));
        for group in [ScaleGroup::Row, ScaleGroup::Block] {
            let quantize = Quantize::for_norm_rows(group, Target::SM_75, 2, &[n, n, n]);
            let quantize = quantize.norm_kernel::<f16, f16, i8>(NormFunction::Rms, Target::SM_75);
            quantize.unwrap_or_else(|error| panic!("quantization of rows of {n}: {error}"));
        }
    }
}

/// ptxas reports spilled registers.
#[test]
fn chosen_kernels_fit_in_registers() {
    // Some longer rows are faster although a few registers are spilled.
    for n in [1001, 1025, 2002, 2049, 4097, 4098, 8190, 8191, 12_002, 16_384, 20_001, 24_001] {
        fit::<bf16>(n);
        fit::<f32>(n);
    }
    // In blocks of few threads with many elements, and in clusters.
    for n in [9_232, 16_384, 24_000, 32_768, 65_536] {
        gradients_fit::<bf16>(n);
        gradients_fit::<f32>(n);
    }
    for n in [16_385, 20_002, 32_001] {
        gradients_fit::<bf16>(n);
        norm_gradient_fits::<f32>(n);
    }
    for n in [13_001, 20_001, 22_001, 28_001, 40_001, 50_001, 40_000, 56_000] {
        norm_gradient_fits::<bf16>(n);
        norm_gradient_fits::<f32>(n);
    }
}

#[test]
fn other_kernels_fit_in_registers() {
    for n in
        [1000, 1024, 1025, 2048, 2561, 4096, 4097, 6144, 8192, 8191, 12_288, 16_384, 24_576, 32_768, 65_536]
    {
        others_fit::<bf16>(n);
        others_fit::<f32>(n);
    }
    for n in [8192, 50_257] {
        for count in [8, 64, 256, 512] {
            for top in [TopK::for_rows, TopK::for_many_rows] {
                assembled(top(TARGET, 2, &[n], count).kernel::<bf16>(TARGET));
                assembled(top(TARGET, 4, &[n], count).kernel::<f32>(TARGET));
            }
        }
        for sample in [Sample::for_rows, Sample::for_many_rows] {
            assembled(sample(TARGET, 2, &[n]).kernel::<bf16>(TARGET));
            assembled(sample(TARGET, 4, &[n]).kernel::<f32>(TARGET));
        }
    }
}

/// Assembles kernels that choose their own tilings.
fn others_fit<T: Convert<f32>>(n: u32)
where
    f32: Convert<T>,
{
    let quantize = Quantize::for_rows(ScaleGroup::Row, TARGET, T::SIZE, &[n]);
    assembled(quantize.kernel::<T, e4m3>(TARGET));
    assembled(quantize.gated_kernel::<T, e4m3>(PointwiseFunction::Silu, TARGET));
    if n <= 24_576 {
        // Some longer rows are faster although a few registers are spilled.
        let norm = Quantize::for_norm_rows(ScaleGroup::Row, TARGET, T::SIZE, &[n]);
        assembled(norm.norm_kernel::<T, T, e4m3>(NormFunction::Rms, TARGET));
    }
    if n <= 24_576 || T::SIZE == 4 {
        let norm = Norm::for_dropout_rows(NormFunction::Layer, TARGET, T::SIZE, &[n]);
        assembled(norm.dropout_kernel::<T, T, T>(TARGET));
    }
    assembled(
        Norm::for_biased_rows(NormFunction::Rms, TARGET, T::SIZE, &[n]).biased_kernel::<T, T, T>(TARGET),
    );
    assembled(Dropout::for_rows(TARGET, T::SIZE, &[n]).kernel::<T, T>(TARGET));
    assembled(CrossEntropy::for_rows(TARGET, T::SIZE, &[n]).kernel::<T>(TARGET));
    assembled(Softmax::for_masked_rows(TARGET, T::SIZE, &[n]).causal_kernel::<T, T>(TARGET));
    assembled(CumulativeSum::for_rows(true, TARGET, T::SIZE, &[n]).kernel::<T, T>(TARGET));
    assembled(ColumnReduction::for_rows(Reduction::Sum, TARGET, T::SIZE, &[n]).kernel::<T>(TARGET));
    if n == 1024 {
        for pairs in [RotaryPairs::Halves, RotaryPairs::Adjacent] {
            for half in [64, 33] {
                assembled(Rotary::for_rows(pairs, T::SIZE, &[half, 2 * half]).kernel::<T>(TARGET));
            }
        }
    }
}

/// Assembles the kernels that need the most registers.
fn fit<T: Convert<f32>>(n: u32)
where
    f32: Convert<T>,
{
    let norm = Norm::for_rows(NormFunction::Layer, TARGET, T::SIZE, &[n]);
    assembled(norm.biased_kernel::<T, T, T>(TARGET));
    let residual = Norm::for_residual_rows(NormFunction::Layer, TARGET, T::SIZE, &[n]);
    assembled(residual.residual_biased_kernel::<T, T, T>(TARGET));
    if n < 16_384 {
        norm_gradient_fits::<T>(n);
    }
}

fn gradients_fit<T: Convert<f32>>(n: u32)
where
    f32: Convert<T>,
{
    assembled(SoftmaxBackward::for_rows(TARGET, T::SIZE, &[n]).kernel::<T, T>(TARGET));
    norm_gradient_fits::<T>(n);
}

fn norm_gradient_fits<T: Convert<f32>>(n: u32)
where
    f32: Convert<T>,
{
    for function in [NormFunction::Rms, NormFunction::Layer] {
        let backward = NormBackward::for_rows(function, TARGET, T::SIZE, &[n]);
        // Weights of f32 for bf16 take a register too many in some clusters, which are nevertheless faster.
        if backward.tiling.cluster == 1 && function == NormFunction::Layer {
            assembled(backward.kernel::<T, f32>(TARGET));
        }
        assembled(backward.kernel::<T, T>(TARGET));
    }
}

/// Builds kernels on rows of `n` elements that may pass through shared memory.
fn builds<T: Convert<f32>>(target: Target, n: u32)
where
    f32: Convert<T>,
{
    let sizes = [n, n, n];
    let mut refused = Vec::new();
    let mut note = |kernel: Result<(), BuildError>| refused.extend(kernel.err());
    note(Softmax::for_rows(target, T::SIZE, &sizes).kernel::<T, T>(target).map(drop));
    note(SoftmaxBackward::for_rows(target, T::SIZE, &sizes).kernel::<T, T>(target).map(drop));
    note(Softmax::for_masked_rows(target, T::SIZE, &sizes).causal_kernel::<T, T>(target).map(drop));
    note(CrossEntropy::for_rows(target, T::SIZE, &sizes).kernel::<T>(target).map(drop));
    let columns = ColumnReduction::for_rows(Reduction::Mean, target, T::SIZE, &sizes);
    note(columns.kernel::<T>(target).map(drop));
    for function in [NormFunction::Rms, NormFunction::Layer] {
        let plain = Norm::for_rows(function, target, T::SIZE, &sizes);
        note(plain.kernel::<T, T, T>(target).map(drop));
        note(plain.biased_kernel::<T, T, T>(target).map(drop));
        let residual = Norm::for_residual_rows(function, target, T::SIZE, &sizes);
        note(residual.residual_kernel::<T, T, T>(target).map(drop));
        note(residual.residual_biased_kernel::<T, T, T>(target).map(drop));
        let dropout = Norm::for_dropout_rows(function, target, T::SIZE, &sizes);
        note(dropout.dropout_kernel::<T, T, T>(target).map(drop));
        note(plain.biased_kernel::<T, bf16, T>(target).map(drop));
        // Its rows must fit the registers of a block, or of a cluster.
        let backward = NormBackward::for_rows(function, target, T::SIZE, &sizes);
        if backward.tiling.stripes * backward.tiling.adjacent <= 32 {
            note(backward.kernel::<T, T>(target).map(drop));
        }
    }
    assert!(refused.is_empty(), "rows of {n} {} on {target}: {refused:?}", T::NAME);
}

/// Each kernel's own choice covers the row, for lengths that even numbers divide and others.
#[test]
fn tilings_of_kernels_have_the_length() {
    let lengths = (33..2200).step_by(37).chain((2201..33_000).step_by(1013)).chain([50_000, 65_534, 65_536]);
    for (n, bytes) in
        lengths.flat_map(|n| [n, n + 1, 2 * n, 8 * n]).flat_map(|n| [2, 4].map(|bytes| (n, bytes)))
    {
        for target in [Target::SM_80, TARGET] {
            let mut tilings = vec![Softmax::for_rows(target, bytes, &[n]).tiling];
            tilings.push(SoftmaxBackward::for_rows(target, bytes, &[n]).tiling);
            tilings.push(Softmax::for_masked_rows(target, bytes, &[n]).tiling);
            tilings.push(CrossEntropy::for_rows(target, bytes, &[n]).tiling);
            tilings.push(Quantize::for_rows(ScaleGroup::Row, target, bytes, &[n]).tiling);
            tilings.push(Quantize::for_norm_rows(ScaleGroup::Row, target, bytes, &[n]).tiling);
            for function in [NormFunction::Rms, NormFunction::Layer] {
                tilings.push(Norm::for_rows(function, target, bytes, &[n]).tiling);
                tilings.push(Norm::for_residual_rows(function, target, bytes, &[n]).tiling);
                tilings.push(Norm::for_biased_rows(function, target, bytes, &[n]).tiling);
                tilings.push(Norm::for_dropout_rows(function, target, bytes, &[n]).tiling);
                if n <= 65_536 {
                    tilings.push(NormBackward::for_rows(function, target, bytes, &[n]).tiling);
                }
            }
            for tiling in tilings {
                assert!(tiling.streamed || tiling.capacity() >= n, "{n}: {tiling:?}");
                assert!(tiling.threads <= 1024, "{n}: {tiling:?}");
                assert!(tiling.unaligned || n.is_multiple_of(tiling.adjacent), "{n}: {tiling:?}");
            }
        }
    }
}
