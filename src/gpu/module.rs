//! Loads PTX text with the driver's compiler and keeps the compiler's log.

use super::code::CudaCode;
use super::device::Gpu;
use super::error::{CallFailed, GpuError, LoadError};
use super::function::Function;
use super::jit::{JitInfo, JitMessage};
use super::symbols::{Handle, jit_option as option};
use arrayvec::ArrayVec;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// The size of each of the compiler's two log buffers; longer logs are truncated.
const LOG_BYTES: usize = 256 << 10;

/// Compilation options. No option changes the PTX text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Whether to keep the line information of `.loc` directives in the machine code, for Nsight Compute and compute-sanitizer.
    #[doc(alias = "CU_JIT_GENERATE_LINE_INFO")]
    pub line_info: bool,
    /// The maximum number of registers per thread; if `None`, the compiler chooses the number.
    #[doc(alias = "CU_JIT_MAX_REGISTERS")]
    pub max_registers: Option<u32>,
    /// The optimization level, 0 to 4; the driver's default is 4.
    #[doc(alias = "CU_JIT_OPTIMIZATION_LEVEL")]
    pub optimization: Option<u32>,
    /// Whether to load modules even if the compiler serialized `wgmma` instructions, inserted waits for them, or ignored `setmaxnreg`
    /// ([`LoadError::Advisories`]). This happens, for example, if optimization is off.
    pub allow_advisories: bool,
}

/// A loaded module.
///
/// The module stays loaded until its last clone and its last [`Function`] are dropped.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Loaded>,
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) gpu: Gpu,
    raw: Handle,
    info: JitInfo,
}

// SAFETY: a `CUmodule` may be used from any thread on which its context is current, and every use binds it.
unsafe impl Send for Loaded {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.gpu.within(|| {
            // SAFETY: the handle is live, and nothing uses it after this. The call fails if a kernel fault destroyed the context; in that
            // case, nothing remains to be unloaded.
            let _ = unsafe { self.gpu.driver().api.cuModuleUnload(self.raw) };
        });
    }
}

impl Module {
    /// Compiles and loads PTX text.
    ///
    /// # Errors
    /// Returns [`LoadError::Rejected`], with the compiler's messages, if the driver rejects the text; [`LoadError::Nul`] if the text
    /// contains a NUL byte; and [`LoadError::Call`] if the context cannot be made current. Returns [`LoadError::Advisories`] if the
    /// compiler serialized `wgmma` instructions, inserted waits for them, or ignored `setmaxnreg`; this is not detected if the code comes
    /// from the driver's cache, which keeps no log.
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load(gpu: &Gpu, ptx: &str) -> Result<Self, LoadError> {
        Self::load_with(gpu, ptx, &LoadOptions::default())
    }

    /// Compiles and loads PTX text like [`Module::load`], but with the given options.
    ///
    /// # Errors
    /// Returns the same errors as [`Module::load`].
    pub fn load_with(gpu: &Gpu, ptx: &str, options: &LoadOptions) -> Result<Self, LoadError> {
        let text = CString::new(ptx).map_err(|nul| nul_error(ptx, nul.nul_position()))?;
        gpu.bind()?;

        let mut info_log = vec![0u8; LOG_BYTES];
        let mut error_log = vec![0u8; LOG_BYTES];
        let mut list = OptionList::default();
        list.push(option::INFO_LOG_BUFFER, info_log.as_mut_ptr().cast());
        list.push_number(option::INFO_LOG_BUFFER_SIZE_BYTES, LOG_BYTES);
        list.push(option::ERROR_LOG_BUFFER, error_log.as_mut_ptr().cast());
        list.push_number(option::ERROR_LOG_BUFFER_SIZE_BYTES, LOG_BYTES);
        list.push_number(option::LOG_VERBOSE, 1);
        if options.line_info {
            list.push_number(option::GENERATE_LINE_INFO, 1);
        }
        if let Some(registers) = options.max_registers {
            list.push_number(option::MAX_REGISTERS, registers as usize);
        }
        if let Some(level) = options.optimization {
            list.push_number(option::OPTIMIZATION_LEVEL, level as usize);
        }
        list.push(option::WALL_TIME, ptr::null_mut());

        let mut raw: Handle = ptr::null_mut();
        // SAFETY: the context is current, the text ends in a NUL, both lists have the given length, and the log buffers have the given
        // sizes and outlive the call.
        let loaded = unsafe {
            gpu.driver().api.cuModuleLoadDataEx(
                &mut raw,
                text.as_ptr().cast(),
                list.keys.len() as u32,
                list.keys.as_mut_ptr(),
                list.values.as_mut_ptr(),
            )
        };
        if let Err(CallFailed { code, .. }) = loaded {
            let log = until_nul(&error_log);
            return Err(LoadError::Rejected { code, messages: JitMessage::parse_all(&log), log });
        }
        // The driver returns results in the slots of the option values: here, the bits of an f32, regardless of the pointer width.
        let wall = list.values.last().map_or(0, |slot| slot.addr() as u32);
        let info = JitInfo { wall_ms: f32::from_bits(wall), ..JitInfo::parse(&until_nul(&info_log)) };
        let module = Self { inner: Arc::new(Loaded { gpu: gpu.clone(), raw, info }) };
        if options.allow_advisories { Ok(module) } else { module.without_advisories() }
    }

