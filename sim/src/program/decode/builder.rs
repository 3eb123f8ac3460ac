//! Collects the code of one entry function and of the functions that it can reach, or checks one function.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::program::analysis::watch;
use crate::program::analysis::watch::Touches;
use crate::program::analysis::{contract, cycles, in_flight, products};
use crate::program::code::{
    Builtin, Callee, Code, Control, D, Instr, Meta, Op, P, ParamSlot, Place, Preset, R, Reg, Slots,
    SourceLine, Space, Target, Value, Watched,
};
use crate::program::decode::function::Body;
use crate::program::decode::{Decoded, Global, MAX_SHARED, Symbols, size_of};
use crate::program::types::Type;
use crate::text::ast::{Function, FunctionKind, Init, Linkage, Name, Space as Declared, Variable};
use crate::text::error::ParseError;

/// The maximum size in bytes of local memory per thread (CUDA C++ Programming Guide, "Technical Specifications").
const MAX_LOCAL: u64 = 512 * 1024;

/// The maximum total size in bytes of kernel parameters on sm_70 and later.
const MAX_PARAM: u64 = 32764;

/// Code under construction.
pub(super) struct Builder<'m> {
    pub(super) symbols: &'m Symbols<'m>,
    pub(super) code: Code,
    /// Whether code is collected. If not, one function is only checked for errors.
    pub(super) linking: bool,
    presets: FxHashMap<(u8, Value), Reg>,
    mnemonics: FxHashMap<&'m str, u32>,
    callees: FxHashMap<&'m str, u32>,
    tables_are_callees: bool,
    queue: VecDeque<(u32, &'m Function)>,
    /// The offsets of shared variables, by the address of their declaration.
    shared: FxHashMap<*const Variable, u32>,
    /// The callees of each callee; `u32::MAX` represents an indirect call.
    pub(super) calls: Vec<Vec<u32>>,
    pub(super) current: u32,
    /// The registers that each instruction accesses, and the names of registers.
    touches: Vec<Touches>,
    pub(super) names: HashMap<Reg, Arc<str>>,
    /// The errors in statements after which decoding continued.
    pub(super) errors: Vec<ParseError>,
}

/// The results of checking a function.
#[derive(Default)]
pub(super) struct Checked {
    /// The number of bytes of static shared memory that the function itself uses.
    pub(super) shared: u32,
    /// The functions that it calls or whose addresses it uses.
    pub(super) callees: Vec<u32>,
}

/// Checks one function and returns all of its errors, not only the first.
pub(super) fn check<'m>(
    symbols: &'m Symbols<'m>,
    function: &'m Function,
) -> Result<Checked, Vec<ParseError>> {
    let code = Builder::new(symbols, function, false).run(function)?;
    Ok(Checked { shared: code.static_shared, callees: code.callees.iter().map(|c| c.function).collect() })
}

/// Decodes an entry function and all functions that it can reach.
pub(super) fn link<'m>(symbols: &'m Symbols<'m>, entry: &'m Function) -> Result<Code, Vec<ParseError>> {
    Builder::new(symbols, entry, true).run(entry)
}

fn empty(entry: &str) -> Code {
    Code {
        entry: Arc::from(entry),
        instrs: vec![],
        meta: vec![],
        mnemonics: vec![],
        locs: vec![],
        slots: Slots::default(),
        presets: vec![],
        callees: vec![],
        frame: 0,
        used: 0,
        static_shared: 0,
        dynamic_align: 16,
        uses_dynamic_shared: false,
        shared_unit: 4,
        global_unit: 4,
        params: vec![],
        param_bytes: 0,
        communicates: false,
        writes_global: false,
        uses_heap: false,
        waits_for_grid: false,
        loads_in_flight: vec![],
        operands: vec![],
        register_names: HashMap::new(),
        watched: Watched::default(),
        product_registers: 0,
        contractions: vec![],
    }
}

/// Returns the parameters of an entry function, and their total size in bytes.
pub(super) fn params(symbols: &Symbols<'_>, entry: &Function) -> Decoded<(Vec<ParamSlot>, u32)> {
    let mut slots = vec![];
    let mut offset = 0u64;
    for param in &entry.params {
        let (_, size, align) = size_of(symbols, param)?;
        if param.space != Declared::Param {
            let message = "a kernel takes its parameters in `.param`";
            return Err(symbols.error(param.pos, param.name.len(), message));
        }
        offset = offset.next_multiple_of(u64::from(align));
        let ty = if param.dims.is_empty() { param.ty.to_string() } else { format!("{}[{size}]", param.ty) };
        slots.push(ParamSlot {
            name: (&param.name).into(),
            ty: ty.into(),
            offset: offset as u32,
            size: size as u32,
        });
        offset += size;
        if offset > MAX_PARAM {
            let message = format!("the parameters take more than {MAX_PARAM} bytes");
            return Err(symbols.error(param.pos, param.name.len(), message));
        }
    }
    Ok((slots, offset as u32))
}

