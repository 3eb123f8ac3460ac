//! The assembler: the instruction table compared with ptxas, the emitters with the table, and folding with the manual.

#[path = "support/atom_kernel.rs"]
mod atom_kernel;
#[path = "support/devices.rs"]
mod devices;
#[path = "../sim/tests/support/npz.rs"]
mod npz;
#[path = "tiles/numbers.rs"]
#[allow(dead_code, reason = "these tests use a part of each type")]
mod numbers;
#[path = "support/require.rs"]
mod require;
#[path = "../sim/tests/sim_arith/truth.rs"]
#[allow(dead_code, reason = "folding looks at a part of each recording")]
mod truth;

mod ptx {
    mod assemble;
    mod branches;
    mod constants;
    mod coverage;
    mod division;
    mod emitters;
    mod facts;
    mod folding;
    mod functions;
    mod number_types;
    mod numbering;
    mod operands;
    mod running;
    mod running_bulk;
    mod running_device_maps;
    mod running_hopper;
    mod running_im2col;
    mod scopes;
    mod shared;
    mod table;
    mod uniformity;
}
