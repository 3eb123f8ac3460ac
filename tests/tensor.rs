//! Tensors: tilings, partitions, copies, products.

#[path = "tensor/atoms.rs"]
mod atoms;
#[path = "tensor/bounds.rs"]
mod bounds;
#[path = "tensor/copying.rs"]
mod copying;
#[path = "support/devices.rs"]
mod devices;
#[path = "tensor/elements.rs"]
mod elements;
#[path = "tensor/further.rs"]
mod further;
#[path = "tensor/json.rs"]
mod json;
#[path = "tensor/kernels.rs"]
mod kernels;
#[path = "tensor/laws.rs"]
mod laws;
#[path = "support/lines.rs"]
mod lines;
#[path = "tensor/matrices.rs"]
mod matrices;
#[path = "tensor/mmaop.rs"]
mod mmaop;
#[path = "tensor/moye.rs"]
mod moye;
#[path = "tensor/oracle.rs"]
mod oracle;
#[path = "tensor/plans.rs"]
mod plans;
#[path = "tensor/programs.rs"]
mod programs;
#[path = "support/require.rs"]
mod require;
#[path = "tensor/support.rs"]
mod support;
