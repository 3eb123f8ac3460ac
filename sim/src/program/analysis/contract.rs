//! Finds the products that ptxas fuses with a sum: a `mul` and an `add` or `sub` without rounding modifiers become one `fma`.
//!
//! The PTX ISA allows this ("add": an `add` without a rounding modifier may be contracted). The rules were determined by experiments with
//! ptxas 13.0 for sm_80 to sm_100, and match the code that it generates for 6,000 random straight-line function bodies:
//! - the product and the sum are in the same basic block, have the same type and the same `.ftz`, and have no rounding modifiers; only the
//!   sum may have `.sat` or a guard;
//! - `mov` and `neg` may be between them;
//! - every use of the product is such a sum, which reads the product once and is not fused with another product. A product that remains the
//!   addend of an `fma` has a use of another kind;
//! - products with one use are assigned first, in program order, and then the others. If a sum can be fused with either of two products, it
//!   is fused with the product with fewer uses, or, if both have the same number of uses, with the first operand.

use std::collections::{HashMap, HashSet};

use crate::arith::{Float, Round};
use crate::program::analysis::watch::{Touches, leaders, successors};
use crate::program::code::{
    Alu, Code, Contraction, Control, D, D1, D2, D3, FloatFn, FloatOp, Guard, H2, Instr, Kept, Memory, Op, P,
    Preset, R, R1, R2, R3, Reg, Space, Value,
};

/// Fuses products and sums as ptxas does. [`Code::contractions`] contains the information needed to undo this.
pub(crate) fn fuse(code: &mut Code, touches: &mut [Touches], starts: &[usize]) {
    if !touches.iter().any(|touches| touches.contractible) {
        return;
    }
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(code.instrs.len());
        let mut body = Body::new(code, touches, start..end);
        body.find_products();
        body.find_lasting();
        let fused = body.choose();
        let products = body.products;
        for (at, taken) in fused {
            rewrite(code, touches, at, &products[taken.product], taken);
        }
    }
}

/// The common properties of `mul`, `add` and `sub`: the number format and the modifiers of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    ty: Float,
    pair: bool,
    ftz: bool,
}

const F32: Form = Form { ty: Float::F32, pair: false, ftz: false };
const F64: Form = Form { ty: Float::F64, pair: false, ftz: false };

/// A `mul`, `add` or `sub`.
#[derive(Clone, Copy, Debug)]
struct Operation {
    f: FloatFn,
    form: Form,
    sat: bool,
    d: Reg,
    operands: [Reg; 2],
}

impl Operation {
    fn of(op: &Op) -> Option<Self> {
        let plain = |f, form, d, a, b| Some(Self { f, form, sat: false, d, operands: [a, b] });
        match *op {
            Op::Alu(Alu::R2(f, d, a, b)) => {
                let f = match f {
                    R2::MulF32 => FloatFn::Mul,
                    R2::AddF32 => FloatFn::Add,
                    R2::SubF32 => FloatFn::Sub,
                    _ => return None,
                };
                plain(f, F32, Reg::R(d), Reg::R(a), Reg::R(b))
            }
            Op::Alu(Alu::D2(f, d, a, b)) => {
                let f = match f {
                    D2::MulF64 => FloatFn::Mul,
                    D2::AddF64 => FloatFn::Add,
                    D2::SubF64 => FloatFn::Sub,
                    _ => return None,
                };
                plain(f, F64, Reg::D(d), Reg::D(a), Reg::D(b))
            }
            Op::Alu(Alu::Float(ref op)) if matches!(op.f, FloatFn::Mul | FloatFn::Add | FloatFn::Sub) => {
                let form = Form { ty: op.ty, pair: op.pair, ftz: op.ftz };
                Some(Self { f: op.f, form, sat: op.sat, d: op.d, operands: [op.a, op.b] })
            }
            _ => None,
        }
    }

    fn is_product(&self) -> bool {
        self.f == FloatFn::Mul && !self.sat
    }
}

