//! Mistakes that must not compile, with the messages that people see.

#[test]
fn mistakes_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_fail/pass.rs");
    cases.compile_fail("tests/compile_fail/*/*.rs");
}
