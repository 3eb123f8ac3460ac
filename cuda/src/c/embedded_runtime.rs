//! Replaces NVIDIA's runtime library in programs and shared libraries, into which nvcc links it statically by default.
//!
//! The runtime library calls private functions of NVIDIA's driver. Each of its public functions is therefore replaced by the corresponding
//! function of `warpwright-cudart`: a jump is written to its start, whose address is looked up in the file's symbol table. In a program,
//! functions are replaced before the program registers its kernels. A shared library may already have registered its kernels; in this case,
//! it registers them again.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use object::read::{ReadCache, SymbolKind};
use object::{Object, ObjectSymbol};

use crate::host::{Library, PAGE};
use crate::report;

/// A function that every version of the library contains.
const REGISTER: &str = "__cudaRegisterFatBinary";

/// A substring of the names of the functions that register kernels in host code compiled by nvcc.
const REGISTER_ALL: &str = "__sti____cudaRegisterAll";

/// A symbol that identifies `warpwright-cudart` even if the file has another name.
const OWN: &str = "warpwright_cudart";

/// The runtime library's functions in a file, and the functions that register kernels with it: their names and addresses.
#[derive(Debug, Default)]
struct Contents {
    functions: Vec<(String, u64)>,
    register_all: Vec<u64>,
}

/// Returns the public functions of the runtime library that a file contains, or `None` if it does not contain the library.
fn contents(path: &Path) -> Option<Contents> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let is_public = |name: &str| name.trim_start_matches('_').starts_with("cuda");
    let mut found = Contents::default();
    if file.symbols().any(|symbol| symbol.name() == Ok(OWN)) {
        return None;
    }
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        match symbol.name() {
            Ok(name) if name.contains(REGISTER_ALL) => found.register_all.push(symbol.address()),
            Ok(name) if is_public(name) && symbol.size() >= JUMP as u64 => {
                found.functions.push((name.to_string(), symbol.address()));
            }
            _ => {}
        }
    }
    found.functions.iter().any(|(name, _)| name == REGISTER).then_some(found)
}

/// The path of the program's executable.
const PROGRAM: &str = "/proc/self/exe";

/// A loaded file, and the difference between its addresses in the process and those in the file.
type Loaded = (PathBuf, u64);

/// Adds a loaded file to a list. The program is the first file and has no name.
unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes a valid structure with a NUL-terminated name, and `list` is the caller's variable.
    let (base, name, list) =
        unsafe { ((*info).dlpi_addr, CStr::from_ptr((*info).dlpi_name), &mut *list.cast::<Vec<Loaded>>()) };
    let path = if list.is_empty() { PROGRAM.as_ref() } else { OsStr::from_bytes(name.to_bytes()) };
    list.push((PathBuf::from(path), base));
    0
}

fn loaded() -> Vec<Loaded> {
    let mut list: Vec<Loaded> = vec![];
    // SAFETY: `add` is called with the address of a variable of its type.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut list).cast()) };
    list
}

/// Returns the address of a function of `warpwright-cudart`.
fn replacement(runtime: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: the library stays loaded.
    let found = unsafe { libc::dlsym(runtime, name.as_ptr()) };
    (!found.is_null()).then(|| found.expose_provenance())
}

/// The size of a jump in bytes.
const JUMP: usize = 14;

/// Returns the instruction `jmp *0(%rip)`, followed by the target address.
fn jump(to: usize) -> [u8; JUMP] {
    let mut bytes = [0; JUMP];
    bytes[..2].copy_from_slice(&[0xff, 0x25]);
    bytes[6..].copy_from_slice(&to.to_le_bytes());
    bytes
}