/// A product that may be fused with a sum.
struct Product {
    at: usize,
    form: Form,
    factors: [Reg; 2],
    /// The instructions that read the product, listed once per operand.
    uses: Vec<usize>,
    /// Whether an instruction other than a sum uses the product.
    lasting: bool,
    /// Whether the register of each factor has been overwritten, so that sums read a copy in another slot.
    overwritten: [bool; 2],
}

/// The product that a register contains, and whether its sign is inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    product: usize,
    negative: bool,
}

/// A sum, with the products in its operands.
struct Sum {
    at: usize,
    operands: [Option<Held>; 2],
}

/// The product that is fused with a sum, identified by its operand.
#[derive(Clone, Copy, Debug)]
struct Taken {
    product: usize,
    operand: usize,
    negative: bool,
}

/// One function under analysis.
struct Body<'c> {
    code: &'c Code,
    touches: &'c [Touches],
    constants: HashSet<Reg>,
    /// The first instruction of each part that ptxas treats as a basic block, followed by the end of the last part.
    parts: Vec<usize>,
    products: Vec<Product>,
    sums: Vec<Sum>,
    /// The registers that contain products at the end of a part.
    held: Vec<(usize, Reg, usize)>,
}

impl<'c> Body<'c> {
    fn new(code: &'c Code, touches: &'c [Touches], range: std::ops::Range<usize>) -> Self {
        let mut parts = leaders(code, &range);
        parts.extend(range.clone().filter(|&at| divides(&code.instrs[at])).map(|at| at + 1));
        parts.push(range.end);
        parts.sort_unstable();
        parts.dedup();
        let constant = |preset: &&Preset| matches!(preset.value, Value::Bits(_));
        let constants = code.presets.iter().filter(constant).map(|preset| preset.slot).collect();
        Self { code, touches, constants, parts, products: vec![], sums: vec![], held: vec![] }
    }

    fn part_of(&self, at: usize) -> usize {
        self.parts.partition_point(|&part| part <= at) - 1
    }

    fn part(&self, part: usize) -> std::ops::Range<usize> {
        self.parts[part]..self.parts[part + 1]
    }

    fn part_count(&self) -> usize {
        self.parts.len() - 1
    }

    /// Returns the parts to which control may flow from a part.
    fn after(&self, part: usize) -> Vec<usize> {
        let range = self.part(part);
        let inside = self.parts[0]..self.parts[self.part_count()];
        let to = successors(self.code, range.end - 1);
        to.into_iter().filter(|to| inside.contains(to)).map(|to| self.part_of(to)).collect()
    }

    /// Tracks products through each part, and across parts that are always executed one after the other.
    fn find_products(&mut self) {
        let mut before = vec![0; self.part_count()];
        let after: Vec<_> = (0..self.part_count()).map(|part| self.after(part)).collect();
        let mut reached = vec![false; self.part_count()];
        let mut work = vec![0];
        while let Some(part) = work.pop() {
            if !std::mem::replace(&mut reached[part], true) {
                after[part].iter().for_each(|&to| before[to] += 1);
                work.extend(&after[part]);
            }
        }
        let continues = |part: usize| match after[part][..] {
            [to] if before[to] == 1 && to != 0 && !divides(&self.code.instrs[self.parts[part + 1] - 1]) => {
                Some(to)
            }
            _ => None,
        };
        let next: Vec<Option<usize>> =
            (0..self.part_count()).map(|part| continues(part).filter(|_| reached[part])).collect();
        let mut continued = vec![false; self.part_count()];
        next.iter().flatten().for_each(|&to| continued[to] = true);
        for first in (0..self.part_count()).filter(|&part| !continued[part]) {
            let mut holds = HashMap::new();
            let mut part = first;
            loop {
                self.follow(self.part(part), &mut holds);
                match next[part] {
                    Some(to) => part = to,
                    None => break,
                }
            }
            self.held.extend(holds.into_iter().map(|(reg, held): (Reg, Held)| (part, reg, held.product)));
        }
    }

