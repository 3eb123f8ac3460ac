//! Prints a syntax tree as PTX text that parses to the same tree.

use std::fmt::{self, Display, Formatter};

use crate::text::ast::{
    Ast, Directive, Function, FunctionKind, Init, Instruction, Item, Linkage, Loc, Operand, OperandKind,
    Registers, Space, Statement, Variable,
};

impl Display for Ast {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        writeln!(f, ".target {}", self.target.join(", "))?;
        writeln!(f, ".address_size {}", self.address_size)?;
        self.items.iter().try_for_each(|item| write!(f, "{item}"))
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Item::Variable(variable) => writeln!(f, "{variable};"),
            Item::Function(function) => write!(f, "\n{function}"),
            Item::File { index, name } => writeln!(f, ".file {index} \"{name}\""),
            Item::Pragma(names) => writeln!(f, ".pragma {};", Quoted(names)),
            Item::Alias { name, of } => writeln!(f, ".alias {name}, {of};"),
        }
    }
}

/// A list of quoted strings: `"a", "b"`.
struct Quoted<'a>(&'a [String]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        comma_separated(f, self.0, |f, name| write!(f, "\"{name}\""))
    }
}

fn comma_separated<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    mut each: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}

impl Display for Linkage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Linkage::Local => "",
            Linkage::Visible => ".visible ",
            Linkage::Extern => ".extern ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        })
    }
}

impl Display for Space {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Const => "const",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
            Space::Reg => "reg",
        })
    }
}

impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} ", self.linkage, self.space)?;
        if !self.attributes.is_empty() {
            write!(f, ".attribute({}) ", Attributes(&self.attributes))?;
        }
        if let Some(align) = self.align {
            write!(f, ".align {align} ")?;
        }
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} ", self.ty)?;
        if let Some(pointer) = &self.pointer {
            f.write_str(".ptr ")?;
            if let Some(space) = &pointer.space {
                write!(f, ".{space} ")?;
            }
            if let Some(align) = pointer.align {
                write!(f, ".align {align} ")?;
            }
        }
        f.write_str(&self.name)?;
        for dim in &self.dims {
            match dim {
                Some(n) => write!(f, "[{n}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.init {
            Some(init) => write!(f, " = {init}"),
            None => Ok(()),
        }
    }
}

/// A list of attributes: `.managed, .unified(1, 2)`.
struct Attributes<'a>(&'a [String]);

impl Display for Attributes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        comma_separated(f, self.0, |f, word| write!(f, ".{word}"))
    }
}

/// `+ n` or `- n`; nothing for 0.
struct Signed(i128);

impl Display for Signed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            n => write!(f, "+{n}"),
        }
    }
}

impl Display for Init {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Init::Int(value) => write!(f, "{value}"),
            Init::Single(bits) => write!(f, "0f{bits:08X}"),
            Init::Double(bits) => write!(f, "0d{bits:016X}"),
            Init::Address { name, generic, offset, mask } => {
                if let Some(mask) = mask {
                    write!(f, "{mask:#X}(")?;
                }
                if *generic {
                    write!(f, "generic({name})")?;
                } else {
                    f.write_str(name)?;
                }
                write!(f, "{}", Signed(*offset))?;
                if mask.is_some() { f.write_str(")") } else { Ok(()) }
            }
            Init::List(items) => {
                f.write_str("{")?;
                comma_separated(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str("}")
            }
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.kind == FunctionKind::Entry { ".entry " } else { ".func " };
        write!(f, "{}{kind}", self.linkage)?;
        if !self.attributes.is_empty() {
            write!(f, ".attribute({}) ", Attributes(&self.attributes))?;
        }
        if !self.returns.is_empty() {
            write!(f, "{} ", Parameters(&self.returns))?;
        }
        write!(f, "{}{}", self.name, Parameters(&self.params))?;
        for directive in &self.directives {
            write!(f, "\n{directive}")?;
        }
        match &self.body {
            None => f.write_str(";\n"),
            Some(body) => {
                f.write_str("\n{\n")?;
                statements(f, body, 1)?;
                f.write_str("}\n")
            }
        }
    }
}

/// A list of parameters: `(.param .u64 a, .param .u32 b)`.
struct Parameters<'a>(&'a [Variable]);

impl Display for Parameters<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        comma_separated(f, self.0, |f, p| write!(f, "{p}"))?;
        f.write_str(")")
    }
}

