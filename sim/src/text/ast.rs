//! The syntax tree of a PTX module, before semantic analysis.
//!
//! Printing a tree ([`std::fmt::Display`]) and parsing the result produces an equal tree; comparisons ignore positions. Debug sections
//! (`.section`, `@@DWARF`) are skipped by the parser and are not part of the tree.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::text::body::Body;
pub(crate) use crate::text::lexer::Pos;

/// A name in the PTX text. Names are interned: equal names from the same parse share one allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Returns the characters of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&Name> for Arc<str> {
    fn from(name: &Name) -> Self {
        name.0.clone()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An integer constant, in the combined range of `i64` and `u64`.
///
/// The type has a smaller alignment than `i128`, which would make every operand 50% larger.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(8))]
pub struct Integer(i128);

impl Integer {
    /// Returns the value.
    pub fn get(self) -> i128 {
        self.0
    }
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        Self(value)
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

/// A whole module: header directives, then items in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// The position of the version.
    pub version_pos: Pos,
    /// `.target sm_90a, texmode_independent …`.
    pub target: Vec<String>,
    /// The position of the first target.
    pub target_pos: Pos,
    /// `.address_size`, or 64 if absent.
    pub address_size: u32,
    /// All other directives.
    pub items: Vec<Item>,
}

/// An item at module level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A variable in `.global`, `.const`, `.shared` or `.local`.
    Variable(Variable),
    /// `.entry` or `.func`, with or without a body.
    Function(Function),
    /// `.file index "name"`.
    File {
        /// The number that `.loc` uses.
        index: u32,
        /// The path as written.
        name: String,
    },
    /// `.pragma "…", …;`.
    Pragma(Vec<String>),
    /// `.alias name, of;`.
    Alias {
        /// The new name.
        name: String,
        /// The aliased function.
        of: String,
    },
}

/// The visibility of a symbol in other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linkage {
    /// No directive: local to the module.
    #[default]
    Local,
    /// `.visible`.
    Visible,
    /// `.extern`.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.global`.
    Global,
    /// `.const`.
    Const,
    /// `.shared`.
    Shared,
    /// `.local`.
    Local,
    /// `.param`.
    Param,
    /// `.reg`, as the space of a `.func` parameter.
    Reg,
}

/// A variable or parameter declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The visibility.
    pub linkage: Linkage,
    /// The state space.
    pub space: Space,
    /// `.align`, in bytes, if written.
    pub align: Option<u32>,
    /// The number of elements per vector: 1, 2 or 4 (`.v2`, `.v4`).
    pub vector: u32,
    /// The element type, without its dot: `b8`, `f32` …
    pub ty: Name,
    /// `.ptr [.space] [.align n]` of a kernel parameter.
    pub pointer: Option<Box<PointerAttribute>>,
    /// The words in `.attribute(…)`.
    pub attributes: Box<[String]>,
    /// The name.
    pub name: Name,
    /// The array extents, outermost first, or `None` for `[]`.
    pub dims: Box<[Option<u64>]>,
    /// The initializer.
    pub init: Option<Box<Init>>,
    /// The position of the name.
    pub pos: Pos,
}

/// The `.ptr` attribute of a kernel parameter, which describes the memory that the parameter points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerAttribute {
    /// The space, if written.
    pub space: Option<String>,
    /// The alignment, if written.
    pub align: Option<u32>,
}

/// An initializer.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// An integer constant.
    Int(i128),
    /// The bits of an f32.
    Single(u32),
    /// The bits of an f64.
    Double(u64),
    /// The address of a symbol plus an offset, optionally as a generic address, or masked as in `0xFF(name)`.
    Address {
        /// The symbol.
        name: String,
        /// Whether the address is generic: `generic(name)`.
        generic: bool,
        /// The offset in bytes.
        offset: i128,
        /// `0xFF…(name)`: the mask of the byte of the address that is stored.
        mask: Option<u64>,
    },
    /// `{ … }`.
    List(Vec<Init>),
}

/// The kind of a function: a kernel or a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`.
    Entry,
    /// `.func`.
    Func,
}

/// A kernel or a device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The visibility.
    pub linkage: Linkage,
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// The words in `.attribute(…)`.
    pub attributes: Vec<String>,
    /// The return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// The name.
    pub name: Name,
    /// The parameters.
    pub params: Vec<Variable>,
    /// `.reqntid 128, 1, 1`, `.maxnreg 64`, `.noreturn` …
    pub directives: Vec<Directive>,
    /// The body, or `None` for a declaration.
    pub body: Option<Body>,
    /// The position of the name.
    pub pos: Pos,
}

/// A performance or linking directive between a function's header and its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// The name, without its dot.
    pub name: String,
    /// The integer arguments.
    pub values: Vec<u64>,
    /// The string arguments (of `.pragma`).
    pub strings: Vec<String>,
    /// The position.
    pub pos: Pos,
}

