//! The state that emitted loops carry from one iteration to the next and that branches return.

use std::{
    fmt::{Debug, Display},
    hash::{Hash, Hasher},
    panic::Location,
};

use rustc_hash::FxHasher;

use super::{
    body::RegId,
    error::BuildErrorKind,
    kernel::Builder,
    lease::Lease,
    operand::Operand,
    types::Scalar,
    val::{Untyped, Val},
};

/// State that an emitted loop carries from one iteration to the next, or that both branches of an emitted `if` return: [`Val`]s, tiles,
/// views, pending operations, and tuples, arrays, `Vec`s and `Option`s of these.
///
/// The state can include a pending copy, so that the next iteration can wait for it. Branches cannot return views, tiles in shared memory,
/// or `wgmma` results that are still pending.
pub trait State<'k>: Sized {
    /// Passes every register of the state to `visitor`, always in the same order.
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>);
}

/// A visitor for the registers of a [`State`].
#[derive(Debug)]
pub struct Visitor<'a, 'k> {
    k: Builder<'k>,
    step: Step<'a>,
}

/// The purpose of a visit. `parts` describes the sequence of values of the first visit. Every later visit must present the same sequence,
/// regardless of the implementation of [`State`]: a view that is known to be inside its buffer must not receive the registers of another
/// value.
#[derive(Debug)]
enum Step<'a> {
    /// After the first branch: moves each value to a register that outlives the branch.
    Merge { slots: &'a mut Vec<RegId>, parts: &'a mut Vec<Part> },
    /// Before the loop: assigns each value a register that the loop may overwrite.
    Enter { slots: &'a mut Vec<RegId>, parts: &'a mut Vec<Part> },
    /// After the body: collects the values to be moved into those registers.
    Collect { values: &'a mut Vec<Untyped>, parts: std::slice::Iter<'a, Part>, slots: &'a [RegId] },
    /// After the moves: refers to those registers again.
    Leave { slots: std::slice::Iter<'a, RegId>, parts: std::slice::Iter<'a, Part> },
}

/// One part of a state, in the order of the visit.
#[derive(Debug, PartialEq)]
enum Part {
    /// A value in a register, of a PTX type.
    Value(&'static str),
    /// The hash of a component that is not in registers.
    Component(u64),
    /// The form of a type defined in this crate, such as the layout of a view. Implementations of [`State`] outside the crate cannot
    /// present it, so they cannot give the registers of other values to a view.
    Form(String),
    /// The number of groups of `wgmma`s committed after a group in flight.
    Group(u64),
}

fn hash(part: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    part.hash(&mut hasher);
    hasher.finish()
}

impl<'k> Visitor<'_, 'k> {
    /// Returns the lexical block in which the visited state may be used, if it is not created anew.
    pub(crate) fn block(&self) -> u32 {
        match self.step {
            Step::Leave { .. } => self.k.body().enclosing_block(),
            _ => self.k.innermost_block(),
        }
    }

    /// Returns whether the value is read now, at the start of a loop or the end of its body.
    pub(crate) fn reads(&self) -> bool {
        !matches!(self.step, Step::Leave { .. })
    }

    /// Returns whether the value leaves the first of two branches; the value that the second branch returns then represents both.
    pub(crate) fn leaves_branch(&self) -> bool {
        matches!(self.step, Step::Merge { .. })
    }

    /// Visits a value whose register other values may share. The loop or branch copies the value to a separate register.
    #[track_caller]
    pub fn shared<T: Scalar>(&mut self, value: &mut Val<'k, T>) {
        self.value(value, false);
    }

    /// Visits a register that this value alone owns: the loop overwrites it in place.
    #[track_caller]
    pub(crate) fn owned<T: Scalar>(&mut self, value: &mut Val<'k, T>) {
        self.value(value, true);
    }

    /// Visits a component of the state that is not in registers and must be the same in every iteration, such as a layout. The builder
    /// rejects a state with such a component if a branch returns it.
    #[track_caller]
    pub fn unchanged(&mut self, part: &(impl Hash + Debug)) {
        self.constant(Part::Component(hash(part)), &format_args!("{part:?}"));
    }

    /// Visits the form of a type defined in this crate, which must be the same in every iteration, as [`unchanged`](Self::unchanged) does.
    #[track_caller]
    pub(crate) fn form(&mut self, form: &impl Display) {
        self.constant(Part::Form(form.to_string()), form);
    }

    #[track_caller]
    fn constant(&mut self, part: Part, text: &dyn Display) {
        match &mut self.step {
            Step::Enter { parts, .. } => parts.push(part),
            Step::Collect { parts, .. } | Step::Leave { parts, .. } => {
                if parts.next() != Some(&part) {
                    self.k.refuse(format!(
                        "expected loop state to keep its form, found {text} after an iteration"
                    ));
                }
            }
            // The first branch records no layout, so `Collect` rejects the part in the second branch.
            Step::Merge { .. } => {}
        }
    }

