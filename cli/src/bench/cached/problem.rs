//! The kernels for attention over caches, with the buffers of a problem.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{
        CachedAttention, CachedAttentionArgs, PagedAttentionArgs, ScaledCachedAttentionArgs,
        ScaledPagedAttentionArgs,
    },
    ptx::{self, e4m3},
    run::Loaded,
};

use super::Sizes;
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

/// A kernel for contiguous caches or for pages with this number of rows, with bf16 or `e4m3` elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub(super) attention: CachedAttention,
    pub(super) page: Option<u32>,
    pub(super) e4m3: bool,
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attention: CachedAttention { parts, .. }, page, e4m3 } = self;
        write!(f, "warpwright{}, {parts} parts", if *e4m3 { " e4m3" } else { "" })?;
        page.map_or(Ok(()), |page| write!(f, ", pages of {page}"))
    }
}

enum Kernel {
    Contiguous(Loaded<CachedAttentionArgs<ptx::bf16>>),
    Paged(Loaded<PagedAttentionArgs<ptx::bf16>>, u32),
    Scaled(Loaded<ScaledCachedAttentionArgs<ptx::bf16>>),
    ScaledPaged(Loaded<ScaledPagedAttentionArgs<ptx::bf16>>, u32),
}

pub(super) struct Problem {
    stream: Arc<CudaStream>,
    sizes: Sizes,
    q: CudaSlice<u16>,
    /// The keys and values. Contiguous and paged caches share them: the rows of a head are divided into consecutive pages.
    caches: [CudaSlice<u16>; 2],
    /// Caches of the same size in `e4m3`, with other contents; a single element each if no kernel reads them.
    of_8_bits: [CudaSlice<u8>; 2],
    /// The scale factors of the KV heads.
    scales: CudaSlice<f32>,
    o: CudaSlice<u16>,
    lse: CudaSlice<f32>,
    lengths: CudaSlice<u32>,
    /// The page tables of all sequences, for each page size.
    tables: Vec<CudaSlice<u32>>,
    kernels: Vec<Kernel>,
}

/// The scale factor of all `e4m3` elements.
const SCALE: f32 = 0.5;

/// The maximum size in bytes of caches for which results are compared.
const VERIFIED_BYTES: f64 = 4e9;