impl Display for Directive {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name)?;
        if !self.strings.is_empty() {
            return write!(f, " {};", Quoted(&self.strings));
        }
        if !self.values.is_empty() {
            f.write_str(" ")?;
        }
        comma_separated(f, &self.values, |f, value| write!(f, "{value}"))
    }
}

fn statements(f: &mut Formatter<'_>, body: &[Statement], depth: usize) -> fmt::Result {
    let indent = "    ".repeat(depth);
    for statement in body {
        match statement {
            Statement::Block(inner) => {
                writeln!(f, "{indent}{{")?;
                statements(f, inner, depth + 1)?;
                writeln!(f, "{indent}}}")?;
            }
            Statement::Label(name, _) => writeln!(f, "{name}:")?,
            other => writeln!(f, "{indent}{other}")?,
        }
    }
    Ok(())
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Label(name, _) => write!(f, "{name}:"),
            Statement::Instruction(instruction) => write!(f, "{instruction}"),
            Statement::Registers(registers) => write!(f, "{registers}"),
            Statement::Variable(variable) => write!(f, "{variable};"),
            Statement::Block(inner) => {
                f.write_str("{\n")?;
                statements(f, inner, 1)?;
                f.write_str("}")
            }
            Statement::Loc(loc) => write!(f, "{loc}"),
            Statement::Pragma(names, _) => write!(f, ".pragma {};", Quoted(names)),
            Statement::Targets(targets) => {
                let word = if targets.calls { "calltargets" } else { "branchtargets" };
                write!(f, "{}: .{word} ", targets.label)?;
                comma_separated(f, &targets.names, |f, name| write!(f, "{name}"))?;
                f.write_str(";")
            }
            Statement::Prototype(prototype) => {
                write!(f, "{}: .callprototype ", prototype.label)?;
                if !prototype.returns.is_empty() {
                    write!(f, "{} ", Parameters(&prototype.returns))?;
                }
                write!(f, "_ {}", Parameters(&prototype.params))?;
                prototype.directives.iter().try_for_each(|word| write!(f, " .{word}"))?;
                f.write_str(";")
            }
        }
    }
}

impl Display for Loc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        if let Some((label, offset)) = &self.function {
            write!(f, ", function_name {label}+{offset}")?;
        }
        if let Some((file, line, column)) = self.inlined_at {
            write!(f, ", inlined_at {file} {line} {column}")?;
        }
        Ok(())
    }
}

impl Display for Registers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".reg ")?;
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} ", self.ty)?;
        comma_separated(f, &self.names, |f, (name, count)| match count {
            Some(n) => write!(f, "{name}<{n}>"),
            None => f.write_str(name),
        })?;
        f.write_str(";")
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.name)?;
        }
        f.write_str(self.mnemonic())?;
        if !self.operands.is_empty() {
            f.write_str(" ")?;
        }
        comma_separated(f, &self.operands, |f, operand| write!(f, "{operand}"))?;
        f.write_str(";")
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let list = |f: &mut Formatter<'_>, open: &str, items: &[Operand], close: &str| {
            f.write_str(open)?;
            comma_separated(f, items, |f, item| write!(f, "{item}"))?;
            f.write_str(close)
        };
        match &self.kind {
            OperandKind::Name(name) => f.write_str(name),
            OperandKind::Component(parts) => write!(f, "{}.{}", parts[0], parts[1]),
            OperandKind::Int(value) => write!(f, "{value}"),
            OperandKind::Single(bits) => write!(f, "0f{bits:08X}"),
            OperandKind::Double(bits) => write!(f, "0d{bits:016X}"),
            OperandKind::Offset(sum) => write!(f, "{}+{}", sum.0, sum.1),
            OperandKind::Not(inner) => write!(f, "!{inner}"),
            OperandKind::Negative(inner) => write!(f, "-{inner}"),
            OperandKind::Pair(pair) => write!(f, "{}|{}", pair[0], pair[1]),
            OperandKind::Vector(items) => list(f, "{", items, "}"),
            OperandKind::Group(items) => list(f, "(", items, ")"),
            OperandKind::Address(address) => {
                write!(f, "[{}{}", address.base, Signed(address.offset.get()))?;
                address.rest.iter().try_for_each(|operand| write!(f, ", {operand}"))?;
                f.write_str("]")
            }
        }
    }
}
