//! Softmax and norms.

use warpwright::{
    gpu::Gpu,
    kernels::{Norm, NormFunction, RowTiling, Softmax},
    ptx::{BuildError, Kernel, Target},
    run::Loaded,
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch},
    element::Element,
    reference::{EPSILON, Reference},
};
use crate::bench::{Failed, Fallible};

pub(super) const TARGET: Target = Target::SM_90A;

/// A kernel of the table.
#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    /// The number of matrices that are read and written.
    matrices: f64,
    reference: Reference,
}

impl Entry {
    /// Returns the tiling chosen for rows of `n` `bytes`-byte elements.
    fn tiling(self, bytes: u32, n: u32) -> RowTiling {
        let norm = |function, residual| match residual {
            false => Norm::for_rows(function, TARGET, bytes, &[n]).tiling,
            true => Norm::for_residual_rows(function, TARGET, bytes, &[n]).tiling,
        };
        match self.reference {
            Reference::Softmax | Reference::LogSoftmax => Softmax::for_rows(TARGET, bytes, &[n]).tiling,
            Reference::RmsNorm { residual } => norm(NormFunction::Rms, residual),
            Reference::LayerNorm { residual } => norm(NormFunction::Layer, residual),
        }
    }
}

const ENTRIES: [Entry; 6] = [
    Entry { name: "softmax", matrices: 2.0, reference: Reference::Softmax },
    Entry { name: "log_softmax", matrices: 2.0, reference: Reference::LogSoftmax },
    Entry { name: "rmsnorm", matrices: 2.0, reference: Reference::RmsNorm { residual: false } },
    Entry { name: "layernorm", matrices: 2.0, reference: Reference::LayerNorm { residual: false } },
    Entry { name: "add_rmsnorm", matrices: 4.0, reference: Reference::RmsNorm { residual: true } },
    Entry { name: "add_layernorm", matrices: 4.0, reference: Reference::LayerNorm { residual: true } },
];

/// Loads the kernels with these names, or all kernels, with the chosen tiling and, in a sweep, with other tilings.
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
    for entry in ENTRIES.iter().filter(|entry| is_selected(names, entry.name)) {
        let chosen = entry.tiling(E::SIZE, n);
        let inputs = if entry.matrices > 2.0 { 2 } else { 1 };
        let others = match (sweep, entry.reference) {
            (false, _) => Vec::new(),
            // Softmax kernels may apply masks, which depend on the column, so blocks do not process segments.
            (true, Reference::Softmax | Reference::LogSoftmax) => tilings(chosen, n, E::SIZE, inputs),
            (true, _) => [tilings(chosen, n, E::SIZE, inputs), in_turn(n, E::SIZE, inputs)].concat(),
        };
        let mut add = |tiling, launch| {
            contenders.push(Contender {
                name: format!("{} {}", entry.name, shown(tiling)),
                bytes: entry.matrices * buffers.matrix(),
                launch,
                reference: Some(Box::new(move |rows| entry.reference.row(rows))),
            });
        };
        add(chosen, launch::<E>(gpu, entry.reference, chosen)?);
        for tiling in others.into_iter().filter(|&tiling| tiling != chosen) {
            match launch::<E>(gpu, entry.reference, tiling) {
                Ok(launch) => add(tiling, launch),
                Err(error) => eprintln!("{} {}: {error}", entry.name, shown(tiling)),
            }
        }
    }
    Ok(contenders)
}

/// Returns the chosen tiling, followed by the others.
pub(super) fn with_others(chosen: RowTiling, others: Vec<RowTiling>) -> impl Iterator<Item = RowTiling> {
    std::iter::once(chosen).chain(others.into_iter().filter(move |&tiling| tiling != chosen))
}

