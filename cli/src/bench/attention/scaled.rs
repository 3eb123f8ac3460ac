//! The attention kernels for 8-bit floats, with the buffers of a problem.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{
        AttentionMask, AttentionOverlap, AttentionProblem, AttentionTile, AttentionValuesArgs, ProductOrder,
        ScaledAttention, ScaledAttentionArgs,
    },
    ptx::{self, e4m3},
    run::Loaded,
    tiles::Schedule,
};

use super::Sizes;
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

/// Attention whose time excludes or includes the transpose of V.
struct Contender {
    name: String,
    kernel: usize,
    transposes: bool,
}

pub(super) struct Problem {
    stream: Arc<CudaStream>,
    sizes: Sizes,
    /// Q, K and V as bits.
    inputs: [CudaSlice<u8>; 3],
    /// The transposed values.
    values: CudaSlice<u8>,
    scales: CudaSlice<f32>,
    o: CudaSlice<u16>,
    lse: CudaSlice<f32>,
    transposing: Loaded<AttentionValuesArgs>,
    kernels: Vec<Loaded<ScaledAttentionArgs<ptx::bf16>>>,
    contenders: Vec<Contender>,
}

/// The scale factor of all elements.
const SCALE: f32 = 0.5;
/// The number of queries of the last head whose results are compared with f64.
const VERIFIED: usize = 3;

/// Returns the kernel chosen for a problem and, in a sweep, the kernels with all tiles and orders of products, with several orders of
/// tiles, and with weights that are rounded late.
pub(super) fn kernels(problem: &AttentionProblem, sweep: bool) -> Vec<ScaledAttention> {
    let chosen = ScaledAttention::for_problem(problem);
    let mut kernels = vec![chosen];
    if sweep {
        let with = |attention: ScaledAttention, order, rounds_early| {
            let overlap = AttentionOverlap { order, rounds_early };
            ScaledAttention { overlap, ..attention }
        };
        for tile in ScaledAttention::tiles(chosen.head_size) {
            let attention = ScaledAttention::for_tile(problem, tile);
            kernels.extend(ProductOrder::ALL.map(|order| with(attention, order, true)));
        }
        kernels.extend(ProductOrder::ALL.map(|order| with(chosen, order, false)));
        if problem.mask != AttentionMask::Full {
            let groups = [4, 8, 16, 1 << 20].map(Schedule::grouped);
            let orders = groups.into_iter().flat_map(|group| [group, group.back_and_forth()]);
            kernels.extend(orders.map(|schedule| ScaledAttention { schedule, ..chosen }));
        }
    }
    let mut distinct = Vec::new();
    for kernel in kernels {
        if !distinct.contains(&kernel) {
            distinct.push(kernel);
        }
    }
    distinct
}

/// Returns a name that is unique among the kernels that [`kernels`] returns.
fn named(attention: &ScaledAttention) -> String {
    let ScaledAttention { mask, tile: AttentionTile { queries, keys }, schedule, overlap, .. } = attention;
    let AttentionOverlap { order, rounds_early } = overlap;
    let order = match order {
        ProductOrder::Free => "",
        ProductOrder::InTurn => ", in turn",
        ProductOrder::Staggered => ", staggered",
    };
    let late = if *rounds_early { "" } else { ", rounded late" };
    let back = if *schedule == Schedule::grouped(schedule.group()) { "" } else { ", back" };
    let group = match mask {
        AttentionMask::Full => String::new(),
        _ => format!(", groups of {}{back}", schedule.group()),
    };
    format!("e4m3 {queries}x{keys}{order}{late}{group}")
}

impl Problem {
    /// Loads the kernels and verifies their results. The first kernel is also timed together with the transpose of V.
    pub(super) fn new(gpu: &Gpu, sizes: Sizes, attentions: &[ScaledAttention]) -> Fallible<Self> {
        Self::with(gpu, sizes, attentions, true)
    }

    /// Like [`new`](Self::new), but without a contender that includes the transpose of V, so that there is one contender per kernel.
    pub(super) fn without_transpose(
        gpu: &Gpu,
        sizes: Sizes,
        attentions: &[ScaledAttention],
    ) -> Fallible<Self> {
        Self::with(gpu, sizes, attentions, false)
    }

