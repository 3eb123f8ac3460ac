//! A linear attention kernel, with its buffers.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{
        DecayedAttention, DecayedAttentionArgs, Hedgehog, HedgehogArgs, LinearAttentionArgs, StateSpace,
        StateSpaceArgs, TaylorAttention,
    },
    ptx::{self, Target},
    run::Loaded,
};

use super::model::{Model, Steps};
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

/// The extents of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batches: usize,
    pub(super) heads: usize,
    pub(super) length: usize,
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batches, heads, length } = self;
        write!(f, "{batches}x{heads} heads, length {length}")
    }
}

/// A loaded kernel.
enum Kernel {
    Taylor(Loaded<LinearAttentionArgs<ptx::bf16>>),
    Decayed(Loaded<DecayedAttentionArgs<ptx::bf16>>),
    Hedgehog(Loaded<HedgehogArgs<ptx::bf16>>),
    StateSpace(Loaded<StateSpaceArgs<ptx::bf16>>),
}

pub(super) struct Problem {
    stream: Arc<CudaStream>,
    model: Model,
    sizes: Sizes,
    kernel: Kernel,
    /// Q, K and V as bits.
    factors: [CudaSlice<u16>; 3],
    /// For Hedgehog, the feature maps of queries and keys, which are zero.
    maps: [CudaSlice<u16>; 2],
    /// A factor of 1 for each head.
    ones: CudaSlice<f32>,
    /// For each head, the factor by which the value is multiplied before it is added to the result.
    skips: CudaSlice<f32>,
    steps: CudaSlice<f32>,
    logs: CudaSlice<f32>,
    of_tokens: Steps,
    state: CudaSlice<f32>,
    o: CudaSlice<u16>,
}

