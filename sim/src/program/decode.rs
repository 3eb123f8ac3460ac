//! Translates the syntax tree. Names become slots and addresses; instructions become [`code`](super::code).
//!
//! All errors in a function are found here, before the function runs.

mod address;
mod arithmetic;
mod async_copy;
mod atomic;
mod barrier;
mod builder;
mod bulk;
mod cancel;
mod compare;
mod control;
mod convert;
mod data;
mod float;
mod function;
mod instruction;
mod integer;
mod kind;
mod matrix;
mod mbarrier;
mod memory;
mod modifiers;
mod opcodes;
mod operand;
mod order;
mod pragma;
mod scope;
mod special;
mod stack;
mod tensor;
mod tensormap;
mod texture;
mod unsupported;
mod video;
mod warp;
mod wgmma;
mod wmma;

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use crate::program::code::{Code, ParamSlot};
use crate::program::decode::builder::Checked;
use crate::program::types::Type;
use crate::text::ast::{Ast, Function, FunctionKind, Init, Item, Linkage, Space, Statement, Variable};
use crate::text::error::ParseError;
use crate::text::lexer::Pos;

/// The maximum size in bytes of static shared memory in a module: the maximum per block on any device (227 KiB).
const MAX_SHARED: u64 = 227 * 1024;

/// The maximum size in bytes of a variable outside shared memory.
const MAX_VARIABLE: u64 = 1 << 32;

/// The types of textures, samplers and surfaces (PTX ISA, "Texture Sampler and Surface Types"): 64-bit handles that only the driver can
/// interpret.
const OPAQUE: [&str; 3] = ["texref", "samplerref", "surfref"];

/// The names that a module declares.
pub(crate) struct Symbols<'m> {
    pub(crate) text: &'m str,
    /// The number of bits of a global or generic address.
    pub(crate) address_size: u32,
    /// Whether all lanes must provide valid addresses to `ldmatrix`, including lanes that do not provide a row (PTX ISA, "ldmatrix":
    /// sm_75).
    pub(crate) all_lanes_address_rows: bool,
    pub(crate) variables: Vec<&'m Variable>,
    pub(crate) names: FxHashMap<&'m str, Global>,
    pub(crate) functions: Vec<&'m Function>,
}

/// The meaning of a module-level name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    /// A variable, by its index in [`Symbols::variables`].
    Variable(usize),
    /// A function, by its index in [`Symbols::functions`].
    Function(usize),
}

type Decoded<T> = Result<T, ParseError>;

impl<'m> Symbols<'m> {
    /// Collects the names of a module. A definition replaces its declarations.
    pub(crate) fn new(text: &'m str, ast: &'m Ast) -> Decoded<Self> {
        let mut symbols = Self {
            text,
            address_size: ast.address_size,
            all_lanes_address_rows: ast.target.first().is_some_and(|target| target == "sm_75"),
            variables: vec![],
            names: FxHashMap::default(),
            functions: vec![],
        };
        for item in &ast.items {
            match item {
                Item::Variable(variable) => symbols.add_variable(variable)?,
                Item::Function(function) => symbols.add_function(function)?,
                Item::Alias { name, of } => {
                    if let Some(&global) = symbols.names.get(of.as_str()) {
                        symbols.names.insert(name, global);
                    }
                }
                _ => {}
            }
        }
        for function in symbols.functions.clone() {
            // A deferred body declares no such variables.
            let body = function.body.as_ref().filter(|body| !body.is_deferred());
            symbols.add_inner_variables(body.map_or(&[], |body| &**body))?;
        }
        Ok(symbols)
    }

    /// Returns the index of a global or constant variable in [`Symbols::variables`].
    pub(crate) fn index_of(&self, variable: &Variable) -> Option<u32> {
        match self.names.get(&*variable.name) {
            Some(&Global::Variable(i)) if std::ptr::eq(self.variables[i], variable) => Some(i as u32),
            _ => self.variables.iter().position(|v| std::ptr::eq(*v, variable)).map(|i| i as u32),
        }
    }

    /// Returns the index of a function in the module.
    pub(crate) fn function_index(&self, function: &Function) -> u32 {
        match self.names.get(&*function.name) {
            Some(&Global::Function(i)) => i as u32,
            _ => 0,
        }
    }

