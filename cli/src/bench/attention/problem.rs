//! The attention kernels, with the buffers of a problem.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{Attention, AttentionArgs, AttentionExtras, AttentionExtrasArgs, AttentionMask},
    ptx,
    run::Loaded,
};

use super::Sizes;
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

pub(super) struct Problem {
    stream: Arc<CudaStream>,
    sizes: Sizes,
    /// Q, K and V as bits.
    inputs: [CudaSlice<u16>; 3],
    o: CudaSlice<u16>,
    lse: CudaSlice<f32>,
    names: Vec<String>,
    kernels: Vec<Kernel>,
}

/// A kernel with or without dropout.
pub(super) enum Kernel {
    Plain(Loaded<AttentionArgs<ptx::bf16>>),
    Dropout(Loaded<AttentionExtrasArgs<ptx::bf16>>),
}

impl Kernel {
    pub(super) fn load(gpu: &Gpu, attention: &Attention, dropout: Option<f32>) -> Fallible<Self> {
        let extras = AttentionExtras { dropout: true, ..AttentionExtras::default() };
        Ok(match dropout {
            None => Self::Plain(gpu.load(&attention.kernel()?)?),
            Some(_) => Self::Dropout(gpu.load(&attention.kernel_with_extras(extras)?)?),
        })
    }

    /// Queues a launch.
    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        sizes: Sizes,
        [q, k, v]: [&CudaSlice<u16>; 3],
        (o, lse): (&mut CudaSlice<u16>, &mut CudaSlice<f32>),
    ) -> Result<(), Failed> {
        let (p, random) = sizes.random();
        let Sizes { batches, heads, kv_heads, length, head_size, value_size, .. } = sizes;
        let [b, h, g, n, d, e] =
            [batches, heads, kv_heads, length, head_size, value_size].map(|size| size as u32);
        let strides =
            [(h, d), (g, d), (g, e), (h, e)].map(|(heads, size)| [heads * n * size, n * size, size]);
        let scale = 1.0 / (d as f32).sqrt();
        let sizes = [b, g, h / g, n, n];
        match self {
            Self::Plain(kernel) => kernel.launch(stream, (q, k, v, o, lse, sizes, strides, scale)),
            Self::Dropout(kernel) => {
                let none = stream.null::<f32>().map_err(Failed::of)?;
                let arguments = (q, k, v, o, lse, sizes, strides, scale, &none, &none, p, random);
                kernel.launch(stream, arguments)
            }
        }
        .map_err(Failed::of)
    }
}

/// The number of queries per head whose results are compared with f64.
const VERIFIED: usize = 3;

impl Problem {
    /// Loads the kernels and verifies their results.
    pub(super) fn new(gpu: &Gpu, sizes: Sizes, kernels: &[(String, Attention)]) -> Fallible<Self> {
        let stream = gpu.stream();
        let Sizes { batches, heads, kv_heads, length, head_size, value_size, .. } = sizes;
        let bits: Vec<u16> = normals(1 << 22).map(|x| bf16::from_f32(x).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let rows = batches * heads * length;
        let input = |heads, size, seed| filled(&stream, &source, batches * heads * length * size, seed);
        let inputs =
            [input(heads, head_size, 1)?, input(kv_heads, head_size, 2)?, input(kv_heads, value_size, 3)?];
        let (o, lse) = (stream.alloc_zeros(rows * value_size)?, stream.alloc_zeros(rows)?);
        let (names, kernels): (Vec<_>, Vec<_>) = kernels.iter().cloned().unzip();
        let load = |kernel: &Attention| Kernel::load(gpu, kernel, sizes.dropout);
        let kernels = kernels.iter().map(load).collect::<Fallible<Vec<_>>>()?;
        let mut problem = Self { stream, sizes, inputs, o, lse, names, kernels };
        if sizes.dropout.is_none() {
            problem.verify()?;
        }
        Ok(problem)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Queues a launch.
    fn launch(&mut self, kernel: usize) -> Result<(), Failed> {
        let results = (&mut self.o, &mut self.lse);
        self.kernels[kernel].launch(&self.stream, self.sizes, self.inputs.each_ref(), results)
    }

    /// Returns the time of a launch in microseconds.
    pub(super) fn time(&mut self, kernel: usize) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch(kernel))?.median())
    }

    /// Compares some rows of each result with f64.
    fn verify(&mut self) -> Fallible<()> {
        let Sizes { batches, heads, kv_heads, length, head_size, value_size, mask, .. } = self.sizes;
        let inputs = [0, 1, 2].map(|i| self.stream.clone_dtoh(&self.inputs[i]));
        let [q, k, v] =
            inputs.map(|input| input.map(|bits| bits.into_iter().map(number).collect::<Vec<_>>()));
        let (q, k, v) = (q?, k?, v?);
        let mut expected = Vec::new();
        let all = batches * heads;
        for head in [0, all / 2, all - 1] {
            for query in (0..VERIFIED).map(|i| i * (length - 1) / (VERIFIED - 1)) {
                let visible = if mask == AttentionMask::Full { length } else { query + 1 };
                let row = |matrix: &[f64], head: usize, row: usize, size: usize| {
                    let start = (head * length + row) * size;
                    matrix[start..start + size].to_vec()
                };
                let kv_head = head / (heads / kv_heads);
                let of_query = row(&q, head, query, head_size);
                let score = |key| {
                    let products =
                        row(&k, kv_head, key, head_size).into_iter().zip(&of_query).map(|(k, q)| k * q);
                    products.sum::<f64>() / (head_size as f64).sqrt()
                };
                let weights: Vec<f64> = (0..visible).map(|key| f64::exp(score(key))).collect();
                let total: f64 = weights.iter().sum();
                let mut sums = vec![0.0; value_size];
                for (key, weight) in weights.iter().enumerate() {
                    sums.iter_mut()
                        .zip(row(&v, kv_head, key, value_size))
                        .for_each(|(sum, v)| *sum += weight / total * v);
                }
                let first = (head * length + query) * value_size;
                expected.extend(sums.into_iter().enumerate().map(|(col, sum)| (first + col, sum)));
            }
        }
        for kernel in 0..self.kernels.len() {
            self.stream.memset_zeros(&mut self.o)?;
            self.launch(kernel)?;
            let found = self.stream.clone_dtoh(&self.o)?;
            for &(at, expected) in &expected {
                let found = number(found[at]);
                if (found - expected).abs() > 0.01 * (0.1 + expected.abs()) || found.is_nan() {
                    let name = &self.names[kernel];
                    return Err(format!("{name}: element {at}: expected {expected}, found {found}").into());
                }
            }
        }
        Ok(())
    }
}

fn number(bits: u16) -> f64 {
    bf16::from_bits(bits).to_f64()
}
