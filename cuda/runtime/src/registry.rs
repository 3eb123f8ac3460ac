//! The kernels and variables of a program, which its host code registers before `main` (`crt/host_runtime.h`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpwright_cuda_calls::out;

use crate::driver::{Driver, ready};
use crate::error::{Error, Fallible, call};
use crate::memory_at::{set, text};
use crate::{Address, entries};

/// The kernels, variables and fat binaries that the program has registered.
#[derive(Debug, Default)]
struct Registered {
    binaries: Vec<Binary>,
    /// The kernels and variables, by the address of the functions and variables that represent them in the host code.
    kernels: HashMap<Address, Symbol>,
    variables: HashMap<Address, Symbol>,
}

/// A fat binary.
#[derive(Debug)]
struct Binary {
    /// The address of the wrapper around its container.
    image: Address,
    /// The loaded library, if any.
    library: Option<Address>,
    /// The addresses of the host code's pointers to managed variables, with the names of the variables.
    managed: Vec<(Address, CString)>,
    /// Whether these pointers contain the addresses of the variables.
    is_set: bool,
}

/// A kernel or a variable, identified by its name in a fat binary.
#[derive(Clone, Debug)]
struct Symbol {
    binary: usize,
    name: CString,
    /// The size of a variable in bytes.
    size: usize,
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Registered>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<R>(f: impl FnOnce(&mut Registered) -> R) -> R {
    f(lock().get_or_insert_default())
}

/// Allows the pointers to managed variables to be set again, after a device reset has freed the variables. Libraries remain loaded, because
/// other devices may use them.
pub(crate) fn forget() {
    with(|registered| registered.binaries.iter_mut().for_each(|binary| binary.is_set = false));
}

impl Binary {
    /// Returns the library, which is loaded on first use.
    fn library(&mut self, driver: &Driver) -> Fallible<Address> {
        let library = match self.library {
            Some(library) => library,
            None => {
                let mut library = 0;
                driver.cuLibraryLoadData(out(&mut library), self.image, 0, 0, 0, 0, 0, 0)?;
                *self.library.insert(library)
            }
        };
        for (pointer, name) in self.managed.iter().filter(|_| !self.is_set) {
            let mut address: Address = 0;
            driver.cuLibraryGetGlobal(out(&mut address), 0, library, name.as_ptr().expose_provenance())?;
            set(*pointer, address)?;
        }
        self.is_set = true;
        Ok(library)
    }
}

/// Returns the driver's kernel for a function in the host code.
pub(crate) fn kernel(function: Address) -> Fallible<Address> {
    let driver = ready()?;
    with(|registered| {
        let symbol = registered.kernels.get(&function).ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        let library = registered.binaries[symbol.binary].library(driver)?;
        let mut kernel = 0;
        driver
            .cuLibraryGetKernel(out(&mut kernel), library, symbol.name.as_ptr().expose_provenance())
            .map_err(|_| Error::INVALID_DEVICE_FUNCTION)?;
        Ok(kernel)
    })
}

/// Returns the function in the current context for a function in the host code, or for a driver kernel.
pub(crate) fn function(function: Address) -> Fallible<Address> {
    let kernel = kernel(function).or_else(|error| {
        let is_registered = with(|registered| registered.kernels.contains_key(&function));
        if is_registered { Err(error) } else { Ok(function) }
    })?;
    let mut found = 0;
    ready()?.cuKernelGetFunction(out(&mut found), kernel).map_err(|_| Error::INVALID_DEVICE_FUNCTION)?;
    Ok(found)
}

/// Returns the function in the host code that corresponds to a driver function, or the driver function itself if the host code has no such
/// function.
pub(crate) fn symbol_of(function: Address) -> Fallible<Address> {
    let driver = ready()?;
    with(|registered| {
        let is_same = |symbol: &Symbol| {
            let Some(library) = registered.binaries[symbol.binary].library else { return false };
            let (mut kernel, mut found) = (0, 0);
            driver
                .cuLibraryGetKernel(out(&mut kernel), library, symbol.name.as_ptr().expose_provenance())
                .and_then(|()| driver.cuKernelGetFunction(out(&mut found), kernel))
                .is_ok_and(|()| found == function)
        };
        let host = registered.kernels.iter().find(|(_, symbol)| is_same(symbol)).map(|(host, _)| *host);
        Ok(host.unwrap_or(function))
    })
}

/// Returns the address and the size of a variable.
pub(crate) fn variable(variable: Address) -> Fallible<(Address, usize)> {
    let driver = ready()?;
    with(|registered| {
        let symbol = registered.variables.get(&variable).ok_or(Error::INVALID_SYMBOL)?;
        let library = registered.binaries[symbol.binary].library(driver)?;
        let (mut address, mut bytes) = (0, 0usize);
        driver
            .cuLibraryGetGlobal(
                out(&mut address),
                out(&mut bytes),
                library,
                symbol.name.as_ptr().expose_provenance(),
            )
            .map_err(|_| Error::INVALID_SYMBOL)?;
        Ok((address, bytes.max(symbol.size)))
    })
}

/// Loads the libraries that have managed variables, because the host code may access such variables at any time.
fn load_managed() -> Fallible {
    if !with(|registered| registered.binaries.iter().any(|b| !b.managed.is_empty() && !b.is_set)) {
        return Ok(());
    }
    let driver = ready()?;
    with(|registered| {
        let mut binaries = registered.binaries.iter_mut().filter(|binary| !binary.managed.is_empty());
        binaries.try_for_each(|binary| binary.library(driver).map(drop))
    })
}

/// Returns the handle of a fat binary: the address of a word that is never read.
fn handle_of(binary: usize) -> Address {
    (binary + 1) << 4
}

fn binary_of(handle: Address) -> usize {
    (handle >> 4).wrapping_sub(1)
}

fn symbol(handle: Address, name: Address, size: usize) -> Option<Symbol> {
    let name = CString::new(text(name).ok()?).ok()?;
    Some(Symbol { binary: binary_of(handle), name, size })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinary(image: Address) -> Address {
    with(|registered| {
        registered.binaries.push(Binary { image, library: None, managed: vec![], is_set: false });
        handle_of(registered.binaries.len() - 1)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinaryEnd(_handle: Address) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaUnregisterFatBinary(_handle: Address) {
    // Called when the process exits. The driver frees the loaded code.
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: Address,
    host: Address,
    _device: Address,
    name: Address,
    _threads: i32,
    _tid: Address,
    _bid: Address,
    _block: Address,
    _grid: Address,
    _warp_size: Address,
) {
    if let Some(symbol) = symbol(handle, name, 0) {
        with(|registered| registered.kernels.insert(host, symbol));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterVar(
    handle: Address,
    host: Address,
    _device: Address,
    name: Address,
    _external: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    if let Some(symbol) = symbol(handle, name, size) {
        with(|registered| registered.variables.insert(host, symbol));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterHostVar(_handle: Address, _name: Address, _host: Address, _size: usize) {
    // Kernels cannot access host variables by name, because the memory of these variables is not shared with devices.
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: Address,
    pointer: Address,
    _device: Address,
    name: Address,
    _external: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    if let Some(symbol) = symbol(handle, name, size) {
        with(|registered| {
            registered.binaries[symbol.binary].managed.push((pointer, symbol.name.clone()));
            registered.variables.insert(pointer, symbol);
        });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaInitModule(_handle: Address) -> u8 {
    // Called before the host code accesses a managed variable.
    u8::from(call(load_managed) == Error::SUCCESS)
}

/// `dim3`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

thread_local! {
    /// The `<<<…>>>` configurations of launches whose kernels have not yet been called.
    static PUSHED: RefCell<Vec<(Dim3, Dim3, usize, Address)>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Address,
) -> u32 {
    PUSHED.with_borrow_mut(|pushed| pushed.push((grid, block, shared, stream)));
    0
}

entries! {
    fn __cudaPopCallConfiguration(grid: Address, block: Address, shared: Address, stream: Address) {
        let (g, b, s, t) = PUSHED.with_borrow_mut(Vec::pop).ok_or(Error::MISSING_CONFIGURATION)?;
        set(grid, g)?;
        set(block, b)?;
        set(shared, s)?;
        set(stream, t)
    }

    fn __cudaGetKernel(out: Address, function: Address) {
        // Host code requests the kernel here before each launch. The function's address also identifies the kernel.
        set(out, function)
    }

    fn cudaGetFuncBySymbol(out: Address, symbol: Address) {
        set(out, function(symbol)?)
    }

    fn cudaGetKernel(out: Address, symbol: Address) {
        set(out, kernel(symbol)?)
    }

    fn cudaGetSymbolAddress(out: Address, symbol: Address) {
        set(out, variable(symbol)?.0)
    }

    fn cudaGetSymbolSize(out: Address, symbol: Address) {
        set(out, variable(symbol)?.1)
    }
}

/// Returns the address of a variable plus an offset.
pub(crate) fn symbol_address(symbol: Address, offset: usize) -> Fallible<Address> {
    Ok(variable(symbol)?.0.wrapping_add(offset))
}
