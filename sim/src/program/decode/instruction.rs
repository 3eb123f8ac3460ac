//! One instruction: guard, opcode, qualifiers, operands.

use crate::program::analysis::watch::Touches;
use crate::program::code::{Alu, Control, D1, Guard, Instr, Look, Meta, Op, Reg, Space};
use crate::program::decode::Decoded;
use crate::program::decode::function::Body;
use crate::program::decode::modifiers::Modifiers;
use crate::program::types::Type;
use crate::text::ast::{Instruction, Operand};
use crate::text::error::ParseError;

/// An instruction being decoded.
pub(super) struct Decoder<'c, 'b, 'm> {
    pub(super) body: &'c mut Body<'b, 'm>,
    pub(super) i: &'m Instruction,
    pub(super) m: Modifiers<'m>,
    pub(super) uses: Vec<Reg>,
    /// Registers whose values decide where something happens.
    pub(super) sinks: Vec<Reg>,
    pub(super) defs: Vec<Reg>,
    /// See [`Touches`].
    pub(super) contractible: bool,
}

/// How the qualifiers of forms begin that are not executed.
const UNSUPPORTED: [&str; 2] = ["cta_group::", "im2col::"];

/// The generic address that an instruction converts to its own space.
fn converted(op: &Op) -> Option<(Space, crate::program::code::D)> {
    match *op {
        Op::Alu(Alu::D1(D1::GenericToShared, _, a)) => Some((Space::Shared, a)),
        Op::Alu(Alu::D1(D1::GenericToLocal, _, a)) => Some((Space::Local, a)),
        _ => None,
    }
}

impl<'c, 'b, 'm> Decoder<'c, 'b, 'm> {
    /// Decodes an instruction and appends it to the code.
    pub(super) fn decode(body: &'c mut Body<'b, 'm>, i: &'m Instruction) -> Decoded<()> {
        let mut decoder = Decoder {
            body,
            i,
            m: Modifiers::new(i.opcode(), i.modifiers()),
            uses: vec![],
            sinks: vec![],
            defs: vec![],
            contractible: false,
        };
        let guard = decoder.guard()?;
        let op = decoder.op()?;
        if let Some(word) = decoder.m.peek() {
            return Err(decoder.error(format!("`.{word}` does not belong in `{}`", i.mnemonic())));
        }
        if !decoder.body.builder.linking {
            return Ok(());
        }
        let mnemonic = decoder.body.builder.mnemonic(i.mnemonic());
        let look =
            converted(&op).map(|converts| Box::new(Look { converts: Some(converts), ..Look::default() }));
        let meta = Meta {
            line: i.pos.line,
            column: i.pos.column,
            loc: decoder.body.loc(),
            mnemonic,
            look,
            late: false,
        };
        let touches = decoder.touches(&op);
        decoder.body.builder.push(Instr::new(guard, op), meta, touches);
        Ok(())
    }

    /// Sorts the registers read by what an undefined value in them would mean: computing and copying is not a finding.
    fn touches(&mut self, op: &Op) -> Touches {
        let [uses, mut sinks, defs] = [&mut self.uses, &mut self.sinks, &mut self.defs].map(std::mem::take);
        let reads = [&uses[..], &sinks].concat();
        let passes = op.properties().passes;
        let (sources, decisive): (Vec<Reg>, Vec<Reg>) =
            uses.into_iter().partition(|&reg| passes.includes(reg));
        sinks.extend(decisive);
        Touches { sources, sinks, writes: defs, reads, contractible: self.contractible }
    }

    fn guard(&mut self) -> Decoded<Guard> {
        let Some(guard) = &self.i.guard else { return Ok(Guard::Always) };
        match self.register(&guard.name, guard.pos)? {
            Some((Reg::P(p), _)) => Ok(if guard.negated { Guard::Unless(p) } else { Guard::If(p) }),
            Some((_, ty)) => {
                let message = format!("a guard is a predicate; `{}` is a {ty} register", guard.name);
                Err(self.body.error(guard.pos, guard.name.len() as u32, message))
            }
            None => {
                let message = format!("`{}` is not declared", guard.name);
                Err(self.body.error(guard.pos, guard.name.len() as u32, message))
            }
        }
    }

