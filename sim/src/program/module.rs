//! A module: parsed, decoded, and ready to launch.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::program::code::{Code, Meta, ParamSlot};
use crate::program::decode::{Symbols, check, link, size_of};
use crate::program::initializer::{self, Piece};
use crate::program::outline::Outline;
use crate::report::SourceLocation;
use crate::text::ast::{Ast, Function, Item, Space, Statement, Variable};
use crate::text::error::ParseError;
use crate::text::lexer::Pos;
use crate::text::parser;

/// A validated PTX module. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: u64,
    file: String,
    text: Arc<str>,
    ast: Ast,
    kernels: Vec<Kernel>,
    variables: Vec<GlobalVariable>,
}

#[derive(Debug)]
struct Kernel {
    /// The index of the kernel's function among the items.
    item: usize,
    params: Vec<ParamSlot>,
    /// The decoded code. It is created on first use, because each kernel has its own copy of the functions that it calls.
    code: OnceLock<Result<Box<Code>, ParseError>>,
}

/// A `.global` or `.const` variable of a module.
#[derive(Debug)]
pub(crate) struct GlobalVariable {
    pub(crate) name: Arc<str>,
    pub(crate) size: u64,
    pub(crate) read_only: bool,
    /// Whether the variable has `.attribute(.managed)`.
    pub(crate) managed: bool,
    pieces: Vec<(u64, Piece)>,
}

impl GlobalVariable {
    /// Returns the initial bytes by offset, given the addresses of the module's variables.
    pub(crate) fn image(&self, addresses: &[u64]) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.pieces.iter().map(|(offset, piece)| (*offset, piece.bytes(addresses)))
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Module {
    /// Parses and validates PTX text.
    ///
    /// # Errors
    /// Returns an error, with line and column, for the first construct that is not valid PTX or that the simulator does not recognize.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_file("kernel.ptx", text)
    }

    /// Parses and validates PTX text like [`Module::parse`]. Reports use `file` as the file name.
    ///
    /// # Errors
    /// Returns the same errors as [`Module::parse`].
    pub fn parse_file(file: &str, text: &str) -> Result<Self, ParseError> {
        Self::parse_all(file, text).map_err(|mut errors| errors.swap_remove(0))
    }

    /// Parses and validates PTX text as [`Module::parse_file`] does, but returns all errors (at least one) instead of the first.
    pub(crate) fn parse_all(file: &str, text: &str) -> Result<Self, Vec<ParseError>> {
        parser::parse(text)
            .and_then(|ast| Self::new(file, text.into(), ast))
            .map_err(|errors| errors.into_iter().map(|error| error.in_file(file)).collect())
    }

    /// Parses PTX text that has been parsed before. Functions in `outline` are parsed and checked only when they are used.
    ///
    /// ```
    /// use warpwright_sim::{Module, Outline};
    ///
    /// let text = ".version 7.0\n.target sm_80\n.entry copy() {\n    ret;\n}";
    /// let outline: Outline = Module::parse(text)?.outline().to_string().parse()?;
    /// let module = Module::parse_outlined("copy.ptx", text, &outline)?;
    /// assert_eq!(module.entry("copy").unwrap().instruction_counts()["ret"], 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`Module::parse`], except for errors in functions in the outline. The outline is ignored if it was
    /// created from text of a different length. If it was created from different text of the same length, functions may be missing, and
    /// errors in functions are returned by the launches that use them.
    pub fn parse_outlined(file: &str, text: &str, outline: &Outline) -> Result<Self, ParseError> {
        let text: Arc<str> = text.into();
        let module = parser::parse_outlined(&text, outline.bodies_in(&text))
            .and_then(|ast| Self::new(file, text, ast));
        module.map_err(|mut errors| errors.swap_remove(0).in_file(file))
    }

    /// Returns the outline, which speeds up [parsing the same text again](Self::parse_outlined).
    pub fn outline(&self) -> Outline {
        Outline::of(&self.inner.text, &self.inner.ast)
    }