impl<'m> Builder<'m> {
    fn new(symbols: &'m Symbols<'m>, root: &'m Function, linking: bool) -> Self {
        Self {
            symbols,
            code: empty(&root.name),
            linking,
            presets: FxHashMap::default(),
            mnemonics: FxHashMap::default(),
            callees: FxHashMap::default(),
            tables_are_callees: false,
            queue: VecDeque::new(),
            shared: FxHashMap::default(),
            calls: vec![],
            current: u32::MAX,
            touches: vec![],
            names: HashMap::new(),
            errors: vec![],
        }
    }

    fn run(mut self, root: &'m Function) -> Result<Code, Vec<ParseError>> {
        if let Err(error) = self.decode(root) {
            self.errors.push(error);
        }
        match self.errors.is_empty() {
            true if self.linking => Ok(self.analyzed()),
            true => Ok(self.code),
            false => Err(self.errors),
        }
    }

    /// Returns the complete code with the results of the analyses.
    fn analyzed(mut self) -> Code {
        self.mark_recursion();
        let starts = self.starts();
        let code = &mut self.code;
        let is_heap = |callee: &Callee| matches!(callee.builtin, Some(Builtin::Malloc | Builtin::Free));
        code.uses_heap = code.callees.iter().any(is_heap);
        // The addresses that `malloc` returns must be the same on every machine.
        code.communicates = code.uses_heap || code.instrs.iter().any(|i| i.op.properties().meets_blocks);
        let waits = |i: &Instr| matches!(i.op, Op::Control(Control::GridWait));
        code.waits_for_grid = code.instrs.iter().any(waits);
        code.writes_global = code.instrs.iter().any(|i| i.op.properties().writes_global);
        let smallest = |spaces: &[Space]| {
            let elements = code.instrs.iter().filter_map(|instr| instr.op.properties().element);
            let there = elements.filter(|element| element.space.is_none_or(|space| spaces.contains(&space)));
            there.map(|element| element.bytes).min().unwrap_or(4).min(4)
        };
        let shared = smallest(&[Space::Shared, Space::SharedCluster, Space::Generic]);
        let global = smallest(&[Space::Global, Space::Generic]);
        (code.shared_unit, code.global_unit) = (shared, global);
        contract::fuse(code, &mut self.touches, &starts);
        watch::mark(code, &self.touches, &self.names, &starts);
        products::mark(code, &self.touches);
        code.loads_in_flight = in_flight::loads(code, &self.touches);
        for meta in &mut code.meta {
            meta.late = meta.look.as_ref().is_some_and(|look| look.is_late());
        }
        code.operands = self.touches.iter().map(Touches::registers).collect();
        code.register_names = self.names;
        self.code
    }

    fn decode(&mut self, root: &'m Function) -> Decoded<()> {
        if root.kind == FunctionKind::Entry {
            (self.code.params, self.code.param_bytes) = params(self.symbols, root)?;
            (self.code.frame, self.code.used) = Body::decode(self, root, None)?;
        } else {
            self.callee(root)?;
        }
        self.finish_queue(root)
    }

    /// Returns the offset of a kernel parameter.
    pub(super) fn param_offset(&self, name: &str) -> Option<u32> {
        self.code.params.iter().find(|p| &*p.name == name).map(|p| p.offset)
    }

    fn finish_queue(&mut self, root: &'m Function) -> Decoded<()> {
        while let Some((index, function)) = self.queue.pop_front() {
            if !self.linking && !std::ptr::eq(function, root) {
                continue;
            }
            let before = self.code.slots;
            self.current = index;
            self.code.callees[index as usize].start = self.code.instrs.len() as u32;
            let (frame, used) = Body::decode(self, function, Some(index))?;
            let callee = &mut self.code.callees[index as usize];
            (callee.frame, callee.used) = (frame, used);
            callee.saved = Some((before, self.code.slots));
        }
        Ok(())
    }