    fn follow(&mut self, part: std::ops::Range<usize>, holds: &mut HashMap<Reg, Held>) {
        for at in part {
            let (instr, touches) = (&self.code.instrs[at], &self.touches[at]);
            let operation = Operation::of(&instr.op).filter(|_| touches.contractible);
            let copy = copied(instr).and_then(|(from, negates)| {
                let held = holds.get(&from)?;
                let ty = self.products[held.product].form;
                let fits = negates.is_none_or(|form| form == Form { ftz: false, ..ty });
                fits.then_some(Held { negative: held.negative ^ negates.is_some(), ..*held })
            });
            match operation {
                _ if copy.is_some() => {}
                Some(sum) if !sum.is_product() && sum.f != FloatFn::Mul => {
                    let operands = sum.operands.map(|reg| holds.get(&reg).copied());
                    for held in operands.iter().flatten() {
                        let product = &mut self.products[held.product];
                        product.uses.push(at);
                        product.lasting |= product.form != sum.form;
                    }
                    if operands.iter().any(Option::is_some) {
                        self.sums.push(Sum { at, operands });
                    }
                }
                _ => self.last(touches.reads.iter(), holds),
            }
            for write in &touches.writes {
                if instr.guard != Guard::Always {
                    self.last([write].into_iter(), holds);
                }
                holds.remove(write);
            }
            if let Some(held) = copy {
                holds.insert(touches.writes[0], held);
            }
            if let Some(product) = operation.filter(Operation::is_product)
                && instr.guard == Guard::Always
                // ptxas folds products of constants, with rounding.
                && !product.operands.iter().all(|reg| self.constants.contains(reg))
            {
                holds.insert(product.d, Held { product: self.products.len(), negative: false });
                let form = product.form;
                let factors = product.operands;
                let overwritten = [false; 2];
                self.products.push(Product { at, form, factors, uses: vec![], lasting: false, overwritten });
            }
        }
    }

    /// Records that an instruction other than a sum uses the products in these registers.
    fn last<'r>(&mut self, regs: impl Iterator<Item = &'r Reg>, holds: &HashMap<Reg, Held>) {
        for held in regs.filter_map(|reg| holds.get(reg)) {
            self.products[held.product].lasting = true;
        }
    }

    /// Records the products that are used in other parts, which a backward analysis of the registers that contain products determines.
    fn find_lasting(&mut self) {
        let mut numbers: HashMap<Reg, usize> = HashMap::new();
        for (_, reg, _) in &self.held {
            let next = numbers.len();
            numbers.entry(*reg).or_insert(next);
        }
        let words = numbers.len().div_ceil(64);
        // The registers that each part reads before it writes them, and the registers that it writes.
        let mut live = vec![vec![0u64; words]; self.part_count()];
        let mut written = live.clone();
        for part in 0..self.part_count() {
            for at in self.part(part) {
                let (instr, touches) = (&self.code.instrs[at], &self.touches[at]);
                for number in touches.reads.iter().filter_map(|reg| numbers.get(reg)) {
                    live[part][number / 64] |= 1 << (number % 64) & !written[part][number / 64];
                }
                if instr.guard == Guard::Always {
                    for number in touches.writes.iter().filter_map(|reg| numbers.get(reg)) {
                        written[part][number / 64] |= 1 << (number % 64);
                    }
                }
            }
        }
        let after: Vec<_> = (0..self.part_count()).map(|part| self.after(part)).collect();
        loop {
            let mut changed = false;
            for part in (0..self.part_count()).rev() {
                for word in 0..words {
                    let out = after[part].iter().fold(0, |out, &to| out | live[to][word]);
                    let all = live[part][word] | out & !written[part][word];
                    changed |= all != live[part][word];
                    live[part][word] = all;
                }
            }
            if !changed {
                break;
            }
        }
        for &(part, reg, product) in &self.held {
            let number = numbers[&reg];
            self.products[product].lasting |=
                after[part].iter().any(|&to| live[to][number / 64] >> (number % 64) & 1 == 1);
        }
    }

    /// Returns the sums and the products with which they are fused.
    fn choose(&mut self) -> Vec<(usize, Taken)> {
        let mut fused: HashMap<usize, Taken> = HashMap::new();
        for alone in [true, false] {
            for sum in &self.sums {
                if fused.contains_key(&sum.at) {
                    continue;
                }
                let may = |operand: usize| -> Option<Taken> {
                    let Held { product, negative } = sum.operands[operand]?;
                    let found = &self.products[product];
                    let once = found.uses.iter().filter(|&&at| at == sum.at).count() == 1;
                    let all_sums = found
                        .uses
                        .iter()
                        .all(|at| fused.get(at).is_none_or(|taken| taken.product == product));
                    let twice = found.uses.windows(2).any(|uses| uses[0] == uses[1]);
                    let fits = once && all_sums && !twice && !found.lasting;
                    (fits && (!alone || found.uses.len() == 1)).then_some(Taken {
                        product,
                        operand,
                        negative,
                    })
                };
                let uses = |taken: &Taken| self.products[taken.product].uses.len();
                if let Some(taken) = [may(0), may(1)].into_iter().flatten().min_by_key(uses) {
                    fused.insert(sum.at, taken);
                }
            }
        }
        let part_of = |at: usize| self.parts.partition_point(|&part| part <= at);
        let whole = self.parts[0]..self.parts[self.parts.len() - 1];
        let mut fused: Vec<_> = fused.into_iter().collect();
        fused.sort_unstable_by_key(|(at, _)| *at);
        for (at, taken) in &fused {
            let product = &mut self.products[taken.product];
            for (factor, overwritten) in product.factors.into_iter().zip(&mut product.overwritten) {
                let one_part = product.at < *at && part_of(product.at) == part_of(*at);
                let between = if one_part { product.at..*at } else { whole.clone() };
                *overwritten |= self.touches[between].iter().any(|touches| touches.writes.contains(&factor));
            }
        }
        fused
    }
}

