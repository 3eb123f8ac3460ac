//! Libraries: code that is loaded into each context when it is first used there.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::code::{Code, Fallible};
use crate::driver::context;
use crate::driver::function::Function;
use crate::driver::module::{Image, LoadError, Module};
use crate::driver::registry::{Handle, Registry};

/// A library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) handle: Handle,
    image: Image,
    /// The modules, by context.
    modules: Mutex<BTreeMap<Handle, Arc<Module>>>,
    kernels: Mutex<BTreeMap<String, Arc<Kernel>>>,
    names: Vec<String>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) handle: Handle,
    pub(crate) name: CString,
    pub(crate) library: Weak<Library>,
}

static LIBRARIES: Registry<Library> = Registry::new(6);
static KERNELS: Registry<Kernel> = Registry::new(7);

impl Library {
    /// Loads a library, and loads its module into the current context.
    pub(crate) fn load(image: Image) -> Result<Arc<Self>, LoadError> {
        let module = Module::load(&image)?;
        let names = module.code.entries().map(|entry| entry.name().to_string()).collect();
        let modules = Mutex::new(BTreeMap::from([(module.context.handle, module)]));
        Ok(LIBRARIES.add(|handle| Self { handle, image, modules, kernels: Mutex::default(), names }))
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        LIBRARIES.get(handle)
    }

    pub(crate) fn unload(handle: Handle) -> Fallible {
        let library = LIBRARIES.remove(handle)?;
        let kernels = std::mem::take(&mut *library.kernels.lock().unwrap_or_else(PoisonError::into_inner));
        for kernel in kernels.values() {
            KERNELS.remove(kernel.handle)?;
        }
        let modules = std::mem::take(&mut *library.modules.lock().unwrap_or_else(PoisonError::into_inner));
        for module in modules.values() {
            // The context may have been destroyed together with its modules.
            let _ = Module::unload(module.handle);
        }
        Ok(())
    }

    /// Returns the library's module in the current context.
    pub(crate) fn module(&self) -> Fallible<Arc<Module>> {
        let context = context::current()?;
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        // A context that was destroyed and recreated has another handle.
        if let Some(module) = modules.get(&context.handle) {
            return Ok(Arc::clone(module));
        }
        let module = Module::load_in(&context, &self.image).map_err(|error| error.code)?;
        modules.insert(context.handle, Arc::clone(&module));
        Ok(module)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the kernel with the given name.
    pub(crate) fn kernel(self: &Arc<Self>, name: &str) -> Fallible<Arc<Kernel>> {
        if !self.names.iter().any(|known| known == name) {
            return Err(Code::NOT_FOUND);
        }
        let c_name = CString::new(name).map_err(|_| Code::NOT_FOUND)?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = kernels.entry(name.to_string()).or_insert_with(|| {
            KERNELS.add(|handle| Kernel { handle, name: c_name, library: Arc::downgrade(self) })
        });
        Ok(Arc::clone(kernel))
    }
}

impl Kernel {
    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        KERNELS.get(handle)
    }

    pub(crate) fn library(&self) -> Fallible<Arc<Library>> {
        self.library.upgrade().ok_or(Code::INVALID_HANDLE)
    }

    /// Returns the kernel's function in the current context.
    pub(crate) fn function(&self) -> Fallible<Arc<Function>> {
        self.library()?.module()?.function(&self.name.to_string_lossy())
    }
}

/// Returns the function for the handle of a function or kernel. Launches accept both.
pub(crate) fn function_of(handle: Handle) -> Fallible<Arc<Function>> {
    Function::of(handle).or_else(|_| Kernel::of(handle)?.function())
}
