//! The list of checks of `--check`.

use crate::sim::Checks;

fn names() -> Vec<String> {
    Checks::all().iter_names().map(|(name, _)| name.to_lowercase()).collect()
}

/// `all`, `none`, or names with commas between.
pub(super) fn parse(list: &str) -> Result<Checks, String> {
    match list {
        "all" => return Ok(Checks::all()),
        "none" => return Ok(Checks::empty()),
        _ => {}
    }
    let one = |name: &str| {
        let upper = name.trim().to_uppercase().replace('-', "_");
        let found = Checks::from_name(&upper);
        found.ok_or_else(|| {
            format!("unknown check `{name}`; wanted `all`, `none` or some of {}", names().join(", "))
        })
    };
    list.split(',').map(one).collect()
}

/// The option's explanation, with the names there are.
pub(super) fn long_help() -> String {
    format!(
        "What to watch beyond bounds, alignment and deadlock: `all`, `none`, or names with commas between:\n{}",
        names().join(", ")
    )
}