    fn new(file: &str, text: Arc<str>, ast: Ast) -> Result<Self, Vec<ParseError>> {
        let (kernels, variables) = {
            let symbols = Symbols::new(&text, &ast).map_err(|error| vec![error])?;
            (kernels(&symbols, &ast)?, variables(&symbols).map_err(|error| vec![error])?)
        };
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Self { inner: Arc::new(Inner { id, file: file.into(), text, ast, kernels, variables }) })
    }

    /// Returns the syntax tree, which can be printed as PTX; intended for tests.
    #[doc(hidden)]
    pub fn ast(&self) -> &Ast {
        &self.inner.ast
    }

    /// Returns the first name in `.target`, such as `sm_90a`.
    #[doc(alias = ".target")]
    pub fn target(&self) -> &str {
        self.inner.ast.target.first().map_or("", String::as_str)
    }

    /// Returns the names of the `.global` and `.const` variables.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.inner.variables.iter().map(|variable| &*variable.name)
    }

    /// Returns the PTX text of the module.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Returns the kernels, in the order in which the text defines them.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.inner.kernels.iter().filter_map(|kernel| match &self.inner.ast.items[kernel.item] {
            Item::Function(function) => Some(Entry { module: self, kernel, function }),
            _ => None,
        })
    }

    /// Returns the kernel named `name`, if the module contains it.
    pub fn entry(&self, name: &str) -> Option<Entry<'_>> {
        self.entries().find(|entry| entry.name() == name)
    }

    /// Returns the decoded form of a kernel and its callees.
    fn link(&self, entry: &Function) -> Result<Code, ParseError> {
        let linked =
            Symbols::new(&self.inner.text, &self.inner.ast).and_then(|symbols| link(&symbols, entry));
        linked.map_err(|error| error.in_file(&self.inner.file))
    }

    /// Returns the file name that reports use for the text.
    pub fn file(&self) -> &str {
        &self.inner.file
    }

    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(crate) fn variables(&self) -> &[GlobalVariable] {
        &self.inner.variables
    }

    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.inner.variables.iter().position(|v| &*v.name == name)
    }

    /// Returns the path that the `.file` directive with this index declares.
    pub(crate) fn source_file(&self, index: u32) -> Option<&str> {
        self.inner.ast.items.iter().find_map(|item| match item {
            Item::File { index: i, name } if *i == index => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the position of the largest shared variable that a kernel can access.
    pub(crate) fn largest_shared(&self, entry: &str) -> Option<Pos> {
        let items = &self.inner.ast.items;
        let function = items.iter().find_map(|item| match item {
            Item::Function(f) if *f.name == *entry => f.body.as_deref(),
            _ => None,
        });
        let outer = items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            _ => None,
        });
        let inner = function.unwrap_or(&[]).iter().filter_map(|statement| match statement {
            Statement::Variable(variable) => Some(&**variable),
            _ => None,
        });
        let bytes = |v: &&Variable| {
            v.dims.iter().flatten().fold(v.vector.into(), |n: u64, &extent| n.saturating_mul(extent))
        };
        outer.chain(inner).filter(|v| v.space == Space::Shared).max_by_key(bytes).map(|v| v.pos)
    }

    /// Returns the source line of an instruction, if the text contains a `.loc` for it.
    pub(crate) fn source_of(&self, code: &Code, meta: &Meta) -> Option<SourceLocation> {
        let loc = code.locs.get(meta.loc as usize)?;
        let file = self.source_file(loc.file).unwrap_or("?").to_string();
        Some(SourceLocation { file, line: loc.line, column: loc.column })
    }

    /// Returns the text of the 1-based line `line`, or an empty string if there is no such line.
    pub fn line(&self, line: u32) -> &str {
        self.inner.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("")
    }
}

/// A kernel of a module.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'m> {
    module: &'m Module,
    kernel: &'m Kernel,
    function: &'m Function,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The parameter's name.
    pub name: String,
    /// The parameter's type, such as `u64`, `f32` or `b8[128]`.
    pub ty: String,
    /// The offset in bytes in the parameter space.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
}

