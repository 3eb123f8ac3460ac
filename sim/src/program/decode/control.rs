//! Branches, calls, and instructions that end or delay a thread.

use crate::arith::Int;
use crate::program::code::{Call, Control, Op, Place, Reg, Space, Target, Value};
use crate::program::decode::address::Place as SymbolPlace;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::space_of;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::decode::scope::Symbol;
use crate::program::decode::{Decoded, Global};
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind, Variable};

const U32: Type = Type::Int(Int::U32);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["bra"], Counted::As(InstructionClass::Control), AS_WRITTEN, |d| d.bra().map(Op::Control)),
    row(&["brx"], Counted::As(InstructionClass::Control), AS_WRITTEN, |d| d.brx().map(Op::Control)),
    row(&["call"], Counted::As(InstructionClass::Control), AS_WRITTEN, |d| d.call().map(Op::Control)),
    row(&["ret", "exit", "trap", "brkpt"], Counted::As(InstructionClass::Control), AS_WRITTEN, |d| {
        d.plain_control().map(Op::Control)
    }),
    row(&["nanosleep"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| d.nanosleep().map(Op::Control)),
    row(&["pmevent"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| d.pmevent().map(Op::Control)),
    row(&["griddepcontrol"], Counted::As(InstructionClass::Barrier), AS_WRITTEN, |d| {
        d.griddepcontrol().map(Op::Control)
    }),
    row(&["prefetch", "prefetchu"], Counted::As(InstructionClass::Load), AS_WRITTEN, |d| {
        d.prefetch().map(Op::Control)
    }),
    row(&["discard", "applypriority"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| {
        d.prefetch().map(Op::Control)
    }),
];

impl<'m> Decoder<'_, '_, 'm> {
    fn label(&self, operand: &Operand) -> Decoded<u32> {
        let OperandKind::Name(name) = &operand.kind else {
            return Err(self.error_at(operand, format!("expected a label, found `{operand}`")));
        };
        match self.body.lookup(name) {
            Some(Symbol::Label(number)) => Ok(number),
            _ => Err(self.error_at(operand, format!("there is no label `{name}` here"))),
        }
    }

    /// Decodes `bra[.uni] label`.
    pub(super) fn bra(&mut self) -> Decoded<Control> {
        self.m.eat("uni");
        self.arity(1)?;
        Ok(Control::Branch(self.label(self.operand(0))?))
    }

    /// Decodes `brx.idx[.uni] index, list`.
    pub(super) fn brx(&mut self) -> Decoded<Control> {
        self.want_word("idx")?;
        self.m.eat("uni");
        self.arity(2)?;
        let index = self.src_r(0, U32)?;
        let operand = self.operand(1);
        let names = match &operand.kind {
            OperandKind::Name(name) => match self.body.lookup(name) {
                Some(Symbol::Targets(names)) => names,
                _ => return Err(self.error_at(operand, format!("`{name}` is not a `.branchtargets` list"))),
            },
            _ => return Err(self.error_at(operand, "expected the name of a `.branchtargets` list")),
        };
        let mut labels = vec![];
        for name in names {
            match self.body.lookup(name) {
                Some(Symbol::Label(number)) => labels.push(number),
                _ => return Err(self.error_at(operand, format!("there is no label `{name}` here"))),
            }
        }
        Ok(Control::BranchIndexed(index, labels.into()))
    }

    fn plain_control(&mut self) -> Decoded<Control> {
        let name = self.i.opcode();
        if name == "ret" {
            self.m.eat("uni");
        }
        self.arity(0)?;
        Ok(match name {
            "ret" => Control::Return,
            "exit" => Control::Exit,
            "trap" => Control::Trap,
            _ => Control::Breakpoint,
        })
    }

    pub(super) fn nanosleep(&mut self) -> Decoded<Control> {
        self.want_word("u32")?;
        self.arity(1)?;
        self.src_r(0, U32)?;
        Ok(Control::Yield)
    }

    pub(super) fn pmevent(&mut self) -> Decoded<Control> {
        let most = if self.m.eat("mask") { 0xffff } else { 15 };
        self.arity(1)?;
        match self.constant(0, "an event")? {
            event if (0..=most).contains(&event) => Ok(Control::Hint),
            event => Err(self.error_at(self.operand(0), format!("{event} is not in 0 … {most}"))),
        }
    }

    pub(super) fn griddepcontrol(&mut self) -> Decoded<Control> {
        let waits = self.m.eat("wait");
        if !waits && !self.m.eat("launch_dependents") {
            return Err(self.error("`griddepcontrol` requires `.launch_dependents` or `.wait`"));
        }
        self.arity(0)?;
        Ok(if waits { Control::GridWait } else { Control::Hint })
    }

    /// Decodes `prefetch…`, `discard…` and `applypriority…`, which are hints to caches that the simulator does not model.
    pub(super) fn prefetch(&mut self) -> Decoded<Control> {
        let words = self.m.all().to_vec();
        let forms: &[&[&str]] = match self.i.opcode() {
            "prefetch" => &[
                &["L1"],
                &["L2"],
                &["global", "L1"],
                &["global", "L2"],
                &["local", "L1"],
                &["local", "L2"],
                &["global", "L2::evict_last"],
                &["global", "L2::evict_normal"],
                &["tensormap"],
                &["const", "tensormap"],
                &["param", "tensormap"],
            ],
            "prefetchu" => &[&["L1"]],
            "discard" => &[&["L2"], &["global", "L2"]],
            _ => &[&["L2::evict_normal"], &["global", "L2::evict_normal"]],
        };
        if !forms.contains(&&words[..]) {
            return Err(self.unknown());
        }
        let space = space_of(words[0]).unwrap_or(Space::Generic);
        while self.m.next().is_some() {}
        let sized = !self.i.opcode().starts_with("prefetch");
        self.arity(if sized { 2 } else { 1 })?;
        if sized && self.constant(1, "a size")? != 128 {
            return Err(self.error_at(self.operand(1), "the size is 128"));
        }
        self.addr(0, space)?;
        Ok(Control::Hint)
    }

    /// Decodes `call[.uni] (results), function, (arguments)[, targets or prototype]`.
    pub(super) fn call(&mut self) -> Decoded<Control> {
        self.m.eat("uni");
        let operands = &self.i.operands;
        let mut at = 0;
        let group = |n: usize| match operands.get(n).map(|o| &o.kind) {
            Some(OperandKind::Group(items)) => Some(&items[..]),
            _ => None,
        };
        let results = match group(0) {
            Some(items) => {
                at = 1;
                items
            }
            None => &[],
        };
        let Some(function) = operands.get(at) else { return Err(self.error("`call` requires a function")) };
        let arguments = group(at + 1).unwrap_or(&[]);
        let tail = at + 1 + usize::from(group(at + 1).is_some());
        let target = self.call_target(function)?;
        match (&target, operands.len() - tail) {
            (Target::Direct(_), 0) | (Target::Indirect(_), 1) => {}
            (Target::Indirect(_), 0) => {
                return Err(self.error("an indirect call requires a `.callprototype` or `.calltargets`"));
            }
            _ => return Err(self.error_at(&operands[tail], "unexpected operand")),
        }
        let params = self.call_params(&target, operands.get(tail));
        let args = self.call_places(arguments, false, params)?;
        let returns = self.call_places(results, true, &[])?;
        self.check_call(&target, &args, &returns, operands.get(tail))?;
        self.body.builder.note_call(&target);
        Ok(Control::Call(Box::new(Call { target, args, returns, frame: 0 })))
    }

    fn call_target(&mut self, function: &'m Operand) -> Decoded<Target> {
        let OperandKind::Name(name) = &function.kind else {
            return Err(self.error_at(function, format!("expected a function, found `{function}`")));
        };
        if self.body.lookup(name).is_none() {
            return match self.body.builder.global(name) {
                Some(Global::Function(i)) => {
                    let function = self.body.builder.symbols.functions[i];
                    Ok(Target::Direct(self.body.builder.callee(function)?))
                }
                _ => Err(self.error_at(function, format!("there is no function `{name}`"))),
            };
        }
        match self.src_as(function, Type::B64, Fit::Exact)? {
            Reg::D(d) => {
                self.body.builder.callees_in_tables()?;
                Ok(Target::Indirect(d))
            }
            _ => Err(self.error_at(function, "expected a function or a 64-bit register")),
        }
    }

    /// Returns the parameters of a function or a prototype.
    fn call_params(&self, target: &Target, prototype: Option<&'m Operand>) -> &'m [Variable] {
        match (target, prototype.map(|p| &p.kind)) {
            (Target::Direct(callee), _) => {
                let function = self.body.builder.code.callees[*callee as usize].function;
                &self.body.builder.symbols.functions[function as usize].params
            }
            (Target::Indirect(_), Some(OperandKind::Name(name))) => match self.body.lookup(name) {
                Some(Symbol::Prototype { params, .. }) => params,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Returns the locations of arguments or results: `.param` variables, registers or constants that match `params`.
    fn call_places(
        &mut self,
        items: &'m [Operand],
        results: bool,
        params: &[Variable],
    ) -> Decoded<Vec<Place>> {
        let mut places = vec![];
        for item in items {
            if let OperandKind::Name(name) = &item.kind
                && let Some(Symbol::Frame { offset, size, .. }) = self.body.lookup(name)
            {
                places.push(Place::Frame { offset, size });
                continue;
            }
            if let Some((reg, _)) = self.register_of(item)? {
                if results {
                    self.defs.push(reg);
                } else {
                    self.uses.push(reg);
                }
                places.push(Place::Register(reg));
                continue;
            }
            match (&item.kind, results) {
                (OperandKind::Int(value), false) => {
                    let d = self.body.builder.preset_d(Value::Bits(value.get() as u64));
                    places.push(Place::Register(Reg::D(d)));
                }
                (OperandKind::Single(_) | OperandKind::Double(_), false) => {
                    let ty = params.get(places.len()).and_then(|param| Type::parse(&param.ty));
                    places.push(Place::Register(self.src_as(item, ty.unwrap_or(Type::F32), Fit::Exact)?));
                }
                (OperandKind::Name(name), false) => match self.symbol(item, name, 0, false)? {
                    SymbolPlace::Value(value, _) => {
                        places.push(Place::Register(Reg::D(self.body.builder.preset_d(value))));
                    }
                    SymbolPlace::Frame(_) => return Err(self.error_at(item, "not a parameter")),
                },
                _ => return Err(self.error_at(item, format!("`{item}` cannot be passed"))),
            }
        }
        Ok(places)
    }

    /// Checks that the number and sizes of arguments and results match the function or prototype.
    fn check_call(
        &self,
        target: &Target,
        args: &[Place],
        returns: &[Place],
        prototype: Option<&'m Operand>,
    ) -> Decoded<()> {
        let (want_args, want_returns) = match target {
            Target::Direct(index) => {
                let callee = &self.body.builder.code.callees[*index as usize];
                (callee.params.len(), callee.returns.len())
            }
            Target::Indirect(_) => match prototype.map(|p| (&p.kind, p)) {
                Some((OperandKind::Name(name), operand)) => match self.body.lookup(name) {
                    Some(Symbol::Prototype { returns, params }) => (params.len(), returns.len()),
                    Some(Symbol::Targets(_)) => return Ok(()),
                    _ => return Err(self.error_at(operand, format!("`{name}` is not a prototype"))),
                },
                _ => return Err(self.error("an indirect call requires a prototype")),
            },
        };
        if let Target::Direct(index) = target {
            let callee = &self.body.builder.code.callees[*index as usize];
            let passed = args.iter().zip(&callee.params).chain(returns.iter().zip(&callee.returns));
            for (given, expected) in passed {
                if let (Place::Frame { size: given, .. }, Place::Frame { size: expected, .. }) =
                    (given, expected)
                    && given != expected
                    && *expected != 0
                {
                    let message = format!("{given} bytes are passed where the function has {expected}");
                    return Err(self.error(message));
                }
            }
        }
        if args.len() != want_args {
            return Err(self.error(format!("the function takes {want_args} arguments, found {}", args.len())));
        }
        if returns.len() != want_returns {
            return Err(
                self.error(format!("the function gives {want_returns} results, found {}", returns.len()))
            );
        }
        Ok(())
    }
}
