//! Instructions as data: atoms.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/atom_kernel.rs"]
mod atom_kernel;
#[path = "atoms/copies.rs"]
mod copies;
#[path = "support/devices.rs"]
mod devices;
#[path = "atoms/emission.rs"]
mod emission;
#[path = "atoms/execution.rs"]
mod execution;
#[path = "atoms/fragment.rs"]
mod fragment;
#[path = "support/lines.rs"]
mod lines;
#[path = "atoms/numbers.rs"]
mod numbers;
#[path = "atoms/oracle.rs"]
mod oracle;
#[path = "atoms/problem.rs"]
mod problem;
#[path = "support/require.rs"]
mod require;
#[path = "atoms/wgmma.rs"]
mod wgmma;
