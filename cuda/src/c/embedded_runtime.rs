//! Programs that contain NVIDIA's runtime library, which nvcc links into them by default.
//!
//! That library calls private functions of NVIDIA's driver. Before the program starts, each of its public functions is replaced by that of
//! `warpwright-cudart`: it then begins with a jump. Their addresses are in the symbol table of the program.

use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::path::PathBuf;
use std::ptr;

use object::read::{ReadCache, SymbolKind};
use object::{Object, ObjectSymbol};

use crate::host::{Library, PAGE};
use crate::report;

/// A function of every version of the library.
const REGISTER: &str = "__cudaRegisterFatBinary";

/// Returns the public functions of the runtime library that the program contains, with their addresses in the file.
fn functions() -> Option<Vec<(String, u64)>> {
    let cache = ReadCache::new(File::open("/proc/self/exe").ok()?);
    let file = object::File::parse(&cache).ok()?;
    let is_public = |name: &str| name.trim_start_matches('_').starts_with("cuda");
    let functions: Vec<(String, u64)> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() >= JUMP as u64)
        .filter_map(|symbol| {
            Some((symbol.name().ok().filter(|name| is_public(name))?.to_string(), symbol.address()))
        })
        .collect();
    functions.iter().any(|(name, _)| name == REGISTER).then_some(functions)
}

/// Stores the difference of addresses in the program and in its file, which comes first in the list of what is loaded.
unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, base: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes a valid structure, and `base` is the variable of the caller.
    unsafe { base.cast::<u64>().write((*info).dlpi_addr) };
    1
}

/// Returns the address of a function of `warpwright-cudart`.
fn replacement(runtime: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: the library stays loaded.
    let found = unsafe { libc::dlsym(runtime, name.as_ptr()) };
    (!found.is_null()).then(|| found.expose_provenance())
}

/// The bytes of a jump.
const JUMP: usize = 14;

/// Returns the instruction `jmp *0(%rip)` with the address that follows it.
fn jump(to: usize) -> [u8; JUMP] {
    let mut bytes = [0; JUMP];
    bytes[..2].copy_from_slice(&[0xff, 0x25]);
    bytes[6..].copy_from_slice(&to.to_le_bytes());
    bytes
}

/// Replaces the start of a function; returns whether the system allows it.
fn replace(function: usize, to: usize) -> bool {
    let start = function & !(PAGE - 1);
    let bytes = (function + JUMP).next_multiple_of(PAGE) - start;
    let pages = ptr::with_exposed_provenance_mut::<c_void>(start);
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: the pages contain the function, which has at least `JUMP` bytes and which no thread executes before the program has
    // started.
    unsafe {
        if libc::mprotect(pages, bytes, writable) != 0 {
            return false;
        }
        ptr::copy_nonoverlapping(jump(to).as_ptr(), ptr::with_exposed_provenance_mut::<u8>(function), JUMP);
        libc::mprotect(pages, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0
    }
}

/// Loads `warpwright-cudart`, which is next to this library.
fn runtime() -> Option<*mut c_void> {
    let own = Library::of(start as *const () as usize)?;
    let path: PathBuf = own.path.canonicalize().ok()?.with_file_name("libwarpwright_cudart.so");
    let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
    // SAFETY: the library has no other effects when it is loaded.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    (!library.is_null()).then_some(library)
}

fn replace_all() {
    let Some(functions) = functions().filter(|_| cfg!(target_arch = "x86_64")) else { return };
    let Some(runtime) = runtime() else {
        report::say(
            "the program contains NVIDIA's runtime library, and libwarpwright_cudart.so was not found next to the driver",
        );
        return;
    };
    let mut base = 0u64;
    // SAFETY: `first` is called with the address of a variable of its type.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    let replaced = functions.iter().all(|(name, address)| {
        replacement(runtime, name).is_none_or(|to| replace((base + address) as usize, to))
    });
    if !replaced {
        report::say(
            "the runtime library in the program could not be replaced: build it with `nvcc --cudart shared`",
        );
    }
}

/// Runs before the constructors of the program, which register its kernels.
extern "C" fn start() {
    // A program whose file cannot be read starts without it.
    let _ = std::panic::catch_unwind(replace_all);
}

// SAFETY: the dynamic linker calls the functions in this section with arguments that C functions may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
