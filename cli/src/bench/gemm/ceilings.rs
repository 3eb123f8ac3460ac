//! Ceilings, which are timed like products.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    gpu::Gpu,
    prelude::Kernel,
    ptx::Element,
    run::{Loaded, StorageFor},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind, Unit},
    precision::{Precision, Stored},
};
use crate::bench::{
    Failed, Fallible,
    ceiling::{self, CeilingArgs, Work},
    normals::normals,
};

/// The number of iterations per launch, which take about 2 ms.
const WGMMA_STEPS: u32 = 700;
const MMA_SYNC_STEPS: u32 = 4000;

/// A kernel of the [`ceiling`] module, with its operands and results.
struct Ceiling<P: Precision, C: TensorElement, S> {
    unit: Unit,
    kernel: Loaded<CeilingArgs<P::Factor, C>>,
    work: Work,
    blocks: u32,
    steps: u32,
    x: CudaSlice<P::StoredFactor>,
    d: CudaSlice<S>,
    /// The duration of the last launch in cycles and in nanoseconds.
    clock: CudaSlice<u64>,
}

impl<P: Precision, C: TensorElement, S: Stored + StorageFor<C>> Ceiling<P, C, S> {
    fn load(
        gpu: &Gpu,
        unit: Unit,
        (kernel, work): (Kernel<CeilingArgs<P::Factor, C>>, Work),
        steps: u32,
    ) -> Fallible<Self> {
        let (stream, blocks) = (gpu.stream(), gpu.properties().multiprocessors);
        let operands: Vec<_> = normals(work.operands).map(P::factor).collect();
        Ok(Self {
            unit,
            kernel: gpu.load(&kernel)?,
            work,
            blocks,
            steps,
            x: stream.clone_htod(&operands)?,
            d: stream.alloc_zeros(work.sums * blocks as usize)?,
            clock: stream.alloc_zeros(2)?,
        })
    }
}

impl<P: Precision, C: TensorElement, S: Stored + StorageFor<C>> Contender<P> for Ceiling<P, C, S> {
    fn kind(&self) -> Kind {
        Kind::Ceiling
    }

    fn unit(&self) -> Unit {
        self.unit
    }

    fn name(&self) -> String {
        match self.unit {
            Unit::Wgmma => "ceiling, wgmma of shared memory".into(),
            Unit::MmaSync => "ceiling, mma.sync of registers".into(),
        }
    }

    fn launch(&mut self, stream: &Arc<CudaStream>, _: &mut Buffers<P>) -> Result<(), Failed> {
        let Self { kernel, x, d, clock, blocks, steps, .. } = self;
        kernel.launch(stream, (&*x, d, clock, *blocks, *steps)).map_err(Failed::of)
    }

    fn result(&self, _: &Arc<CudaStream>, _: &Buffers<P>) -> Fallible<Option<Vec<f32>>> {
        Ok(None)
    }

    fn flops(&self) -> Option<f64> {
        Some(self.work.flops as f64 * f64::from(self.blocks) * f64::from(self.steps))
    }

    fn clock_mhz(&self, stream: &Arc<CudaStream>) -> Fallible<Option<f64>> {
        let elapsed = stream.clone_dtoh(&self.clock)?;
        Ok(Some(elapsed[0] as f64 / elapsed[1] as f64 * 1e3))
    }
}

/// Loads the ceiling of `wgmma`.
pub(super) fn wgmma<P: Precision>(gpu: &Gpu) -> Fallible<Boxed<P>> {
    // A 128-byte row contains two subtiles of 4-byte elements, or four of 1-byte or 2-byte elements.
    let kernel = match P::Factor::SIZE {
        4 => ceiling::wgmma::<P::Factor, P::Sum, 2>(),
        _ => ceiling::wgmma::<P::Factor, P::Sum, 4>(),
    };
    Ok(Box::new(Ceiling::<P, P::Sum, P::StoredSum>::load(gpu, Unit::Wgmma, kernel?, WGMMA_STEPS)?))
}

/// Loads the ceiling of `mma.sync`.
pub(super) fn mma_sync<P>(gpu: &Gpu) -> Fallible<Boxed<P>>
where
    P: Precision,
    P::Factor: Product<P::Factor, f32> + Convert<P::Factor>,
{
    let kernel = ceiling::mma_sync::<P::Factor>()?;
    Ok(Box::new(Ceiling::<P, f32, f32>::load(gpu, Unit::MmaSync, kernel, MMA_SYNC_STEPS)?))
}
