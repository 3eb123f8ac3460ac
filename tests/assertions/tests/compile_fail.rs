//! Programs that must not build, with the messages of the compiler.

#[test]
fn assertions_fail() {
    let cases = trybuild::TestCases::new();
    // A program that passes makes trybuild build all of them.
    cases.pass("pass.rs");
    cases.compile_fail("compile_fail/*/*.rs");
}