/// Returns tilings for rows of `n` `bytes`-byte elements, for kernels with `inputs` inputs.
pub(super) fn tilings(chosen: RowTiling, n: u32, bytes: u32, inputs: u32) -> Vec<RowTiling> {
    let adjacent = chosen.adjacent;
    let mut tilings = Vec::new();
    for cluster in [1, 2, 4, 8] {
        for threads in [32, 64, 128, 256, 512, 768, 1024] {
            let slack = if chosen.unaligned { adjacent - 1 } else { 0 };
            let stripes = (n + slack).div_ceil(threads * cluster * adjacent);
            let wasted = threads * cluster * adjacent * stripes - n;
            let is_sensible = stripes <= 8
                && (stripes > 1 || adjacent > 4)
                && 4 * wasted <= n
                && (cluster == 1 || n > 16384 && threads >= 128);
            let tiling = RowTiling {
                threads,
                rows: 1,
                cluster,
                stripes,
                streamed: false,
                resident: 0,
                ahead: 0,
                ..chosen
            };
            match threads {
                _ if !is_sensible || tiling.capacity() < n => {}
                32 => tilings.extend([1, 2, 4].map(|rows| RowTiling { rows, ..tiling })),
                _ => {
                    let half = (1024 / threads).max(1);
                    tilings.extend([0, half, 2 * half].map(|resident| RowTiling { resident, ..tiling }));
                }
            }
        }
    }
    tilings.extend(match chosen.unaligned {
        true => [unaligned(chosen, n, inputs), narrow(chosen, n, bytes, inputs)].concat(),
        false => copied(chosen, n, inputs),
    });
    if n > 8192 {
        for (stripes, resident) in [(1, 2), (2, 2), (2, 1), (4, 1), (8, 1)] {
            let (threads, rows, cluster) = (1024, 1, 1);
            tilings.push(RowTiling {
                threads,
                rows,
                cluster,
                stripes,
                streamed: true,
                resident,
                ahead: 0,
                ..chosen
            });
        }
    }
    tilings
}

/// Returns tilings for rows that blocks of different sizes read in parts, including those of [`in_fitting_parts`].
pub(super) fn in_parts(chosen: RowTiling) -> Vec<RowTiling> {
    let ways = [64, 128, 256, 512, 1024].into_iter().flat_map(|threads| [1, 2, 4, 8].map(|s| (threads, s)));
    let ways =
        ways.flat_map(|(threads, stripes)| [512, 1024, 2048].map(|all| (threads, stripes, all / threads)));
    let tilings = ways.filter(|&(.., resident)| resident > 0).map(|(threads, stripes, resident)| {
        let (rows, cluster, streamed, ahead) = (1, 1, true, 0);
        RowTiling { threads, rows, cluster, stripes, streamed, resident, ahead, ..chosen }
    });
    tilings.chain(in_fitting_parts(chosen)).collect()
}

/// Returns tilings for rows that blocks read in parts of sizes that are not only powers of two, so that a part more or less can fit a row.
pub(super) fn in_fitting_parts(chosen: RowTiling) -> Vec<RowTiling> {
    let ways = [32, 64, 96, 128, 160, 192, 256, 320]
        .into_iter()
        .flat_map(|threads| (1..6).map(move |s| (threads, s)));
    let tilings = ways.map(|(threads, stripes)| {
        let (rows, cluster, streamed, ahead, resident) = (1, 1, true, 0, 0);
        RowTiling { threads, rows, cluster, stripes, streamed, resident, ahead, ..chosen }
    });
    tilings.collect()
}

/// Returns tilings that divide long unaligned rows into segments, for kernels that do not sum over rows.
pub(super) fn in_turn(n: u32, bytes: u32, inputs: u32) -> Vec<RowTiling> {
    // The rows of all inputs, and two weight vectors.
    let vectors = |ahead| ahead * inputs + 2;
    let turns = |resident| if resident > 1 { vec![4, 16] } else { vec![8, 32] };
    segments(n, bytes, [3, 4, 6, 8], vectors, turns)
}

/// Returns tilings for aligned rows that are copied to shared memory.
fn copied(chosen: RowTiling, n: u32, inputs: u32) -> Vec<RowTiling> {
    let groups = n.div_ceil(chosen.adjacent);
    let mut tilings = Vec::new();
    let clusters = [1, 2, 4, 8].into_iter().filter(|&cluster| cluster == 1 || n > 16384);
    for (stripes, resident, ahead, cluster) in clusters.flat_map(|cluster| {
        let ways = [2, 4, 8]
            .into_iter()
            .flat_map(|s| [1, 2, 3, 4, 8].into_iter().flat_map(move |r| [1, 2].map(|a| (s, r, a))));
        ways.map(move |(s, r, a)| (s, r, a, cluster))
    }) {
        let threads = groups.div_ceil(stripes * cluster).next_multiple_of(32);
        let shared = 16 * stripes * threads * resident * ahead * inputs;
        if threads <= 1024 && (256..=2048).contains(&(threads * resident)) && shared <= 220 << 10 {
            let (rows, streamed) = (1, false);
            let tiling = RowTiling { threads, rows, cluster, stripes, streamed, resident, ahead, ..chosen };
            // Rows that are processed in turn share the weights.
            let turns: &[u32] = if n > 16384 { &[1, 4, 16] } else { &[1, 2, 4] };
            tilings.extend(turns.iter().map(|&turns| RowTiling { turns, ..tiling }));
        }
    }
    tilings
}

