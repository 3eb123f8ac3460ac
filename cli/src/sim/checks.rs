//! The help text of `--check`. [`Checks`] parses the argument.

use warpwright_sim::Checks;

/// Returns the help text of the option with the names of all checks.
pub(crate) fn long_help() -> String {
    format!(
        "Checks beyond bounds, alignment and deadlock: `all`, `none`, or a comma-separated list of:\n{}; \
         or of kinds of findings, by their names in the report",
        Checks::names().join(", ")
    )
}