/// Replaces the start of a function. Returns whether the operating system allowed the change.
fn replace(function: usize, to: usize) -> bool {
    let start = function & !(PAGE - 1);
    let bytes = (function + JUMP).next_multiple_of(PAGE) - start;
    let pages = ptr::with_exposed_provenance_mut::<c_void>(start);
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: the pages contain the function, which has at least `JUMP` bytes and which no thread executes: the program has not started,
    // or the library was just loaded.
    unsafe {
        if libc::mprotect(pages, bytes, writable) != 0 {
            return false;
        }
        ptr::copy_nonoverlapping(jump(to).as_ptr(), ptr::with_exposed_provenance_mut::<u8>(function), JUMP);
        libc::mprotect(pages, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0
    }
}

/// Loads `warpwright-cudart`, which is in the same folder as this library.
fn runtime() -> Option<*mut c_void> {
    let own = Library::of(start as *const () as usize)?;
    let path: PathBuf = own.path.canonicalize().ok()?.with_file_name("libwarpwright_cudart.so");
    let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
    // SAFETY: loading the library has no other effects.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    (!library.is_null()).then_some(library)
}

/// The files that have been examined, by the address at which they are loaded.
static SEEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Replaces the library in the files that were loaded since the last call.
fn replace_in_new_files() {
    let new: Vec<Loaded> = {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded();
        // An address may be reused.
        seen.retain(|base| loaded.iter().any(|(_, other)| other == base));
        loaded.into_iter().filter(|(_, base)| seen.insert(*base)).collect()
    };
    for (path, base) in new {
        let Some(contents) = contents(&path) else { continue };
        if let Err(reason) = replace_in(&contents, base, path != Path::new(PROGRAM)) {
            report::say(&format!("{} contains NVIDIA's runtime library, and {reason}", path.display()));
        }
    }
}

/// Replaces the library in a file. If `registers` is set, the file may already have registered its kernels, and registers them again.
fn replace_in(contents: &Contents, base: u64, registers: bool) -> Result<(), &'static str> {
    let runtime = runtime().ok_or("libwarpwright_cudart.so was not found next to the driver")?;
    let pairs: Vec<(usize, usize)> = contents
        .functions
        .iter()
        .filter_map(|(name, address)| Some(((base + address) as usize, replacement(runtime, name)?)))
        .collect();
    // The file may be `warpwright-cudart` itself.
    if pairs.iter().any(|(function, to)| function == to) {
        return Ok(());
    }
    if !pairs.iter().all(|(function, to)| replace(*function, *to)) {
        return Err("it could not be replaced: build with `nvcc --cudart shared`");
    }
    if registers {
        for address in &contents.register_all {
            let function = ptr::with_exposed_provenance::<()>((base + address) as usize);
            // SAFETY: the function has no arguments, and the library that contains it is loaded.
            unsafe { std::mem::transmute::<*const (), extern "C" fn()>(function)() };
        }
    }
    Ok(())
}

/// Runs before the constructors of the program, which register its kernels.
extern "C" fn start() {
    if cfg!(target_arch = "x86_64") {
        // If its file cannot be read, the program starts without the replacement.
        let _ = std::panic::catch_unwind(replace_in_new_files);
    }
}

/// The dynamic linker's `dlopen`.
static DLOPEN: AtomicUsize = AtomicUsize::new(0);

/// Looks up the dynamic linker's `dlopen`, and returns whether a call specifies a library by its path. Other libraries are searched for in
/// the caller's library search path, so the return address of the call must not change.
#[cfg(target_arch = "x86_64")]
extern "C" fn is_path(file: *const c_char) -> bool {
    if DLOPEN.load(Ordering::Relaxed) == 0 {
        // SAFETY: the name is NUL-terminated.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) };
        DLOPEN.store(found.expose_provenance(), Ordering::Relaxed);
    }
    // SAFETY: the caller of `dlopen` passes a NUL-terminated name, or null.
    !file.is_null() && unsafe { CStr::from_ptr(file) }.to_bytes().contains(&b'/')
}

/// Loads a library, and replaces the runtime library in the files that were loaded.
#[cfg(target_arch = "x86_64")]
extern "C" fn load(file: *const c_char, flags: c_int) -> *mut c_void {
    type Open = extern "C" fn(*const c_char, c_int) -> *mut c_void;
    let open = ptr::with_exposed_provenance::<()>(DLOPEN.load(Ordering::Relaxed));
    // SAFETY: `is_path` has stored the function, which has this type.
    let library = unsafe { std::mem::transmute::<*const (), Open>(open) }(file, flags);
    // If the file of a library cannot be read, the program continues without the replacement.
    let _ = std::panic::catch_unwind(replace_in_new_files);
    library
}

/// The `dlopen` of programs that load this library first (`LD_PRELOAD`).
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {is_path}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test al, al",
        "jnz {load}",
        "jmp qword ptr [rip + {real}]",
        is_path = sym is_path,
        load = sym load,
        real = sym DLOPEN,
    )
}

// SAFETY: the dynamic linker calls the functions in this section with arguments that C functions may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
