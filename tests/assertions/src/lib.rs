//! Contains no code. The crate's test builds programs that `cargo check` accepts but `cargo build` rejects, because an assertion about
//! their constants fails. `cargo check` is much faster, so `tests/compile_fail` uses it for all other programs that must not compile.
