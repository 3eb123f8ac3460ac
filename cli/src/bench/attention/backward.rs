//! The kernels for the gradients of attention, with the buffers of a problem.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{
        Attention, AttentionBackward, AttentionFinishArgs, AttentionKeysArgs, AttentionQueriesArgs,
        AttentionRowsArgs,
    },
    ptx::{self, Target},
    run::Loaded,
};

use super::{Sizes, problem::Kernel};
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

/// The launches of a contender.
struct Contender {
    rows: Loaded<AttentionRowsArgs<ptx::bf16>>,
    keys: Loaded<AttentionKeysArgs<ptx::bf16>>,
    queries: Queries,
}

enum Queries {
    Finish(Loaded<AttentionFinishArgs<ptx::bf16>>),
    Separate(Loaded<AttentionQueriesArgs<ptx::bf16>>),
}

pub(super) struct Problem {
    stream: Arc<CudaStream>,
    sizes: Sizes,
    /// Q, K, V and dO as bits.
    inputs: [CudaSlice<u16>; 4],
    o: CudaSlice<u16>,
    lse: CudaSlice<f32>,
    workspace: [CudaSlice<f32>; 2],
    /// dQ, dK and dV.
    outputs: [CudaSlice<u16>; 3],
    names: Vec<String>,
    contenders: Vec<Contender>,
}

/// The number of rows of each result per head that are compared with f64.
const VERIFIED: usize = 3;