impl Problem {
    /// Loads the kernel and verifies its results.
    pub(super) fn new(gpu: &Gpu, model: Model, sizes: Sizes) -> Fallible<Self> {
        let (stream, target) = (gpu.stream(), Target::SM_90A);
        let Sizes { batches, heads, length } = sizes;
        let [d, e] = model.columns();
        let all = batches * heads;
        let of_keys = if model.shares_keys() { batches } else { all };
        // Products of queries and keys have the magnitude of softmax scores.
        let of_size = |d: usize| normals(1 << 22).map(move |x| x / (d as f32).sqrt().sqrt());
        let bits: Vec<u16> = of_size(d).map(|x| bf16::from_f32(x).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let factor = |heads: usize, columns, seed| filled(&stream, &source, heads * length * columns, seed);
        let factors = [factor(of_keys, d, 1)?, factor(of_keys, d, 2)?, factor(all, e, 3)?];

        let steps: Vec<f32> = normals(all * length).map(|x| (x - 4.0).exp().min(0.5)).collect();
        let logs: Vec<f32> = match model {
            Model::Decayed => {
                (0..heads).map(|head| -(-8.0 * (head + 1) as f32 / heads as f32).exp2()).collect()
            }
            _ => (0..heads).map(|head| -1.0 - head as f32).collect(),
        };
        let kernel = match model {
            Model::Taylor => {
                Kernel::Taylor(gpu.load(&TaylorAttention { normalized: false }.kernel(target)?)?)
            }
            Model::NormalizedTaylor => {
                Kernel::Taylor(gpu.load(&TaylorAttention { normalized: true }.kernel(target)?)?)
            }
            Model::Decayed => {
                let [key_size, value_size] = [d, e].map(|size| size as u32);
                Kernel::Decayed(gpu.load(&DecayedAttention { key_size, value_size }.kernel(target)?)?)
            }
            Model::Hedgehog => {
                Kernel::Hedgehog(gpu.load(&Hedgehog { value_size: e as u32 }.kernel(target)?)?)
            }
            Model::StateSpace64 | Model::StateSpace128 => {
                let [state_size, head_size] = [d, e].map(|size| size as u32);
                Kernel::StateSpace(gpu.load(&StateSpace { head_size, state_size }.kernel(target)?)?)
            }
        };
        let mut problem = Self {
            model,
            sizes,
            kernel,
            factors,
            maps: [stream.alloc_zeros(heads * d * 64)?, stream.alloc_zeros(heads * d * 64)?],
            ones: stream.clone_htod(&vec![1.0; heads])?,
            skips: stream.alloc_zeros(heads)?,
            steps: stream.clone_htod(&steps)?,
            logs: stream.clone_htod(&logs)?,
            of_tokens: Steps { logs, steps },
            state: stream.alloc_zeros(all * d * e)?,
            o: stream.alloc_zeros(all * length * e)?,
            stream,
        };
        problem.verify()?;
        Ok(problem)
    }

    /// Queues a launch.
    fn launch(&mut self) -> Result<(), Failed> {
        let Sizes { batches, heads, length } = self.sizes;
        let [b, h, n] = [batches, heads, length].map(|size| size as u32);
        let [d, e] = self.model.columns().map(|size| size as u32);
        let of_heads = |heads: u32, columns: u32| [heads * n * columns, n * columns, columns];
        let strides = [of_heads(h, d), of_heads(h, d), of_heads(h, e), of_heads(h, e)];
        let ([q, k, v], o, state) = (&self.factors, &mut self.o, &mut self.state);
        let launched = match &mut self.kernel {
            Kernel::Taylor(kernel) => kernel.launch(&self.stream, (q, k, v, o, [b, h, n], strides)),
            Kernel::Decayed(kernel) => {
                kernel.launch(&self.stream, (q, k, v, &self.logs, o, state, [b, h, n], strides))
            }
            Kernel::Hedgehog(kernel) => {
                let ([of_q, of_k], ones) = (&self.maps, &self.ones);
                let arguments = (q, k, v, of_q, of_k, ones, ones, o, [b, h, n], strides, 1.0);
                kernel.launch(&self.stream, arguments)
            }
            Kernel::StateSpace(kernel) => {
                let [of_keys, of_values] = [of_heads(1, d), of_heads(h, e)];
                let strides = [of_values, of_keys, of_keys, of_values, [h * n, n, 1]];
                let (steps, logs, skips) = (&self.steps, &self.logs, &self.skips);
                kernel.launch(&self.stream, (v, steps, logs, k, q, skips, o, state, [b, 1, h, n], strides))
            }
        };
        launched.map_err(Failed::of)
    }

    /// Returns the time of a launch in microseconds.
    pub(super) fn time(&mut self) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch())?.median())
    }

    /// Compares some rows of the result, computed from a zero state, with f64.
    fn verify(&mut self) -> Fallible<()> {
        self.launch()?;
        let Sizes { batches, heads, length } = self.sizes;
        let [d, e] = self.model.columns();
        let all = batches * heads;
        for head in [0, all / 2, all - 1] {
            let of_keys = if self.model.shares_keys() { head / heads } else { head };
            let [q, k, v] = [(0, of_keys, d), (1, of_keys, d), (2, head, e)]
                .map(|(which, head, columns)| self.numbers(&self.factors[which], head, columns));
            let (q, k, v) = (q?, k?, v?);
            let o = self.numbers(&self.o, head, e)?;
            for i in [0, length / 2, length - 1] {
                let query = &q[i * d..][..d];
                let products = k.chunks(d).take(i + 1);
                let products: Vec<f64> =
                    products.map(|key| key.iter().zip(query).map(|(k, q)| k * q).sum()).collect();
                let weights = self.model.weights(self.sizes, &self.of_tokens, head, &products);
                for col in 0..e {
                    let terms = weights.iter().zip(v.chunks(e)).map(|(weight, v)| weight * v[col]);
                    let [expected, size] =
                        terms.fold([0.0; 2], |[sum, size], term| [sum + term, size + f64::abs(term)]);
                    let found = o[i * e + col];
                    if (found - expected).abs() > 0.01 * size + 1e-3 || found.is_nan() {
                        let name = self.model.name();
                        return Err(format!(
                            "{name}: head {head}, row {i}, column {col}: expected {expected}, found {found}"
                        )
                        .into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the matrix of a head.
    fn numbers(&self, bits: &CudaSlice<u16>, head: usize, columns: usize) -> Fallible<Vec<f64>> {
        let size = self.sizes.length * columns;
        let bits = self.stream.clone_dtoh(&bits.slice(head * size..(head + 1) * size))?;
        Ok(bits.into_iter().map(|bits| bf16::from_bits(bits).to_f64()).collect())
    }
}
