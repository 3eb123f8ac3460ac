//! The argument of `--check`: names of checks or of findings.

use warpwright_sim::Checks;

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
        let found = Checks::from_name(&word.to_uppercase()).or_else(|| check_of(&word));
        found.ok_or_else(|| {
            format!("expected `all`, `none` or a list of {}, found `{name}`", names().join(", "))
        })
    };
    list.split(',').map(one).collect()
}

/// The check that reports findings of this name; empty for findings that are always reported.
fn check_of(kind: &str) -> Option<Checks> {
    Some(match kind {
        "uninitialized_shared_read" => Checks::UNINITIALIZED_SHARED,
        "uninitialized_local_read" => Checks::UNINITIALIZED_LOCAL,
        "uninitialized_register" => Checks::UNINITIALIZED_REGISTERS,
        "shared_race" | "async_copy_unwaited" | "async_proxy_race" => Checks::SHARED_RACES,
        "global_race" => Checks::GLOBAL_RACES,
        "missing_proxy_fence" => Checks::PROXY_FENCES,
        "divergent_barrier" => Checks::BARRIERS,
        "shfl_inactive_lane" => Checks::SHUFFLES,
        "wgmma_in_flight" | "missing_wgmma_fence" => Checks::WGMMA_IN_FLIGHT,
        "async_group_leaked" => Checks::LEAKED_GROUPS,
        "address_conversion" => Checks::ADDRESS_CONVERSIONS,
        "global_out_of_bounds"
        | "shared_out_of_bounds"
        | "local_out_of_bounds"
        | "param_out_of_bounds"
        | "misaligned_access"
        | "read_only"
        | "invalid_address"
        | "deadlock"
        | "step_limit"
        | "sync_mask"
        | "aligned_divergence"
        | "invalid_operand"
        | "mbarrier_misuse"
        | "mbarrier_never_completes"
        | "tensor_coordinate_misaligned"
        | "invalid_descriptor"
        | "budget_exceeded"
        | "trap"
        | "assertion" => Checks::empty(),
        _ => return None,
    })
}

/// The help text of the option, with all names.
pub(super) fn long_help() -> String {
    format!(
        "What to watch beyond bounds, alignment and deadlock: `all`, `none`, or names with commas between:\n{}; \
         or the names of kinds as findings print them",
        names().join(", ")
    )
}
