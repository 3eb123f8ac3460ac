//! What stands beside the instructions: raw lines, variables, printing, modules of several kernels.

mod ptx_module {
    mod raw;
    mod support;
}
