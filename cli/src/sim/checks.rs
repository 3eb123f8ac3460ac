//! The help text of `--check`, whose argument [`Checks`] parses.

use warpwright_sim::Checks;

/// Returns the help text of the option, with all names.
pub(crate) fn long_help() -> String {
    format!(
        "What to watch beyond bounds, alignment and deadlock: `all`, `none`, or names with commas between:\n{}; \
         or the names of kinds as findings print them",
        Checks::names().join(", ")
    )
}
