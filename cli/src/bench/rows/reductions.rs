//! Reductions along rows and columns.

use std::cell::RefCell;

use warpwright::{
    gpu::Gpu,
    kernels::{ColumnReduction, Reduction, RowReduction},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    forward::{TARGET, is_selected, load, shown},
};
use crate::bench::{Failed, Fallible};

/// Loads the reductions with these names.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
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
            let kernels = RowReduction::for_rows(function, TARGET, E::SIZE, &[n]);
            let kernel = load(gpu, &kernels.kernel::<E>(TARGET)?)?;
            let results = RefCell::new(stream.alloc_zeros::<f32>(m as usize)?);
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &mut *results.borrow_mut(), *m, *n)).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(kernels.tiling)), launch);
        }
    }
    if is_selected(names, "sum_columns") {
        let kernels = ColumnReduction::for_rows(Reduction::Sum, TARGET, E::SIZE, &[n]);
        let kernel = load(gpu, &kernels.kernel::<E>(TARGET)?)?;
        let of_parts = ColumnReduction::for_rows(Reduction::Sum, TARGET, 4, &[n]);
        let of_parts = load(gpu, &of_parts.kernel::<f32>(TARGET)?)?;
        let parts = kernels.parts(gpu.properties().multiprocessors, [m, n]);
        let sums = RefCell::new(stream.alloc_zeros::<f32>(parts as usize * n as usize)?);
        let results = RefCell::new(stream.alloc_zeros::<f32>(n as usize)?);
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
            let (sums, results) = (&mut *sums.borrow_mut(), &mut *results.borrow_mut());
            kernel.launch(stream, (&*x, *n, &mut *sums, *n, parts, *m, *n)).map_err(Failed::of)?;
            of_parts.launch(stream, (&*sums, *n, results, *n, 1, parts, *n)).map_err(Failed::of)
        });
        add(format!("sum_columns {}", shown(kernels.tiling)), launch);
    }
    Ok(contenders)
}
