//! Features other than instructions: raw lines, variables, printing, modules of several kernels.

#[path = "support/assemble.rs"]
mod ptxas;
#[path = "support/require.rs"]
mod require;

mod ptx_module {
    mod assumption;
    mod built;
    mod extent;
    mod module;
    mod print;
    #[cfg(feature = "cuda")]
    mod print_on_device;
    mod raw;
    mod run;
    mod variable;
}
