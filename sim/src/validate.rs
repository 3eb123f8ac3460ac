//! Validation of PTX without execution and without ptxas.
//!
//! The simulator's parser and decoder check syntax, names, types and operands. Validation additionally checks that the version and target
//! of the PTX module support the features that the module uses, which the simulator does not require for execution.

mod features;
mod target;

use std::fmt::Display;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::program::module::Module;
use crate::text::ast::{Ast, Function, Instruction, Item, Mnemonic, Operand, OperandKind, Statement};
use crate::text::error::ParseError;
use crate::text::lexer::Pos;
use crate::validate::target::{Needs, Target, Version};

/// Returns all errors in PTX text, in order: unknown and malformed instructions, wrong operands, undefined and duplicate names, and
/// features that the module's `.version` or `.target` does not support. Errors use `file` as the file name.
///
/// Text is valid if ptxas accepts it. Operands and qualifiers of instructions that the simulator does not support (such as `tcgen05`,
/// `multimem` and `txq`) are not checked.
///
/// ```
/// let text = ".version 7.0\n.target sm_80\n.entry k() {\n    .reg .b32 %r<2>;\n    add.u32 %r1, %r2, 1;\n    ret;\n}";
/// let errors = warpwright_sim::validate("k.ptx", text);
/// assert_eq!(errors.len(), 1);
/// assert_eq!((errors[0].line(), errors[0].column()), (5, 18));
/// assert_eq!(errors[0].message(), "`%r2` is not declared");
/// ```
pub fn validate(file: &str, text: &str) -> Vec<ParseError> {
    let mut errors = match Module::parse_all(file, text) {
        Ok(module) => Features::check(module.ast(), text),
        Err(errors) => errors,
    };
    errors.sort_by_key(|error| (error.line(), error.column()));
    errors.dedup();
    errors.into_iter().map(|error| error.in_file(file)).collect()
}

type Demands = Rc<[(Version, Needs)]>;

/// The check that a module's version and target support the features that the module uses.
struct Features<'t> {
    text: &'t str,
    version: Version,
    target: Target,
    /// The requirements of instructions, by mnemonic and operand count.
    demands: FxHashMap<(*const Mnemonic, usize), Demands>,
    errors: Vec<ParseError>,
}

impl<'t> Features<'t> {
    fn check(ast: &Ast, text: &'t str) -> Vec<ParseError> {
        let error = |pos: Pos, len: usize, message: String| ParseError::new(text, pos, len as u32, message);
        let version = Version(ast.version.0, ast.version.1);
        if !version.is_known() {
            let message =
                format!("there is no version {version} of PTX; the newest known is {}", Version::newest());
            return vec![error(ast.version_pos, version.to_string().len(), message)];
        }
        let name = ast.target.first().map_or("", String::as_str);
        let Some((target, since)) = Target::parse(name) else {
            return vec![error(ast.target_pos, name.len(), format!("unknown target `{name}`"))];
        };
        if version < since {
            let message = format!("target `{name}` is known since version {since}; this is {version}");
            return vec![error(ast.target_pos, name.len(), message)];
        }
        let mut features = Self { text, version, target, demands: FxHashMap::default(), errors: vec![] };
        for item in &ast.items {
            match item {
                Item::Function(function) => features.function(function),
                Item::Alias { .. } => {
                    features.demand(ast.target_pos, 6, "`.alias`", Version(6, 3), Needs::Sm(30));
                }
                _ => {}
            }
        }
        features.errors
    }

    fn function(&mut self, function: &Function) {
        for directive in &function.directives {
            if let Some((version, needs)) = features::of_directive(&directive.name) {
                let name = format!("`.{}`", directive.name);
                self.demand(directive.pos, directive.name.len() + 1, name, version, needs);
            }
        }
        self.body(function.body.as_deref().unwrap_or(&[]));
    }

    fn body(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Instruction(i) => self.instruction(i),
                Statement::Block(inner) => self.body(inner),
                Statement::Registers(registers) if *registers.ty == *"b128" => {
                    self.demand(registers.pos, 4, "a register of 128 bits", Version(8, 3), Needs::Sm(70));
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, i: &Instruction) {
        let mnemonic = i.mnemonic();
        let key = (std::ptr::from_ref(&*i.mnemonic), i.operands.len());
        let demands =
            self.demands.entry(key).or_insert_with(|| features::of_instruction(i).collect()).clone();
        for &(version, needs) in &*demands {
            self.demand(i.pos, mnemonic.len(), format_args!("`{mnemonic}`"), version, needs);
        }
        for operand in &i.operands {
            self.operand(operand);
        }
        // PTX ISA, "shfl" and "vote" without `.sync`: removed for sm_70 and higher.
        let unsynchronized =
            matches!(i.opcode(), "shfl" | "vote") && !i.modifiers().iter().any(|m| m == "sync");
        if unsynchronized && self.target.sm >= 70 && self.version >= Version(6, 4) {
            let message =
                format!("`{mnemonic}` needs `.sync` on sm_70 or higher; the target is {}", self.target);
            self.errors.push(ParseError::new(self.text, i.pos, mnemonic.len() as u32, message));
        }
    }

    fn operand(&mut self, operand: &Operand) {
        let name = match &operand.kind {
            OperandKind::Name(name) => name,
            OperandKind::Component(parts) => &parts[0],
            _ => return,
        };
        if let Some((version, needs)) = features::of_register(name) {
            self.demand(operand.pos, name.len(), format_args!("`{name}`"), version, needs);
        }
    }

    /// Records an error, at most one per position, unless the module's version and target support the feature `what`.
    fn demand(&mut self, pos: Pos, len: usize, what: impl Display, version: Version, needs: Needs) {
        let message = if self.version < version {
            format!("{what} needs version {version} of PTX; this is {}", self.version)
        } else if !needs.are_met_by(self.target) {
            format!("{what} needs {needs}; the target is {}", self.target)
        } else {
            return;
        };
        let same = |e: &ParseError| (e.line(), e.column()) == (pos.line, pos.column);
        if !self.errors.last().is_some_and(same) {
            self.errors.push(ParseError::new(self.text, pos, len as u32, message));
        }
    }
}
