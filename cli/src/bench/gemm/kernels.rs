//! Products computed by kernels of this crate.

use std::{rc::Rc, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    gpu::Gpu,
    kernels::{FusedGemmArgs, Gemm, GemmArgs, GemmTile, MatrixOrder, PadRowsArgs, pad_rows},
    prelude::{BuildError, Kernel, Target},
    ptx::Element,
    run::Loaded,
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind, Unit},
    epilogue::Vectors,
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::{Failed, Fallible};

/// A kernel that is loaded on the GPU, for any size.
pub(super) type Shared<P> = Rc<Loaded<GemmArgs<<P as Precision>::Factor, <P as Precision>::Result>>>;

/// A kernel of [`Gemm`].
struct Ours<P: Precision> {
    name: String,
    kind: Kind,
    size: Size,
    /// The number of columns of B.
    cols: usize,
    gemm: Gemm,
    code: Code<P>,
    padded: [Option<Padded<P>>; 2],
}

/// A kernel that is loaded on the GPU.
pub(super) enum Code<P: Precision> {
    /// The kernel reads only A and B.
    Plain(Shared<P>),
    /// The kernel also reads the operands of an epilogue.
    Fused(Box<Loaded<FusedGemmArgs<P::Factor, P::Result>>>, Vectors),
}

/// A copy of a factor with a row pitch that is a multiple of 16 bytes. Every launch makes the copy.
struct Padded<P: Precision> {
    kernel: Loaded<PadRowsArgs<P::Factor>>,
    rows: u32,
    cols: u32,
    stride: u32,
    to: CudaSlice<P::StoredFactor>,
}

impl<P: Precision> Padded<P> {
    /// Allocates memory for a copy of a matrix with rows of `cols` elements, if tensor copies cannot read the matrix itself.
    fn new(gpu: &Gpu, [rows, cols]: [usize; 2]) -> Fallible<Option<Self>> {
        let unit = (16 / P::Factor::SIZE) as usize;
        if cols.is_multiple_of(unit) {
            return Ok(None);
        }
        let stride = cols.next_multiple_of(unit);
        let to = gpu.stream().alloc_zeros(rows * stride)?;
        let kernel = gpu.load(&pad_rows::<P::Factor>(Target::SM_90A)?)?;
        let [rows, cols, stride] = [rows, cols, stride].map(|size| size as u32);
        Ok(Some(Self { kernel, rows, cols, stride, to }))
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, from: &CudaSlice<P::StoredFactor>) -> Result<(), Failed> {
        let Self { kernel, rows, cols, stride, to } = self;
        kernel.launch(stream, (from, *cols, to, *stride, *rows, *cols)).map_err(Failed::of)
    }
}

impl<P: Precision> Contender<P> for Ours<P> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn unit(&self) -> Unit {
        if self.gemm.target == Target::SM_90A { Unit::Wgmma } else { Unit::MmaSync }
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed> {
        let [m, n, k] = self.size.0.map(|size| size as u32);
        let (lda, ldb) =
            (self.gemm.a.leading_dimension(m, k), self.gemm.b.leading_dimension(k, self.cols as u32));
        let Buffers { a, b, c, d } = buffers;
        let [padded_a, padded_b] = &mut self.padded;
        for (padded, from) in [(&mut *padded_a, &*a), (&mut *padded_b, &*b)] {
            if let Some(padded) = padded {
                padded.launch(stream, from)?;
            }
        }
        let (a, lda) = padded_a.as_ref().map_or((&*a, lda), |padded| (&padded.to, padded.stride));
        let (b, ldb) = padded_b.as_ref().map_or((&*b, ldb), |padded| (&padded.to, padded.stride));
        let launched = match &self.code {
            Code::Plain(kernel) => kernel.launch(stream, (a, lda, b, ldb, d, n, m, n, k)),
            Code::Fused(kernel, Vectors { bias, scales }) => {
                let [alpha, beta] = [1.0f32; 2];
                // No epilogue scales rows.
                let operands = (a, lda, b, ldb, d, n, m, n, k, alpha, beta, &*c, n, bias, scales, scales);
                kernel.launch(stream, operands)
            }
        };
        launched.map_err(Failed::of)
    }
}

/// Checks that [`Gemm`] has a kernel for these types and orders.
pub(super) fn check<P: Precision>(layout: Layout) -> Result<(), BuildError> {
    P::kernel(layout.of(Gemm::new(GemmTile::T64x64))).map(|_| ())
}

