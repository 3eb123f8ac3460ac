//! C programs that use the library as their driver.

#[path = "../../tests/support/skip.rs"]
mod skip;

mod programs {
    mod bugs;
    mod driver;
    mod host;
    mod math;
    mod names;
    mod outlines;
    mod runtime;
}
