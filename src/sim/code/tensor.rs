//! Tensor-core instructions.

use super::R;
use crate::sim::arith::Float;

/// Tensor-core instructions.
#[derive(Debug)]
pub(in crate::sim) enum Tensor {
    Mma(Mma),
}

/// `mma.sync.aligned` on 16-bit floats.
#[derive(Debug)]
pub(in crate::sim) struct Mma {
    /// Products per result: 8 or 16.
    pub(in crate::sim) k: u8,
    /// Type of A and B.
    pub(in crate::sim) ty: Float,
    /// C and D are f16 pairs rather than f32.
    pub(in crate::sim) c_f16: bool,
    pub(in crate::sim) d_f16: bool,
    pub(in crate::sim) d: [R; 4],
    pub(in crate::sim) a: [R; 4],
    pub(in crate::sim) b: [R; 2],
    pub(in crate::sim) c: [R; 4],
}
