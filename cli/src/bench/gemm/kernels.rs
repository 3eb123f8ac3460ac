//! Products by kernels of this crate.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, GemmArgs, GemmTile, MatmulArgs, MatrixOrder, matmul, pitch_divisor},
    prelude::{BuildError, Target},
    ptx::traits::HalfPair,
    run::Loaded,
    tensor::TensorElement,
    tiles::Product,
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind, Unit},
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::{Failed, Fallible};

/// A kernel of [`Gemm`].
struct Ours<P: Precision> {
    name: String,
    kind: Kind,
    size: Size,
    gemm: Gemm,
    kernel: Loaded<GemmArgs<P::Factor, P::Result>>,
}

impl<P: Precision> Contender<P> for Ours<P> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed> {
        let [m, n, k] = self.size.0.map(|size| size as u32);
        let stride = |order, rows, cols| if order == MatrixOrder::Row { cols } else { rows };
        let (lda, ldb) = (stride(self.gemm.a, m, k), stride(self.gemm.b, k, n));
        let Buffers { a, b, d } = buffers;
        self.kernel.launch(stream, (&*a, lda, &*b, ldb, d, n, m, n, k)).map_err(Failed::of)
    }
}

/// Checks that there is a kernel of [`Gemm`] with these types and orders.
pub(super) fn check<P: Precision>(layout: Layout) -> Result<(), BuildError> {
    layout.of(Gemm::new(GemmTile::T64x64)).kernel::<P::Factor, P::Sum, P::Result>().map(|_| ())
}

/// Loads a kernel of [`Gemm`].
pub(super) fn ours<P: Precision>(
    gpu: &Gpu,
    name: String,
    kind: Kind,
    gemm: Gemm,
    size: Size,
) -> Fallible<Boxed<P>> {
    let kernel = gpu.load(&gemm.kernel::<P::Factor, P::Sum, P::Result>()?)?;
    Ok(Box::new(Ours::<P> { name, kind, size, gemm, kernel }))
}

/// The kernel [`matmul`], which has results of f32.
struct Matmul<T: TensorElement> {
    size: Size,
    kernel: Loaded<MatmulArgs<T>>,
    d: CudaSlice<f32>,
}

impl<P: Precision> Contender<P> for Matmul<P::Factor> {
    fn kind(&self) -> Kind {
        Kind::Chosen
    }

    fn unit(&self) -> Unit {
        Unit::MmaSync
    }

    fn name(&self) -> String {
        "warpwright matmul, sm_80".into()
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed> {
        let [m, n, k] = self.size.0.map(|size| size as u32);
        let arguments = (&buffers.a, &buffers.b, &mut self.d, m, n, k);
        self.kernel.launch(stream, arguments).map_err(Failed::of)
    }

    fn result(&self, stream: &Arc<CudaStream>, _: &Buffers<P>) -> Fallible<Option<Vec<f32>>> {
        Ok(Some(stream.clone_dtoh(&self.d)?))
    }
}

/// Loads the kernel [`matmul`] for row-major matrices.
pub(super) fn on_sm_80<P>(gpu: &Gpu, size: Size) -> Fallible<Boxed<P>>
where
    P: Precision,
    P::Factor: TensorElement<Word: HalfPair> + Product<P::Factor, f32>,
{
    let [m, n, k] = size.0;
    let kernel = gpu.load(&matmul::<P::Factor>(Target::SM_80, pitch_divisor(n as u32, k as u32))?)?;
    let d = gpu.stream().alloc_zeros(m * n)?;
    Ok(Box::new(Matmul { size, kernel, d }))
}