    /// Unloads the module and returns an error if the compiler's log contains advisory notes about `wgmma` or `setmaxnreg`.
    fn without_advisories(self) -> Result<Self, LoadError> {
        let info = self.info();
        let messages: Vec<_> = info.hopper_advisories().cloned().collect();
        if messages.is_empty() {
            return Ok(self);
        }
        let kernels = info.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        Err(LoadError::Advisories { kernels, messages, log: info.log.clone() })
    }

    /// Returns the compiler's report.
    pub fn info(&self) -> &JitInfo {
        &self.inner.info
    }

    /// Returns the device that the module is loaded on.
    pub fn gpu(&self) -> &Gpu {
        &self.inner.gpu
    }

    /// Returns the kernel named `name`.
    ///
    /// # Errors
    /// Returns [`GpuError::NoSuchFunction`] if the module has no such kernel, or the driver's error.
    #[doc(alias = "cuModuleGetFunction")]
    pub fn function(&self, name: &str) -> Result<Function, GpuError> {
        let missing = || GpuError::NoSuchFunction { name: name.to_owned() };
        let c_name = CString::new(name).map_err(|_| missing())?;
        self.inner.gpu.bind()?;
        let mut raw: Handle = ptr::null_mut();
        // SAFETY: the context is current, the module is live, the name ends in a NUL.
        let found = unsafe {
            self.inner.gpu.driver().api.cuModuleGetFunction(&mut raw, self.inner.raw, c_name.as_ptr())
        };
        match found {
            Err(CallFailed { code: CudaCode::NOT_FOUND, .. }) => Err(missing()),
            Err(failed) => Err(failed.into()),
            Ok(()) => Function::new(Arc::clone(&self.inner), raw, name),
        }
    }

    /// Returns the address and the size in bytes of the module's `.visible .global` or `.const` variable named `name`.
    ///
    /// # Errors
    /// Returns [`GpuError::NoSuchGlobal`] if the module has no such variable, or the driver's error.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn global(&self, name: &str) -> Result<(u64, usize), GpuError> {
        let missing = || GpuError::NoSuchGlobal { name: name.to_owned() };
        let c_name = CString::new(name).map_err(|_| missing())?;
        self.inner.gpu.bind()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the context is current, the module is live, the name ends in a NUL.
        let found = unsafe {
            self.inner.gpu.driver().api.cuModuleGetGlobal_v2(
                &mut address,
                &mut bytes,
                self.inner.raw,
                c_name.as_ptr(),
            )
        };
        match found {
            Err(CallFailed { code: CudaCode::NOT_FOUND, .. }) => Err(missing()),
            Err(failed) => Err(failed.into()),
            Ok(()) => Ok((address, bytes)),
        }
    }
}

/// The driver's options, as two parallel arrays.
#[derive(Default)]
struct OptionList {
    keys: ArrayVec<c_int, 9>,
    values: ArrayVec<*mut c_void, 9>,
}

impl OptionList {
    fn push(&mut self, key: c_int, value: *mut c_void) {
        self.keys.push(key);
        self.values.push(value);
    }

    /// Adds an option with a numeric value, which is passed as the pointer itself.
    fn push_number(&mut self, key: c_int, value: usize) {
        self.push(key, ptr::without_provenance_mut(value));
    }
}

fn until_nul(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

fn nul_error(ptx: &str, offset: usize) -> LoadError {
    let line = 1 + ptx.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() as u32;
    LoadError::Nul { line, offset }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_has_its_line_and_offset() {
        assert_eq!(nul_error("ab\ncd\n\0", 6), LoadError::Nul { line: 3, offset: 6 });
        assert_eq!(nul_error("\0", 0), LoadError::Nul { line: 1, offset: 0 });
    }

    #[test]
    fn a_log_ends_at_its_nul_or_at_the_buffer() {
        assert_eq!(until_nul(b"ptxas\0\0\0"), "ptxas");
        assert_eq!(until_nul(b"full"), "full");
    }
}
