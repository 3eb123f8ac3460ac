//! Products whose sum over k is divided into parts (split-K), which a second kernel adds.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, MatrixOrder, PartialGemmArgs, SplitKGemm, SplitKSumArgs},
    prelude::Target,
    run::Loaded,
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind, Unit},
    instructions,
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::{Failed, Fallible};

/// The numbers of parts in a sweep.
const PARTS: [u32; 5] = [2, 3, 4, 8, 16];

struct SplitK<P: Precision> {
    size: Size,
    split: SplitKGemm,
    partial: Loaded<PartialGemmArgs<P::Factor, P::Sum>>,
    sum: Loaded<SplitKSumArgs<P::Sum, P::Result>>,
    workspace: CudaSlice<P::StoredSum>,
    /// Passed in place of operands that the epilogue does not use.
    empty: CudaSlice<f32>,
    no_c: CudaSlice<P::StoredResult>,
}

impl<P: Precision> SplitK<P> {
    fn new(gpu: &Gpu, split: SplitKGemm, size: Size) -> Fallible<Self> {
        let (stream, [m, n, _]) = (gpu.stream(), size.0);
        let (partial, sum) = P::split(split.gemm)?;
        Ok(Self {
            size,
            split,
            partial: gpu.load(&partial)?,
            sum: gpu.load(&sum)?,
            workspace: stream.alloc_zeros(split.parts as usize * m * n)?,
            empty: stream.alloc_zeros(1)?,
            no_c: stream.alloc_zeros(1)?,
        })
    }
}

impl<P: Precision> Contender<P> for SplitK<P> {
    fn kind(&self) -> Kind {
        Kind::Variant
    }

    fn unit(&self) -> Unit {
        if self.split.gemm.target == Target::SM_90A { Unit::Wgmma } else { Unit::MmaSync }
    }

    fn name(&self) -> String {
        let SplitKGemm { gemm, parts } = self.split;
        format!("{}, {parts} parts in memory{}", gemm.tile, instructions(&gemm))
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed> {
        let ([m, n, k], parts) = (self.size.0.map(|size| size as u32), self.split.parts);
        let Gemm { a: of_a, b: of_b, .. } = self.split.gemm;
        let (lda, ldb) = (of_a.leading_dimension(m, k), of_b.leading_dimension(k, n));
        let Buffers { a, b, d, .. } = buffers;
        let Self { partial, sum, workspace, empty, no_c, .. } = self;
        let operands = (&*a, lda, &*b, ldb, &mut *workspace, n, m * n, m, n, k, parts);
        partial.launch(stream, operands).map_err(Failed::of)?;
        let operands =
            (&*workspace, n, m * n, parts, d, n, m, n, 1.0f32, 0.0f32, &*no_c, n, &*empty, &*empty, &*empty);
        sum.launch(stream, operands).map_err(Failed::of)
    }
}

/// Loads the kernels for the division that the model chooses and, in a sweep, for all tiles and numbers of
/// parts. Returns none unless n, k and, for a column-major A, m are multiples of 16.
pub(super) fn contenders<P: Precision>(
    gpu: &Gpu,
    layout: Layout,
    size: Size,
    chosen: Option<SplitKGemm>,
    sweep: Option<Target>,
) -> Fallible<Vec<Boxed<P>>> {
    let ([m, n, k], [a, b]) = (size.0, layout.0);
    let is_whole = |size: usize| size.is_multiple_of(16);
    if !is_whole(n) || !is_whole(k) || (a == MatrixOrder::Col && !is_whole(m)) {
        return Ok(Vec::new());
    }
    let candidates = sweep.into_iter().flat_map(|target| Gemm::candidates(target, a, b, m as u32));
    let whole = candidates.filter(|gemm| gemm.cluster == [1, 1] && gemm.parts == 1);
    let split = whole.flat_map(|gemm| PARTS.map(|parts| SplitKGemm { gemm, parts }));
    let all = chosen.into_iter().chain(split.filter(|split| Some(*split) != chosen));
    all.map(|split| Ok(Box::new(SplitK::<P>::new(gpu, split, size)?) as Boxed<P>)).collect()
}
