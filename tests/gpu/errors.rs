//! Errors can be displayed without a driver, although cudarc's own errors would call into the library.

use cudarc::driver::{DriverError, sys::cudaError_enum};
use pretty_assertions::assert_eq;
use warpwright::gpu::{CallFailed, CudaCode, GpuError, LaunchError, LoadError};

#[test]
fn a_cudarc_error_becomes_printable() {
    let error = || DriverError(cudaError_enum::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(CudaCode::from(error()), CudaCode::ILLEGAL_ADDRESS);
    let text = "a cudarc call returned CUDA_ERROR_ILLEGAL_ADDRESS (700)";
    assert_eq!(GpuError::from(error()).to_string(), text);
    assert_eq!(LoadError::from(error()).to_string(), text);
    assert_eq!(LaunchError::from(error()).to_string(), text);
    assert_eq!(
        CallFailed::at("synchronize")(error()).to_string(),
        "synchronize returned CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    );
}

#[test]
fn a_log_without_messages_is_shown_as_it_is() {
    let error = LoadError::Rejected {
        code: CudaCode::UNSUPPORTED_PTX_VERSION,
        messages: Vec::new(),
        log: "something\n\nelse\n".to_owned(),
    };
    assert_eq!(
        error.to_string(),
        "the driver rejected the PTX: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)\n  something\n  else"
    );
}
