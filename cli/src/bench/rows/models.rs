//! Kernels for models and their training: quantization, rotary embeddings, cumulative sums, embedding tables, AdamW.

use std::cell::RefCell;

use warpwright::{
    gpu::Gpu,
    kernels::{
        AdamW, CumulativeSum, Embedding, NormFunction, Pointwise, PointwiseFunction, Quantize, Rotary,
        RotaryPairs, RowTiling, ScaleGroup,
    },
    prelude::e4m3,
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch, Reference, Rows},
    element::Element,
    forward::{TARGET, in_fitting_parts, in_parts, is_selected, load, shown, tilings, with_others},
    reference::EPSILON,
};
use crate::bench::{Failed, Fallible};

/// The number of elements per head for rotary embeddings.
const HEAD: u32 = 128;
/// The number of positions in the tables of angles.
const POSITIONS: u32 = 4096;

/// Returns the angle of a pair of elements at a position.
fn angle(position: u32, pair: u32) -> f64 {
    f64::from(position) * 10000f64.powf(-f64::from(pair) / f64::from(HEAD / 2))
}

/// Returns the tables of cosines and sines.
fn angles() -> (Vec<f32>, Vec<f32>) {
    let of = (0..POSITIONS).flat_map(|position| (0..HEAD / 2).map(move |pair| angle(position, pair)));
    of.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip()
}

/// Rotates the heads of a row.
fn rotated(pairs: RotaryPairs, rows: &Rows) -> Vec<f64> {
    let (position, mut y) = (rows.at as u32 % POSITIONS, rows.x.clone());
    for head in y.chunks_mut(HEAD as usize) {
        for pair in 0..HEAD / 2 {
            let [first, second] = match pairs {
                RotaryPairs::Halves => [pair, pair + HEAD / 2],
                RotaryPairs::Adjacent => [2 * pair, 2 * pair + 1],
            };
            let (a, b) = (head[first as usize], head[second as usize]);
            let (sin, cos) = angle(position, pair).sin_cos();
            (head[first as usize], head[second as usize]) = (a * cos - b * sin, b * cos + a * sin);
        }
    }
    y
}