/// An item of a body. Rare variants are boxed, because most items are instructions.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A label: `name:`.
    Label(Name, Pos),
    /// An instruction.
    Instruction(Instruction),
    /// `.reg .f32 %f<8>, x;`.
    Registers(Box<Registers>),
    /// A `.local`, `.shared`, `.param` … variable.
    Variable(Box<Variable>),
    /// `{ … }`.
    Block(Vec<Statement>),
    /// `.loc file line column …`.
    Loc(Box<Loc>),
    /// `.pragma "…";`, and its position.
    Pragma(Vec<String>, Pos),
    /// `label: .branchtargets a, b;` or `label: .calltargets f, g;`.
    Targets(Box<Targets>),
    /// `label: .callprototype (…) _ (…);`.
    Prototype(Box<Prototype>),
}

/// A list of labels or functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// The label of the list.
    pub label: Name,
    /// Whether the list contains functions rather than labels.
    pub calls: bool,
    /// The names in the list.
    pub names: Vec<Name>,
    /// The position of the label.
    pub pos: Pos,
}

/// The arguments and results of an indirect call.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// The label of the prototype.
    pub label: Name,
    /// The return parameters.
    pub returns: Vec<Variable>,
    /// The parameters.
    pub params: Vec<Variable>,
    /// The directives with their values, such as `.noreturn` and `.abi_preserve 8`.
    pub directives: Vec<String>,
    /// The position of the label.
    pub pos: Pos,
}

/// A `.loc` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loc {
    /// The index of the `.file`.
    pub file: u32,
    /// The source line.
    pub line: u32,
    /// The source column.
    pub column: u32,
    /// `function_name label [+ offset]`.
    pub function: Option<(Name, u64)>,
    /// `inlined_at file line column`.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// A register declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// The number of elements per vector: 1, 2 or 4.
    pub vector: u32,
    /// The type, without its dot.
    pub ty: Name,
    /// The names; with a count, `%r<4>` declares `%r0` … `%r3`.
    pub names: Vec<(Name, Option<u32>)>,
    /// The position.
    pub pos: Pos,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The guard: `@%p` or `@!%p`.
    pub guard: Option<Box<Guard>>,
    /// The mnemonic, shared by all instructions with the same mnemonic.
    pub mnemonic: Arc<Mnemonic>,
    /// The operands.
    pub operands: Box<[Operand]>,
    /// The position of the opcode.
    pub pos: Pos,
}

impl Instruction {
    /// Returns the word before the first dot.
    pub fn opcode(&self) -> &str {
        &self.mnemonic.opcode
    }

    /// Returns the qualifiers, without their dots.
    pub fn modifiers(&self) -> &[String] {
        &self.mnemonic.modifiers
    }

    /// Returns the full mnemonic: the opcode and the qualifiers with their dots.
    pub fn mnemonic(&self) -> &str {
        &self.mnemonic.text
    }
}

/// An opcode and its qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnemonic {
    /// The word before the first dot.
    pub opcode: String,
    /// The qualifiers, without their dots.
    pub modifiers: Vec<String>,
    /// The opcode and the qualifiers with their dots.
    text: String,
}

impl Mnemonic {
    pub(crate) fn new(opcode: &str, modifiers: &[&str]) -> Self {
        let text = std::iter::once(&opcode).chain(modifiers).copied().collect::<Vec<_>>().join(".");
        let modifiers = modifiers.iter().map(|&word| word.into()).collect();
        Self { opcode: opcode.into(), modifiers, text }
    }
}

/// A guard predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Whether the guard is negated: `@!`.
    pub negated: bool,
    /// The predicate register.
    pub name: Name,
    /// The position of the name.
    pub pos: Pos,
}

/// An operand and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The form and contents of the operand.
    pub kind: OperandKind,
    /// The position of the first character.
    pub pos: Pos,
    /// The length in characters, at least 1, for error messages.
    pub len: Length,
}

/// A length in characters that, like [`Pos`], is ignored in comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Length(pub u32);

impl PartialEq for Length {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Length {}

/// The forms of an operand. Rare variants are boxed, because most operands are names.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind {
    /// A register, label, variable or function.
    Name(Name),
    /// A component of a vector register or special register (`%tid.x`), or a byte selector (`%r1.b0`).
    Component(Box<[Name; 2]>),
    /// An integer constant.
    Int(Integer),
    /// The bits of an f32.
    Single(u32),
    /// The bits of an f64.
    Double(u64),
    /// `name + bytes`.
    Offset(Box<(Name, i128)>),
    /// `!p`.
    Not(Box<Operand>),
    /// `-r`, where `r` is a register.
    Negative(Box<Operand>),
    /// `d | p`.
    Pair(Box<[Operand; 2]>),
    /// `{a, b, …}`.
    Vector(Box<[Operand]>),
    /// `(a, b, …)`: an argument or result list of a `call`.
    Group(Box<[Operand]>),
    /// `[base + offset]` or `[base, {coordinates}]`.
    Address(Box<Address>),
}

/// The contents of the brackets of an address operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// A register, a variable or a constant.
    pub base: Operand,
    /// The offset in bytes.
    pub offset: Integer,
    /// Additional operands inside the brackets (tensor coordinates).
    pub rest: Box<[Operand]>,
}
