//! Programs that must not compile, with the messages of the compiler.

#[test]
fn mistakes_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("compile_fail/pass.rs");
    cases.pass("compile_fail/pass_run.rs");
    cases.pass("compile_fail/pass_hopper.rs");
    cases.compile_fail("compile_fail/*/*.rs");
    if cfg!(feature = "cuda") {
        cases.pass("compile_fail/pass_cuda.rs");
        cases.compile_fail("compile_fail/run/cuda/*.rs");
    }
}
