//! The contenders that are timed in turn.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use serde::Serialize;

use super::precision::Precision;
use crate::bench::{Failed, Fallible};

/// The tensor-core instructions that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    Wgmma,
    MmaSync,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wgmma => "wgmma",
            Self::MmaSync => "mma.sync",
        })
    }
}

/// The role of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// cuBLASLt.
    Rival,
    /// The kernel chosen for the size.
    Chosen,
    /// The kernel chosen for the product without the epilogue.
    Plain,
    /// Another kernel in a sweep.
    Variant,
    /// The rate of the tensor cores alone.
    Ceiling,
}

/// A, B, C and D. C has one element unless the epilogue adds it.
pub(super) struct Buffers<P: Precision> {
    pub(super) a: CudaSlice<P::StoredFactor>,
    pub(super) b: CudaSlice<P::StoredFactor>,
    pub(super) c: CudaSlice<P::StoredResult>,
    pub(super) d: CudaSlice<P::StoredResult>,
}

/// A contender.
pub(super) type Boxed<P> = Box<dyn Contender<P>>;

/// The reason that a contender does not compute a product.
pub(super) struct Refusal {
    pub(super) name: String,
    pub(super) why: String,
}

/// A way to compute a product, or a ceiling.
pub(super) trait Contender<P: Precision> {
    fn kind(&self) -> Kind;

    fn unit(&self) -> Unit {
        Unit::Wgmma
    }

    fn name(&self) -> String;

    /// Queues a launch.
    fn launch(&mut self, stream: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed>;

    /// Returns the result of a launch with these buffers; `None` for a ceiling.
    fn result(&self, stream: &Arc<CudaStream>, buffers: &Buffers<P>) -> Fallible<Option<Vec<f32>>> {
        Ok(Some(stream.clone_dtoh(&buffers.d)?.into_iter().map(P::result).collect()))
    }

    /// Returns the number of operations per launch, if it differs from that of the product.
    fn flops(&self) -> Option<f64> {
        None
    }

    /// Returns the clock of a multiprocessor during the last launch in MHz, if it was measured.
    fn clock_mhz(&self, _: &Arc<CudaStream>) -> Fallible<Option<f64>> {
        Ok(None)
    }
}
