//! Kernels under construction ([`Builder`]) and finished ([`Kernel`]).

use std::{
    cell::{RefCell, RefMut},
    fmt,
    marker::PhantomData,
    panic::Location,
};

use super::{
    ascii::ascii,
    body::{Body, Ctx, RegId},
    dim::{Dim, IntoDim, IntoGrid},
    entry::{Entry, Promise},
    error::{BuildError, BuildErrorKind},
    extent::{Extent, ExtentMode},
    facts::Known,
    index::Index,
    operand::Operand,
    params::{Params, sealed::Once},
    ptr::{Global, Ptr},
    render,
    scope::{Block, Cluster, Scope},
    target::Target,
    types::{Element, RegClass, Scalar},
    val::Val,
};

/// A kernel under construction: the handle through which everything is emitted.
///
/// It is `Copy`; all copies write into the same body. Nothing here returns a `Result`: the first mistake is recorded
/// with the caller's source line, and [`Kernel::build`] returns it.
#[derive(Clone, Copy)]
pub struct Builder<'k> {
    ctx: &'k Ctx,
    /// Invariant in `'k`, so that no value of one kernel passes for one of another.
    brand: PhantomData<fn(&'k ()) -> &'k ()>,
}

impl fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

impl<'k> Builder<'k> {
    pub(crate) fn body(self) -> RefMut<'k, Body> {
        self.ctx.body.borrow_mut()
    }

    /// The target that the kernel is built for.
    pub fn target(self) -> Target {
        self.body().target
    }

    pub(crate) fn fresh(self, class: RegClass) -> RegId {
        self.body().fresh(class)
    }

    /// A fresh register that its owner writes in place, also in branches and loops.
    pub(crate) fn fresh_changing(self, class: RegClass) -> RegId {
        let mut body = self.body();
        let reg = body.fresh(class);
        body.set_variable(reg);
        reg.in_place()
    }

    /// An existing register that its owner writes in place from now on.
    pub(crate) fn changing(self, reg: RegId) -> RegId {
        self.body().set_variable(reg);
        reg.in_place()
    }

    /// Writes one instruction; `operands` in PTX order, results first.
    #[track_caller]
    pub(crate) fn emit(self, mnemonic: fmt::Arguments<'_>, operands: &[Operand<'_>]) {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        body.instruction(mnemonic, operands, at);
    }

    /// Runs `write`, whose lines and mistakes are all attributed to `at`, as closures do not pass on their caller. If an
    /// outer call is attributed already, that one stands.
    pub(crate) fn located<R>(self, at: &'static Location<'static>, write: impl FnOnce() -> R) -> R {
        let outer = self.body().located;
        self.body().located = outer.or(Some(at));
        let result = write();
        self.body().located = outer;
        result
    }

    /// Runs a closure of the caller's, whose lines speak for themselves.
    pub(crate) fn unlocated<R>(self, write: impl FnOnce() -> R) -> R {
        let outer = self.body().located.take();
        let result = write();
        self.body().located = outer;
        result
    }

    /// Emits one instruction with a single result of type `T`, in a fresh register or in that of an earlier instruction
    /// which gave the same.
    #[track_caller]
    pub(crate) fn result<T: Scalar>(
        self,
        mnemonic: fmt::Arguments<'_>,
        operands: &[Operand<'_>],
    ) -> Val<'k, T> {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        let reg = body.result(T::CLASS, mnemonic, operands, at);
        drop(body);
        Val::from_reg(reg, self)
    }

    /// The line that what is written now is attributed to.
    #[track_caller]
    pub(crate) fn here(self) -> &'static Location<'static> {
        self.body().located.unwrap_or(Location::caller())
    }

    /// [`result`](Self::result) of an instruction on integers: a constant, if that is what is known of it.
    #[track_caller]
    pub(crate) fn integer<T: Scalar>(
        self,
        known: Known,
        mnemonic: fmt::Arguments<'_>,
        operands: &[Operand<'_>],
    ) -> Val<'k, T> {
        // A constant may leave the block: it must not follow from what is assumed there.
        let local = self.body().any_local(operands);
        if let Some(constant) = known.as_constant().filter(|_| !local) {
            return T::from_bits(constant).into();
        }
        let result = self.result(mnemonic, operands);
        result.learn(known, local);
        result
    }

    /// Records a mistake of the caller's.
    #[track_caller]
    pub(crate) fn fail(self, kind: BuildErrorKind) {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        body.fail(kind, at);
    }

    /// Whether what is written now is written into an emitted loop.
    pub(crate) fn in_loop(self) -> bool {
        self.body().in_loop()
    }

    /// Records that something was asked for that cannot be had.
    #[track_caller]
    pub(crate) fn refuse(self, why: String) {
        self.fail(BuildErrorKind::Refused(why));
    }

    /// Writes `// text` into the body.
    pub fn comment(self, text: impl fmt::Display) {
        for line in text.to_string().lines() {
            self.body().line(format_args!("    // {}", ascii(line)));
        }
    }

    /// Writes a blank line into the body.
    pub fn blank(self) {
        self.body().line(format_args!(""));
    }

    /// `value` moved to a fresh register, which the result alone is in.
    #[track_caller]
    pub fn copy_of<T: Scalar>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
        let copy = self.fresh(T::CLASS);
        self.emit(format_args!("mov.{}", T::MEM), &[Operand::Reg(copy), value.into().source()]);
        Val::from_reg(copy, self)
    }

    /// `value` in a register that is about to be overwritten: its own, to which older handles are refused from now on, or a
    /// fresh one if it is a constant or its register holds other values too.
    #[track_caller]
    pub(crate) fn taken<T: Scalar>(self, value: Val<'k, T>) -> Val<'k, T> {
        match value.reg() {
            Some((reg, _)) if !self.body().is_shared(reg) => {
                let mut body = self.body();
                let at = body.located.unwrap_or(Location::caller());
                body.check_use(reg, at);
                Val::from_reg(body.overwrite(reg), self)
            }
            _ => self.copy_of(value),
        }
    }

    /// A constant of this kernel; `k.constant(1.5f32)` is `Val::from(1.5f32)`.
    pub fn constant<T: Scalar>(self, value: T) -> Val<'k, T> {
        Val::constant(value)
    }

    // ── Launch shape ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Declares the threads of a block in x, y and z, `.reqntid`, and returns the block. Missing ones are 1.
    #[doc(alias = ".reqntid")]
    #[track_caller]
    pub fn block<const N: usize>(self, threads: [u32; N]) -> Block<'k> {
        let shape = fill(threads, 1);
        let total: u64 = shape.iter().map(|&n| u64::from(n)).product();
        if total == 0 || total > 1024 || N > 3 {
            self.fail(BuildErrorKind::BadShape { what: "threads of a block", found: total, most: 1024 });
        }
        let before = self.body().entry.block;
        self.check_redeclared("the block", before.as_ref(), &shape);
        let mut body = self.body();
        if let Some(most) = body.entry.max_block.filter(|most| (0..3).any(|axis| shape[axis] > most[axis])) {
            drop(body);
            self.fail(BuildErrorKind::Redeclared {
                what: "the block",
                before: format!("at most {most:?}"),
                found: format!("{shape:?}"),
            });
            body = self.body();
        }
        body.entry.block = Some(shape);
        body.uniform.declare_block(shape);
        drop(body);
        self.this_block()
    }

    /// Threads of a block as declared so far.
    pub(crate) fn block_shape(self) -> Option<[u32; 3]> {
        self.body().entry.block
    }

    /// Blocks of a cluster as declared so far.
    pub(crate) fn cluster_shape(self) -> Option<[u32; 3]> {
        self.body().entry.cluster
    }

    /// The grid rule as declared so far.
    pub(crate) fn grid_rule(self) -> Option<[Dim; 3]> {
        self.body().entry.grid.clone()
    }

    /// At most so many threads in a block: `.maxntid`.
    #[doc(alias = ".maxntid")]
    #[track_caller]
    pub fn max_block<const N: usize>(self, threads: [u32; N]) {
        let shape = fill(threads, 1);
        let before = self.body().entry.max_block;
        self.check_redeclared("the largest block", before.as_ref(), &shape);
        self.body().entry.max_block = Some(shape);
    }

    /// At least so many blocks should fit on a multiprocessor, `.minnctapersm`: ptxas uses fewer registers then. It counts
    /// only beside [`block`](Self::block) or [`max_block`](Self::max_block).
    #[doc(alias = ".minnctapersm")]
    pub fn min_blocks(self, blocks: u32) {
        self.body().entry.min_blocks = Some(blocks);
    }

    /// At most so many 32-bit registers a thread: `.maxnreg`.
    #[doc(alias = ".maxnreg")]
    pub fn max_registers(self, registers: u32) {
        self.body().entry.max_registers = Some(registers);
    }

    /// Declares the blocks of a cluster in x, y and z, `.reqnctapercluster` (sm_90), and returns the cluster.
    #[doc(alias = ".reqnctapercluster")]
    #[track_caller]
    pub fn cluster<const N: usize>(self, blocks: [u32; N]) -> Cluster<'k> {
        let shape = fill(blocks, 1);
        let total: u64 = shape.iter().map(|&n| u64::from(n)).product();
        if total == 0 || total > 8 || N > 3 {
            self.fail(BuildErrorKind::BadShape { what: "blocks of a cluster", found: total, most: 8 });
        }
        let before = self.body().entry.cluster;
        self.check_redeclared("the cluster", before.as_ref(), &shape);
        let mut body = self.body();
        body.require(".reqnctapercluster", Location::caller());
        body.entry.cluster = Some(shape);
        drop(body);
        Cluster::current(self)
    }

    /// The grid rule: how many blocks a launch has in x, y and z, as constants or as functions of the integer
    /// parameters: `k.grid([m.tiles(64), n.tiles(64)])`, or `k.grid((rows, cols.tiles(64)))` where they are of several kinds.
    /// Missing ones are 1. Launches and the exported header compute the grid by this rule.
    #[track_caller]
    pub fn grid(self, blocks: impl IntoGrid) {
        let Some(grid) = blocks.into_grid().filter(|grid| grid.iter().all(Dim::is_known)) else {
            self.fail(BuildErrorKind::NotAParameter { what: "the grid rule" });
            return;
        };
        let before = self.body().entry.grid.clone();
        self.check_redeclared("the grid rule", before.as_ref(), &grid);
        let mut body = self.body();
        body.set_grid_order(&grid);
        body.entry.grid = Some(grid);
    }

    /// Refuses a shape that was declared as another: accesses may have been left unpredicated because of it.
    #[track_caller]
    fn check_redeclared<T: PartialEq + fmt::Debug>(
        self,
        what: &'static str,
        before: Option<&[T; 3]>,
        found: &[T; 3],
    ) {
        if let Some(before) = before.filter(|before| *before != found) {
            let (before, found) = (format!("{before:?}"), format!("{found:?}"));
            self.fail(BuildErrorKind::Redeclared { what, before, found });
        }
    }

    /// What the kernel does, in a line or two: goes to the head of the PTX and to the C header.
    pub fn describe(self, text: impl Into<String>) {
        self.body().entry.description = text.into();
    }

    /// Records what a view accesses of the buffer that `pointer` is the start of, for launches to check. A view that they could not
    /// check is refused, unless its author vouches for it.
    #[track_caller]
    pub(crate) fn promise_extent<T: Element, A>(
        self,
        view: &'static str,
        pointer: Ptr<'k, T, Global, A>,
        modes: Vec<ExtentMode>,
        most: u64,
    ) {
        if pointer.is_assumed_valid() {
            return;
        }
        let Some(parameter) = pointer.parameter() else {
            self.fail(BuildErrorKind::UncheckedPointer { view });
            return;
        };
        if !modes.iter().all(|mode| mode.size.is_known() && mode.stride.is_known()) {
            self.fail(BuildErrorKind::UncheckedExtent { view });
            return;
        }
        let extent = Extent { parameter, element_bytes: T::SIZE, modes, most };
        let mut body = self.body();
        if !body.entry.extents.contains(&extent) {
            body.entry.extents.push(extent);
        }
    }

    /// Counts an access that only its author vouches for.
    pub(crate) fn count_unsafe_access(self) {
        self.body().entry.unsafe_accesses += 1;
    }

    /// The value of an integer parameter, as the kernel loaded it at its start; 0 if it is not one.
    pub(crate) fn parameter_value(self, parameter: usize) -> Index<'k> {
        let register = self.body().parameter_register(parameter);
        match register {
            Some(reg) if reg.class == RegClass::B32 => Index::U32(Val::from_reg(reg, self)),
            Some(reg) => Index::U64(Val::from_reg(reg, self)),
            None => Index::U32(0.into()),
        }
    }

    /// Records that `divisor` divides the value of the parameter in `reg`, and so what is `known`; a launch checks it.
    #[track_caller]
    pub(crate) fn promise_multiple(self, reg: RegId, divisor: u32, known: Known) {
        let mut body = self.body();
        match body.parameter(reg) {
            Some(parameter) => {
                body.set_known(reg, known);
                body.entry.promises.push(Promise { parameter, divisor });
            }
            None if body.known(reg).divisor().is_multiple_of(divisor.into()) => {}
            None => {
                drop(body);
                self.fail(BuildErrorKind::UnknownMultiple { divisor });
            }
        }
    }
}

