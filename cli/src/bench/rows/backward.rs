//! The gradients of norms and softmax, and the cross-entropy loss and its gradient.

use std::cell::RefCell;

use warpwright::{
    gpu::Gpu,
    kernels::{CrossEntropy, NormBackward, NormFunction, RowTiling, SoftmaxBackward},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch, Reference, Rows},
    element::Element,
    forward::{self, TARGET, is_selected, load, load_if_built, shown, with_others},
    reference::EPSILON,
};
use crate::bench::{Failed, Fallible};

/// Loads the kernels with these names; in a sweep, also loads cross-entropy, its gradient, and the gradients of norms and softmax with
/// other tilings.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
    sweep: bool,
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    let n = buffers.n;
    let mut contenders = Vec::new();
    let mut add = |name: String, matrices: f64, launch: Launch<E>, reference: Option<Reference>| {
        contenders.push(Contender { name, bytes: matrices * buffers.matrix(), launch, reference });
    };
    for (name, function) in
        [("rmsnorm_backward", NormFunction::Rms), ("layernorm_backward", NormFunction::Layer)]
    {
        // A thread keeps all its elements of a row in registers.
        if is_selected(names, name) && n <= 65536 {
            let chosen = NormBackward::for_rows(function, TARGET, E::SIZE, &[n]);
            let others = if sweep { tilings(chosen.tiling, E::SIZE, n) } else { Vec::new() };
            for tiling in with_others(chosen.tiling, others) {
                let kernels = NormBackward { tiling, function };
                let name = format!("{name} {}", shown(kernels.tiling));
                match norm_launch::<E>(gpu, kernels, n) {
                    Ok(launch) => {
                        let reference: Reference = Box::new(move |rows| norm(function, rows));
                        add(name, 3.0, launch, Some(reference));
                    }
                    Err(error) if kernels != chosen => eprintln!("{name}: {error}"),
                    Err(error) => return Err(error),
                }
            }
        }
    }
    if is_selected(names, "softmax_backward") {
        let chosen = SoftmaxBackward::for_rows(TARGET, E::SIZE, &[n]);
        let others = match sweep {
            true => {
                [forward::tilings(chosen.tiling, n, E::SIZE, 2), forward::in_turn(n, E::SIZE, 2)].concat()
            }
            false => Vec::new(),
        };
        for tiling in with_others(chosen.tiling, others) {
            let kernels = SoftmaxBackward { tiling, ..chosen };
            let name = format!("softmax_backward {}", shown(kernels.tiling));
            let built = kernels.kernel::<E, E>(TARGET);
            let Some(kernel) = load_if_built(gpu, &name, built, kernels == chosen)? else { continue };
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &*r, *n, y, *n, *m, *n, 1.0)).map_err(Failed::of)
            });
            add(name, 3.0, launch, None);
        }
    }
    let kernels = CrossEntropy::for_rows(TARGET, E::SIZE, &[n]);
    let of_rows = |value: f32| gpu.stream().clone_htod(&vec![value; buffers.m as usize]);
    let targets = || gpu.stream().alloc_zeros::<i32>(buffers.m as usize);
    if is_selected(names, "cross_entropy") {
        let mut others = match sweep {
            true => {
                [forward::tilings(kernels.tiling, n, E::SIZE, 1), forward::in_parts(kernels.tiling)].concat()
            }
            false => Vec::new(),
        };
        others.retain(|tiling| tiling.ahead == 0);
        for tiling in with_others(kernels.tiling, others) {
            let kernel = load(gpu, &CrossEntropy { tiling, ..kernels }.kernel::<E>(TARGET)?)?;
            let targets = targets()?;
            let (losses, logs) = (RefCell::new(of_rows(0.0)?), RefCell::new(of_rows(0.0)?));
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let (losses, logs) = (&mut *losses.borrow_mut(), &mut *logs.borrow_mut());
                kernel.launch(stream, (&*x, *n, &targets, losses, logs, *m, *n, -1)).map_err(Failed::of)
            });
            add(format!("cross_entropy {}", shown(tiling)), 1.0, launch, None);
        }
    }
    if is_selected(names, "cross_entropy_backward") {
        let others = if sweep { forward::in_fitting_parts(kernels.backward) } else { Vec::new() };
        for backward in with_others(kernels.backward, others) {
            let kernel = load(gpu, &CrossEntropy { backward, ..kernels }.backward_kernel::<E>(TARGET)?)?;
            // Logarithms of 0 represent sums of exponentials equal to 1.
            let (targets, logs, dlosses) = (targets()?, of_rows(0.0)?, of_rows(1.0)?);
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                let arguments = (&*x, *n, &targets, &logs, &dlosses, y, *n, *m, *n, -1);
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            let reference: Reference = Box::new(|Rows { x, .. }| {
                x.iter().enumerate().map(|(col, x)| x.exp() - f64::from(u8::from(col == 0))).collect()
            });
            add(format!("cross_entropy_backward {}", shown(backward)), 2.0, launch, Some(reference));
        }
    }
    Ok(contenders)
}

