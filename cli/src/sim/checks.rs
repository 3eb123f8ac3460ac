//! The argument of `--check`: names of checks or of findings.

use warpwright_sim::{Checks, FindingKind};

fn names() -> Vec<String> {
    Checks::all().iter_names().map(|(name, _)| name.to_lowercase()).collect()
}

/// `all`, `none`, or a comma-separated list of names.
pub(super) fn parse(list: &str) -> Result<Checks, String> {
    match list {
        "all" => return Ok(Checks::all()),
        "none" => return Ok(Checks::empty()),
        _ => {}
    }
    let one = |name: &str| {
        let word = name.trim().to_lowercase().replace('-', "_");
        let found =
            Checks::from_name(&word.to_uppercase()).or_else(|| word.parse().ok().map(FindingKind::check));
        found.ok_or_else(|| {
            format!("expected `all`, `none` or a list of {}, found `{name}`", names().join(", "))
        })
    };
    list.split(',').map(one).collect()
}

/// Returns the help text of the option, with all names.
pub(super) fn long_help() -> String {
    format!(
        "What to watch beyond bounds, alignment and deadlock: `all`, `none`, or names with commas between:\n{}; \
         or the names of kinds as findings print them",
        names().join(", ")
    )
}