    /// Returns the indices of the first instructions of the functions.
    fn starts(&self) -> Vec<usize> {
        let callees = self.code.callees.iter().filter(|c| c.builtin.is_none()).map(|c| c.start as usize);
        let mut starts: Vec<usize> = callees.chain([0]).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Marks recursive functions. Other functions do not need to save their registers.
    fn mark_recursion(&mut self) {
        let n = self.code.callees.len();
        self.calls.resize(n, vec![]);
        let recursive = cycles::on_cycles(&self.calls);
        for (callee, recursive) in self.code.callees.iter_mut().zip(recursive) {
            callee.saved = callee.saved.filter(|_| recursive);
        }
    }

    /// Returns the index of a function among the callees, and queues it for decoding if it is new.
    pub(super) fn callee(&mut self, function: &'m Function) -> Decoded<u32> {
        if let Some(&index) = self.callees.get(function.name.as_str()) {
            return Ok(index);
        }
        let index = self.code.callees.len() as u32;
        let builtin = match function.name.as_str() {
            _ if function.body.is_some() => None,
            "vprintf" => Some(Builtin::Vprintf),
            "__assertfail" => Some(Builtin::AssertFail),
            "malloc" => Some(Builtin::Malloc),
            "free" => Some(Builtin::Free),
            _ => Some(Builtin::Missing),
        };
        let mut offset = 0;
        let params = self.places(&function.params, &mut offset)?;
        let returns = self.places(&function.returns, &mut offset)?;
        self.code.callees.push(Callee {
            name: (&function.name).into(),
            function: self.symbols.function_index(function),
            start: 0,
            frame: offset,
            used: offset,
            params,
            returns,
            saved: None,
            watched: Box::default(),
            builtin,
        });
        self.callees.insert(&function.name, index);
        if builtin.is_none() {
            self.queue.push_back((index, function));
        }
        Ok(index)
    }

    /// Adds the functions whose addresses are in initializers, because any indirect call can reach them.
    pub(super) fn callees_in_tables(&mut self) -> Decoded<()> {
        if !self.linking || std::mem::replace(&mut self.tables_are_callees, true) {
            return Ok(());
        }
        for variable in &self.symbols.variables {
            if let Some(init) = &variable.init {
                self.callees_in(init)?;
            }
        }
        Ok(())
    }

    fn callees_in(&mut self, init: &Init) -> Decoded<()> {
        match init {
            Init::List(items) => items.iter().try_for_each(|item| self.callees_in(item)),
            Init::Address { name, .. } => match self.global(name) {
                Some(Global::Function(i)) if self.symbols.functions[i].kind == FunctionKind::Func => {
                    self.callee(self.symbols.functions[i]).map(|_| ())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn places(&mut self, params: &'m [Variable], offset: &mut u32) -> Decoded<Vec<Place>> {
        let mut places = vec![];
        for param in params {
            let (ty, size, align) = match param.space {
                Declared::Reg => {
                    let ty = Type::parse(&param.ty).ok_or_else(|| {
                        self.symbols.error(
                            param.pos,
                            param.name.len(),
                            format!("unknown type `.{}`", param.ty),
                        )
                    })?;
                    (ty, 0, 1)
                }
                _ => size_of(self.symbols, param)?,
            };
            if param.space == Declared::Reg {
                places.push(Place::Register(self.new_register(ty)));
                continue;
            }
            *offset = self.grow_frame(*offset, size, align, param)?;
            places.push(Place::Frame { offset: *offset, size: size as u32 });
            *offset += size as u32;
        }
        Ok(places)
    }

    /// Returns the aligned start of a variable after `offset`, or an error if its end exceeds a thread's local memory.
    pub(super) fn grow_frame(&self, offset: u32, size: u64, align: u32, variable: &Variable) -> Decoded<u32> {
        let start = u64::from(offset).next_multiple_of(u64::from(align.max(4)));
        if start + size > MAX_LOCAL {
            let message = format!("local variables take more than {MAX_LOCAL} bytes of a thread");
            return Err(self.symbols.error(variable.pos, variable.name.len(), message));
        }
        Ok(start as u32)
    }

    /// Allocates a slot for a register of a type.
    pub(super) fn new_register(&mut self, ty: Type) -> Reg {
        let slots = &mut self.code.slots;
        match ty.bits() {
            1 => {
                slots.p += 1;
                Reg::P(P(slots.p - 1))
            }
            64 => {
                slots.d += 1;
                Reg::D(D(slots.d - 1))
            }
            128 => {
                slots.d += 2;
                Reg::Q(D(slots.d - 2))
            }
            _ => {
                slots.r += 1;
                Reg::R(R(slots.r - 1))
            }
        }
    }

    fn preset(&mut self, ty: Type, value: Value) -> Reg {
        let class = ty.bits().max(32) as u8;
        let class = if ty == Type::Pred { 1 } else { class };
        if let Some(&reg) = self.presets.get(&(class, value)) {
            return reg;
        }
        let slot = self.new_register(ty);
        self.presets.insert((class, value), slot);
        self.code.presets.push(Preset { slot, value });
        slot
    }

    pub(super) fn preset_r(&mut self, value: Value) -> R {
        match self.preset(Type::B32, value) {
            Reg::R(r) => r,
            other => unreachable!("a 32-bit preset in {other:?}"),
        }
    }

    pub(super) fn preset_d(&mut self, value: Value) -> D {
        match self.preset(Type::B64, value) {
            Reg::D(d) => d,
            other => unreachable!("a 64-bit preset in {other:?}"),
        }
    }

    pub(super) fn preset_p(&mut self, value: bool) -> P {
        self.preset_p_of(Value::Bits(u64::from(value)))
    }

    pub(super) fn preset_p_of(&mut self, value: Value) -> P {
        match self.preset(Type::Pred, value) {
            Reg::P(p) => p,
            other => unreachable!("a predicate preset in {other:?}"),
        }
    }

    pub(super) fn push(&mut self, instr: Instr, meta: Meta, touches: Touches) {
        self.code.instrs.push(instr);
        self.code.meta.push(meta);
        self.touches.push(touches);
    }

    /// Records the name of a register.
    pub(super) fn name(&mut self, register: Reg, name: &Name) {
        if self.linking {
            self.names.insert(register, name.into());
        }
    }

    pub(super) fn mnemonic(&mut self, text: &'m str) -> u32 {
        *self.mnemonics.entry(text).or_insert_with(|| {
            self.code.mnemonics.push(text.into());
            self.code.mnemonics.len() as u32 - 1
        })
    }

    pub(super) fn loc(&mut self, line: SourceLine) -> u32 {
        if self.code.locs.last() != Some(&line) {
            self.code.locs.push(line);
        }
        self.code.locs.len() as u32 - 1
    }

    /// Returns the address of a shared variable. Static variables are laid out in the order of their first use.
    pub(super) fn shared(&mut self, variable: &Variable, offset: i64, generic: bool) -> Decoded<Value> {
        let (_, size, align) = size_of(self.symbols, variable)?;
        if variable.linkage == Linkage::Extern || size == 0 {
            self.code.dynamic_align = self.code.dynamic_align.max(align);
            self.code.uses_dynamic_shared = true;
            return Ok(Value::DynamicShared { offset, generic });
        }
        let key: *const Variable = variable;
        let start = match self.shared.get(&key) {
            Some(&start) => start,
            None => {
                let start = self.code.static_shared.next_multiple_of(align);
                let end = u64::from(start) + size;
                if end > MAX_SHARED {
                    let message = format!("{end} bytes of shared memory; a block has {MAX_SHARED}");
                    return Err(self.symbols.error(variable.pos, variable.name.len(), message));
                }
                self.code.static_shared = end as u32;
                self.shared.insert(key, start);
                start
            }
        };
        Ok(Value::Shared { offset: i64::from(start) + offset, generic })
    }

    /// Records that the current function calls `target`.
    pub(super) fn note_call(&mut self, target: &Target) {
        let to = match target {
            Target::Direct(index) => *index,
            Target::Indirect(_) => cycles::ANY,
        };
        if self.current == u32::MAX {
            return;
        }
        let at = self.current as usize;
        if self.calls.len() <= at {
            self.calls.resize(at + 1, vec![]);
        }
        self.calls[at].push(to);
    }

    /// Returns the module-level function or variable with the given name.
    pub(super) fn global(&self, name: &str) -> Option<Global> {
        self.symbols.names.get(name).copied()
    }

    /// Replaces label numbers with instruction indices in all instructions starting at `start`. Calls among these instructions reserve the
    /// whole frame of their function.
    pub(super) fn patch(&mut self, start: usize, labels: &[Option<u32>], frame: u32) {
        let resolve = |label: &mut u32| *label = labels[*label as usize].unwrap_or(0);
        for instr in &mut self.code.instrs[start..] {
            match &mut instr.op {
                Op::Control(Control::Branch(to)) => resolve(to),
                Op::Control(Control::Call(call)) => call.frame = frame,
                Op::Control(Control::BranchIndexed(_, list)) => list.iter_mut().for_each(resolve),
                _ => {}
            }
        }
    }
}
