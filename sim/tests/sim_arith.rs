//! The simulator's arithmetic compared with results of an H200, and with itself.
//!
//! `sim/tests/data/truth` contains a small part of a recording of single instructions. The environment variable
//! `WARPWRIGHT_TRUTH` names another folder of the same format to run instead.

#[path = "sim_arith/fragments.rs"]
mod fragments;
#[path = "sim_arith/hardware.rs"]
mod hardware;
#[path = "sim_arith/integer.rs"]
mod integer;
#[path = "sim_arith/matrix.rs"]
mod matrix;
#[path = "support/npz.rs"]
mod npz;
#[path = "sim_arith/properties.rs"]
mod properties;
#[path = "sim_arith/recorded.rs"]
mod recorded;
#[path = "sim_arith/scalar.rs"]
mod scalar;
#[path = "sim_arith/sparse.rs"]
mod sparse;
#[path = "sim_arith/tensor.rs"]
mod tensor;
#[path = "sim_arith/tile.rs"]
mod tile;
#[path = "sim_arith/truth.rs"]
mod truth;
#[path = "sim_arith/wgmma.rs"]
mod wgmma;