    /// Visits a group of `wgmma`s in flight, identified by the number of groups committed up to and including it; `None` for a complete
    /// group.
    ///
    /// At the start of every iteration, at least as many groups have been committed after it as before the loop. After the loop, which may
    /// have had no iterations, no groups are known to have been committed after it.
    #[track_caller]
    pub(crate) fn group(&mut self, group: &mut Option<u32>) {
        let now = self.k.body().wgmma_groups;
        let later = group.map(|group| u64::from(now.saturating_sub(group)));
        match &mut self.step {
            Step::Enter { parts, .. } => {
                parts.push(Part::Group(later.unwrap_or(0)));
                *group = group.or(Some(now));
            }
            Step::Collect { parts, .. } => {
                let expected = if let Some(Part::Group(expected)) = parts.next() { *expected } else { 0 };
                if let Some(later) = later.filter(|&later| later < expected) {
                    self.k.refuse(format!(
                        "expected products in flight to be followed by at least {expected} groups after every iteration, as before the loop, found {later}"
                    ));
                }
            }
            Step::Merge { parts, .. } => {
                parts.push(Part::Group(0));
                *group = Some(now);
            }
            Step::Leave { parts, .. } => {
                parts.next();
                *group = Some(now);
            }
        }
    }

    /// Visits the registers that `wgmma`s in flight read, as pairs of a loop that overwrites such registers in its next iteration and the
    /// number of the last group that reads them. The group must be complete at the end of the loop's body.
    #[track_caller]
    pub(crate) fn operands(&mut self, operands: &mut Vec<(u32, u32)>) {
        let body = self.k.body();
        let innermost = body.innermost_loop();
        let is_complete = |group| body.wgmma_complete.is_some_and(|complete| group <= complete);
        let overwritten =
            operands.iter().any(|&(of_loop, group)| of_loop == innermost && !is_complete(group));
        drop(body);
        match self.step {
            Step::Collect { .. } if overwritten => self.k.refuse(
                "expected products whose operands are registers of the loop to be complete after an iteration, found products in \
                 flight: wait for them, or multiply a tile in shared memory"
                    .into(),
            ),
            Step::Leave { .. } => operands.retain(|&(of_loop, _)| of_loop != innermost),
            _ => {}
        }
    }

    /// Visits the lease of a handle. In a loop that carries the handle, and after it, the handle has another lease.
    #[track_caller]
    pub(crate) fn lease(&mut self, lease: &mut Lease) {
        let k = self.k;
        *lease = match self.step {
            Step::Enter { .. } => k.carried_lease(*lease),
            Step::Merge { .. } | Step::Collect { .. } => {
                k.check_lease(*lease);
                *lease
            }
            Step::Leave { .. } => k.lease_after(*lease),
        };
    }

    /// Visits a value with registers that `wgmma`s in flight may still access. These registers must be moved neither to the loop's
    /// registers nor out of a branch.
    #[track_caller]
    pub(crate) fn in_flight(&mut self, value: &mut impl State<'k>) {
        if matches!(self.step, Step::Merge { .. }) {
            self.k.refuse(
                "expected a branch to wait for its products, found products in flight as its value".into(),
            );
        }
        let first = match &self.step {
            Step::Collect { values, .. } => values.len(),
            _ => 0,
        };
        value.visit(self);
        if let Step::Collect { values, slots, .. } = &self.step {
            let moved = values.iter().zip(*slots).skip(first).any(|(value, slot)| !value.is_in(*slot));
            if moved {
                self.k.refuse(
                    "expected products in flight in the same registers before and after an iteration, found others: wait for them, and \
                     accumulate the next products in the tile that `wait` returns"
                        .into(),
                );
            }
        }
    }

    #[track_caller]
    fn value<T: Scalar>(&mut self, value: &mut Val<'k, T>, owned: bool) {
        let part = Part::Value(T::PTX);
        match &mut self.step {
            Step::Merge { slots, parts } => {
                let slot = self.k.body().fresh_outside(T::CLASS);
                let value = value.immediate().unwrap_or_else(|| value.operand(self.k));
                self.k.emit(["mov.", T::MEM], &[Operand::Reg(slot), value]);
                slots.push(slot);
                parts.push(part);
            }
            Step::Enter { slots, parts } => {
                if owned {
                    *value = self.k.taken(*value);
                } else {
                    *value = self.k.copy_of(*value);
                }
                let reg = value.in_register(self.k);
                self.k.body().uniform.set_changes(reg);
                slots.push(reg);
                parts.push(part);
            }
            Step::Collect { values, parts, .. } => {
                values.push(value.untyped());
                // A surplus of values is detected at the end, when the values are counted.
                if parts.next().is_some_and(|expected| *expected != part) {
                    self.k.refuse(other_value::<T>());
                }
            }
            Step::Leave { slots, parts } => match (slots.next(), parts.next() == Some(&part)) {
                (Some(&reg), true) => *value = Val::from_reg(reg, self.k),
                _ => self.k.refuse(other_value::<T>()),
            },
        }
    }
}

