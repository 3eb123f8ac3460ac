//! The errors of attention and its gradients, next to those of a rival with the same inputs.

use std::{env, fs, path::PathBuf, process};

use half::bf16;
use warpwright::{gpu::Gpu, kernels::AttentionMask};

use super::{Sizes, backward, backward_kernels};
use crate::bench::{Fallible, rival::Rival};

/// The names of Q, K, V and dO, and the names of the results.
const INPUTS: [&str; 4] = ["q", "k", "v", "do"];
const RESULTS: [&str; 4] = ["o", "dq", "dk", "dv"];
/// The number of rows of each gradient that are compared.
const ROWS: usize = 64;

/// Prints the errors of all contenders relative to f64, for the last head.
pub(super) fn table(gpu: &Gpu, sizes: Sizes, mut rival: Option<&mut Rival>) -> Fallible<()> {
    let mut problem =
        backward::Problem::new(gpu, sizes, &backward_kernels(sizes, gpu.properties().multiprocessors))?;
    let inputs = problem.inputs()?;
    let exact = Exact::new(sizes, inputs.each_ref().map(|bits| last_head(sizes, bits)));
    let mut rows = Vec::new();
    for (contender, name) in problem.names().to_vec().into_iter().enumerate() {
        let results = problem.results(contender)?;
        rows.push((name, results.each_ref().map(|bits| last_head(sizes, bits))));
    }
    if let Some(rival) = rival.as_mut() {
        let folder = Folder::new()?;
        for (name, bits) in INPUTS.iter().zip(&inputs) {
            let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            fs::write(folder.file(name), bytes)?;
        }
        let names = rival.begin(&format!("{} {}", sizes.request("given"), folder.0.display()))?;
        for (index, name) in names.into_iter().enumerate() {
            rival.results(index, &folder.0)?;
            let result = |name: &&str| -> Fallible<Vec<f64>> {
                let bytes = fs::read(folder.file(name))?;
                let bits = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                Ok(last_head(sizes, &bits.collect::<Vec<_>>()))
            };
            let results = RESULTS.iter().map(result).collect::<Fallible<Vec<_>>>()?;
            let results = results.try_into().map_err(|_| "expected four results of the rival")?;
            rows.push((name, results));
        }
    }
    println!("    {:<34} {:>20} {:>20} {:>20} {:>20}", "RMS and greatest error", "O", "dQ", "dK", "dV");
    for (name, results) in rows {
        let errors = exact.errors(&results).map(|[rms, most]| format!("{rms:>9.3e} {most:>9.3e}"));
        println!("    {name:<34} {:>20} {:>20} {:>20} {:>20}", errors[0], errors[1], errors[2], errors[3]);
    }
    Ok(())
}

/// Returns the rows of the last head.
fn last_head(sizes: Sizes, bits: &[u16]) -> Vec<f64> {
    let count = sizes.length * sizes.head_size;
    bits[bits.len() - count..].iter().map(|&bits| bf16::from_bits(bits).to_f64()).collect()
}

/// A folder for the matrices that the rival reads and writes. It is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Fallible<Self> {
        let path = env::temp_dir().join(format!("warpwright-attention-{}", process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.bin"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Errors are ignored, because the folder is temporary.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A head in f64: Q, K, V, dO and O, and, for each row, the logarithm of the sum of exponentials and Σ dO∘O.
struct Exact {
    sizes: Sizes,
    inputs: [Vec<f64>; 4],
    o: Vec<f64>,
    lse: Vec<f64>,
    deltas: Vec<f64>,
}

impl Exact {
    fn new(sizes: Sizes, inputs: [Vec<f64>; 4]) -> Self {
        let Sizes { length, head_size, .. } = sizes;
        let mut exact =
            Self { sizes, inputs, o: vec![0.0; length * head_size], lse: Vec::new(), deltas: Vec::new() };
        for query in 0..length {
            let scores: Vec<f64> = (0..exact.visible(query)).map(|key| exact.score(query, key)).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lse = most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln();
            let mut o = vec![0.0; head_size];
            for (key, score) in scores.iter().enumerate() {
                add_scaled(&mut o, (score - lse).exp(), exact.row(2, key));
            }
            exact.lse.push(lse);
            exact.deltas.push(dot(&o, exact.row(3, query)));
            exact.o[query * head_size..][..head_size].copy_from_slice(&o);
        }
        exact
    }

    fn row(&self, which: usize, row: usize) -> &[f64] {
        &self.inputs[which][row * self.sizes.head_size..][..self.sizes.head_size]
    }

    fn visible(&self, query: usize) -> usize {
        if self.sizes.mask == AttentionMask::Full { self.sizes.length } else { query + 1 }
    }

    fn score(&self, query: usize, key: usize) -> f64 {
        dot(self.row(0, query), self.row(1, key)) / (self.sizes.head_size as f64).sqrt()
    }

    /// Returns P, and dS times the scale.
    fn weights(&self, query: usize, key: usize) -> [f64; 2] {
        if key >= self.visible(query) {
            return [0.0; 2];
        }
        let p = (self.score(query, key) - self.lse[query]).exp();
        let ds = p * (dot(self.row(3, query), self.row(2, key)) - self.deltas[query]);
        [p, ds / (self.sizes.head_size as f64).sqrt()]
    }

    /// Returns a row of O, dQ, dK and dV.
    fn results(&self, row: usize) -> [Vec<f64>; 4] {
        let Sizes { length, head_size, .. } = self.sizes;
        let [mut dq, mut dk, mut dv] = [(); 3].map(|()| vec![0.0; head_size]);
        for other in 0..length {
            add_scaled(&mut dq, self.weights(row, other)[1], self.row(1, other));
            let [p, ds] = self.weights(other, row);
            add_scaled(&mut dk, ds, self.row(0, other));
            add_scaled(&mut dv, p, self.row(3, other));
        }
        [self.o[row * head_size..][..head_size].to_vec(), dq, dk, dv]
    }

    /// Returns the root mean square and the greatest of the errors of O, dQ, dK and dV.
    fn errors(&self, found: &[Vec<f64>; 4]) -> [[f64; 2]; 4] {
        let Sizes { length, head_size, .. } = self.sizes;
        let count = ROWS.min(length);
        let mut errors = [[0.0f64; 2]; 4];
        for row in (0..count).map(|at| at * (length - 1) / (count - 1).max(1)) {
            for ((expected, found), [squares, most]) in self.results(row).iter().zip(found).zip(&mut errors) {
                for (expected, found) in expected.iter().zip(&found[row * head_size..]) {
                    let error = (found - expected).abs();
                    *squares += error * error;
                    // A NaN error is also kept.
                    *most = if error <= *most { *most } else { error };
                }
            }
        }
        errors.map(|[squares, most]| [(squares / (count * head_size) as f64).sqrt(), most])
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(sum: &mut [f64], factor: f64, row: &[f64]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
}