/// Loads a [`Gemm`] kernel.
pub(super) fn ours<P: Precision>(
    gpu: &Gpu,
    name: String,
    kind: Kind,
    gemm: Gemm,
    size: Size,
) -> Fallible<Boxed<P>> {
    let gemm = for_contiguous::<P>(gemm, size);
    of_kernel(gpu, name, kind, gemm, Rc::new(gpu.load(&P::kernel(gemm)?)?), size)
}

/// Checks that [`Gemm`] has a kernel with promoted sums for these types and orders.
pub(super) fn check_promoted<P: Precision>(layout: Layout) -> Fallible<()> {
    promoted_kernel::<P>(layout.of(Gemm::new(GemmTile::T128x192))).map(|_| ())
}

/// Builds a kernel with promoted sums.
pub(super) fn promoted_kernel<P: Precision>(gemm: Gemm) -> Fallible<Kernel<GemmArgs<P::Factor, P::Result>>> {
    Ok(if_8_bits::<P, _>(P::promoted(gemm))??)
}

/// Returns a kernel with promoted sums, which only 8-bit floats have.
pub(super) fn if_8_bits<P: Precision, K>(kernel: Option<K>) -> Result<K, String> {
    kernel.ok_or_else(|| format!("expected e4m3 or e5m2 for promoted sums, found {}", P::DTYPE))
}

/// Returns the kernel for contiguous matrices of this size.
pub(super) fn for_contiguous<P: Precision>(gemm: Gemm, size: Size) -> Gemm {
    let [m, n, k] = size.0.map(|size| size as u32);
    let (of_a, of_b) = (gemm.a.leading_dimension(m, k), gemm.b.leading_dimension(k, n));
    // With tensor copies, padded factors are read instead.
    let any_size =
        gemm.target != Target::SM_90A && [of_a, of_b].iter().any(|&run| !is_whole::<P::Factor>(run));
    let gemm = if any_size { gemm.with_any_size() } else { gemm };
    Gemm { any_ldd: !is_whole::<P::Result>(n), ..gemm }
}

/// Returns whether the elements occupy a multiple of 16 bytes.
pub(super) fn is_whole<T: Element>(elements: u32) -> bool {
    (elements * T::SIZE).is_multiple_of(16)
}

/// Returns the kernels for a target that may be the fastest for contiguous matrices of this size.
pub(super) fn candidates<P: Precision>(target: Target, layout: Layout, size: Size) -> Vec<Gemm> {
    let [a, b] = layout.0;
    // Tiles that do not support the size would be replaced by others.
    let has_tile = |gemm: &Gemm| for_contiguous::<P>(*gemm, size).tile == gemm.tile;
    Gemm::candidates(target, a, b, size.0[0] as u32).filter(has_tile).collect()
}

/// Loads the [`Gemm`] kernel with promoted sums, if the type supports it.
pub(super) fn promoted<P: Precision>(gpu: &Gpu, layout: Layout, size: Size) -> Fallible<Option<Boxed<P>>> {
    let gemm = for_contiguous::<P>(layout.of(Gemm::new(GemmTile::T128x192)), size);
    let Some(kernel) = P::promoted(gemm) else { return Ok(None) };
    let name = "warpwright, sums promoted".to_owned();
    of_kernel(gpu, name, Kind::Variant, gemm, Rc::new(gpu.load(&kernel?)?), size).map(Some)
}

/// Returns the contender for a kernel that computes a product.
pub(super) fn of_kernel<P: Precision>(
    gpu: &Gpu,
    name: String,
    kind: Kind,
    gemm: Gemm,
    kernel: Shared<P>,
    size: Size,
) -> Fallible<Boxed<P>> {
    of_code(gpu, name, kind, gemm, Code::Plain(kernel), size, size.0[1])
}

/// Returns the contender for a kernel, with memory for copies of factors that the kernel cannot read. B has `cols` columns.
pub(super) fn of_code<P: Precision>(
    gpu: &Gpu,
    name: String,
    kind: Kind,
    gemm: Gemm,
    code: Code<P>,
    size: Size,
    cols: usize,
) -> Fallible<Boxed<P>> {
    let [m, _, k] = size.0;
    let rows = |order, rows, cols| if order == MatrixOrder::Row { [rows, cols] } else { [cols, rows] };
    let padded = if gemm.any_size {
        [None, None]
    } else {
        [Padded::new(gpu, rows(gemm.a, m, k))?, Padded::new(gpu, rows(gemm.b, k, cols))?]
    };
    let name = if padded.iter().any(Option::is_some) { format!("{name}, factors padded") } else { name };
    Ok(Box::new(Ours::<P> { name, kind, size, cols, gemm, code, padded }))
}