fn other_value<T: Scalar>() -> String {
    format!("expected state to have the same values at every visit, found another of type {}", T::PTX)
}

/// The registers that contain the state of a loop or of two branches, and the sequence of values of the first visit.
pub(crate) struct Slots {
    slots: Vec<RegId>,
    parts: Vec<Part>,
}

impl Slots {
    /// Moves the state into separate registers.
    #[track_caller]
    pub(crate) fn enter<'k>(k: Builder<'k>, state: &mut impl State<'k>) -> Self {
        let (mut slots, mut parts) = (Vec::new(), Vec::new());
        let step = Step::Enter { slots: &mut slots, parts: &mut parts };
        {
            let _located = k.locate(Location::caller());
            state.visit(&mut Visitor { k, step });
        }
        Self { slots, parts }
    }

    /// Moves the value of a branch into registers that outlive it.
    #[track_caller]
    pub(crate) fn merge<'k>(k: Builder<'k>, state: &mut impl State<'k>) -> Self {
        let (mut slots, mut parts) = (Vec::new(), Vec::new());
        state.visit(&mut Visitor { k, step: Step::Merge { slots: &mut slots, parts: &mut parts } });
        Self { slots, parts }
    }

    /// Records that the innermost open loop carries the state.
    pub(crate) fn carry(&self, k: Builder<'_>) {
        self.slots.iter().for_each(|&slot| k.body().carry(slot));
    }

    /// Moves the values that the loop body or the second branch returns into the registers, and makes `state` refer to these registers.
    #[track_caller]
    pub(crate) fn assign<'k>(&mut self, k: Builder<'k>, state: &mut impl State<'k>) {
        let mut values = Vec::new();
        let step = Step::Collect { values: &mut values, parts: self.parts.iter(), slots: &self.slots };
        {
            let _located = k.locate(Location::caller());
            state.visit(&mut Visitor { k, step });
        }
        if self.write(k, &values) {
            let step = Step::Leave { slots: self.slots.iter(), parts: self.parts.iter() };
            state.visit(&mut Visitor { k, step });
        }
    }

    /// Moves values into the registers, and returns whether there is one value for each register.
    #[track_caller]
    fn write(&mut self, k: Builder<'_>, values: &[Untyped]) -> bool {
        if values.len() != self.slots.len() {
            k.fail(BuildErrorKind::StateShape { expected: self.slots.len(), found: values.len() });
            return false;
        }
        let moved: Vec<(Untyped, RegId)> = values
            .iter()
            .zip(&self.slots)
            .filter(|(value, slot)| !value.is_in(**slot))
            .map(|(value, slot)| (*value, *slot))
            .collect();
        // A slot must not be overwritten while another value is still in it, so such values are copied first.
        let reads_slot = |value: &Untyped| self.slots.iter().any(|slot| value.is_in(*slot));
        let mut staged = Vec::with_capacity(moved.len());
        for (value, slot) in moved {
            let value = match value {
                Untyped::Reg(reg) if reads_slot(&value) => {
                    let copy = k.fresh(reg.class);
                    k.emit(["mov.", reg.class.mov()], &[Operand::Reg(copy), Operand::Reg(reg)]);
                    Untyped::Reg(copy)
                }
                _ => value,
            };
            staged.push((value, slot));
        }
        for (value, slot) in staged {
            let operand = match value {
                Untyped::Reg(reg) => Operand::Reg(reg),
                Untyped::Const(immediate) => Operand::Imm(immediate),
            };
            // The body may have overwritten the slot with other values in place.
            k.emit(["mov.", slot.class.mov()], &[Operand::Reg(slot.in_place()), operand]);
        }
        for slot in &mut self.slots {
            *slot = k.body().overwrite(*slot);
        }
        true
    }
}

impl<'k, T: Scalar> State<'k> for Val<'k, T> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        visitor.shared(self);
    }
}

impl<'k, S: State<'k>> State<'k> for Vec<S> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.iter_mut().for_each(|s| s.visit(visitor));
    }
}

impl<'k, S: State<'k>, const N: usize> State<'k> for [S; N] {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.iter_mut().for_each(|s| s.visit(visitor));
    }
}

impl<'k, S: State<'k>> State<'k> for Option<S> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.iter_mut().for_each(|s| s.visit(visitor));
    }
}

macro_rules! tuples {
    ($($s:ident)*) => {
        #[allow(non_snake_case, reason = "one name serves as type and binding")]
        impl<'k, $($s: State<'k>),*> State<'k> for ($($s,)*) {
            fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
                let ($($s,)*) = self;
                $($s.visit(visitor);)*
            }
        }
    };
}

impl<'k> State<'k> for () {
    fn visit(&mut self, _: &mut Visitor<'_, 'k>) {}
}

tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
