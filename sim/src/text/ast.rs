//! The syntax tree of a PTX module: the text before semantic analysis.
//!
//! Printing a tree ([`std::fmt::Display`]) and parsing the result gives the same tree; positions are ignored in comparisons. Debug sections
//! (`.section`, `@@DWARF`) are skipped by the parser and are not part of the tree.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use crate::text::lexer::Pos;

/// A name of the text; equal names of a module share their characters.
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

/// An integer constant: the range of both `i64` and `u64`.
///
/// Has a smaller alignment than `i128`, which would make every operand 50 % larger.
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
    /// `.address_size`, 64 when absent.
    pub address_size: u32,
    /// Everything else.
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
    /// Visibility.
    pub linkage: Linkage,
    /// State space.
    pub space: Space,
    /// `.align`, in bytes, if written.
    pub align: Option<u32>,
    /// Elements per vector: 1, 2 or 4 (`.v2`, `.v4`).
    pub vector: u32,
    /// Element type, without its dot: `b8`, `f32` …
    pub ty: Name,
    /// `.ptr [.space] [.align n]` of a kernel parameter.
    pub pointer: Option<Box<PointerAttribute>>,
    /// `.attribute(…)` words.
    pub attributes: Box<[String]>,
    /// Name.
    pub name: Name,
    /// Array extents, outermost first; `None` for `[]`.
    pub dims: Box<[Option<u64>]>,
    /// Initializer.
    pub init: Option<Box<Init>>,
    /// The position of the name.
    pub pos: Pos,
}

/// The `.ptr` attribute of a kernel parameter, which describes the memory to which it points.
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
    /// Bits of a single.
    Single(u32),
    /// Bits of a double.
    Double(u64),
    /// The address of a symbol, as it is or made generic, plus bytes; `mask` as in `0xFF(name)`.
    Address {
        /// The symbol.
        name: String,
        /// `generic(name)`.
        generic: bool,
        /// Bytes added.
        offset: i128,
        /// `0xFF…(name)`: which byte of the address is stored.
        mask: Option<u64>,
    },
    /// `{ … }`.
    List(Vec<Init>),
}

/// Kernel or device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`.
    Entry,
    /// `.func`.
    Func,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Visibility.
    pub linkage: Linkage,
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// `.attribute(…)` words.
    pub attributes: Vec<String>,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Name.
    pub name: Name,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.reqntid 128, 1, 1`, `.maxnreg 64`, `.noreturn` …
    pub directives: Vec<Directive>,
    /// The body; `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// The position of the name.
    pub pos: Pos,
}

/// A performance or linking directive between a function's head and its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Without its dot.
    pub name: String,
    /// Its integers.
    pub values: Vec<u64>,
    /// Its strings (`.pragma`).
    pub strings: Vec<String>,
    /// The position.
    pub pos: Pos,
}

/// An item of a body. Rare variants are boxed, because most items are instructions.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `name:`.
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
    /// Its label.
    pub label: Name,
    /// Functions rather than labels.
    pub calls: bool,
    /// What it lists.
    pub names: Vec<Name>,
    /// The position of the label.
    pub pos: Pos,
}

/// The arguments and results of an indirect call.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Its label.
    pub label: Name,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.noreturn` and the like.
    pub directives: Vec<String>,
    /// The position of the label.
    pub pos: Pos,
}

/// `.loc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Number of a `.file`.
    pub file: u32,
    /// Source line.
    pub line: u32,
    /// Source column.
    pub column: u32,
    /// `function_name label [+ offset]`.
    pub function: Option<(Name, u64)>,
    /// `inlined_at file line column`.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// A register declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// Elements per vector: 1, 2 or 4.
    pub vector: u32,
    /// Type, without its dot.
    pub ty: Name,
    /// Names; with a count, `%r<4>` declares `%r0` … `%r3`.
    pub names: Vec<(Name, Option<u32>)>,
    /// The position.
    pub pos: Pos,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@%p` or `@!%p`.
    pub guard: Option<Box<Guard>>,
    /// The mnemonic, shared by all instructions with the same mnemonic.
    pub mnemonic: Arc<Mnemonic>,
    /// The operands.
    pub operands: Box<[Operand]>,
    /// The position of the opcode.
    pub pos: Pos,
}

impl Instruction {
    /// The word before the first dot.
    pub fn opcode(&self) -> &str {
        &self.mnemonic.opcode
    }

    /// The qualifiers, without their dots.
    pub fn modifiers(&self) -> &[String] {
        &self.mnemonic.modifiers
    }

    /// The full mnemonic: opcode and qualifiers with their dots.
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
    /// Both, with dots.
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
    /// `@!`.
    pub negated: bool,
    /// The predicate register.
    pub name: Name,
    /// The position of the name.
    pub pos: Pos,
}

/// An operand and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Where it starts.
    pub pos: Pos,
    /// Its length in characters, for error messages; at least 1.
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
    /// A component of a vector register or special register: `%tid.x`, or a byte selector: `%r1.b0`.
    Component(Box<[Name; 2]>),
    /// An integer constant.
    Int(Integer),
    /// Bits of a single.
    Single(u32),
    /// Bits of a double.
    Double(u64),
    /// `name + bytes`.
    Offset(Box<(Name, i128)>),
    /// `!p`.
    Not(Box<Operand>),
    /// `-r` of a register.
    Negative(Box<Operand>),
    /// `d | p`.
    Pair(Box<[Operand; 2]>),
    /// `{a, b, …}`.
    Vector(Box<[Operand]>),
    /// `(a, b, …)`: the lists of a `call`.
    Group(Box<[Operand]>),
    /// `[base + offset]`, `[base, {coordinates}]`.
    Address(Box<Address>),
}

/// The contents of brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// A register, a variable or a constant.
    pub base: Operand,
    /// Bytes added to it.
    pub offset: Integer,
    /// Further operands inside the brackets (tensor coordinates).
    pub rest: Box<[Operand]>,
}
