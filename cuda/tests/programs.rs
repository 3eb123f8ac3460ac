//! C programs that use the library as their driver.

#[path = "../../tests/support/require.rs"]
mod require;

mod programs {
    mod driver;
    mod host;
}