    fn with(gpu: &Gpu, sizes: Sizes, attentions: &[ScaledAttention], transposes: bool) -> Fallible<Self> {
        let stream = gpu.stream();
        let Sizes { batches, heads, kv_heads, length, head_size, .. } = sizes;
        let rows = batches * heads * length;
        let bits: Vec<u8> = normals(1 << 22).map(|x| e4m3::from_f32(x / SCALE).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let input = |heads, seed| filled(&stream, &source, batches * heads * length * head_size, seed);
        let inputs = [input(heads, 1)?, input(kv_heads, 2)?, input(kv_heads, 3)?];
        let first = attentions.first().ok_or("expected a kernel, found none")?;
        let values = stream.alloc_zeros(first.values(batches * kv_heads, length))?;
        let scales = stream.clone_htod(&vec![SCALE; batches * heads])?;
        let (o, lse) = (stream.alloc_zeros(rows * head_size)?, stream.alloc_zeros(rows)?);
        let transposing = gpu.load(&first.values_kernel()?)?;
        let (mut kernels, mut contenders) = (Vec::new(), Vec::new());
        for (kernel, attention) in attentions.iter().enumerate() {
            let name = named(attention);
            if transposes && kernel == 0 {
                let name = format!("{name}, with the transpose of V");
                contenders.push(Contender { name, kernel, transposes: true });
            }
            contenders.push(Contender { name, kernel, transposes: false });
            kernels.push(gpu.load(&attention.kernel()?)?);
        }
        let mut problem =
            Self { stream, sizes, inputs, values, scales, o, lse, transposing, kernels, contenders };
        problem.transpose()?;
        problem.verify()?;
        Ok(problem)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.contenders.iter().map(|contender| contender.name.clone()).collect()
    }

    /// Queues the transpose of V.
    fn transpose(&mut self) -> Result<(), Failed> {
        let Sizes { batches, kv_heads, length, head_size, .. } = self.sizes;
        let [b, g, n, d] = [batches, kv_heads, length, head_size].map(|size| size as u32);
        let arguments = (&self.inputs[2], &mut self.values, [b, g, n], [g * n * d, n * d, d]);
        self.transposing.launch(&self.stream, arguments).map_err(Failed::of)
    }

    /// Queues the launches.
    fn launch(&mut self, contender: usize) -> Result<(), Failed> {
        let Contender { kernel, transposes, .. } = self.contenders[contender];
        if transposes {
            self.transpose()?;
        }
        let Sizes { batches, heads, kv_heads, length, head_size, .. } = self.sizes;
        let [b, h, g, n, d] = [batches, heads, kv_heads, length, head_size].map(|size| size as u32);
        let [of_queries, of_keys] = [h, g].map(|heads| [heads * n * d, n * d, d]);
        let (strides, scale) = ([of_queries, of_keys, of_queries], 1.0 / (d as f32).sqrt());
        let ([q, k, _], values, scales) = (&self.inputs, &self.values, &self.scales);
        let sizes = [b, g, h / g, n, n];
        let arguments = (q, k, values, &mut self.o, &mut self.lse, [scales; 3], sizes, strides, scale);
        self.kernels[kernel].launch(&self.stream, arguments).map_err(Failed::of)
    }

    /// Returns the time of the launches in microseconds.
    pub(super) fn time(&mut self, contender: usize) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch(contender))?.median())
    }

    /// Compares some rows of the last head of each result with f64. The error of a row may be at most 1/16 of its norm.
    fn verify(&mut self) -> Fallible<()> {
        let Sizes { batches, heads, kv_heads, length, head_size, mask, .. } = self.sizes;
        let [first, first_key] = [heads, kv_heads].map(|heads| (batches * heads - 1) * length);
        let factor = f64::from(SCALE);
        let host = |bits: &CudaSlice<u8>, first: usize| -> Fallible<Vec<f64>> {
            let bits = self.stream.clone_dtoh(bits)?;
            let bits = &bits[first * head_size..];
            Ok(bits.iter().map(|&bits| f64::from(e4m3::from_bits(bits).to_f32()) * factor).collect())
        };
        let [q, k, v] = &self.inputs;
        let (q, k, v) = (host(q, first)?, host(k, first_key)?, host(v, first_key)?);
        let row = |matrix: &[f64], row: usize| matrix[row * head_size..][..head_size].to_vec();
        let expected = |query: usize| {
            let visible = if mask == AttentionMask::Full { length } else { query + 1 };
            let of_query = row(&q, query);
            let weight = |key| {
                let products = row(&k, key).into_iter().zip(&of_query).map(|(k, q)| k * q);
                f64::exp(products.sum::<f64>() / (head_size as f64).sqrt())
            };
            let weights: Vec<f64> = (0..visible).map(weight).collect();
            let total: f64 = weights.iter().sum();
            let mut sums = vec![0.0; head_size];
            for (key, weight) in weights.iter().enumerate() {
                sums.iter_mut().zip(row(&v, key)).for_each(|(sum, v)| *sum += weight / total * v);
            }
            sums
        };
        let queries: Vec<usize> = (0..VERIFIED).map(|i| i * (length - 1) / (VERIFIED - 1)).collect();
        let expected: Vec<_> = queries.iter().map(|&query| expected(query)).collect();
        for contender in 0..self.contenders.len() {
            self.stream.memset_zeros(&mut self.o)?;
            self.launch(contender)?;
            let found = self.stream.clone_dtoh(&self.o)?;
            for (query, expected) in queries.iter().zip(&expected) {
                let found = found[(first + query) * head_size..][..head_size].iter();
                let found = found.map(|&bits| bf16::from_bits(bits).to_f64());
                let difference: f64 = found.zip(expected).map(|(found, x)| (found - x).powi(2)).sum();
                let size: f64 = expected.iter().map(|x| x * x).sum();
                let relative = (difference / size).sqrt();
                if relative.is_nan() || relative > 1.0 / 16.0 {
                    let name = &self.contenders[contender].name;
                    return Err(format!("{name}: query {query}: relative error {relative}").into());
                }
            }
        }
        Ok(())
    }
}
