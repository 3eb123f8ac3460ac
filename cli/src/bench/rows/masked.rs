//! Softmax over the visible elements of a row, and RMSNorm with a bias.

use warpwright::{
    gpu::Gpu,
    kernels::{Norm, NormFunction, Softmax},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch, Reference, Rows},
    element::Element,
    forward::{TARGET, is_selected, load, load_if_built, shown, tilings, with_others},
    reference::{self, EPSILON},
};
use crate::bench::{Failed, Fallible};

/// Returns a pseudorandom length of at most `n` for a row.
fn length(row: usize, n: u32) -> u32 {
    (row as u32).wrapping_mul(2_654_435_761) % (n + 1)
}

/// Returns the softmax of the first `visible` elements of a row, followed by zeros.
fn softmax(rows: &Rows, visible: u32) -> Vec<f64> {
    let weight = |(col, x): (usize, &f64)| if (col as u32) < visible { x.exp() } else { 0.0 };
    let weights: Vec<f64> = rows.x.iter().enumerate().map(weight).collect();
    let sum = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Loads the kernels with these names; in a sweep, also loads them with other tilings.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
    sweep: bool,
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    let (m, n) = (buffers.m, buffers.n);
    let mut contenders = Vec::new();
    let mut add = |name: String, launch: Launch<E>, reference: Reference| {
        let bytes = 2.0 * buffers.matrix();
        contenders.push(Contender { name, bytes, launch, reference: Some(reference) });
    };
    let chosen = Softmax::for_masked_rows(TARGET, E::SIZE, &[n]);
    let others = if sweep { tilings(chosen.tiling, n, E::SIZE, 1) } else { Vec::new() };
    for tiling in with_others(chosen.tiling, others) {
        let kernels = Softmax { tiling, ..chosen };
        if is_selected(names, "softmax_causal") {
            let kernel = load(gpu, &kernels.causal_kernel::<E, E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, y, *n, *m, *n, 1.0, *n, 1)).map_err(Failed::of)
            });
            let reference: Reference = Box::new(move |rows| softmax(rows, rows.at as u32 % n + 1));
            add(format!("softmax_causal {}", shown(kernels.tiling)), launch, reference);
        }
        if is_selected(names, "softmax_lengths") {
            let kernel = load(gpu, &kernels.lengths_kernel::<E, E>(TARGET)?)?;
            let lengths: Vec<u32> = (0..m as usize).map(|row| length(row, n)).collect();
            let lengths = gpu.stream().clone_htod(&lengths)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, y, *n, *m, *n, 1.0, &lengths, *m, 1)).map_err(Failed::of)
            });
            let reference: Reference = Box::new(move |rows| softmax(rows, length(rows.at, n)));
            add(format!("softmax_lengths {}", shown(kernels.tiling)), launch, reference);
        }
    }
    if is_selected(names, "rmsnorm_bias") {
        let chosen = Norm::for_biased_rows(NormFunction::Rms, TARGET, E::SIZE, &[n]);
        let others = if sweep { tilings(chosen.tiling, n, E::SIZE, 1) } else { Vec::new() };
        for tiling in with_others(chosen.tiling, others) {
            let norm = Norm { tiling, ..chosen };
            let name = format!("rmsnorm_bias {}", shown(norm.tiling));
            let built = norm.biased_kernel::<E, E, E>(TARGET);
            let Some(kernel) = load_if_built(gpu, &name, built, norm == chosen)? else { continue };
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, w, b, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &*w, &*b, y, *n, *m, *n, EPSILON)).map_err(Failed::of)
            });
            let unbiased = reference::Reference::RmsNorm { residual: false };
            let reference: Reference =
                Box::new(move |rows| unbiased.row(rows).iter().zip(&rows.b).map(|(y, b)| y + b).collect());
            add(name, launch, reference);
        }
    }
    Ok(contenders)
}