impl<'m> Entry<'m> {
    /// Returns the kernel's name.
    pub fn name(&self) -> &'m str {
        &self.function.name
    }

    /// Returns the code for a launch.
    ///
    /// # Errors
    /// Returns an error if the kernel, or one of its callees, contains an unsupported instruction.
    pub(crate) fn code(&self) -> Result<&'m Code, &'m ParseError> {
        let code = self.kernel.code.get_or_init(|| self.module.link(self.function).map(Box::new));
        code.as_deref()
    }

    /// Returns the kernel's parameters in order.
    pub fn params(&self) -> Vec<Param> {
        let param = |p: &ParamSlot| Param {
            name: p.name.to_string(),
            ty: p.ty.to_string(),
            offset: p.offset as usize,
            size: p.size as usize,
        };
        self.kernel.params.iter().map(param).collect()
    }

    /// Returns the integer arguments of the kernel's directive `name`, such as `maxntid`, `maxnreg` or `minnctapersm`, or `None` if the
    /// kernel does not have this directive.
    pub fn directive(&self, name: &str) -> Option<&'m [u64]> {
        self.function.directives.iter().find(|d| d.name == name).map(|d| &d.values[..])
    }

    /// Returns the block shape that the kernel's `.reqntid` directive requires, with 1 for omitted extents, or `None` if the kernel does
    /// not have this directive.
    #[doc(alias = ".reqntid")]
    pub fn reqntid(&self) -> Option<[u32; 3]> {
        self.directive("reqntid").map(extents)
    }

    /// Returns the cluster shape that the kernel's `.reqnctapercluster` directive requires, with 1 for omitted extents, or `None` if the
    /// kernel does not have this directive.
    #[doc(alias = ".reqnctapercluster")]
    pub fn reqnctapercluster(&self) -> Option<[u32; 3]> {
        self.directive("reqnctapercluster").map(extents)
    }

    /// Returns the size in bytes of the static shared memory that the kernel and its callees use, or 0 if they contain an unsupported
    /// instruction.
    pub fn static_shared_bytes(&self) -> usize {
        self.code().map_or(0, |code| code.static_shared as usize)
    }

    /// Returns the number of registers of each type that the kernel's body declares.
    pub fn declared_registers(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        count_registers(self.function.body.as_deref().unwrap_or(&[]), &mut counts);
        counts
    }

    /// Returns the full mnemonic and the 1-based line of each instruction in the kernel's body, in order.
    pub fn instructions(&self) -> impl Iterator<Item = (String, u32)> + 'm {
        let mut all = vec![];
        collect_instructions(self.function.body.as_deref().unwrap_or(&[]), &mut all);
        all.into_iter()
    }

    /// Returns the number of instructions in the kernel's body, by full mnemonic.
    pub fn instruction_counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (mnemonic, _) in self.instructions() {
            *counts.entry(mnemonic).or_insert(0) += 1;
        }
        counts
    }
}

fn extents(values: &[u64]) -> [u32; 3] {
    std::array::from_fn(|i| values.get(i).map_or(1, |&v| v as u32))
}

fn count_registers(body: &[Statement], counts: &mut BTreeMap<String, u64>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => count_registers(inner, counts),
            Statement::Registers(registers) => {
                let names = registers.names.iter().map(|(_, count)| u64::from(count.unwrap_or(1)));
                *counts.entry(registers.ty.to_string()).or_insert(0) +=
                    names.sum::<u64>() * u64::from(registers.vector);
            }
            _ => {}
        }
    }
}

fn collect_instructions(body: &[Statement], out: &mut Vec<(String, u32)>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => collect_instructions(inner, out),
            Statement::Instruction(i) => out.push((i.mnemonic().to_string(), i.pos.line)),
            _ => {}
        }
    }
}

fn kernels(symbols: &Symbols<'_>, ast: &Ast) -> Result<Vec<Kernel>, Vec<ParseError>> {
    let functions = ast.items.iter().enumerate().filter_map(|(i, item)| match item {
        Item::Function(function) => Some((std::ptr::from_ref(function), i)),
        _ => None,
    });
    let items: HashMap<*const Function, usize> = functions.collect();
    let kernel = |k: crate::program::decode::Kernel<'_>| Kernel {
        item: items[&std::ptr::from_ref(k.function)],
        params: k.params,
        code: OnceLock::new(),
    };
    Ok(check(symbols)?.into_iter().map(kernel).collect())
}

/// The maximum total size of a module's variables.
const MAX_VARIABLES: u64 = 1 << 33;

fn variables(symbols: &Symbols<'_>) -> Result<Vec<GlobalVariable>, ParseError> {
    let mut total = 0;
    let mut out = vec![];
    for variable in &symbols.variables {
        let (ty, size, _) = size_of(symbols, variable)?;
        let in_memory = matches!(variable.space, Space::Global | Space::Const);
        let pieces = match &variable.init {
            Some(init) if in_memory => initializer::pieces(symbols, variable, init, ty)?,
            _ => vec![],
        };
        let size = if in_memory { size } else { 0 };
        total += size;
        if total > MAX_VARIABLES {
            let message = format!("the module's variables take more than {MAX_VARIABLES} bytes");
            return Err(symbols.error(variable.pos, variable.name.len(), message));
        }
        let read_only = variable.space == Space::Const;
        let managed = variable.attributes.iter().any(|word| word.contains("managed"));
        out.push(GlobalVariable {
            name: Arc::from(variable.name.as_str()),
            size,
            read_only,
            managed,
            pieces,
        });
    }
    Ok(out)
}
