//! Dropout, alone and in a residual sum before LayerNorm.

use warpwright::{
    gpu::Gpu,
    kernels::{Dropout, Norm, NormFunction},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, is_selected, load, shown},
    reference::EPSILON,
};
use crate::bench::{Failed, Fallible};

const P: f32 = 0.1;
const SEED: u64 = 1;

/// Loads the kernels with these names.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    let mut contenders = Vec::new();
    let mut add = |name: String, matrices: f64, launch: Launch<E>| {
        contenders.push(Contender { name, bytes: matrices * buffers.matrix(), launch, reference: None });
    };
    if is_selected(names, "dropout") {
        let dropout = Dropout::for_rows(TARGET, E::SIZE, &[buffers.n]);
        let kernel = load(gpu, &dropout.kernel::<E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
            kernel.launch(stream, (&*x, *n, y, *n, *m, *n, P, SEED, 0u64)).map_err(Failed::of)
        });
        add(format!("dropout {}", shown(dropout.tiling)), 2.0, launch);
    }
    if is_selected(names, "dropout_layernorm") {
        let norm = Norm::for_dropout_rows(NormFunction::Layer, TARGET, E::SIZE, &[buffers.n]);
        let kernel = load(gpu, &norm.dropout_kernel::<E, E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, w, b, h, y, m, n, .. }| {
            let arguments = (&*x, *n, &*r, *n, &*w, &*b, h, *n, y, *n, *m, *n, EPSILON, P, SEED, 0u64);
            kernel.launch(stream, arguments).map_err(Failed::of)
        });
        add(format!("dropout_layernorm {}", shown(norm.tiling)), 4.0, launch);
    }
    Ok(contenders)
}
