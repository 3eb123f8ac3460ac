//! Emitted control flow: branches, loops, guards, early return.
//!
//! A plain Rust `for` around builder calls is an unrolled loop; the functions here emit labels and branches.

mod counted;

use std::{fmt, panic::Location};

use counted::Counted;
pub use counted::{Counter, Steps};

use super::{
    body::RegId,
    error::BuildErrorKind,
    facts::Condition,
    kernel::Builder,
    mnemonic::MnemonicText,
    operand::Operand,
    state::{Slots, State},
    uniform::ConditionKind,
    val::{Repr, Val},
};

/// A handle to an emitted loop whose body is under construction. Its methods exit the loop or continue with the next iteration.
#[derive(Clone, Copy, Debug)]
pub struct Loop<'k> {
    k: Builder<'k>,
    label: u32,
    /// The number of enclosing loops.
    depth: usize,
    /// The lexical block of the loop body.
    block: u32,
}

impl<'k> Builder<'k> {
    /// Emits a branch that executes `then` if `condition` holds. If `condition` is a constant, no branch is emitted, and `then` is called
    /// only if the constant is true.
    ///
    /// Values defined in `then` cannot be used afterward; for results, use [`if_else_with`](Self::if_else_with) or a [`Var`](super::Var).
    #[track_caller]
    pub fn if_(self, condition: impl Into<Val<'k, bool>>, then: impl FnOnce()) {
        match condition.into().0 {
            Repr::Const(true) => then(),
            Repr::Const(false) => {}
            Repr::Reg(condition, _) => {
                let label = self.body().label();
                self.branch_unless(condition, format_args!("$endif{label}"));
                self.under(ConditionKind::If, condition, true, then);
                self.place(format_args!("$endif{label}"));
            }
        }
    }

    /// Emits a branch that executes `then` if `condition` holds, and `otherwise` if it does not. If `condition` is a constant, no branch is
    /// emitted, and only one of the closures is called.
    #[track_caller]
    pub fn if_else(self, condition: impl Into<Val<'k, bool>>, then: impl FnOnce(), otherwise: impl FnOnce()) {
        match condition.into().0 {
            Repr::Const(true) => then(),
            Repr::Const(false) => otherwise(),
            Repr::Reg(condition, _) => {
                let label = self.body().label();
                self.branch_unless(condition, format_args!("$else{label}"));
                self.under(ConditionKind::If, condition, true, then);
                self.branch(format_args!("$endif{label}"));
                self.place(format_args!("$else{label}"));
                self.under(ConditionKind::If, condition, false, otherwise);
                self.place(format_args!("$endif{label}"));
            }
        }
    }

