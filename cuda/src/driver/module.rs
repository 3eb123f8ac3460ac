//! Modules, which contain loaded PTX with its kernels and variables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpwright_sim as sim;

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::context::{self, Context};
use crate::driver::function::Function;
use crate::driver::memory;
use crate::driver::outlines;
use crate::driver::registry::{Handle, Registry};
use crate::{fatbin, report};

/// The code that a program loads.
#[derive(Clone, Debug)]
pub(crate) enum Image {
    Text(String),
    Fatbin(Vec<u8>),
    /// Machine code without PTX.
    Cubin,
}

/// The reason why an image cannot be loaded, with the compiler's log.
#[derive(Debug)]
pub(crate) struct LoadError {
    pub(crate) code: Code,
    pub(crate) log: String,
}

impl LoadError {
    fn new(code: Code, log: impl Into<String>) -> Self {
        Self { code, log: log.into() }
    }
}

/// A module of a context.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) handle: Handle,
    pub(crate) context: Arc<Context>,
    pub(crate) code: sim::Module,
    functions: Mutex<BTreeMap<String, Arc<Function>>>,
    /// The names, addresses and sizes of the variables.
    variables: Vec<(String, u64, u64)>,
}

static MODULES: Registry<Module> = Registry::new(4);
static LOADED: AtomicU64 = AtomicU64::new(1);

impl Module {
    /// Loads an image into the current context.
    pub(crate) fn load(image: &Image) -> Result<Arc<Self>, LoadError> {
        let context = context::current().and_then(|context| context.check().map(|()| context));
        let context = context.map_err(|code| LoadError::new(code, ""))?;
        Self::load_in(&context, image)
    }

    /// Loads an image into a context.
    pub(crate) fn load_in(context: &Arc<Context>, image: &Image) -> Result<Arc<Self>, LoadError> {
        let code = parse(image).inspect_err(|error| {
            let text = format!("a module could not be loaded: {}", error.log);
            match error.code {
                Code::NO_BINARY_FOR_GPU => report::update(|run| run.refused(text)),
                _ => report::say(&text),
            }
        })?;
        let variables = variables(&code, context);
        let context = Arc::clone(context);
        Ok(MODULES.add(|handle| Self { handle, context, code, functions: Mutex::default(), variables }))
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        MODULES.get(handle)
    }

    pub(crate) fn unload(handle: Handle) -> Fallible {
        let module = MODULES.remove(handle)?;
        module.destroy();
        Ok(())
    }

    pub(crate) fn destroy_all(context: &Arc<Context>) {
        let gone = MODULES.select(|module| Arc::ptr_eq(&module.context, context));
        for module in gone {
            // Another thread may have unloaded the module.
            if MODULES.remove(module.handle).is_ok() {
                module.destroy();
            }
        }
    }

    fn destroy(&self) {
        for (_, function) in
            std::mem::take(&mut *self.functions.lock().unwrap_or_else(PoisonError::into_inner))
        {
            Function::forget(&function);
        }
        self.context.drain();
        self.variables.iter().for_each(|(_, address, _)| {
            // The context may have freed the variable.
            let _ = memory::free_now(*address);
        });
    }

    /// Returns the kernel with the given name.
    pub(crate) fn function(self: &Arc<Self>, name: &str) -> Fallible<Arc<Function>> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(Arc::clone(function));
        }
        let function = Function::new(self, name).ok_or(Code::NOT_FOUND)?;
        functions.insert(name.to_string(), Arc::clone(&function));
        Ok(function)
    }

    /// Returns the address and the size of the variable with the given name.
    pub(crate) fn variable(&self, name: &str) -> Fallible<(u64, u64)> {
        let found = self.variables.iter().find(|(known, ..)| known == name);
        found.map(|(_, address, bytes)| (*address, *bytes)).ok_or(Code::NOT_FOUND)
    }
}

/// Allocates the variables of a module, and returns their names, addresses and sizes.
fn variables(code: &sim::Module, context: &Context) -> Vec<(String, u64, u64)> {
    let mut found = vec![];
    let mut memory = memory::lock();
    memory.load_mapped(code, |address, bytes| memory::map_words(address, bytes as usize));
    for name in code.variable_names() {
        let Ok(address) = memory.symbol(code, name) else { continue };
        let Some((_, bytes)) = memory.allocation(address) else { continue };
        found.push((name.to_string(), address, bytes));
    }
    drop(memory);
    found.iter().for_each(|(_, address, bytes)| memory::add_variable(*address, *bytes, context));
    found
}

/// Parses the newest PTX text in an image that the device can run.
pub(crate) fn parse(image: &Image) -> Result<sim::Module, LoadError> {
    let text = match image {
        Image::Text(text) => text.clone(),
        Image::Fatbin(container) => {
            let texts = fatbin::ptx(container, runs).map_err(|error| {
                LoadError::new(Code::NO_BINARY_FOR_GPU, format!("ptxas fatal   : {error}"))
            })?;
            texts.into_iter().next().unwrap_or_default()
        }
        Image::Cubin => {
            let log = "ptxas fatal   : the image is a cubin without PTX, which the simulator cannot run: build with \
                       `-gencode arch=compute_NN,code=compute_NN`";
            return Err(LoadError::new(Code::NO_BINARY_FOR_GPU, log));
        }
    };
    let file = format!("module{}.ptx", LOADED.fetch_add(1, Ordering::Relaxed));
    let module = outlines::parse(&file, &text).map_err(|error| {
        let log =
            format!("ptxas application ptx input, line {}; error   : {}", error.line(), error.message());
        LoadError::new(Code::INVALID_PTX, log)
    })?;
    if !supports(module.target()) {
        let log = format!(
            "ptxas fatal   : the module's target {} does not run on {:?}",
            module.target(),
            config().arch
        );
        return Err(LoadError::new(Code::INVALID_PTX, log));
    }
    Ok(module)
}

/// Returns whether the device can run PTX text, according to its `.target`.
fn runs(text: &str) -> bool {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"));
    line.and_then(|rest| rest.split([',', ' ', '\t']).find(|word| !word.is_empty())).is_some_and(supports)
}

/// Returns whether the device can run code for a target. The device's architecture must not be older than the target; with `f`, it must
/// also be in the same family; with `a`, it must be the same architecture (PTX ISA, `.target`).
fn supports(target: &str) -> bool {
    let device = config().arch.capability();
    let Some(name) = target.strip_prefix("sm_") else { return false };
    let digits = name.trim_end_matches(['a', 'f']);
    let Ok(number) = digits.parse::<u32>() else { return false };
    let wanted = (number / 10, number % 10);
    match &name[digits.len()..] {
        "" => wanted <= device,
        "f" => wanted.0 == device.0 && wanted <= device,
        _ => wanted == device,
    }
}