/// Loads the kernels with these names; in a sweep, also loads quantization and `gather` with other tilings.
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
    let (elements, size) = (f64::from(m) * f64::from(n), f64::from(E::SIZE));
    let mut contenders = Vec::new();
    // `bytes` is the number of bytes read and written per element.
    let mut add = |name: String, bytes: f64, launch: Launch<E>, reference: Option<Reference>| {
        contenders.push(Contender { name, bytes: bytes * elements, launch, reference });
    };
    if is_selected(names, "add") {
        // As `call::add` does, all elements are processed as one row.
        let [m, n] = Pointwise::as_one_row([m, n], &[n]);
        let kernels = Pointwise::for_rows(PointwiseFunction::Identity, TARGET, E::SIZE, &[n]);
        let kernel = load(gpu, &kernels.added_kernel::<E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, .. }| {
            kernel.launch(stream, (&*x, n, &*r, n, y, n, m, n)).map_err(Failed::of)
        });
        let reference: Reference = Box::new(|rows| rows.x.iter().zip(&rows.r).map(|(x, r)| x + r).collect());
        add(format!("add {}", shown(kernels.tiling)), 3.0 * size, launch, Some(reference));
    }
    for (group, suffix) in [(ScaleGroup::Row, "row"), (ScaleGroup::Block, "block")] {
        let chosen = Quantize::for_rows(group, TARGET, E::SIZE, &[n]);
        let groups = if group == ScaleGroup::Row { 1 } else { n.div_ceil(128) };
        let results = || -> Fallible<_> {
            let q = stream.alloc_zeros::<u8>(m as usize * n as usize)?;
            Ok((RefCell::new(q), RefCell::new(stream.alloc_zeros::<f32>((m * groups) as usize)?)))
        };
        let name = format!("quantize_{suffix}");
        let others = match (sweep, group) {
            (false, _) => Vec::new(),
            (true, ScaleGroup::Block) if chosen.tiling.adjacent == 1 => by_elements(chosen.tiling),
            (true, ScaleGroup::Block) => in_parts(chosen.tiling),
            (true, ScaleGroup::Row) => {
                [tilings(chosen.tiling, n, E::SIZE, 1), in_parts(chosen.tiling)].concat()
            }
        };
        // These kernels do not copy rows to shared memory.
        let all = with_others(chosen.tiling, others).filter(|tiling| tiling.ahead == 0);
        let all: Vec<_> = all.map(|tiling| Quantize { tiling, group }).collect();
        for &kernels in all.iter().filter(|_| is_selected(names, &name)) {
            let kernel = load(gpu, &kernels.kernel::<E, e4m3>(TARGET)?)?;
            let (q, scales) = results()?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let (q, scales) = (&mut *q.borrow_mut(), &mut *scales.borrow_mut());
                kernel.launch(stream, (&*x, *n, q, *n, scales, groups, *m, *n)).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(kernels.tiling)), size + 1.0, launch, None);
        }
        let name = format!("quantize_{suffix}_s8");
        if is_selected(names, &name) {
            let kernel = load(gpu, &chosen.kernel::<E, i8>(TARGET)?)?;
            let q = RefCell::new(stream.alloc_zeros::<i8>(m as usize * n as usize)?);
            let (_, scales) = results()?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
                let (q, scales) = (&mut *q.borrow_mut(), &mut *scales.borrow_mut());
                kernel.launch(stream, (&*x, *n, q, *n, scales, groups, *m, *n)).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(chosen.tiling)), size + 1.0, launch, None);
        }
        let name = format!("rmsnorm_quantize_{suffix}");
        let chosen = Quantize::for_norm_rows(group, TARGET, E::SIZE, &[n]);
        let others = if sweep { tilings(chosen.tiling, n, E::SIZE, 1) } else { Vec::new() };
        let of_norms = with_others(chosen.tiling, others).map(|tiling| Quantize { tiling, group });
        for kernels in of_norms.filter(|_| is_selected(names, &name)) {
            let kernel = match kernels.norm_kernel::<E, E, e4m3>(NormFunction::Rms, TARGET) {
                Ok(kernel) => load(gpu, &kernel)?,
                // Not every tiling supports groups of 128 elements.
                Err(_) if kernels != chosen => continue,
                Err(error) => return Err(error.into()),
            };
            let (q, scales) = results()?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, w, m, n, .. }| {
                let (q, scales) = (&mut *q.borrow_mut(), &mut *scales.borrow_mut());
                let arguments = (&*x, *n, &*w, q, *n, scales, groups, *m, *n, EPSILON);
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(kernels.tiling)), size + 1.0, launch, None);
        }
        let name = format!("swiglu_quantize_{suffix}");
        for &kernels in all.iter().filter(|_| is_selected(names, &name)) {
            let kernel = load(gpu, &kernels.gated_kernel::<E, e4m3>(PointwiseFunction::Silu, TARGET)?)?;
            let (q, scales) = results()?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, m, n, .. }| {
                let (q, scales) = (&mut *q.borrow_mut(), &mut *scales.borrow_mut());
                let arguments = (&*x, *n, &*r, *n, q, *n, scales, groups, *m, *n);
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            add(format!("{name} {}", shown(kernels.tiling)), 2.0 * size + 1.0, launch, None);
        }
    }
    for (name, pairs) in [("rotary_halves", RotaryPairs::Halves), ("rotary_adjacent", RotaryPairs::Adjacent)]
    {
        if is_selected(names, name) && n.is_multiple_of(HEAD) {
            let half = HEAD / 2;
            let kernel = load(gpu, &Rotary::for_rows(pairs, E::SIZE, &[half, HEAD]).kernel::<E>(TARGET)?)?;
            let (cos, sin) = angles();
            let (cos, sin) = (stream.clone_htod(&cos)?, stream.clone_htod(&sin)?);
            let positions: Vec<i32> = (0..m).map(|row| (row % POSITIONS) as i32).collect();
            let positions = stream.clone_htod(&positions)?;
            // Each row of the matrix is a token with several heads.
            let heads = n / HEAD;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, .. }| {
                let rows = *m * heads;
                let arguments = (
                    &*x, HEAD, &cos, &sin, half, POSITIONS, &positions, *m, heads, half, y, HEAD, rows, HEAD,
                );
                kernel.launch(stream, arguments).map_err(Failed::of)
            });
            let reference: Reference = Box::new(move |rows| rotated(pairs, rows));
            add(name.into(), 2.0 * size, launch, Some(reference));
        }
    }
    if is_selected(names, "cumsum") {
        let chosen = CumulativeSum::for_rows(true, TARGET, E::SIZE, &[n]);
        // Each thread has one group in each part.
        let others = if sweep { in_parts(chosen.tiling) } else { Vec::new() };
        let all = with_others(chosen.tiling, others).filter(|tiling| tiling.stripes == 1);
        for kernels in all.map(|tiling| CumulativeSum { tiling, ..chosen }) {
            let kernel = load(gpu, &kernels.kernel::<E, E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, y, *n, *m, *n)).map_err(Failed::of)
            });
            add(format!("cumsum {}", shown(kernels.tiling)), 2.0 * size, launch, None);
        }
    }
    let kernels = Embedding::for_rows(TARGET, E::SIZE, &[n]);
    // Each row once, in pseudorandom order.
    let indices: Vec<i32> = (0..u64::from(m)).map(|i| (i * 2_654_435_761 % u64::from(m)) as i32).collect();
    if is_selected(names, "gather") {
        let others = if sweep { in_fitting_parts(kernels.tiling) } else { Vec::new() };
        for tiling in with_others(kernels.tiling, others) {
            let kernel = load(gpu, &Embedding { tiling }.kernel::<E>(TARGET)?)?;
            let indices = stream.clone_htod(&indices)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &indices, y, *n, *m, *m, *n)).map_err(Failed::of)
            });
            add(format!("gather {}", shown(tiling)), 2.0 * size, launch, None);
        }
    }
    if is_selected(names, "scatter_add") {
        let kernels = Embedding::for_added_rows(TARGET, E::SIZE, &[n]);
        let kernel = load(gpu, &kernels.add_kernel::<E>(TARGET)?)?;
        let indices = stream.clone_htod(&indices)?;
        let sums = RefCell::new(stream.alloc_zeros::<f32>(m as usize * n as usize)?);
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, m, n, .. }| {
            let sums = &mut *sums.borrow_mut();
            kernel.launch(stream, (&*x, *n, &indices, sums, *n, *m, *m, *n)).map_err(Failed::of)
        });
        add(format!("scatter_add {}", shown(kernels.tiling)), size + 8.0, launch, None);
    }
    if is_selected(names, "adamw") {
        // As in `call::adamw`, all elements form one row.
        let [rows, n] = Pointwise::as_one_row([m, n], &[n]);
        let kernels = AdamW::for_rows(TARGET, &[n]);
        let kernel = load(gpu, &kernels.kernel::<E, E>(TARGET)?)?;
        let average = || stream.alloc_zeros::<f32>(rows as usize * n as usize);
        let (mean, square) = (RefCell::new(average()?), RefCell::new(average()?));
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, .. }| {
            let (mean, square) = (&mut *mean.borrow_mut(), &mut *square.borrow_mut());
            let rates = (1e-3, 0.9, 0.999, 1e-8, 0.01, 0.1, 1e-3);
            let arguments = (
                y, &*x, mean, square, n, rows, n, rates.0, rates.1, rates.2, rates.3, rates.4, rates.5,
                rates.6,
            );
            kernel.launch(stream, arguments).map_err(Failed::of)
        });
        add(format!("adamw {}", shown(kernels.tiling)), 3.0 * size + 16.0, launch, None);
    }
    Ok(contenders)
}

/// Returns tilings in which adjacent elements of a group of 128 belong to different threads.
fn by_elements(chosen: RowTiling) -> Vec<RowTiling> {
    let ways = [16, 32].into_iter().flat_map(|threads| [1, 2, 4, 8].map(|groups| (threads, groups)));
    let ways = ways.flat_map(|(threads, groups)| [64, 128, 256].map(|all| (threads, groups, all / threads)));
    let tilings = ways.map(|(threads, groups, rows)| RowTiling {
        threads,
        rows,
        stripes: groups * 128 / threads,
        ..chosen
    });
    tilings.collect()
}
