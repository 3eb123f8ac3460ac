//! Holds no code: its test builds programs that only a build refuses, as an assertion about their constants fails. A check accepts them,
//! and is much faster, so all other programs that must not compile are in `tests/compile_fail`, and checked.
