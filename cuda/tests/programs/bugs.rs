//! Planted bugs, each with a corrected counterpart. The bug must be found, with its calls; the counterpart must have no findings.

use super::host::Program;

/// A bug in `bugs.c`: its name, the kind of its finding, and parts of the expected text.
type Bug = (&'static str, &'static str, &'static [&'static str]);

const BUGS: &[Bug] = &[
    (
        "use_after_free",
        "global_out_of_bounds",
        &["in a buffer of 1024 bytes that was freed", "cuLaunchKernel, called by launch"],
    ),
    ("copy_after_free", "use_after_free", &["was freed", "cuMemcpyDtoH, called by copy_after_free"]),
    (
        "fill_after_free_in_stream",
        "use_after_free",
        &["was freed", "cuMemsetD32Async, called by fill_after_free_in_stream"],
    ),
    ("double_free", "use_after_free", &["was freed", "cuMemFree, called by double_free"]),
    (
        "uninitialized_copy",
        "uninitialized_copy",
        &["8 of the 1024 bytes", "offset 1016", "cuMemcpyDtoH, called by uninitialized_copy"],
    ),
    (
        "uninitialized_copy_of_a_copy",
        "uninitialized_copy",
        &["512 of the 1024 bytes", "cuMemcpyDtoHAsync, called by"],
    ),
    (
        "uninitialized_argument",
        "uninitialized_global_read",
        &["a read of 4 bytes that were never written", "called by uninitialized_argument"],
    ),
    (
        "copy_over_a_kernel",
        "stream_race",
        &[
            "launch 1 of kernel `scale` reads them",
            "a copy writes them",
            "cuMemcpyHtoDAsync, called by copy_over_a_kernel",
        ],
    ),
    (
        "result_before_the_kernel",
        "stream_race",
        &["launch 1 of kernel `scale` writes them", "a copy reads them"],
    ),
    (
        "staging_buffer_used_twice",
        "stream_race",
        &["a copy and a copy", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync"],
    ),
    (
        "fill_in_the_default_stream",
        "stream_race",
        &["a fill writes them", "launch 1 of kernel `scale` reads them"],
    ),
    ("destroyed_stream", "stream_race", &["a fill writes them", "launch 1 of kernel `scale` reads them"]),
    (
        "default_stream_of_the_thread",
        "stream_race",
        &["a fill writes them", "launch 1 of kernel `scale` writes them"],
    ),
    ("free_in_another_stream", "stream_race", &["a free writes them", "cuMemFreeAsync"]),
    ("use_before_allocation", "stream_race", &["an allocation", "cuMemAllocAsync"]),
    ("branches_of_a_graph", "stream_race", &["a fill writes them", "launch 1 of kernel `scale` writes them"]),
    (
        "graph_uses_memory_early",
        "stream_race",
        &[
            "an allocation writes them",
            "launch 1 of kernel `scale` writes them",
            "cuGraphAddMemAllocNode, called by",
        ],
    ),
    (
        "graph_frees_memory_early",
        "stream_race",
        &["a free writes them", "launch 1 of kernel `scale` writes them"],
    ),
    (
        "behind_the_mapping",
        "global_out_of_bounds",
        &["which is reserved and has no accessible memory", "called by behind_the_mapping"],
    ),
    ("mapping_without_access", "global_out_of_bounds", &["which is reserved and has no accessible memory"]),
    ("store_to_a_read_only_mapping", "read_only", &["a store to memory at", "which is read only"]),
    ("uninitialized_mapping", "uninitialized_global_read", &["a read of 4 bytes that were never written"]),
    ("unmapped_too_early", "global_out_of_bounds", &["which is reserved and has no accessible memory"]),
    ("signal_from_a_host_function", "stream_race", &["a fill writes them"]),
    (
        "block_too_large",
        "invalid_launch",
        &[
            "block (2048, 1, 1)",
            "CUDA_ERROR_INVALID_VALUE",
            "cuLaunchKernel, called by block_too_large (bugs.c:",
        ],
    ),
];

#[test]
fn every_bug_is_found_and_no_correct_program_has_findings() {
    let Some(program) = Program::c("bugs") else { return };
    let mut failures = vec![];
    for (name, kind, parts) in BUGS {
        let ran = program.run_with(&[name], &[]);
        let found: Vec<&str> = ran
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix("warpwright: ")?.split([':', ' ']).next())
            .collect();
        // Memory that another stream has freed may also be out of bounds.
        if ran.status != Some(86) || found.first() != Some(kind) {
            failures.push(format!("{name}: {:?}, {found:?}, expected {kind}:\n{}", ran.status, ran.stderr));
        }
        if let Some(part) = parts.iter().find(|part| !ran.stderr.contains(**part)) {
            failures.push(format!("{name}: expected `{part}`:\n{}", ran.stderr));
        }
        let fixed = program.run_with(&[name, "fixed"], &[]);
        if (fixed.stdout.as_str(), fixed.status) != ("done\n", Some(0)) {
            failures.push(format!("{name} fixed: {:?}\n{}", fixed.status, fixed.stderr));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn checks_of_the_host_are_selectable() {
    let Some(program) = Program::c("bugs") else { return };
    for (name, check) in [
        ("copy_over_a_kernel", "stream_races"),
        ("uninitialized_copy", "uninitialized_copies"),
        ("block_too_large", "invalid_launches"),
        ("uninitialized_argument", "uninitialized_global"),
    ] {
        let selected = program.run_with(&[name], &[("CHECK", check)]);
        assert_eq!(selected.status, Some(86), "{name}: {}", selected.stderr);
        for others in ["none", "shared_races,proxy_fences"] {
            let ran = program.run_with(&[name], &[("CHECK", others)]);
            assert_eq!(ran.status, Some(0), "{name}: {}", ran.stderr);
        }
    }
}

#[test]
fn memory_that_is_not_freed() {
    let Some(program) = Program::c("bugs") else { return };
    let leaks = |fixed: &[&str]| {
        let ran = program.run_with(&[&["leak"], fixed].concat(), &[("LEAKS", "1")]);
        ran.stderr.lines().filter(|line| line.starts_with("warpwright: leak: 12345 bytes")).count()
    };
    assert_eq!((leaks(&[]), leaks(&["fixed"])), (1, 0));
}
