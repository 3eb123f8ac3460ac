//! Tensors: tilings, partitions, copies, products.

#[path = "tensor/atoms.rs"]
mod atoms;
#[path = "tensor/json.rs"]
mod json;
#[path = "tensor/laws.rs"]
mod laws;
#[path = "tensor/moye.rs"]
mod moye;
#[path = "tensor/oracle.rs"]
mod oracle;
