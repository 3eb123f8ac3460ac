//! Detects whether a driver and a device are available, without panicking.

use super::code::CudaCode;
use super::error::CallFailed;
use super::symbols::{CUDARC_SYMBOLS, OWN_SYMBOLS, Symbols};
use libloading::Library;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::c_int;
use std::fmt;
use std::sync::OnceLock;

/// A CUDA version, as numbered by drivers and toolkits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// The major version: 12 for CUDA 12.8.
    pub major: u32,
    /// The minor version: 8 for CUDA 12.8.
    pub minor: u32,
}

impl CudaVersion {
    /// Converts a driver version number of the form `1000·major + 10·minor`.
    pub const fn from_raw(raw: u32) -> Self {
        Self { major: raw / 1000, minor: raw % 1000 / 10 }
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The oldest supported driver: it has `cuLaunchKernelEx` and `cuTensorMapEncodeTiled`, and accepts PTX ISA 8.0.
const OLDEST: CudaVersion = CudaVersion { major: 12, minor: 0 };

/// The reason why no GPU is usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// No driver library is installed, or none can be loaded.
    #[error("no NVIDIA driver: expected {tried}, found none")]
    NoDriver {
        /// The libraries that were tried, abbreviated, such as `one of 34 libraries (libcuda.so … libnvcuda.so.1)`.
        tried: String,
    },
    /// The library, which may be a stub library, lacks a symbol that every supported driver has.
    #[error("{library} is not a working NVIDIA driver: it has no symbol `{symbol}`")]
    BrokenDriver {
        /// The library's name or path.
        library: String,
        /// The first missing symbol.
        symbol: &'static str,
    },
    /// The driver could not be initialized.
    #[error("the NVIDIA driver did not start: {0}{hint}", hint = start_hint(.0.code))]
    Init(CallFailed),
    /// The driver works, but finds no device (or `CUDA_VISIBLE_DEVICES` hides all devices).
    #[error("the NVIDIA driver (CUDA {driver}) finds no device")]
    NoDevice {
        /// The latest CUDA version that the driver supports.
        driver: CudaVersion,
    },
    /// The driver supports only CUDA versions older than the one that this crate requires.
    #[error("expected an NVIDIA driver that supports CUDA {required} or later, found CUDA {found}")]
    TooOld {
        /// The latest CUDA version that the driver supports.
        found: CudaVersion,
        /// The oldest supported version.
        required: CudaVersion,
    },
}

fn start_hint(code: CudaCode) -> &'static str {
    if code == CudaCode::STUB_LIBRARY {
        "; the toolkit's stub library was found in place of the driver's"
    } else {
        ""
    }
}

/// A loaded and initialized driver that has every required symbol.
pub struct Driver {
    pub(crate) api: Symbols,
    library: String,
    version: CudaVersion,
    device_count: usize,
    /// Keeps the function pointers of `api` valid.
    _handle: Library,
}

impl Driver {
    /// Returns the latest CUDA version that the driver supports.
    #[doc(alias = "cuDriverGetVersion")]
    pub fn version(&self) -> CudaVersion {
        self.version
    }

    /// Returns the number of devices, which is at least 1.
    #[doc(alias = "cuDeviceGetCount")]
    pub fn device_count(&self) -> usize {
        self.device_count
    }

    /// Returns the name or path that the library was loaded from.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Returns the names of all symbols that a driver must have: those that this module calls and those that cudarc looks up.
    /// `cuEventElapsedTime_v2` may replace `cuEventElapsedTime`.
    pub fn required_symbols() -> impl Iterator<Item = &'static str> {
        let mut names = ["cuDriverGetVersion", "cuEventElapsedTime"].to_vec();
        names.extend(CUDARC_SYMBOLS.iter().chain(OWN_SYMBOLS));
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// Opens and initializes the first library in `names` that can be loaded.
    ///
    /// Use this function only to examine a particular file: [`Gpu`](super::Gpu) always uses the library that [`probe`] finds.
    ///
    /// # Errors
    /// Returns [`Unavailable`] if no library can be loaded and initialized.
    ///
    /// # Safety
    /// The library's initializers, which run when it is loaded, must be sound. Symbols named after driver functions must have the
    /// corresponding types.
    pub unsafe fn open<S: AsRef<str>>(names: &[S]) -> Result<Self, Unavailable> {
        for name in names.iter().map(AsRef::as_ref) {
            // SAFETY: the caller guarantees that the library's initializers are sound.
            if let Ok(handle) = unsafe { Library::new(name) } {
                // SAFETY: the caller guarantees the types of its symbols.
                return unsafe { Self::start(name, handle) };
            }
        }
        Err(Unavailable::NoDriver { tried: summary(names) })
    }

