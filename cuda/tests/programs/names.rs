//! The names in the interfaces: every function of CUDA 13 exists, and unsupported functions return an error.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use object::{Object as _, ObjectSymbol as _};

use super::host::{Program, library};

/// Returns the path of a list of names, one per line.
fn list(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/names").join(name)
}

/// Returns the names in a list that a library does not export.
fn missing(library_name: &str, list_name: &str) -> Vec<String> {
    let bytes = fs::read(library(library_name)).expect("the library can be read");
    let file = object::File::parse(&*bytes).expect("the library is an ELF file");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let exported: BTreeSet<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
    let names = fs::read_to_string(list(list_name)).expect("the list can be read");
    names.lines().filter(|name| !exported.contains(name)).map(str::to_string).collect()
}

#[test]
fn every_function_of_the_interfaces_exists() {
    // The functions of the drivers and the runtime libraries of CUDA 12.9 and 13.5, with their earlier variants.
    assert_eq!(missing("cuda", "driver.txt"), Vec::<String>::new());
    assert_eq!(missing("cudart", "runtime.txt"), Vec::<String>::new());
    // The functions of CUDA 13.4, without the legacy interface of cuBLAS.
    assert_eq!(missing("cuda_math", "blas.txt"), Vec::<String>::new());
    assert_eq!(missing("cuda_math", "random.txt"), Vec::<String>::new());
}

#[test]
fn every_function_of_the_driver_is_found_by_name() {
    let Some(program) = Program::c("names") else { return };
    let names = list("driver.txt").display().to_string();
    let report = program.file("report.json");
    let ran = program.run_with(&[&names], &[("REPORT", &report)]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
    let text = fs::read_to_string(&report).expect("the report is written");
    assert!(text.contains("\"cuLogicalEndpointCreate\": 1"), "{text}");
}