/// Returns tilings with groups of adjacent elements so narrow that every row begins with a whole group.
fn narrow(chosen: RowTiling, n: u32, bytes: u32, inputs: u32) -> Vec<RowTiling> {
    let adjacent = (1 << n.trailing_zeros()).min(chosen.adjacent);
    // Copies to shared memory have at least 4 bytes.
    let copies: &[u32] = if adjacent * bytes >= 4 { &[0, 1, 2] } else { &[0] };
    let mut tilings = Vec::new();
    let clusters = [1, 2, 4].into_iter().filter(|&cluster| cluster == 1 || n > 16384);
    for (cluster, elements) in clusters.flat_map(|cluster| [4, 8, 16, 32].map(|elements| (cluster, elements)))
    {
        let threads = n.div_ceil(elements * cluster).next_multiple_of(32);
        for (resident, &ahead) in
            (1..=8).flat_map(|resident| copies.iter().map(move |ahead| (resident, ahead)))
        {
            let shared = bytes * elements * threads * resident * ahead * inputs;
            if threads <= 1024 && (512..=2048).contains(&(threads * resident)) && shared <= 220 << 10 {
                let (rows, unaligned, streamed, stripes) = (1, false, false, elements / adjacent);
                let turns = if ahead > 0 { 4 } else { 1 };
                tilings.push(RowTiling {
                    threads,
                    rows,
                    cluster,
                    adjacent,
                    unaligned,
                    stripes,
                    streamed,
                    resident,
                    ahead,
                    turns,
                });
            }
        }
    }
    tilings
}

/// Returns tilings for unaligned rows that are copied to shared memory. Numbers of turns are varied only for the chosen tiling, because
/// these kernels take long to compile.
fn unaligned(chosen: RowTiling, n: u32, inputs: u32) -> Vec<RowTiling> {
    let groups = (n + chosen.adjacent - 1).div_ceil(chosen.adjacent);
    let mut tilings: Vec<_> = match chosen.ahead {
        0 => Vec::new(),
        _ => [1, 2, 4, 8, 16].map(|turns| RowTiling { turns, ..chosen }).into(),
    };
    tilings.extend([4, 5, 6, 7].map(|stripes| {
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        let (rows, cluster, streamed, resident, ahead) = (1, 1, false, 0, 0);
        RowTiling { threads, rows, cluster, stripes, streamed, resident, ahead, turns: 1, ..chosen }
    }));
    tilings.retain(|tiling| tiling.threads <= 1024);
    let ways = [3, 4, 5, 6, 8].into_iter().flat_map(|s| [1, 2, 3, 4, 5, 6, 8, 12, 16].map(|r| (s, r)));
    for (stripes, resident, ahead) in ways.flat_map(|(s, r)| [1, 2].map(|a| (s, r, a))) {
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        // The weights are included if several blocks share them.
        let vectors = ahead * inputs + if resident > 1 { 2 } else { 0 };
        let shared = 16 * stripes * threads * resident * vectors;
        if threads <= 1024 && (256..=1024).contains(&(threads * resident)) && shared <= 220 << 10 {
            let (rows, cluster, streamed, turns) = (1, 1, false, if resident > 1 { 4 } else { 8 });
            tilings.push(RowTiling {
                threads,
                rows,
                cluster,
                stripes,
                streamed,
                resident,
                ahead,
                turns,
                ..chosen
            });
        }
    }
    tilings
}

/// Returns tilings that divide long unaligned rows of `n` `bytes`-byte elements into segments, one per block of a cluster, with these
/// numbers of stripes. `vectors` returns the number of row-length vectors in shared memory, given the number of rows that are copied ahead.
/// `turns` returns the numbers of rows that are processed in turn, given the number of resident blocks.
pub(super) fn segments(
    n: u32,
    bytes: u32,
    stripes: [u32; 4],
    vectors: impl Fn(u32) -> u32,
    turns: impl Fn(u32) -> Vec<u32>,
) -> Vec<RowTiling> {
    let adjacent = 16 / bytes;
    let mut tilings = Vec::new();
    if n <= 8192 || n.is_multiple_of(adjacent) {
        return tilings;
    }
    for (cluster, stripes) in [2, 4, 8].into_iter().flat_map(|c| stripes.map(|s| (c, s))) {
        let groups = n.div_ceil(cluster).div_ceil(adjacent) + 1;
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        for (resident, ahead) in [1, 2, 3, 4, 5, 6, 8].into_iter().flat_map(|r| [1, 2].map(|a| (r, a))) {
            let (rows, unaligned, streamed, turns) = (1, true, false, turns(resident));
            let shared = 16 * stripes * threads * resident * vectors(ahead);
            if threads <= 1024 && (256..=1024).contains(&(threads * resident)) && shared <= 220 << 10 {
                let tiling = |turns| RowTiling {
                    threads,
                    rows,
                    cluster,
                    adjacent,
                    unaligned,
                    stripes,
                    streamed,
                    resident,
                    ahead,
                    turns,
                };
                tilings.extend(turns.into_iter().map(tiling));
            }
        }
    }
    tilings
}