impl Problem {
    /// Loads the kernels, computes O, and verifies the results.
    pub(super) fn new(gpu: &Gpu, sizes: Sizes, kernels: &[(String, AttentionBackward)]) -> Fallible<Self> {
        let stream = gpu.stream();
        let Sizes { batches, heads, length, head_size, value_size, .. } = sizes;
        let bits: Vec<u16> = normals(1 << 22).map(|x| bf16::from_f32(x).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let rows = batches * heads * length;
        let input = |size, seed| filled(&stream, &source, rows * size, seed);
        let inputs =
            [input(head_size, 1)?, input(head_size, 2)?, input(value_size, 3)?, input(value_size, 4)?];
        let zeros = |size| stream.alloc_zeros(rows * size);
        let outputs = [zeros(head_size)?, zeros(head_size)?, zeros(value_size)?];
        let (o, lse) = (zeros(value_size)?, stream.alloc_zeros(rows)?);
        let workspace =
            AttentionBackward::new(head_size as u32, sizes.mask).workspace(batches * heads, length);
        let workspace = [stream.alloc_zeros(workspace[0])?, stream.alloc_zeros(workspace[1])?];
        let load = |kernel: &AttentionBackward| {
            Ok(Contender {
                rows: gpu.load(&kernel.rows_kernel::<ptx::bf16>()?)?,
                keys: gpu.load(&kernel.keys_kernel::<ptx::bf16>()?)?,
                queries: if kernel.deterministic {
                    Queries::Separate(gpu.load(&kernel.queries_kernel::<ptx::bf16>()?)?)
                } else {
                    Queries::Finish(gpu.load(&kernel.finish_kernel::<ptx::bf16>()?)?)
                },
            })
        };
        let (names, kernels): (Vec<_>, Vec<_>) = kernels.iter().cloned().unzip();
        let contenders = kernels.iter().map(load).collect::<Fallible<Vec<_>>>()?;
        let mut problem = Self { stream, sizes, inputs, o, lse, workspace, outputs, names, contenders };
        problem.forward(gpu)?;
        if sizes.dropout.is_none() {
            problem.verify()?;
        }
        Ok(problem)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the sizes, the strides of Q and K, the strides of V and O, and the scale factor for scores.
    fn numbers(&self) -> ([u32; 5], [[u32; 3]; 2], f32) {
        let Sizes { batches, heads, length, head_size, value_size, .. } = self.sizes;
        let [b, h, n, d, e] = [batches, heads, length, head_size, value_size].map(|size| size as u32);
        ([b, h, 1, n, n], [d, e].map(|size| [h * n * size, n * size, size]), 1.0 / (d as f32).sqrt())
    }

    fn forward(&mut self, gpu: &Gpu) -> Fallible<()> {
        let kernel =
            Attention::for_problem(&self.sizes.problem(Target::SM_90A, gpu.properties().multiprocessors));
        let kernel = Kernel::load(gpu, &kernel, self.sizes.dropout)?;
        let [q, k, v, _] = &self.inputs;
        kernel.launch(&self.stream, self.sizes, [q, k, v], (&mut self.o, &mut self.lse))?;
        Ok(())
    }

    /// Queues the launches.
    fn launch(&mut self, contender: usize) -> Result<(), Failed> {
        let (sizes, [of_q, of_v], scale) = self.numbers();
        let [q, k, v, d_o] = &self.inputs;
        let ([rows, sums], [dq, dk, dv]) = (&mut self.workspace, &mut self.outputs);
        let (stream, contender) = (&self.stream, &self.contenders[contender]);
        let (p, random) = self.sizes.random();
        let arguments = (&self.o, d_o, &self.lse, &mut *rows, &mut *sums, sizes, [of_v; 2]);
        contender.rows.launch(stream, arguments).map_err(Failed::of)?;
        let strides = [of_q, of_q, of_v, of_v, of_q, of_v];
        let arguments = (q, k, v, d_o, &*rows, &mut *sums, dk, dv, sizes, strides, scale, p, random);
        contender.keys.launch(stream, arguments).map_err(Failed::of)?;
        match &contender.queries {
            Queries::Finish(kernel) => kernel.launch(stream, (&*sums, dq, sizes, of_q, scale)),
            Queries::Separate(kernel) => {
                let strides = [of_q, of_q, of_v, of_v, of_q];
                kernel.launch(stream, (q, k, v, d_o, &*rows, dq, sizes, strides, scale, p, random))
            }
        }
        .map_err(Failed::of)
    }

    /// Returns Q, K, V and dO as bits.
    pub(super) fn inputs(&self) -> Fallible<[Vec<u16>; 4]> {
        let [q, k, v, d_o] = &self.inputs;
        let host = |bits: &CudaSlice<u16>| self.stream.clone_dtoh(bits);
        Ok([host(q)?, host(k)?, host(v)?, host(d_o)?])
    }

    /// Returns O, dQ, dK and dV of a contender as bits.
    pub(super) fn results(&mut self, contender: usize) -> Fallible<[Vec<u16>; 4]> {
        self.launch(contender)?;
        let [dq, dk, dv] = &self.outputs;
        let host = |bits: &CudaSlice<u16>| self.stream.clone_dtoh(bits);
        Ok([host(&self.o)?, host(dq)?, host(dk)?, host(dv)?])
    }

    /// Returns the time of all launches in microseconds.
    pub(super) fn time(&mut self, contender: usize) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch(contender))?.median())
    }

    /// Compares some rows of each result with f64.
    fn verify(&mut self) -> Fallible<()> {
        let Sizes { batches, heads, length, head_size, value_size, .. } = self.sizes;
        let download = |slice: &CudaSlice<u16>| -> Fallible<Vec<f64>> {
            Ok(self.stream.clone_dtoh(slice)?.into_iter().map(number).collect())
        };
        let [q, k, v, d_o] = &self.inputs;
        let factors = [download(q)?, download(k)?, download(v)?, download(&self.o)?, download(d_o)?];
        let lse = self.stream.clone_dtoh(&self.lse)?;
        let head = batches * heads - 1;
        let head = Head { sizes: self.sizes, factors: &factors, lse: &lse, first: head * length };
        let rows: Vec<usize> = (0..VERIFIED).map(|i| i * (length - 1) / (VERIFIED - 1)).collect();
        let expected: Vec<_> = rows.iter().map(|&row| (row, head.derivatives(row))).collect();
        for contender in 0..self.contenders.len() {
            for output in &mut self.outputs {
                self.stream.memset_zeros(output)?;
            }
            self.launch(contender)?;
            let columns = [head_size, head_size, value_size];
            for (which, name) in ["dQ", "dK", "dV"].into_iter().enumerate() {
                let found = self.stream.clone_dtoh(&self.outputs[which])?;
                for (row, expected) in &expected {
                    let expected = &expected[which];
                    let size = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
                    for (col, &expected) in expected.iter().enumerate() {
                        let found = number(found[(head.first + row) * columns[which] + col]);
                        if (found - expected).abs() > 0.01 * size + 1e-5 || found.is_nan() {
                            let contender = &self.names[contender];
                            return Err(format!(
                                "{contender}: {name}, row {row}, column {col}: expected {expected}, found {found}"
                            )
                            .into());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// A head in f64: the rows of Q, K, V, O and dO, starting at row `first`.
struct Head<'a> {
    sizes: Sizes,
    factors: &'a [Vec<f64>; 5],
    lse: &'a [f32],
    first: usize,
}

impl Head<'_> {
    fn row(&self, which: usize, row: usize) -> &[f64] {
        let size = if which < 2 { self.sizes.head_size } else { self.sizes.value_size };
        &self.factors[which][(self.first + row) * size..][..size]
    }

    fn is_visible(&self, query: usize, key: usize) -> bool {
        self.sizes.mask == warpwright::kernels::AttentionMask::Full || key <= query
    }

    /// Returns P and `scale` · dS of a query and a key.
    fn weights(&self, query: usize, key: usize) -> [f64; 2] {
        if !self.is_visible(query, key) {
            return [0.0; 2];
        }
        let [q, k, v, o, d_o] =
            [(0, query), (1, key), (2, key), (3, query), (4, query)].map(|(which, row)| self.row(which, row));
        let scale = 1.0 / (q.len() as f64).sqrt();
        let p = (dot(q, k) * scale - f64::from(self.lse[self.first + query])).exp();
        [p, p * (dot(d_o, v) - dot(d_o, o)) * scale]
    }

    /// Returns a row of dQ, dK and dV.
    fn derivatives(&self, row: usize) -> [Vec<f64>; 3] {
        let Sizes { head_size, value_size, .. } = self.sizes;
        let mut sums = [head_size, head_size, value_size].map(|size| vec![0.0; size]);
        for other in 0..self.sizes.length {
            let [p, of_key] = self.weights(other, row);
            let terms = [(self.weights(row, other)[1], 1), (of_key, 0), (p, 4)];
            for (sums, (factor, which)) in sums.iter_mut().zip(terms) {
                sums.iter_mut().zip(self.row(which, other)).for_each(|(sum, x)| *sum += factor * x);
            }
        }
        sums
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn number(bits: u16) -> f64 {
    bf16::from_bits(bits).to_f64()
}