    /// Emits `then` and `otherwise` as [`if_else`](Self::if_else) does, and returns the value that the executed branch returns.
    ///
    /// The states that the two closures return must have the same number and types of registers. The builder rejects states that contain
    /// views, tiles in shared memory or `wgmma` results that are still pending.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(InOut<f32>, u32)>::build("f(x, n)", Target::SM_80, |k, (x, n)| {
    ///     let x = k.slice(x, 1).at(0);
    ///     let value = k.if_else_with(n.gt(1), || x.load() * 2.0, || Val::from(1.0));
    ///     x.store(value);
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    pub fn if_else_with<S: State<'k>>(
        self,
        condition: impl Into<Val<'k, bool>>,
        then: impl FnOnce() -> S,
        otherwise: impl FnOnce() -> S,
    ) -> S {
        let condition = match condition.into().0 {
            Repr::Const(true) => return then(),
            Repr::Const(false) => return otherwise(),
            Repr::Reg(condition, _) => condition,
        };
        let label = self.body().label();
        let at = self.here();
        self.branch_unless(condition, format_args!("$else{label}"));
        let mut slots = self.under(ConditionKind::If, condition, true, || {
            let mut state = then();
            let _located = self.locate(at);
            Slots::merge(self, &mut state)
        });
        self.branch(format_args!("$endif{label}"));
        self.place(format_args!("$else{label}"));
        let state = self.under(ConditionKind::If, condition, false, || {
            let mut state = otherwise();
            {
                let _located = self.locate(at);
                slots.assign(self, &mut state);
            }
            state
        });
        self.place(format_args!("$endif{label}"));
        state
    }

    /// Emits a loop over `steps`. `body` receives the counter. Examples: `k.for_(n, |i| …)`, `k.for_(a..b, |i| …)` and
    /// `k.for_(Steps::new(a, b).by(4), |i| …)`.
    #[track_caller]
    pub fn for_<T: Counter>(self, steps: impl Into<Steps<'k, T>>, body: impl FnOnce(Val<'k, T>)) {
        self.fold(steps, (), |i, ()| body(i));
    }

    /// Emits a loop over `steps` that carries `state` from one iteration to the next, and returns the state after the last iteration, or
    /// the initial state if the loop has no iterations.
    ///
    /// `body` receives the counter and the state, and returns the new state. It is called once, when the kernel is built. If the start and
    /// the end of the range are constants and the range is empty, it is not called.
    #[track_caller]
    pub fn fold<T: Counter, S: State<'k>>(
        self,
        steps: impl Into<Steps<'k, T>>,
        mut state: S,
        body: impl FnOnce(Val<'k, T>, S) -> S,
    ) -> S {
        let Some(counted) = Counted::new(self, steps.into()) else { return state };
        let mut slots = Slots::enter(self, &mut state);
        let i = counted.open(&slots);
        state = body(i, state);
        slots.assign(self, &mut state);
        counted.close(i, &slots);
        state
    }

    /// Prevents ptxas from unrolling the loop that begins here.
    pub(crate) fn no_unroll(self) {
        self.body().line(format_args!("    .pragma \"nounroll\";"));
    }

    /// Emits a loop without a condition. A thread exits the loop through [`Loop::break_`], [`Loop::break_if`] or a return from the kernel.
    #[track_caller]
    pub fn loop_(self, body: impl FnOnce(Loop<'k>)) {
        let label = self.body().label();
        self.place(format_args!("$loop{label}"));
        let depth = self.body().uniform.loop_depth();
        self.body().open_loop();
        body(Loop { k: self, label, depth, block: self.innermost_block() });
        self.body().close_loop();
        self.branch(format_args!("$loop{label}"));
        self.place(format_args!("$endloop{label}"));
    }

    /// Emits a loop that runs while `condition` holds. The condition is evaluated before each iteration.
    #[track_caller]
    pub fn while_<C: Into<Val<'k, bool>>>(self, condition: impl FnOnce() -> C, body: impl FnOnce(Loop<'k>)) {
        let at = Location::caller();
        self.loop_(|l| {
            let condition = condition().into();
            {
                let _located = self.locate(at);
                l.break_if(!condition);
            }
            body(l);
        });
    }

    /// Adds a guard predicate to every instruction that `write` emits: `@%p1 st.global.b32 …`.
    ///
    /// This is cheaper than a branch for one or two instructions. Values defined in `write` cannot be used afterward. `write` must not emit
    /// branches or predicated instructions, such as accesses that are not known to be in bounds.
    #[track_caller]
    pub fn when(self, condition: impl Into<Val<'k, bool>>, write: impl FnOnce()) {
        match condition.into().0 {
            Repr::Const(true) => write(),
            Repr::Const(false) => {}
            Repr::Reg(condition, _) => {
                let outer = self.open_guard(condition);
                self.under(ConditionKind::When, condition, true, write);
                self.body().set_guard(outer);
            }
        }
    }

    /// Emits one instruction with a predicate, as [`when`](Self::when) does, but does not open a block that assumes the condition, because
    /// nothing else is computed under the condition.
    #[track_caller]
    pub(crate) fn emit_when(
        self,
        condition: Val<'k, bool>,
        mnemonic: impl MnemonicText,
        operands: &[Operand<'_>],
    ) {
        match condition.0 {
            Repr::Const(true) => self.emit(mnemonic, operands),
            Repr::Const(false) => {}
            Repr::Reg(condition, _) => {
                let (outer, at) = (self.open_guard(condition), self.here());
                self.body().uniform.open_condition(ConditionKind::When, condition, at);
                self.emit(mnemonic, operands);
                self.body().uniform.close_condition();
                self.body().set_guard(outer);
            }
        }
    }

    /// Guards all further instructions with a predicate, and returns the previous guard, which must be `None`.
    #[track_caller]
    fn open_guard(self, condition: RegId) -> Option<(RegId, bool)> {
        let guard = self.without_not(condition, false);
        let outer = self.body().set_guard(Some(guard));
        if outer.is_some() {
            self.fail(BuildErrorKind::Refused(
                "`when` cannot be nested: use `if_` or combine the conditions".into(),
            ));
        }
        outer
    }

    /// Terminates the thread. The builder rejects the call in a [role](Self::specialize), because all threads must reach the end of their
    /// role, where pending copies from shared memory are completed.
    #[doc(alias = "ret")]
    #[track_caller]
    pub fn return_(self) {
        self.leave("ret");
    }

    /// Emits an instruction that terminates the thread.
    #[track_caller]
    pub(super) fn leave(self, mnemonic: &str) {
        if self.body().in_role {
            self.refuse(format!(
                "expected threads that reach the end of their role, which completes copies in flight, found `{mnemonic}`"
            ));
        }
        self.emit(format_args!("{mnemonic}"), &[]);
        let at = self.here();
        let mut body = self.body();
        let divergence = body.uniform.leave_kernel(at);
        body.fail_if(divergence);
    }

    /// Terminates the thread if `condition` holds. Like [`return_`](Self::return_), this call is rejected inside a [role](Self::specialize).
    #[track_caller]
    pub fn return_if(self, condition: impl Into<Val<'k, bool>>) {
        let condition = condition.into();
        {
            let _located = self.locate(Location::caller());
            self.when(condition, || self.return_());
        }
        self.assume_not(condition);
    }

    /// Emits instructions that run if `condition` equals `holds`.
    #[track_caller]
    fn under<R>(self, kind: ConditionKind, condition: RegId, holds: bool, write: impl FnOnce() -> R) -> R {
        let at = self.here();
        let mut body = self.body();
        body.uniform.open_condition(kind, condition, at);
        body.open_block();
        body.assume_condition(condition, holds);
        drop(body);
        let result = write();
        let mut body = self.body();
        body.close_block();
        body.uniform.close_condition();
        result
    }

    /// Records that a condition does not hold in the rest of the block, because the threads that satisfy it have exited.
    fn assume_not(self, condition: Val<'k, bool>) {
        if let Repr::Reg(condition, _) = condition.0 {
            self.body().assume_condition(condition, false);
        }
    }

    /// Returns the predicate to test, and whether it is negated. If `predicate` is the negation of another predicate, the result refers to
    /// that predicate.
    fn without_not(self, predicate: RegId, negated: bool) -> (RegId, bool) {
        let mut body = self.body();
        match body.condition(predicate) {
            Some(Condition::Not(p)) if body.is_current(p) => {
                body.bypass(predicate);
                (p, !negated)
            }
            _ => (predicate, negated),
        }
    }

    fn place(self, label: fmt::Arguments<'_>) {
        self.body().line(format_args!("{label}:"));
    }

    #[track_caller]
    fn branch(self, label: fmt::Arguments<'_>) {
        self.emit(format_args!("bra"), &[Operand::Name(&label.to_string())]);
    }

    #[track_caller]
    fn branch_if(self, condition: Val<'k, bool>, label: fmt::Arguments<'_>) {
        match condition.0 {
            Repr::Const(true) => self.branch(label),
            Repr::Const(false) => {}
            Repr::Reg(condition, _) => self.guarded_branch(self.without_not(condition, false), label),
        }
    }

    #[track_caller]
    fn branch_unless(self, condition: RegId, label: fmt::Arguments<'_>) {
        self.guarded_branch(self.without_not(condition, true), label);
    }

    #[track_caller]
    fn guarded_branch(self, guard: (RegId, bool), label: fmt::Arguments<'_>) {
        let outer = self.body().set_guard(Some(guard));
        if outer.is_some() {
            self.fail(BuildErrorKind::Refused("a branch cannot be emitted under `when`: use `if_`".into()));
        }
        self.branch(label);
        self.body().set_guard(outer);
    }
}