/// Returns the register that a `mov` or `neg` copies and, for `neg`, the format of the negated number.
fn copied(instr: &Instr) -> Option<(Reg, Option<Form>)> {
    if instr.guard != Guard::Always {
        return None;
    }
    match instr.op {
        Op::Alu(Alu::R1(R1::Mov | R1::Mov16, _, a)) => Some((Reg::R(a), None)),
        Op::Alu(Alu::D1(D1::Mov, _, a)) => Some((Reg::D(a), None)),
        Op::Alu(Alu::R1(R1::NegF32, _, a)) => Some((Reg::R(a), Some(F32))),
        Op::Alu(Alu::Float(ref op)) if op.f == FloatFn::Neg && !op.ftz => {
            Some((op.a, Some(Form { ty: op.ty, pair: op.pair, ftz: false })))
        }
        _ => None,
    }
}

/// Returns whether ptxas ends a basic block at this instruction. For example, ptxas calls internal functions for divisions and square
/// roots, and branches around instructions whose guard it cannot keep.
fn divides(instr: &Instr) -> bool {
    match &instr.op {
        Op::Alu(Alu::Float(op)) => match op.f {
            FloatFn::Div | FloatFn::Rcp | FloatFn::Sqrt => true,
            FloatFn::RsqrtApprox => op.ty == Float::F64 && !op.ftz,
            _ => false,
        },
        Op::Alu(Alu::R2(f, ..)) => {
            matches!(f, R2::DivS | R2::RemS)
        }
        Op::Alu(Alu::H2(f, ..)) => matches!(f, H2::DivU16 | H2::DivS16 | H2::RemU16 | H2::RemS16),
        Op::Alu(Alu::D2(f, ..)) => matches!(f, D2::DivU | D2::DivS | D2::RemU | D2::RemS),
        Op::Control(
            Control::Call(_)
            | Control::Fence(_)
            | Control::Trap
            | Control::Breakpoint
            | Control::MaxRegisters { .. },
        ) => true,
        Op::Alu(_) | Op::Memory(Memory::Isspacep { .. }) => false,
        Op::Memory(Memory::Ld(access, _) | Memory::LdR(access, _))
            if matches!(access.space, Space::Param | Space::Const | Space::Local) =>
        {
            false
        }
        _ => instr.guard != Guard::Always,
    }
}

