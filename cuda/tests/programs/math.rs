//! Programs that call cuBLAS and cuRAND.

// Used so that Cargo builds the library.
use warpwright_cuda_math as _;

use super::host::Program;

#[test]
fn products_and_random_numbers() {
    let Some(program) = Program::c("math") else { return };
    let ran = program.run(&[("LEAKS", "1")]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
    for line in [
        "cublasSaxpy_v2 is not supported; it returns CUBLAS_STATUS_NOT_SUPPORTED",
        "cublasGemmEx of the cudaDataType_t 4, 4 and 4 with the cublasComputeType_t 68 is not supported; it returns CUBLAS_STATUS_NOT_SUPPORTED",
        "curandCreateGenerator with the curandRngType_t 201 is not supported; it returns CURAND_STATUS_TYPE_ERROR",
    ] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
}

/// Checks that the first launch of a program reads a matrix out of bounds, and that the finding has these calls.
fn assert_checked(program: &str, calls: &str) {
    let Some(program) = Program::c(program) else { return };
    let ran = program.run_with(&["short"], &[]);
    assert_eq!(ran.status, Some(86), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("global_out_of_bounds: launch 1") && ran.stderr.contains(calls),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_product_is_checked_and_named() {
    assert_checked("math", "launched by cublasSgemm, called by too_short (math.c:");
}

#[test]
fn triangular_systems() {
    let Some(program) = Program::c("systems") else { return };
    let ran = program.run(&[("LEAKS", "1")]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
}

#[test]
fn a_triangular_system_is_checked_and_named() {
    assert_checked("systems", "launched by cublasDtrsm, called by too_short (systems.c:");
}