impl Problem {
    /// Loads the kernels and verifies their results.
    pub(super) fn new(gpu: &Gpu, sizes: Sizes, contenders: &[Contender]) -> Fallible<Self> {
        let Sizes { batches, heads, kv_heads, queries, length, head_size } = sizes;
        let stream = gpu.stream();
        let bits: Vec<u16> = normals(1 << 22).map(|x| bf16::from_f32(x).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let cache = |seed| filled(&stream, &source, batches * kv_heads * length * head_size, seed);
        let caches = [cache(2)?, cache(3)?];
        let are_scaled = contenders.iter().any(|contender| contender.e4m3);
        let bytes: Vec<u8> = normals(1 << 22).map(|x| e4m3::from_f32(x / SCALE).to_bits()).collect();
        let bytes = stream.clone_htod(&bytes)?;
        let count = if are_scaled { batches * kv_heads * length * head_size } else { 1 };
        let of_8_bits = [filled(&stream, &bytes, count, 4)?, filled(&stream, &bytes, count, 5)?];
        let scales = stream.clone_htod(&vec![SCALE; kv_heads])?;
        let rows = batches * queries * heads;
        let q = filled(&stream, &source, rows * head_size, 1)?;
        let (o, lse) = (stream.alloc_zeros(rows * head_size)?, stream.alloc_zeros(rows)?);
        let lengths = stream.clone_htod(&vec![length as u32; batches])?;
        let (mut kernels, mut tables) = (Vec::new(), Vec::new());
        for &Contender { attention, page, e4m3 } in contenders {
            kernels.push(match (page, e4m3) {
                (None, false) => Kernel::Contiguous(gpu.load(&attention.kernel()?)?),
                (Some(page), false) => Kernel::Paged(gpu.load(&attention.paged_kernel(page)?)?, page),
                (None, true) => Kernel::Scaled(gpu.load(&attention.scaled_kernel()?)?),
                (Some(page), true) => {
                    Kernel::ScaledPaged(gpu.load(&attention.scaled_paged_kernel(page)?)?, page)
                }
            });
            // The pages of a sequence are not adjacent, and are not in sequence order.
            let count = page.map_or(0, |page| length / page as usize * batches);
            let number = |at: usize| (at as u64 * 7919 % count as u64) as u32;
            tables.push(stream.clone_htod(
                &(0..count.max(1)).map(|at| if count == 0 { 0 } else { number(at) }).collect::<Vec<_>>(),
            )?);
        }
        let mut problem =
            Self { stream, sizes, q, caches, of_8_bits, scales, o, lse, lengths, tables, kernels };
        problem.verify()?;
        Ok(problem)
    }

    /// Queues a launch.
    fn launch(&mut self, at: usize) -> Result<(), Failed> {
        let Sizes { batches, heads, kv_heads, queries, length, head_size } = self.sizes;
        let [b, h, g, m, n, d] =
            [batches, heads, kv_heads, queries, length, head_size].map(|size| size as u32);
        let (scale, of_queries) = (1.0 / (d as f32).sqrt(), [[m * h * d, d, h * d]; 2]);
        let ([k, v], q, o, lse) = (&self.caches, &self.q, &mut self.o, &mut self.lse);
        let ([k_bytes, v_bytes], scales) = (&self.of_8_bits, [&self.scales; 2]);
        let (of_keys, sizes) = ([[g * n * d, n * d, d]; 2], [b, g, h / g, m, n]);
        let in_pages =
            |page: u32| ([[g * page * d, page * d, d]; 2], [b, g, h / g, m, n / page * b, n / page]);
        let tables = &self.tables[at];
        match &self.kernels[at] {
            Kernel::Contiguous(kernel) => {
                let arguments = (q, k, v, o, lse, &self.lengths, sizes, of_queries, of_keys, scale);
                kernel.launch(&self.stream, arguments).map_err(Failed::of)
            }
            Kernel::Paged(kernel, page) => {
                let (of_keys, sizes) = in_pages(*page);
                let arguments = (q, k, v, o, lse, &self.lengths, tables, sizes, of_queries, of_keys, scale);
                kernel.launch(&self.stream, arguments).map_err(Failed::of)
            }
            Kernel::Scaled(kernel) => {
                let (k, v) = (k_bytes, v_bytes);
                let arguments = (q, k, v, o, lse, &self.lengths, scales, sizes, of_queries, of_keys, scale);
                kernel.launch(&self.stream, arguments).map_err(Failed::of)
            }
            Kernel::ScaledPaged(kernel, page) => {
                let (k, v, (of_keys, sizes)) = (k_bytes, v_bytes, in_pages(*page));
                let arguments =
                    (q, k, v, o, lse, &self.lengths, tables, scales, sizes, of_queries, of_keys, scale);
                kernel.launch(&self.stream, arguments).map_err(Failed::of)
            }
        }
    }

    /// Returns the time of a launch in microseconds.
    pub(super) fn time(&mut self, kernel: usize) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch(kernel))?.median())
    }

    /// Compares some rows of each result with f64, unless the caches are so large that copying them to the host takes too long.
    fn verify(&mut self) -> Fallible<()> {
        let Sizes { batches, heads, kv_heads, queries, length, head_size } = self.sizes;
        if self.sizes.bytes() > VERIFIED_BYTES {
            return Ok(());
        }
        let host = |numbers: &CudaSlice<u16>| self.stream.clone_dtoh(numbers);
        let q = host(&self.q)?;
        let caches = [host(&self.caches[0])?, host(&self.caches[1])?];
        let [k_bytes, v_bytes] = &self.of_8_bits;
        let of_8_bits = [self.stream.clone_dtoh(k_bytes)?, self.stream.clone_dtoh(v_bytes)?];
        let scale = f64::from(SCALE);
        for kernel in 0..self.kernels.len() {
            self.stream.memset_zeros(&mut self.o)?;
            self.launch(kernel)?;
            let o = self.stream.clone_dtoh(&self.o)?;
            let table = self.stream.clone_dtoh(&self.tables[kernel])?;
            for (batch, head, of_head) in
                [(0, 0, 0), (batches / 2, heads / 2, queries / 2), (batches - 1, heads - 1, queries - 1)]
            {
                let kv_head = head / (heads / kv_heads);
                let first = ((batch * queries + of_head) * heads + head) * head_size;
                let start = |key: usize| match &self.kernels[kernel] {
                    Kernel::Contiguous(_) | Kernel::Scaled(_) => {
                        ((batch * kv_heads + kv_head) * length + key) * head_size
                    }
                    Kernel::Paged(_, page) | Kernel::ScaledPaged(_, page) => {
                        let page = *page as usize;
                        let number = table[batch * (length / page) + key / page] as usize;
                        ((number * kv_heads + kv_head) * page + key % page) * head_size
                    }
                };
                let row = |matrix: &[u16], start: usize| -> Vec<f64> {
                    matrix[start..start + head_size].iter().map(|&bits| number(bits)).collect()
                };
                let is_scaled = matches!(self.kernels[kernel], Kernel::Scaled(_) | Kernel::ScaledPaged(..));
                let cached = |which: usize, start: usize| -> Vec<f64> {
                    if is_scaled {
                        let bits = of_8_bits[which][start..start + head_size].iter();
                        bits.map(|&bits| f64::from(e4m3::from_bits(bits).to_f32()) * scale).collect()
                    } else {
                        row(&caches[which], start)
                    }
                };
                let query = row(&q, first);
                let weight = |key| {
                    let products = cached(0, start(key)).into_iter().zip(&query).map(|(k, q)| k * q);
                    f64::exp(products.sum::<f64>() / (head_size as f64).sqrt())
                };
                let weights: Vec<f64> = (0..length + of_head + 1 - queries).map(weight).collect();
                let total: f64 = weights.iter().sum();
                let mut expected = vec![0.0; head_size];
                for (key, weight) in weights.iter().enumerate() {
                    let values = cached(1, start(key));
                    expected.iter_mut().zip(values).for_each(|(sum, v)| *sum += weight / total * v);
                }
                for (col, expected) in expected.iter().enumerate() {
                    let found = number(o[first + col]);
                    if (found - expected).abs() > 0.01 * (0.1 + expected.abs()) || found.is_nan() {
                        return Err(format!(
                            "kernel {kernel}, sequence {batch}, head {head}, column {col}: expected {expected}, found {found}"
                        )
                        .into());
                    }
                }
            }
        }
        Ok(())
    }
}

fn number(bits: u16) -> f64 {
    bf16::from_bits(bits).to_f64()
}