/// Replaces a sum with the `fma` of a product's factors.
fn rewrite(code: &mut Code, touches: &mut [Touches], at: usize, product: &Product, taken: Taken) {
    let factors = std::array::from_fn(|i| match product.overwritten[i] {
        true => keep(code, touches, product, i),
        false => product.factors[i],
    });
    let Some(sum) = Operation::of(&code.instrs[at].op) else { return };
    let addend = sum.operands[1 - taken.operand];
    // The second operand of `sub` is subtracted.
    let subtracts = |operand: usize| sum.f == FloatFn::Sub && operand == 1;
    let minus_product = taken.negative ^ subtracts(taken.operand);
    let minus_addend = subtracts(1 - taken.operand);
    let [a, b] = factors;
    let op = match (sum.form, sum.sat, sum.d, a, b, addend) {
        (F32, false, Reg::R(d), Reg::R(a), Reg::R(b), Reg::R(c)) => {
            let f = match (minus_product, minus_addend) {
                (false, false) => R3::FmaF32,
                (false, true) => R3::FmsF32,
                (true, false) => R3::FnmaF32,
                (true, true) => R3::FnmsF32,
            };
            Alu::R3(f, d, a, b, c)
        }
        (F64, _, Reg::D(d), Reg::D(a), Reg::D(b), Reg::D(c)) => {
            let f = match (minus_product, minus_addend) {
                (false, false) => D3::FmaF64,
                (false, true) => D3::FmsF64,
                (true, false) => D3::FnmaF64,
                (true, true) => D3::FnmsF64,
            };
            Alu::D3(f, d, a, b, c)
        }
        (Form { ty, pair, ftz }, sat, d, a, b, c) => {
            let f = FloatFn::Contracted { minus_product, minus_addend };
            Alu::Float(Box::new(FloatOp { f, ty, pair, round: Round::Rn, ftz, sat, d, a, b, c }))
        }
    };
    let separate = std::mem::replace(&mut code.instrs[at].op, Op::Alu(op));
    let Op::Alu(separate) = separate else { return };
    let operands = touches[at].registers();
    code.contractions.push(Contraction { product: product.at as u32, sum: at as u32, separate, operands });
    // Constants are not registers.
    let mut reads: Vec<Reg> = [(a, product.factors[0]), (b, product.factors[1])]
        .into_iter()
        .filter(|(_, factor)| touches[product.at].reads.contains(factor))
        .map(|(slot, _)| slot)
        .collect();
    reads.extend(touches[at].reads.contains(&addend).then_some(addend));
    touches[at].sources.clone_from(&reads);
    touches[at].reads = reads;
}

/// Returns a slot that keeps a product's factor after its register is overwritten.
fn keep(code: &mut Code, touches: &mut [Touches], product: &Product, factor: usize) -> Reg {
    let Op::Alu(alu) = &mut code.instrs[product.at].op else { return product.factors[factor] };
    if !matches!(alu, Alu::Kept(_)) {
        let inner = std::mem::replace(alu, Alu::MovP { d: P(0), a: P(0), negate: false });
        *alu = Alu::Kept(Box::new(Kept { alu: inner, copies: vec![] }));
    }
    let Alu::Kept(kept) = alu else { return product.factors[factor] };
    let from = product.factors[factor];
    if let Some(&(to, _)) = kept.copies.iter().find(|(_, of)| *of == from) {
        return to;
    }
    let slots = &mut code.slots;
    let to = match from {
        Reg::R(_) => {
            slots.r += 1;
            Reg::R(R(slots.r - 1))
        }
        _ => {
            slots.d += 1;
            Reg::D(D(slots.d - 1))
        }
    };
    kept.copies.push((to, from));
    touches[product.at].writes.push(to);
    to
}
