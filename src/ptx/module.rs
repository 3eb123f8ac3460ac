//! Modules: several kernels in one PTX text, with the variables that they share.

use thiserror::Error;

use super::{entry::Entry, kernel::Kernel, render, target::Target};

/// A set of kernels for one target that are rendered, loaded and exported together.
///
/// If several kernels use a variable, it is declared once and shared.
///
/// ```
/// use warpwright::{prelude::*, ptx::{Module, Variable}};
///
/// let total = Variable::global("total", &[0u32]);
/// let reset = Kernel::<()>::build("reset", Target::SM_80, |k, ()| k.variable(&total).at(0).store(0))?;
/// let read = Kernel::<(Out<u32>,)>::build("read(y)", Target::SM_80, |k, (y,)| {
///     k.slice(y, 1).at(0).store(k.variable(&total).at(0).load());
/// })?;
///
/// let mut module = Module::new(Target::SM_80);
/// module.add(&reset)?.add(&read)?;
/// assert_eq!(module.ptx().matches(".global .align 4 .b32 total[1] = {0};").count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    target: Target,
    entries: Vec<Entry>,
}

/// The error returned when a kernel cannot be added to a module.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleError {
    /// The kernel's target differs from the module's target.
    #[error("kernel `{kernel}`: expected the module's target {expected}, found {found}")]
    Target {
        /// The name of the kernel.
        kernel: String,
        /// The kernel's target.
        found: Target,
        /// The module's target.
        expected: Target,
    },
    /// The kernel declares a name that the module already uses for another kernel or a different declaration.
    #[error("kernel `{kernel}`: expected one declaration of `{name}` in the module, found two")]
    DuplicateName {
        /// The name of the kernel.
        kernel: String,
        /// The name that is already in use.
        name: String,
    },
}

impl Module {
    /// Creates a module without kernels.
    pub fn new(target: Target) -> Self {
        Self { target, entries: Vec::new() }
    }

    /// Adds a kernel after the existing kernels.
    ///
    /// # Errors
    /// Returns [`ModuleError`] if the kernel cannot be added; the module is then unchanged.
    pub fn add<A>(&mut self, kernel: &Kernel<A>) -> Result<&mut Self, ModuleError> {
        let new = kernel.entry();
        if new.target != self.target {
            let (kernel, found, expected) = (new.name.clone(), new.target, self.target);
            return Err(ModuleError::Target { kernel, found, expected });
        }
        if let Some(name) = self.entries.iter().find_map(|old| clash(old, new)) {
            return Err(ModuleError::DuplicateName { kernel: new.name.clone(), name: name.to_string() });
        }
        self.entries.push(new.clone());
        Ok(self)
    }

    /// Returns the `.target` of the module.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns the kernels, in the order they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the PTX text without `.file` and `.loc` directives. The same builder calls produce the same text on every machine.
    pub fn ptx(&self) -> String {
        self.render(render::Lines::Omit)
    }

    /// Returns the PTX text with `.file` and `.loc` directives that refer to the Rust line of each builder call.
    #[doc(alias = ".loc")]
    pub fn ptx_with_lines(&self) -> String {
        self.render(render::Lines::Keep)
    }

    fn render(&self, lines: render::Lines) -> String {
        render::module(self.target, &self.entries.iter().collect::<Vec<_>>(), lines)
    }
}

/// Returns a name that the two kernels declare differently, if any.
fn clash<'a>(old: &Entry, new: &'a Entry) -> Option<&'a str> {
    let declares = |entry: &Entry, name: &str| entry.module_declarations.iter().any(|d| d.name == name);
    if old.name == new.name || declares(old, &new.name) {
        return Some(&new.name);
    }
    let clashes = |d: &&'a super::entry::Declaration| {
        d.name == old.name || old.module_declarations.iter().any(|o| o.name == d.name && o.text != d.text)
    };
    new.module_declarations.iter().find(clashes).map(|d| d.name.as_str())
}
