//! Reductions along rows and columns.

use std::cell::RefCell;

use warpwright::{
    gpu::Gpu,
    kernels::{ColumnReduction, Reduction, RowReduction, RowTiling},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, in_parts, is_selected, load, shown, tilings, with_others},
};
use crate::bench::{Failed, Fallible};

/// Loads the reductions with these names; in a sweep, also loads them with other tilings and, for columns, other numbers of parts.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
    sweep: bool,
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    let (m, n, stream) = (buffers.m, buffers.n, gpu.stream());
    let mut contenders = Vec::new();
    let mut add = |name: String, launch: Launch<E>| {
        contenders.push(Contender { name, bytes: buffers.matrix(), launch, reference: None });
    };
    for (name, function) in [("sum_rows", Reduction::Sum), ("max_rows", Reduction::Max)] {
        if is_selected(names, name) {
            let chosen = RowReduction::for_rows(function, TARGET, E::SIZE, &[n]);
            let others = match sweep {
                true => [tilings(chosen.tiling, n, E::SIZE, 1), in_parts(chosen.tiling)].concat(),
                false => Vec::new(),
            };
            // These kernels do not copy rows to shared memory.
            for tiling in with_others(chosen.tiling, others).filter(|tiling| tiling.ahead == 0) {
                let kernel = load(gpu, &RowReduction { tiling, ..chosen }.kernel::<E>(TARGET)?)?;
                let results = RefCell::new(stream.alloc_zeros::<f32>(m as usize)?);
                let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                    kernel.launch(stream, (&*x, *n, &mut *results.borrow_mut(), *m, *n)).map_err(Failed::of)
                });
                add(format!("{name} {}", shown(tiling)), launch);
            }
        }
    }
    if is_selected(names, "sum_columns") {
        let chosen = ColumnReduction::for_rows(Reduction::Sum, TARGET, E::SIZE, &[n]);
        let of_parts = ColumnReduction::for_rows(Reduction::Sum, TARGET, 4, &[n]);
        let parts = chosen.parts(gpu.properties().multiprocessors, [m, n]);
        for (tiling, parts) in with_other_parts(chosen.tiling, parts, sweep) {
            let kernel = load(gpu, &ColumnReduction { tiling, ..chosen }.kernel::<E>(TARGET)?)?;
            let of_parts = load(gpu, &of_parts.kernel::<f32>(TARGET)?)?;
            let sums = RefCell::new(stream.alloc_zeros::<f32>(parts as usize * n as usize)?);
            let results = RefCell::new(stream.alloc_zeros::<f32>(n as usize)?);
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let (sums, results) = (&mut *sums.borrow_mut(), &mut *results.borrow_mut());
                kernel.launch(stream, (&*x, *n, &mut *sums, *n, parts, *m, *n)).map_err(Failed::of)?;
                of_parts.launch(stream, (&*sums, *n, results, *n, 1, parts, *n)).map_err(Failed::of)
            });
            add(format!("sum_columns {}, {parts} parts", shown(tiling)), launch);
        }
    }
    Ok(contenders)
}

/// Returns the chosen tiling and number of parts and, in a sweep, others.
fn with_other_parts(chosen: RowTiling, parts: u32, sweep: bool) -> Vec<(RowTiling, u32)> {
    let mut all = vec![(chosen, parts)];
    if sweep {
        let ways = [8, 16, 32].into_iter().flat_map(|threads| [0, 3, 4, 5, 6].map(|r| (threads, r)));
        all.extend(ways.flat_map(|(threads, resident)| {
            let tiling = RowTiling { threads, rows: 256 / threads, resident, ..chosen };
            [parts / 2, parts, parts * 3 / 2, 2 * parts].map(|parts| (tiling, (parts / 8 * 8).max(1)))
        }));
    }
    all
}
