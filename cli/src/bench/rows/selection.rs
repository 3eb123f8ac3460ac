//! The largest elements of rows, and sampling.

use std::cell::RefCell;

use cudarc::driver::CudaSlice;
use warpwright::{
    gpu::Gpu,
    kernels::{Sample, TopK},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, in_parts, is_selected, load, shown, with_others},
};
use crate::bench::{Failed, Fallible};

/// The numbers of largest elements to find.
const COUNTS: [(&str, u32); 3] = [("top_8", 8), ("top_64", 64), ("top_256", 256)];

/// The sampling rules: names, temperatures, maximum numbers of columns (top-k), and maximum total probabilities (top-p).
const RULES: [(&str, f32, u32, f32); 4] = [
    ("argmax", 0.0, u32::MAX, 1.0),
    ("sample", 1.0, u32::MAX, 1.0),
    ("sample_top_k", 1.0, 50, 1.0),
    ("sample_top_p", 1.0, u32::MAX, 0.9),
];

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
    let (rows, stream) = (buffers.m as usize, gpu.stream());
    let mut contenders = Vec::new();
    let mut add = |name: String, launch: Launch<E>| {
        contenders.push(Contender { name, bytes: buffers.matrix(), launch, reference: None });
    };
    let others = |chosen| if sweep { in_parts(chosen) } else { Vec::new() };
    for (name, count) in COUNTS.into_iter().filter(|(name, _)| is_selected(names, name)) {
        let chosen = TopK::for_many_rows(TARGET, E::SIZE, &[buffers.n], count);
        for tiling in with_others(chosen.tiling, others(chosen.tiling))
            .filter(|tiling| tiling.threads >= count && tiling.stripes * tiling.adjacent <= 32)
        {
            let kernel = load(gpu, &TopK { tiling }.kernel::<E>(TARGET)?)?;
            let values: CudaSlice<E::Stored> = stream.alloc_zeros(rows * count as usize)?;
            let indices = stream.alloc_zeros::<i32>(rows * count as usize)?;
            let results = RefCell::new((values, indices));
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let (values, indices) = &mut *results.borrow_mut();
                kernel.launch(stream, (&*x, *n, values, indices, *m, *n, count)).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(tiling)), launch);
        }
    }
    for (name, temperature, top_k, top_p) in RULES.into_iter().filter(|rule| is_selected(names, rule.0)) {
        let chosen = Sample::for_many_rows(TARGET, E::SIZE, &[buffers.n]);
        for tiling in with_others(chosen.tiling, others(chosen.tiling)) {
            let kernel = load(gpu, &Sample { tiling }.kernel::<E>(TARGET)?)?;
            let tokens = RefCell::new(stream.alloc_zeros::<i32>(rows)?);
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let tokens = &mut *tokens.borrow_mut();
                let arguments = (&*x, *n, tokens, *m, *n, temperature, top_k, top_p, 1u64, 0u64);
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(tiling)), launch);
        }
    }
    Ok(contenders)
}