/// Loads the kernel for the gradients of a norm.
fn norm_launch<E: Element>(gpu: &Gpu, kernels: NormBackward, n: u32) -> Fallible<Launch<E>>
where
    f32: Convert<E>,
{
    let kernel = load(gpu, &kernels.kernel::<E, E>(TARGET)?)?;
    let parts = kernels.parts(gpu.resident_clusters(kernels.tiling.cluster)?);
    let sums = || gpu.stream().alloc_zeros::<f32>(parts as usize * n as usize);
    let (dw, db) = (RefCell::new(sums()?), RefCell::new(sums()?));
    Ok(Box::new(move |stream, Buffers { x, r, w, y, m, n, .. }| {
        let (dw, db) = (&mut *dw.borrow_mut(), &mut *db.borrow_mut());
        let arguments = (&*x, *n, &*w, &*r, *n, y, *n, dw, db, parts, *m, *n, EPSILON);
        kernel.launch(stream, arguments).map_err(Failed::of)
    }))
}

/// Returns tilings for rows of `n` `bytes`-byte elements, for kernels whose threads keep sums.
fn tilings(chosen: RowTiling, bytes: u32, n: u32) -> Vec<RowTiling> {
    let mut tilings = vec![RowTiling::for_held_rows(TARGET, bytes, &[n])];
    // Groups that fill 16 bytes, and groups so narrow that every row begins with a whole group.
    let narrow =
        RowTiling { adjacent: (1 << n.trailing_zeros()).min(chosen.adjacent), unaligned: false, ..chosen };
    // Long rows take too long to load as single 16-bit elements.
    let is_fast = |way: &RowTiling| way.unaligned || way.adjacent * bytes >= 4 || n <= 8192;
    for way in [chosen, narrow].into_iter().filter(is_fast) {
        let groups = (n + if way.unaligned { way.adjacent - 1 } else { 0 }).div_ceil(way.adjacent);
        // Copies to shared memory are at least 4 bytes.
        let is_copied = way.unaligned || way.adjacent * bytes >= 4;
        let clusters = [1, 2, 4, 8].into_iter().filter(|&cluster| cluster == 1 || n > 8192);
        let elements = clusters.flat_map(|cluster| [8, 16, 24, 32].map(|elements| (cluster, elements)));
        for ((cluster, elements), resident) in elements.flat_map(|e| (1..=8).map(move |r| (e, r))) {
            let stripes = elements / way.adjacent;
            let threads = groups.div_ceil(stripes * cluster).next_multiple_of(32);
            let shared = 5 * threads * elements * bytes * resident;
            if threads <= 1024 && (256..=1024).contains(&(threads * resident)) && shared <= 220 << 10 {
                let (rows, streamed) = (1, false);
                let tiling = RowTiling { threads, rows, cluster, stripes, streamed, resident, ..way };
                let ways: &[u32] = match (is_copied && !(way.unaligned && cluster > 1), cluster) {
                    (false, _) => &[0],
                    (true, 1) => &[2],
                    (true, _) => &[0, 2],
                };
                tilings.extend(ways.iter().map(|&ahead| RowTiling { ahead, ..tiling }));
            }
        }
    }
    // Two inputs, and the results that threads exchange.
    let stripes = [8, 16, 24, 32].map(|elements| elements * bytes / 16);
    tilings.extend(forward::segments(n, bytes, stripes, |ahead| 2 * ahead + 1, |_| vec![1]));
    tilings.dedup();
    tilings
}

/// Returns a row of the gradient of norm(x) · w with respect to x, where r is the gradient with respect to the result.
fn norm(function: NormFunction, Rows { x, r, w, .. }: &Rows) -> Vec<f64> {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let centers = |x: &[f64]| if function == NormFunction::Layer { mean(x) } else { 0.0 };
    let center = centers(x);
    let x: Vec<f64> = x.iter().map(|x| x - center).collect();
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    let scale = 1.0 / (mean(&squares) + f64::from(EPSILON)).sqrt();
    let hat: Vec<f64> = x.iter().map(|x| x * scale).collect();
    let g: Vec<f64> = r.iter().zip(w).map(|(r, w)| r * w).collect();
    let along = mean(&g.iter().zip(&hat).map(|(g, x)| g * x).collect::<Vec<_>>());
    let center = centers(&g);
    g.iter().zip(&hat).map(|(g, x)| (g - center - along * x) * scale).collect()
}