/// Returns whether a kernel is selected for timing.
pub(super) fn is_selected(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|selected| selected == name)
}

/// Formats a tiling.
pub(super) fn shown(tiling: RowTiling) -> String {
    let RowTiling { threads, rows, cluster, adjacent, unaligned, stripes, streamed, resident, ahead, turns } =
        tiling;
    let mut text = format!("{threads} threads × {stripes} × {adjacent}");
    if rows > 1 {
        text = format!("{rows} rows of {text}");
    }
    if cluster > 1 {
        text += &format!(", clusters of {cluster}");
    }
    if unaligned {
        text += ", unaligned";
    }
    if resident > 0 {
        text += &format!(", {resident} resident");
    }
    if ahead > 0 {
        text += &format!(", {ahead} in shared memory, {turns} in turn");
    }
    if streamed {
        text += ", in parts";
    }
    text
}

/// Loads a kernel.
fn launch<E: Element>(gpu: &Gpu, reference: Reference, tiling: RowTiling) -> Fallible<Launch<E>>
where
    f32: Convert<E>,
{
    let norm = |function| Norm { tiling, function };
    Ok(match reference {
        Reference::Softmax | Reference::LogSoftmax => {
            let softmax = Softmax { tiling, log: reference == Reference::LogSoftmax };
            let kernel = load(gpu, &softmax.kernel::<E, E>(TARGET)?)?;
            Box::new(move |stream, Buffers { x, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, y, *n, *m, *n, 1.0)).map_err(Failed::of)
            })
        }
        Reference::RmsNorm { residual: false } => {
            let kernel = load(gpu, &norm(NormFunction::Rms).kernel::<E, E, E>(TARGET)?)?;
            Box::new(move |stream, Buffers { x, w, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &*w, y, *n, *m, *n, EPSILON)).map_err(Failed::of)
            })
        }
        Reference::LayerNorm { residual: false } => {
            let kernel = load(gpu, &norm(NormFunction::Layer).biased_kernel::<E, E, E>(TARGET)?)?;
            Box::new(move |stream, Buffers { x, w, b, y, m, n, .. }| {
                kernel.launch(stream, (&*x, *n, &*w, &*b, y, *n, *m, *n, EPSILON)).map_err(Failed::of)
            })
        }
        Reference::RmsNorm { residual: true } => {
            let kernel = load(gpu, &norm(NormFunction::Rms).residual_kernel::<E, E, E>(TARGET)?)?;
            Box::new(move |stream, Buffers { x, r, w, h, y, m, n, .. }| {
                let arguments = (&*x, *n, &*r, *n, &*w, h, *n, y, *n, *m, *n, EPSILON);
                kernel.launch(stream, arguments).map_err(Failed::of)
            })
        }
        Reference::LayerNorm { residual: true } => {
            let kernel = load(gpu, &norm(NormFunction::Layer).residual_biased_kernel::<E, E, E>(TARGET)?)?;
            Box::new(move |stream, Buffers { x, r, w, b, h, y, m, n, .. }| {
                let arguments = (&*x, *n, &*r, *n, &*w, &*b, h, *n, y, *n, *m, *n, EPSILON);
                kernel.launch(stream, arguments).map_err(Failed::of)
            })
        }
    })
}

/// Loads a kernel with the tiling of `name`. In a sweep, a tiling that the builder rejects is reported and skipped, unless it `is_chosen`.
pub(super) fn load_if_built<A: warpwright::ptx::Params>(
    gpu: &Gpu,
    name: &str,
    built: Result<Kernel<A>, BuildError>,
    is_chosen: bool,
) -> Fallible<Option<Loaded<A>>> {
    match built {
        Ok(kernel) => Ok(Some(load(gpu, &kernel)?)),
        Err(error) if is_chosen => Err(error.into()),
        Err(error) => {
            eprintln!("{name}: {error}");
            Ok(None)
        }
    }
}

pub(super) fn load<A: warpwright::ptx::Params>(gpu: &Gpu, kernel: &Kernel<A>) -> Fallible<Loaded<A>> {
    Ok(gpu.load(kernel)?)
}
