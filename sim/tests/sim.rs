//! Tests of the simulator, by subject.

#[path = "support/npz.rs"]
mod npz;

mod sim {
    mod blackwell;
    mod contract;
    mod corpus;
    mod dependence;
    mod descriptors;
    mod execution;
    mod extremes;
    mod faults;
    mod footprint;
    mod forms;
    mod functions;
    mod heap;
    mod im2col;
    mod initializers;
    mod kinds;
    mod matmul;
    mod memory;
    mod modules;
    mod mutate;
    mod mutated;
    mod npy;
    mod outline;
    mod pairs;
    mod printing;
    mod report;
    mod robust;
    mod small_floats;
    mod sparse;
    mod store_async;
    mod support;
    mod syntax;
    mod tensor_reductions;
    mod textures;
    mod truth;
    mod undefined;
    mod video;
}