    fn op(&mut self) -> Decoded<Op> {
        let name = self.i.opcode();
        if self.m.all().iter().any(|word| UNSUPPORTED.iter().any(|start| word.starts_with(start))) {
            return Err(self.unsupported());
        }
        let alu = |alu: Decoded<Alu>| alu.map(Op::Alu);
        let control = |control: Decoded<Control>| control.map(Op::Control);
        match name {
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "abs" | "neg" | "min" | "max"
            | "addc" | "subc" | "madc" => alu(self.arithmetic(name)),
            "mul24" | "mad24" | "sad" | "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe" | "bfi"
            | "szext" | "bmsk" | "dp4a" | "dp2a" | "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shf"
            | "shl" | "shr" | "prmt" => alu(self.integer(name)),
            "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign" | "testp" => {
                alu(self.float_function(name))
            }
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vmad" | "vset" | "vadd2"
            | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4" | "vsub4"
            | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => alu(self.video(name)),
            "setp" => alu(self.setp()),
            "set" => alu(self.set()),
            "selp" => alu(self.selp()),
            "slct" => alu(self.slct()),
            "mov" => self.mov(),
            "cvt" => alu(self.cvt()),
            "cvta" => alu(self.cvta()),
            "isspacep" => self.isspacep().map(Op::Memory),
            "ld" | "ldu" => self.ld().map(Op::Memory),
            "st" => self.st().map(Op::Memory),
            "alloca" => self.alloca().map(Op::Memory),
            "stacksave" => self.stack_save().map(Op::Memory),
            "stackrestore" => self.stack_restore().map(Op::Memory),
            "atom" | "red" => self.atom(name == "red").map(Op::Memory),
            "cp" => self.cp(),
            "tensormap" => self.tensormap().map(Op::Memory),
            "ldmatrix" | "stmatrix" => self.matrix_access(name == "ldmatrix").map(Op::Memory),
            "movmatrix" => self.movmatrix().map(Op::Warp),
            "mma" => self.mma().map(|tensor| Op::Tensor(Box::new(tensor))),
            "wmma" => self.wmma().map(|tensor| Op::Tensor(Box::new(tensor))),
            "wgmma" => self.wgmma(),
            "shfl" => self.shfl().map(Op::Warp),
            "vote" => self.vote().map(Op::Warp),
            "match" => self.match_sync().map(Op::Warp),
            "redux" => self.redux().map(Op::Warp),
            "activemask" => self.activemask().map(Op::Warp),
            "elect" => self.elect().map(Op::Warp),
            "bar" | "barrier" => control(self.barrier(name)),
            "membar" | "fence" => control(self.fence(name)),
            "bra" => control(self.bra()),
            "brx" => control(self.brx()),
            "call" => control(self.call()),
            "ret" | "exit" | "trap" | "brkpt" => control(self.plain_control(name)),
            "nanosleep" => control(self.nanosleep()),
            "pmevent" => control(self.pmevent()),
            "prefetch" | "prefetchu" | "discard" | "applypriority" => control(self.prefetch()),
            "createpolicy" => alu(self.createpolicy()),
            "mbarrier" => self.mbarrier().map(Op::Memory),
            "mapa" => alu(self.mapa()),
            "getctarank" => alu(self.getctarank()),
            "setmaxnreg" => control(self.setmaxnreg()),
            "griddepcontrol" => control(self.griddepcontrol()),
            "tcgen05" | "multimem" | "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq"
            | "istypep" => Err(self.unsupported()),
            "clusterlaunchcontrol" => self.cluster_launch_control(),
            _ => Err(self.unknown()),
        }
    }

    /// The error of what is PTX, but is not executed; only kernels that reach it cannot be launched.
    pub(super) fn unsupported(&self) -> ParseError {
        self.error(format!("`{}` is not supported", self.i.mnemonic())).of_unsupported()
    }

    /// An error at the opcode.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        let len = self.i.mnemonic().chars().count() as u32;
        self.body.error(self.i.pos, len, message)
    }

    /// The error of a form that does not exist.
    pub(super) fn unknown(&self) -> ParseError {
        self.error(format!("unknown instruction `{}`", self.i.mnemonic()))
    }

    /// An error at an operand.
    pub(super) fn error_at(&self, operand: &Operand, message: impl Into<String>) -> ParseError {
        self.body.error(operand.pos, operand.len.0, message)
    }

    /// Checks the number of operands.
    pub(super) fn arity(&self, want: usize) -> Decoded<()> {
        self.arity_of(want, want)
    }

    /// Checks that there are `least ..= most` operands.
    pub(super) fn arity_of(&self, least: usize, most: usize) -> Decoded<()> {
        let found = self.i.operands.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let want = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let s = if most == 1 { "" } else { "s" };
        Err(self.error(format!("`{}` takes {want} operand{s}, found {found}", self.i.mnemonic())))
    }

    pub(super) fn operand(&self, n: usize) -> &'m Operand {
        &self.i.operands[n]
    }

    pub(super) fn count(&self) -> usize {
        self.i.operands.len()
    }

    /// The qualifiers up to a type, and the type.
    pub(super) fn head(&mut self) -> Decoded<(Vec<&'m str>, Type)> {
        let mut words = vec![];
        loop {
            if let Some(ty) = self.m.ty() {
                return Ok((words, ty));
            }
            match self.m.next() {
                Some(word) => words.push(word),
                None if self.i.modifiers().is_empty() => {
                    return Err(self.error(format!("`{}` requires a type", self.i.opcode())));
                }
                None => return Err(self.unknown_word(words.last().unwrap_or(&""))),
            }
        }
    }

    pub(super) fn unknown_word(&self, word: &str) -> ParseError {
        self.error(format!("`.{word}` does not belong in `{}`", self.i.mnemonic()))
    }

    /// Refuses any of `words` that is not in `allowed`, and repetitions.
    pub(super) fn allow(&self, words: &[&str], allowed: &[&str]) -> Decoded<()> {
        for (i, word) in words.iter().enumerate() {
            if !allowed.contains(word) || words[..i].contains(word) {
                return Err(self.unknown_word(word));
            }
        }
        Ok(())
    }

    /// The error of a type the instruction does not exist for.
    pub(super) fn no_such_type(&self, ty: Type) -> ParseError {
        self.error(format!("there is no `{}` on {ty}", self.i.opcode()))
    }

    /// A required qualifier that `f` knows.
    pub(super) fn want<T>(&mut self, what: &str, f: impl FnOnce(&str) -> Option<T>) -> Decoded<T> {
        match self.m.take(f) {
            Some(value) => Ok(value),
            None => Err(self.missing(what)),
        }
    }

    pub(super) fn want_type(&mut self) -> Decoded<Type> {
        match self.m.ty() {
            Some(ty) => Ok(ty),
            None => Err(self.missing("a type")),
        }
    }

    pub(super) fn want_word(&mut self, word: &str) -> Decoded<()> {
        if self.m.eat(word) { Ok(()) } else { Err(self.missing(&format!("`.{word}`"))) }
    }

    fn missing(&self, what: &str) -> ParseError {
        let found = match self.m.peek() {
            Some(word) => format!("`.{word}`"),
            None => "the end".into(),
        };
        self.error(format!("`{}` requires {what}, found {found}", self.i.mnemonic()))
    }
}
