//! Host memory that the driver reads and writes by address.
#![allow(unsafe_code, reason = "the addresses come from the program")]

use std::borrow::Cow;
use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::ptr;
use std::slice;
use std::sync::atomic::AtomicU32;

/// An address in the program's memory.
///
/// Addresses come from arguments of C functions. The callers of these functions guarantee that the memory is valid for the documented
/// access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct HostPtr(pub(crate) usize);

impl HostPtr {
    /// Returns the address of bytes that the library owns.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.as_ptr().expose_provenance())
    }

    pub(crate) fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes as usize))
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Calls `f` with the bytes at the address.
    pub(crate) fn read<R>(self, bytes: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        if bytes == 0 {
            return f(&[]);
        }
        // SAFETY: the program guarantees that the bytes are readable for the duration of the operation.
        f(unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(self.0), bytes) })
    }

    /// Returns the pointer-sized word at the address.
    pub(crate) fn word(self) -> usize {
        self.read(size_of::<usize>(), |bytes| usize::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// Calls `f` with the bytes at the address, which `f` may modify.
    pub(crate) fn write<R>(self, bytes: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        if bytes == 0 {
            return f(&mut []);
        }
        // SAFETY: the program guarantees that the bytes are writable and not in use for the duration of the operation.
        f(unsafe { slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(self.0), bytes) })
    }

    /// Returns the words at the address, which must be aligned. The words are valid as long as the program keeps them allocated.
    pub(crate) fn words(self, count: usize) -> &'static [AtomicU32] {
        // SAFETY: the memory was mapped by `map` or registered by the program, and is valid until it is unmapped or unregistered. Before
        // that, the reference is dropped with the simulator's allocation. Callers pass multiples of 4.
        unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(self.0), count) }
    }
}

/// The size of a memory page in bytes.
pub(crate) const PAGE: usize = 4096;

/// Maps `bytes` bytes (a multiple of the page size) of zeroed memory at exactly this address, unless the address is in use.
pub(crate) fn map(address: u64, bytes: usize) -> Option<HostPtr> {
    let wanted = ptr::with_exposed_provenance_mut(address as usize);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let found = map_pages(wanted, bytes, access, UNUSED | libc::MAP_FIXED_NOREPLACE, -1)?;
    // Linux kernels before 4.17 treat the address as a hint.
    if found.0 as u64 == address {
        return Some(found);
    }
    unmap(found, bytes);
    None
}

/// Unmaps memory mapped by [`map`]. The simulator must have dropped its reference to the memory.
pub(crate) fn unmap(address: HostPtr, bytes: usize) {
    // SAFETY: the range was mapped by `map` and is no longer referenced.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(address.0), bytes) };
}

/// Memory that can be mapped at several addresses.
#[derive(Debug)]
pub(crate) struct File(OwnedFd);

impl File {
    /// Creates `bytes` bytes of zeroed memory. The host allocates a page when it is first written.
    pub(crate) fn create(bytes: u64) -> Option<Self> {
        // SAFETY: the name is NUL-terminated.
        let file = unsafe { libc::memfd_create(c"warpwright".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: the descriptor is new and has no other owner.
        let file = Self((file >= 0).then(|| unsafe { OwnedFd::from_raw_fd(file) })?);
        // SAFETY: the descriptor is open.
        let sized = unsafe { libc::ftruncate(file.0.as_raw_fd(), bytes.try_into().ok()?) };
        (sized == 0).then_some(file)
    }
}

/// Reserves `bytes` bytes of inaccessible address space.
pub(crate) fn reserve(bytes: usize) -> Option<HostPtr> {
    map_pages(ptr::null_mut(), bytes, libc::PROT_NONE, UNUSED, -1)
}

/// Maps memory at an address in a range reserved by [`reserve`].
pub(crate) fn attach(address: HostPtr, file: &File, bytes: usize) -> Option<HostPtr> {
    let wanted = ptr::with_exposed_provenance_mut(address.0);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    map_pages(wanted, bytes, access, libc::MAP_SHARED | libc::MAP_FIXED, file.0.as_raw_fd())
}

/// Makes memory mapped by [`attach`] inaccessible. The simulator must have dropped its reference to the memory.
pub(crate) fn detach(address: HostPtr, bytes: usize) -> Option<HostPtr> {
    let wanted = ptr::with_exposed_provenance_mut(address.0);
    map_pages(wanted, bytes, libc::PROT_NONE, UNUSED | libc::MAP_FIXED, -1)
}

/// A mapping without memory.
const UNUSED: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

fn map_pages(wanted: *mut libc::c_void, bytes: usize, access: i32, flags: i32, file: i32) -> Option<HostPtr> {
    // SAFETY: the mapping is new and replaces only mappings of `reserve`.
    let found = unsafe { libc::mmap(wanted, bytes, access, flags, file, 0) };
    (found != libc::MAP_FAILED).then(|| HostPtr(found.expose_provenance()))
}

/// Flushes the program's buffered output, so that later output appears after it.
pub(crate) fn flush_stdio() {
    // SAFETY: a null pointer denotes all streams.
    unsafe { libc::fflush(ptr::null_mut()) };
}

/// Ends the process without running further destructors.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` does not return.
    unsafe { libc::_exit(status) }
}

/// Writes a kernel's output to standard output, after the program's previous output.
pub(crate) fn print(text: &str) {
    use std::io::Write as _;
    if text.is_empty() {
        return;
    }
    flush_stdio();
    let mut out = std::io::stdout().lock();
    // A closed standard output is ignored.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A loaded library or program.
#[derive(Debug)]
pub(crate) struct Library {
    /// The address at which the library is loaded.
    pub(crate) base: usize,
    pub(crate) path: PathBuf,
    /// The exported function that contains the address passed to [`of`](Self::of), if any.
    pub(crate) function: Option<String>,
}

impl Library {
    /// Returns the library that contains an address.
    pub(crate) fn of(address: usize) -> Option<Self> {
        let mut info = libc::Dl_info {
            dli_fname: ptr::null(),
            dli_fbase: ptr::null_mut(),
            dli_sname: ptr::null(),
            dli_saddr: ptr::null_mut(),
        };
        // SAFETY: the structure is valid for writes.
        let found = unsafe { libc::dladdr(ptr::without_provenance(address), &raw mut info) };
        if found == 0 {
            return None;
        }
        let text = |address: *const libc::c_char| {
            // SAFETY: the names are valid while the library is loaded.
            (!address.is_null()).then(|| unsafe { CStr::from_ptr(address) }.to_string_lossy())
        };
        Some(Self {
            base: info.dli_fbase.addr(),
            path: PathBuf::from(&*text(info.dli_fname)?),
            function: text(info.dli_sname).map(Cow::into_owned),
        })
    }

    fn name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Returns whether this is a CUDA library that calls the driver.
    pub(crate) fn is_of_cuda(&self) -> bool {
        let names = ["libcudart", "libcublas", "libcurand", "libwarpwright_cuda"];
        names.iter().any(|name| self.name().starts_with(name))
    }

    /// Returns a description of an address in the library.
    pub(crate) fn offset(&self, address: usize) -> String {
        format!("{}+{:#x}", self.name(), address - self.base)
    }
}