    /// # Safety
    /// The requirements of [`Driver::open`] apply.
    unsafe fn start(name: &str, handle: Library) -> Result<Self, Unavailable> {
        let broken = |symbol| Unavailable::BrokenDriver { library: name.to_owned(), symbol };
        // The version is checked first: in an old driver, missing symbols are expected.
        // SAFETY: the type is that of `cuDriverGetVersion`, which may be called before `cuInit`.
        let version = unsafe {
            let get = handle
                .get::<unsafe extern "system" fn(*mut c_int) -> CudaCode>("cuDriverGetVersion")
                .map_err(|_| broken("cuDriverGetVersion"))?;
            let mut raw = 0;
            get(&mut raw).check("cuDriverGetVersion").map_err(Unavailable::Init)?;
            CudaVersion::from_raw(raw.unsigned_abs())
        };
        if version < OLDEST {
            return Err(Unavailable::TooOld { found: version, required: OLDEST });
        }
        // SAFETY: the caller guarantees the types of the symbols.
        let api = unsafe { Symbols::load(&handle) }.map_err(broken)?;
        // SAFETY: `cuInit` accepts no flags other than 0.
        match unsafe { api.cuInit(0) } {
            Err(failed) if failed.code == CudaCode::NO_DEVICE => {
                return Err(Unavailable::NoDevice { driver: version });
            }
            other => other.map_err(Unavailable::Init)?,
        }
        let mut count = 0;
        // SAFETY: `count` is valid for the call.
        unsafe { api.cuDeviceGetCount(&mut count) }.map_err(Unavailable::Init)?;
        let device_count = usize::try_from(count).unwrap_or(0);
        if device_count == 0 {
            return Err(Unavailable::NoDevice { driver: version });
        }
        Ok(Self { api, library: name.to_owned(), version, device_count, _handle: handle })
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("library", &self.library)
            .field("version", &self.version)
            .field("device_count", &self.device_count)
            .finish_non_exhaustive()
    }
}

/// Loads and initializes the NVIDIA driver once per process.
///
/// After a failure, the next call tries again.
///
/// Tries the file names that cudarc uses, in cudarc's order, so that cudarc and this module open the same file.
///
/// # Errors
/// Returns [`Unavailable`] if no usable driver or device is found. This function never panics.
pub fn probe() -> Result<&'static Driver, Unavailable> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    // SAFETY: these are the names of NVIDIA's driver library, which cudarc opens in the same way.
    let driver = unsafe { Driver::open(&candidates()) }?;
    Ok(DRIVER.get_or_init(|| driver))
}

/// Returns the file names that cudarc 0.19.10 tries for the driver library, in the same order. (cudarc's own list is public only if cudarc
/// is built to load libraries dynamically, and another crate in the build may change that.)
fn candidates() -> Vec<String> {
    let CudaVersion { major, minor } = CudaVersion::from_raw(cudarc::driver::sys::CUDA_VERSION);
    let bits = usize::BITS;
    let mut names = Vec::new();
    for stem in ["cuda", "nvcuda"] {
        let stem = format!("{DLL_PREFIX}{stem}");
        names.push(format!("{stem}{DLL_SUFFIX}"));
        names.push(format!("{stem}{bits}{DLL_SUFFIX}"));
        for version in [
            format!("{major}"),
            format!("{major}{minor}"),
            format!("{major}{minor}_0"),
            format!("{major}0_{minor}"),
            "10".into(),
            "11".into(),
            "12".into(),
            format!("{major}0_0"),
            "9".into(),
        ] {
            names.push(format!("{stem}{bits}_{version}{DLL_SUFFIX}"));
        }
        for version in [format!("{major}"), "12".into(), "11".into(), "10".into(), "9".into(), "1".into()] {
            names.push(format!("{stem}{DLL_SUFFIX}.{version}"));
        }
    }
    names
}

/// Returns an abbreviated list, such as `one of 34 libraries (libcuda.so … libnvcuda.so.1)`.
fn summary<S: AsRef<str>>(names: &[S]) -> String {
    match names {
        [] => "a library".to_owned(),
        [only] => only.as_ref().to_owned(),
        [first, .., last] => {
            format!("one of {} libraries ({} … {})", names.len(), first.as_ref(), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_the_file_names_of_cudarc() {
        let cudarc = ["cuda", "nvcuda"].iter().flat_map(|stem| cudarc::get_lib_name_candidates(stem));
        assert_eq!(candidates(), cudarc.collect::<Vec<_>>());
    }

    #[test]
    fn versions_unpack_and_order() {
        assert_eq!(CudaVersion::from_raw(12080).to_string(), "12.8");
        assert_eq!(CudaVersion::from_raw(13000).to_string(), "13.0");
        assert!(CudaVersion::from_raw(11080) < OLDEST && CudaVersion::from_raw(12000) >= OLDEST);
    }
}
