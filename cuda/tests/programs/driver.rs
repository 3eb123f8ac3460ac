//! Programs that call the driver.

use super::host::Program;

/// Runs a program that checks its own results and must have no findings.
fn passes(name: &str, settings: &[(&str, &str)], stdout: &str) {
    let Some(program) = Program::c(name) else { return };
    let ran = program.run(settings);
    assert_eq!((ran.stdout.as_str(), ran.status), (stdout, Some(0)), "{}", ran.stderr);
}

#[test]
fn wrong_arguments_and_stale_handles() {
    // Uses of freed memory are findings even without optional checks.
    passes("errors", &[("CHECK", "none"), ("EXIT_STATUS", "0")], "done\n");
}

#[test]
fn unsupported_functions_are_named() {
    let Some(program) = Program::c("errors") else { return };
    let report = program.file("report.json");
    let ran = program.run(&[("REPORT", &report)]);
    let named = "warpwright: cuGraphicsUnregisterResource is not supported; it returns CUDA_ERROR_NOT_SUPPORTED: memory is not shared with graphics \
         interfaces";
    assert!(ran.stderr.lines().any(|line| line == named), "{}", ran.stderr);
    let text = std::fs::read_to_string(&report).expect("the report is written");
    assert!(text.contains("\"cuGraphicsUnregisterResource\": 1"), "{text}");
    // The report also contains machine code without PTX, with a remedy.
    assert!(text.contains("the image is a cubin without PTX"), "{text}");
}

#[test]
fn the_order_of_streams() {
    passes("streams", &[], "12345 done\n");
}

#[test]
fn rules_of_order_and_refusal() {
    passes("rules", &[], "done\n");
}

#[test]
fn modes_of_capture() {
    passes("captures", &[], "done\n");
}

#[test]
fn pools_of_memory() {
    passes("pools", &[("LEAKS", "1")], "done\n");
}

#[test]
fn waits_for_values() {
    passes("values", &[], "done\n");
    let Some(program) = Program::c("values") else { return };
    let ran = program.run_with(&["early"], &[]);
    assert_eq!(ran.status, Some(86), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("warpwright: stream_race").count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("a copy reads them") && ran.stderr.contains("a fill writes them"),
        "{}",
        ran.stderr
    );
}

#[test]
fn attributes_of_ranges_textures_and_surfaces() {
    passes("attributes", &[], "done\n");
}

#[test]
fn memory_of_all_kinds() {
    passes("memory", &[], "done\n");
}

#[test]
fn virtual_memory() {
    passes("virtual_memory", &[("LEAKS", "1")], "done\n");
}

#[test]
fn graphs_of_nodes_and_of_streams() {
    passes("graphs", &[], "done\n");
}

#[test]
fn nodes_of_graphs() {
    passes("graph_nodes", &[], "done\n");
}

#[test]
fn lists_of_copies() {
    passes("batches", &[], "done\n");
}

#[test]
fn two_devices() {
    passes("devices", &[("DEVICES", "2")], "done\n");
}

#[test]
fn a_fault_is_reported_and_sticks() {
    let Some(program) = Program::c("fault") else { return };
    let report = program.file("report.json");
    let ran = program.run(&[("REPORT", &report)]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(86)), "{}", ran.stderr);
    let finding = "a load of 4 bytes at";
    assert!(
        ran.stderr.contains("global_out_of_bounds: launch 1") && ran.stderr.contains(finding),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("thread (100, 0, 0)"), "{}", ran.stderr);
    let text = std::fs::read_to_string(&report).expect("the report is written");
    assert!(
        text.contains("\"kind\": \"global_out_of_bounds\"") && text.contains("\"ptx_line\": 21"),
        "{text}"
    );
    let kept = program.run(&[("EXIT_STATUS", "0")]);
    assert_eq!((kept.stdout.as_str(), kept.status), ("done\n", Some(0)), "{}", kept.stderr);
}

#[test]
fn leaks_are_reported_on_demand() {
    let Some(program) = Program::c("streams") else { return };
    let ran = program.run(&[("LEAKS", "1")]);
    assert_eq!(ran.status, Some(86), "{}", ran.stderr);
    assert!(ran.stderr.contains("warpwright: leak: 4096 bytes at"), "{}", ran.stderr);
}