    /// Collects the global and constant variables declared inside functions.
    fn add_inner_variables(&mut self, statements: &'m [Statement]) -> Decoded<()> {
        for statement in statements {
            match statement {
                Statement::Block(inner) => self.add_inner_variables(inner)?,
                Statement::Variable(variable) if matches!(variable.space, Space::Global | Space::Const) => {
                    size_of(self, variable)?;
                    self.variables.push(variable);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn error(&self, pos: Pos, len: usize, message: impl Into<String>) -> ParseError {
        ParseError::new(self.text, pos, len as u32, message)
    }

    fn add_variable(&mut self, variable: &'m Variable) -> Decoded<()> {
        size_of(self, variable)?;
        match self.names.get(variable.name.as_str()) {
            Some(&Global::Variable(i)) if self.variables[i].linkage == Linkage::Extern => {
                self.variables[i] = variable;
                return Ok(());
            }
            Some(&Global::Variable(_)) if variable.linkage == Linkage::Extern => return Ok(()),
            Some(_) => return Err(self.twice(&variable.name, variable.pos)),
            None => {}
        }
        self.names.insert(&variable.name, Global::Variable(self.variables.len()));
        self.variables.push(variable);
        Ok(())
    }

    fn add_function(&mut self, function: &'m Function) -> Decoded<()> {
        match self.names.get(function.name.as_str()) {
            Some(&Global::Function(_)) if function.body.is_none() => return Ok(()),
            Some(&Global::Function(i)) if self.functions[i].body.is_none() => {
                self.functions[i] = function;
                return Ok(());
            }
            Some(_) => return Err(self.twice(&function.name, function.pos)),
            None => {}
        }
        self.names.insert(&function.name, Global::Function(self.functions.len()));
        self.functions.push(function);
        Ok(())
    }

    fn twice(&self, name: &str, pos: Pos) -> ParseError {
        self.error(pos, name.len(), format!("`{name}` is declared twice"))
    }
}

/// Returns a variable's type, size in bytes (0 for `[]`) and alignment, or an error if they are not valid.
pub(crate) fn size_of(symbols: &Symbols<'_>, variable: &Variable) -> Decoded<(Type, u64, u32)> {
    let error = |message: String| symbols.error(variable.pos, variable.name.len(), message);
    let opaque =
        OPAQUE.contains(&variable.ty.as_str()) && matches!(variable.space, Space::Global | Space::Param);
    let ty = match Type::parse(&variable.ty).or(opaque.then_some(Type::B64)) {
        Some(Type::Pred) => return Err(error("a variable in memory cannot be a predicate".into())),
        Some(ty) => ty,
        None => return Err(error(format!("unknown type `.{}`", variable.ty))),
    };
    let element = u64::from(ty.bytes() * variable.vector);
    let mut size = element;
    for (i, dim) in variable.dims.iter().enumerate() {
        let extent = match dim {
            Some(n) => *n,
            None if i == 0 && may_be_open(variable) => extent_of_init(variable),
            None if i == 0 => return Err(error(format!("the extent of `{}` is not known", variable.name))),
            None => return Err(error(format!("only the first extent of `{}` may be open", variable.name))),
        };
        size = size
            .checked_mul(extent)
            .filter(|&s| s <= MAX_VARIABLE)
            .ok_or_else(|| error(format!("`{}` is larger than {MAX_VARIABLE} bytes", variable.name)))?;
    }
    if variable.space == Space::Shared && size > MAX_SHARED {
        let name = &variable.name;
        return Err(error(format!("`{name}` takes {size} bytes of shared memory; a block has {MAX_SHARED}")));
    }
    let align = variable.align.unwrap_or(0).max(element.min(16) as u32).max(1);
    let align = if variable.align.is_some() { variable.align.unwrap_or(1) } else { align };
    Ok((ty, size, align.next_power_of_two()))
}

/// Returns whether the size of a variable is determined elsewhere: by its definition, its initial value, or a call.
fn may_be_open(variable: &Variable) -> bool {
    let initialized = matches!(variable.init.as_deref(), Some(Init::List(_)));
    variable.linkage == Linkage::Extern || initialized || variable.space == Space::Param
}

fn extent_of_init(variable: &Variable) -> u64 {
    match variable.init.as_deref() {
        Some(Init::List(items)) => items.len() as u64,
        _ => 0,
    }
}

/// The number of errors after which decoding of a module is aborted.
pub(crate) const MAX_ERRORS: usize = 64;

/// Checks each function with a body that has not been checked before, and returns the kernels in order, with their parameters.
pub(crate) fn check<'m>(symbols: &'m Symbols<'m>) -> Result<Vec<Kernel<'m>>, Vec<ParseError>> {
    let mut errors = vec![];
    let mut kernels = vec![];
    let mut checked = vec![];
    for function in &symbols.functions {
        let facts = match &function.body {
            Some(body) if !body.is_deferred() => builder::check(symbols, function),
            _ => Ok(Checked::default()),
        };
        checked.push(facts.unwrap_or_else(|found| {
            errors.extend(found);
            Checked::default()
        }));
        if errors.len() >= MAX_ERRORS {
            return Err(errors);
        }
    }
    let shared: u64 = checked.iter().map(|function| u64::from(function.shared)).sum();
    for (index, function) in symbols.functions.iter().enumerate() {
        if function.kind == FunctionKind::Entry && function.body.is_some() && errors.is_empty() {
            let (params, _) = builder::params(symbols, function).map_err(|error| vec![error])?;
            kernels.push(Kernel { function, params });
            if shared > MAX_SHARED && shared_of_all(&checked, index) > MAX_SHARED {
                errors.extend(link(symbols, function).err());
            }
        }
    }
    if errors.is_empty() { Ok(kernels) } else { Err(errors) }
}

/// Returns the size in bytes of the static shared memory that a function and its callees use.
fn shared_of_all(checked: &[Checked], root: usize) -> u64 {
    let mut seen = HashSet::from([root]);
    let mut stack = vec![root];
    let mut bytes = 0;
    while let Some(at) = stack.pop() {
        bytes += u64::from(checked[at].shared);
        stack.extend(checked[at].callees.iter().map(|&to| to as usize).filter(|&to| seen.insert(to)));
    }
    bytes
}

/// A kernel of a checked module.
pub(crate) struct Kernel<'m> {
    pub(crate) function: &'m Function,
    pub(crate) params: Vec<ParamSlot>,
}

/// Decodes a kernel of a checked module, and all functions that it can reach.
///
/// # Errors
/// Returns an error if the kernel or one of these functions contains an unsupported instruction.
pub(crate) fn link(symbols: &Symbols<'_>, entry: &Function) -> Result<Code, ParseError> {
    builder::link(symbols, entry).map_err(|mut errors| errors.swap_remove(0))
}
