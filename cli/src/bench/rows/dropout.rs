//! Dropout, alone and in a residual sum before LayerNorm.

use warpwright::{
    gpu::Gpu,
    kernels::{Dropout, Norm, NormFunction, RowTiling},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, in_parts, is_selected, load, load_if_built, shown, tilings, with_others},
    reference::EPSILON,
};
use crate::bench::{Failed, Fallible};

const P: f32 = 0.1;
const SEED: u64 = 1;

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
    let mut contenders = Vec::new();
    let mut add = |name: String, matrices: f64, launch: Launch<E>| {
        contenders.push(Contender { name, bytes: matrices * buffers.matrix(), launch, reference: None });
    };
    if is_selected(names, "dropout") {
        let chosen = Dropout::for_rows(TARGET, E::SIZE, &[buffers.n]);
        let others = if sweep { of_parts(chosen.tiling) } else { Vec::new() };
        for tiling in with_others(chosen.tiling, others) {
            let kernel = load(gpu, &Dropout { tiling }.kernel::<E, E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, y, *n, *m, *n, P, SEED, 0u64)).map_err(Failed::of)
            });
            add(format!("dropout {}", shown(tiling)), 2.0, launch);
        }
    }
    if is_selected(names, "dropout_layernorm") {
        let chosen = Norm::for_dropout_rows(NormFunction::Layer, TARGET, E::SIZE, &[buffers.n]);
        let others = if sweep { tilings(chosen.tiling, buffers.n, E::SIZE, 2) } else { Vec::new() };
        for tiling in with_others(chosen.tiling, others) {
            let norm = Norm { tiling, ..chosen };
            let name = format!("dropout_layernorm {}", shown(tiling));
            let built = norm.dropout_kernel::<E, E, E>(TARGET);
            let Some(kernel) = load_if_built(gpu, &name, built, norm == chosen)? else { continue };
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, w, b, h, y, m, n, .. }| {
                let arguments = (&*x, *n, &*r, *n, &*w, &*b, h, *n, y, *n, *m, *n, EPSILON, P, SEED, 0u64);
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            add(name, 4.0, launch);
        }
    }
    Ok(contenders)
}

/// Returns tilings that read rows in parts. With wider groups of unaligned rows, a smaller fraction of the random words comes from the
/// next lane.
fn of_parts(chosen: RowTiling) -> Vec<RowTiling> {
    let wide = RowTiling { adjacent: 2 * chosen.adjacent, ..chosen };
    let ways = [Some(chosen), Some(wide).filter(|wide| wide.unaligned && wide.adjacent <= 16)];
    ways.into_iter().flatten().flat_map(in_parts).collect()
}
