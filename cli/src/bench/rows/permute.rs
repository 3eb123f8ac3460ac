//! Permutations of axes.

use warpwright::{gpu::Gpu, kernels::Permute};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, in_fitting_parts, is_selected, load, shown, with_others},
};
use crate::bench::{Failed, Fallible};

/// The maximum number of heads per position.
const HEADS: u32 = 32;

/// Loads the kernels with these names: the transposition of the matrix, and the permutation of its rows from position order to head order.
/// In a sweep, also loads copies of unaligned rows with other tilings.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
    sweep: bool,
) -> Fallible<Vec<Contender<E>>> {
    let (m, n) = (buffers.m, buffers.n);
    // The largest power of two that divides the number of rows.
    let heads = (m & m.wrapping_neg()).clamp(1, HEADS);
    let problems: [(&str, Vec<u32>, &[usize]); 2] =
        [("permute_matrix", vec![m, n], &[1, 0]), ("permute_heads", vec![m / heads, heads, n], &[1, 0, 2])];
    let mut contenders = Vec::new();
    for (name, extents, order) in problems.into_iter().filter(|(name, ..)| is_selected(names, name)) {
        let kernels = match Permute::for_axes::<E>(&extents, order)? {
            Permute::UnalignedRows { tiling } if sweep => {
                let tilings = with_others(tiling, in_fitting_parts(tiling));
                tilings.map(|tiling| Permute::UnalignedRows { tiling }).collect()
            }
            chosen => vec![chosen],
        };
        let (extents, x_strides, y_strides) = Permute::arguments(&extents, order)?;
        for permute in kernels {
            let kernel = load(gpu, &permute.kernel::<E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, .. }| {
                kernel.launch(stream, (&*x, y, extents, x_strides, y_strides)).map_err(Failed::of)
            });
            let name = match permute {
                Permute::UnalignedRows { tiling } => format!("{name} {}", shown(tiling)),
                Permute::Rows { .. } | Permute::Tiles { .. } => name.into(),
            };
            contenders.push(Contender { name, bytes: 2.0 * buffers.matrix(), launch, reference: None });
        }
    }
    Ok(contenders)
}