fn fill<const N: usize>(given: [u32; N], rest: u32) -> [u32; 3] {
    std::array::from_fn(|i| given.get(i).copied().unwrap_or(rest))
}

/// A finished kernel with parameters `A`, a tuple such as `(In<f32>, Out<f32>, u32)`.
#[derive(Clone)]
pub struct Kernel<A> {
    entry: Entry,
    parameters: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for Kernel<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.entry.name).field("target", &self.entry.target).finish()
    }
}

impl<A: Params> Kernel<A> {
    /// Builds a kernel. `signature` is its name, or its name with names for its parameters: `"scale(x, y, n)"`.
    ///
    /// # Errors
    /// The first mistake made in `write`, with the Rust line that made it.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
    ///     k.block([128]);
    ///     k.grid([n.tiles(128)]);
    ///     let (x, y) = (k.slice(x, n), k.slice(y, n));
    ///     let i = k.ctaid_x() * 128 + k.tid_x();
    ///     y.at(i).store(x.at(i).load() * 2.0);
    /// })?;
    /// println!("{}", kernel.ptx());
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    pub fn build(
        signature: &str,
        target: Target,
        write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>),
    ) -> Result<Self, BuildError> {
        let at = Location::caller();
        let (entry, problem) = Entry::new::<A>(signature, target);
        let ctx = Ctx { body: RefCell::new(Body::new(entry)) };
        let k = Builder { ctx: &ctx, brand: PhantomData };
        if let Some(kind) = problem {
            k.body().fail(kind, at);
        }
        let handles = k.located(at, || A::handles(k, Once));
        k.blank();
        write(k, handles);
        k.body().instruction(format_args!("ret"), &[], at);
        let entry = ctx.body.into_inner().finish(at)?;
        Ok(Self { entry, parameters: PhantomData })
    }
}

impl<A> Kernel<A> {
    /// Everything about the kernel but its parameter types.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Name of the entry.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The PTX module with this one kernel, without source lines: the same for the same calls, anywhere.
    pub fn ptx(&self) -> String {
        render::module(self.entry.target, &[&self.entry], render::Lines::Omit)
    }

    /// The PTX module with `.file` and `.loc` that point at the Rust line of each builder call.
    #[doc(alias = ".loc")]
    pub fn ptx_with_lines(&self) -> String {
        render::module(self.entry.target, &[&self.entry], render::Lines::Keep)
    }
}

impl<'k, T: Scalar> Val<'k, T>
where
    Self: IntoDim,
{
    /// How many tiles of `size` it takes to cover so many elements: `⌈self / size⌉`, for [`Builder::grid`].
    pub fn tiles(self, size: u32) -> Dim {
        self.into_dim().ceil_div(size)
    }
}
