//! Programs that must not compile, with the messages of the compiler, and valid counterparts, which show that the programs fail for the
//! reason that they name.

mod compile_fail {
    mod pass;
    #[cfg(feature = "cuda")]
    mod pass_cuda;
    mod pass_hopper;
    mod pass_run;
}

#[test]
fn invalid_kernels_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("compile_fail/*/*.rs");
    if cfg!(feature = "cuda") {
        cases.compile_fail("compile_fail/run/cuda/*.rs");
    }
}