impl<'k> Loop<'k> {
    /// Exits the loop.
    #[track_caller]
    pub fn break_(self) {
        if !self.is_open() {
            return;
        }
        self.k.branch(format_args!("$endloop{}", self.label));
        self.leave(ConditionKind::Break);
    }

    /// Exits the loop if `condition` holds.
    #[track_caller]
    pub fn break_if(self, condition: impl Into<Val<'k, bool>>) {
        self.leave_if(ConditionKind::Break, condition.into(), format_args!("$endloop{}", self.label));
    }

    /// Continues with the next iteration.
    #[track_caller]
    pub fn continue_(self) {
        if !self.is_open() {
            return;
        }
        self.k.branch(format_args!("$loop{}", self.label));
        self.leave(ConditionKind::Continue);
    }

    /// Continues with the next iteration if `condition` holds.
    #[track_caller]
    pub fn continue_if(self, condition: impl Into<Val<'k, bool>>) {
        self.leave_if(ConditionKind::Continue, condition.into(), format_args!("$loop{}", self.label));
    }

    #[track_caller]
    fn leave_if(self, kind: ConditionKind, condition: Val<'k, bool>, label: fmt::Arguments<'_>) {
        if !self.is_open() {
            return;
        }
        self.k.branch_if(condition, label);
        match condition.0 {
            Repr::Const(false) => {}
            Repr::Const(true) => self.leave(kind),
            Repr::Reg(condition, _) => {
                let at = self.k.here();
                self.k.body().uniform.open_condition(kind, condition, at);
                self.leave(kind);
                self.k.body().uniform.close_condition();
            }
        }
        self.k.assume_not(condition);
    }

    /// Returns whether the loop's body is under construction, and rejects the use of the handle if it is not.
    #[track_caller]
    fn is_open(self) -> bool {
        let is_open = self.k.body().open_blocks.contains(&self.block);
        if !is_open {
            self.k.fail(BuildErrorKind::Refused(
                "expected a loop whose body is under construction, found one that has ended: leave it from inside".into(),
            ));
        }
        is_open
    }

    /// Records that the threads that satisfy the innermost conditions exit the loop or the iteration.
    #[track_caller]
    fn leave(self, kind: ConditionKind) {
        let at = self.k.here();
        let mut body = self.k.body();
        let divergence = body.uniform.leave_loop(self.depth, kind, at);
        body.fail_if(divergence);
    }
}
