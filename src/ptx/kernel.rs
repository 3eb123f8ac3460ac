//! Kernels under construction ([`Builder`]) and finished ([`Kernel`]).

use std::{cell::RefMut, fmt, marker::PhantomData, panic::Location};

use super::{
    ascii::ascii,
    body::{Body, Ctx, RegId},
    dim::{Dim, IntoDim, IntoGrid},
    entry::{Assumption, Entry, Limit},
    error::{BuildError, BuildErrorKind},
    extent::{Extent, ExtentMode},
    facts::Known,
    index::Index,
    memo::Memo,
    mnemonic::MnemonicText,
    operand::Operand,
    params::{Params, sealed::Once},
    ptr::{Global, Ptr},
    render,
    scope::{Block, Cluster, Scope},
    target::Target,
    types::{Element, RegClass, Scalar},
    val::Val,
};

/// A handle to a kernel under construction; all instructions are emitted through it.
///
/// A `Builder` is `Copy`; all copies emit into the same body. Its methods do not return a `Result`: the first error is recorded with the
/// caller's source line, and [`Kernel::build`] returns it.
#[derive(Clone, Copy)]
pub struct Builder<'k> {
    ctx: &'k Ctx,
    /// Invariant in `'k`, so that values of different kernels cannot be mixed.
    brand: PhantomData<fn(&'k ()) -> &'k ()>,
}

impl fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

/// Restores the previous source location of emitted lines when it is dropped.
#[must_use = "lines are attributed until this is dropped"]
pub(crate) struct Located<'k> {
    k: Builder<'k>,
    outer: Option<&'static Location<'static>>,
}

impl Drop for Located<'_> {
    fn drop(&mut self) {
        // The body can be borrowed here only if a panic is unwinding.
        if let Ok(mut body) = self.k.ctx.body.try_borrow_mut() {
            body.located = self.outer;
        }
    }
}

impl<'k> Builder<'k> {
    pub(crate) fn body(self) -> RefMut<'k, Body> {
        self.ctx.body.borrow_mut()
    }

    pub(crate) fn memo(self) -> RefMut<'k, Memo> {
        self.ctx.memo.borrow_mut()
    }

    /// Returns the kernel's target.
    pub fn target(self) -> Target {
        self.body().target
    }

    pub(crate) fn fresh(self, class: RegClass) -> RegId {
        self.body().fresh(class)
    }

    /// Returns a fresh register that its owner writes in place, including in branches and loops.
    pub(crate) fn fresh_changing(self, class: RegClass) -> RegId {
        let mut body = self.body();
        let reg = body.fresh(class);
        body.set_variable(reg);
        reg.in_place()
    }

    /// Returns a handle to an existing register that its owner writes in place from now on.
    pub(crate) fn changing(self, reg: RegId) -> RegId {
        self.body().set_variable(reg);
        reg.in_place()
    }

    /// Emits one instruction, with `operands` in PTX order, results first.
    #[track_caller]
    pub(crate) fn emit(self, mnemonic: impl MnemonicText, operands: &[Operand<'_>]) {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        body.instruction(&mnemonic, operands, at);
    }

    /// Attributes all lines and errors to `at` until the result is dropped. If an outer attribution is in effect, it takes precedence.
    pub(crate) fn locate(self, at: &'static Location<'static>) -> Located<'k> {
        let mut body = self.body();
        let outer = body.located;
        body.located = outer.or(Some(at));
        Located { k: self, outer }
    }

    /// Runs a closure supplied by the caller, and attributes the lines that it emits to the closure's own Rust lines.
    pub(crate) fn unlocated<R>(self, write: impl FnOnce() -> R) -> R {
        let _located = Located { k: self, outer: self.body().located.take() };
        write()
    }

    /// Emits one instruction with a single result of type `T` in a fresh register, or returns the register of an earlier instruction with
    /// the same result.
    #[track_caller]
    pub(crate) fn result<T: Scalar>(
        self,
        mnemonic: impl MnemonicText,
        operands: &[Operand<'_>],
    ) -> Val<'k, T> {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        let reg = body.result(T::CLASS, &mnemonic, operands, at);
        drop(body);
        Val::from_reg(reg, self)
    }

    /// Returns the Rust line that emitted lines are currently attributed to.
    #[track_caller]
    pub(crate) fn here(self) -> &'static Location<'static> {
        self.body().located.unwrap_or(Location::caller())
    }

    /// Emits an instruction on integers as [`result`](Self::result) does, or returns a constant if the known facts determine the result.
    #[track_caller]
    pub(crate) fn integer<T: Scalar>(
        self,
        known: Known,
        mnemonic: impl MnemonicText,
        operands: &[Operand<'_>],
    ) -> Val<'k, T> {
        // The constant may leave the block, so it must not depend on assumptions in the block.
        let local = self.body().any_local(operands);
        if let Some(constant) = known.as_constant().filter(|_| !local) {
            return T::from_bits(constant).into();
        }
        let result = self.result(mnemonic, operands);
        result.learn(known, local);
        result
    }

    /// Records an error, with the caller's Rust line.
    #[track_caller]
    pub(crate) fn fail(self, kind: BuildErrorKind) {
        let mut body = self.body();
        let at = body.located.unwrap_or(Location::caller());
        body.fail(kind, at);
    }

    /// Returns whether the current position is in an emitted loop.
    pub(crate) fn in_loop(self) -> bool {
        self.body().in_loop()
    }

    /// Records an invalid request as an error.
    #[track_caller]
    pub(crate) fn refuse(self, why: String) {
        self.fail(BuildErrorKind::Refused(why));
    }

    /// Emits each line of `text` as a `//` comment. Characters outside ASCII are transliterated or replaced with `?`.
    pub fn comment(self, text: impl fmt::Display) {
        for line in text.to_string().lines() {
            self.body().line(format_args!("    // {}", ascii(line)));
        }
    }

    /// Emits a blank line.
    pub fn blank(self) {
        self.body().line(format_args!(""));
    }

    /// Returns a copy of `value` in a fresh register that no other value shares.
    #[track_caller]
    pub fn copy_of<T: Scalar>(self, value: impl Into<Val<'k, T>>) -> Val<'k, T> {
        let copy = self.fresh(T::CLASS);
        self.emit(["mov.", T::MEM], &[Operand::Reg(copy), value.into().source()]);
        Val::from_reg(copy, self)
    }

    /// Returns `value` in a register that is about to be overwritten: the value's own register, in which case older handles become invalid,
    /// or a fresh one if `value` is a constant or shares its register with other values.
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

    /// Returns `value` as a constant. This method is equivalent to `Val::from(value)`.
    pub fn constant<T: Scalar>(self, value: T) -> Val<'k, T> {
        Val::constant(value)
    }

    // ── Launch shape ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Declares the number of threads per block in x, y and z (`.reqntid`), and returns the block. Missing dimensions are 1.
    ///
    /// A block must have 1 to 1024 threads, at most 64 threads in z, and at most three dimensions. The builder rejects other shapes, a
    /// block that exceeds the declared [`max_block`](Self::max_block), and a second declaration that differs from the first.
    #[doc(alias = ".reqntid")]
    #[track_caller]
    pub fn block<const N: usize>(self, threads: [u32; N]) -> Block<'k> {
        let shape = self.checked_threads(threads);
        let Entry { block: before, max_block: most, .. } = self.body().entry;
        self.check_redeclared("the block", before.as_ref(), &shape);
        self.check_most(shape, most);
        let mut body = self.body();
        body.entry.block = Some(shape);
        body.uniform.declare_block(shape);
        drop(body);
        self.this_block()
    }

    /// Returns the declared shape of the block.
    pub(crate) fn block_shape(self) -> Option<[u32; 3]> {
        self.body().entry.block
    }

    /// Returns the declared shape of the cluster. If no cluster has been declared, a later declaration is rejected, because emitted code
    /// may depend on the absence of a cluster.
    #[track_caller]
    pub(crate) fn cluster_shape(self) -> Option<[u32; 3]> {
        let at = self.here();
        let mut body = self.body();
        if body.entry.cluster.is_none() {
            body.without_cluster.get_or_insert(at);
        }
        body.entry.cluster
    }

    /// Returns the declared grid rule.
    pub(crate) fn grid_rule(self) -> Option<[Dim; 3]> {
        self.body().entry.grid.clone()
    }

    /// Declares the maximum extents of a block in x, y and z, in threads (`.maxntid`). Missing dimensions are 1. The product of the extents
    /// must be from 1 to 1024, and the extent in z at most 64.
    ///
    /// The builder rejects a second declaration that differs from the first. The kernel relies on each extent, although `.maxntid` limits
    /// only the product of the extents: a kernel that declares at most 32×4 threads must not be launched with blocks of 128×1 threads.
    #[doc(alias = ".maxntid")]
    #[track_caller]
    pub fn max_block<const N: usize>(self, threads: [u32; N]) {
        let shape = self.checked_threads(threads);
        let Entry { block, max_block: before, .. } = self.body().entry;
        self.check_redeclared("the largest block", before.as_ref(), &shape);
        if let Some(block) = block {
            self.check_most(block, Some(shape));
        }
        self.body().entry.max_block = Some(shape);
    }

    /// Checks the number of dimensions of a block, and its number of threads: in total, and in z. Returns the shape, or that of one warp in
    /// place of a rejected one, because later code computes with the number of threads.
    #[track_caller]
    fn checked_threads<const N: usize>(self, threads: [u32; N]) -> [u32; 3] {
        self.check_rank("dimensions of a block", N);
        let shape = fill(threads, 1);
        let is_valid = self.check_shape("threads of a block", &shape, 1024)
            && self.check_shape("threads of a block in z", &shape[2..], 64);
        if is_valid { shape } else { [32, 1, 1] }
    }

    /// Checks that a shape has at most three dimensions.
    #[track_caller]
    fn check_rank(self, what: &'static str, found: usize) {
        if found > 3 {
            self.fail(BuildErrorKind::BadShape { what, found: found as u64, max: 3 });
        }
    }

    /// Checks the product of the extents of a shape, and returns whether it is valid.
    #[track_caller]
    fn check_shape(self, what: &'static str, extents: &[u32], max: u64) -> bool {
        let found = extents.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into()));
        let is_valid = (1..=max).contains(&found);
        if !is_valid {
            self.fail(BuildErrorKind::BadShape { what, found, max });
        }
        is_valid
    }

    /// Checks a block against the declared maximum.
    #[track_caller]
    fn check_most(self, block: [u32; 3], most: Option<[u32; 3]>) {
        if let Some(most) = most.filter(|most| (0..3).any(|axis| block[axis] > most[axis])) {
            self.fail(BuildErrorKind::Redeclared {
                what: "the block",
                before: format!("at most {most:?}"),
                found: format!("{block:?}"),
            });
        }
    }

    /// Declares the minimum number of resident blocks per multiprocessor, from 1 to 32 (`.minnctapersm`). ptxas limits the number of
    /// registers accordingly. The declaration has no effect without [`block`](Self::block) or [`max_block`](Self::max_block).
    ///
    /// In a kernel with [roles](Self::specialize), the number must be 1. The builder rejects any other number.
    #[doc(alias = ".minnctapersm")]
    #[track_caller]
    pub fn min_blocks(self, blocks: u32) {
        // ptxas ignores other numbers (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
        if !(1..=32).contains(&blocks) {
            self.refuse(format!("expected 1 to 32 resident blocks, found {blocks}"));
        }
        let before = self.body().entry.min_blocks.replace(blocks);
        self.check_before_roles("min_blocks", before, blocks);
    }

    /// Declares the maximum number of 32-bit registers per thread, from 24 to 255 (`.maxnreg`). The declaration must precede
    /// [roles](Self::specialize), among which the registers are divided.
    #[doc(alias = ".maxnreg")]
    #[track_caller]
    pub fn max_registers(self, registers: u32) {
        // ptxas ignores greater numbers and raises smaller ones.
        if !(24..=255).contains(&registers) {
            self.refuse(format!("expected 24 to 255 registers per thread, found {registers}"));
        }
        let before = self.body().entry.max_registers.replace(registers);
        self.check_before_roles("max_registers", before, registers);
    }

    /// Rejects a declaration that changes the number of registers after the registers have been divided among roles.
    #[track_caller]
    fn check_before_roles(self, what: &str, before: Option<u32>, found: u32) {
        if self.body().has_roles && before != Some(found) {
            self.refuse(format!(
                "expected `{what}` before the roles, which share the registers, found `{what}({found})` after them"
            ));
        }
    }

    /// Declares the number of blocks per cluster in x, y and z (`.reqnctapercluster`), and returns the cluster. Missing dimensions are 1.
    /// Requires sm_90 or later.
    ///
    /// A cluster must have 1 to 8 blocks. The declaration must precede code that depends on the cluster, such as rings and
    /// [`persistent`](Self::persistent). The builder rejects a second declaration that differs from the first.
    #[doc(alias = ".reqnctapercluster")]
    #[track_caller]
    pub fn cluster<const N: usize>(self, blocks: [u32; N]) -> Cluster<'k> {
        self.check_rank("dimensions of a cluster", N);
        let shape = fill(blocks, 1);
        let shape = if self.check_shape("blocks of a cluster", &shape, 8) { shape } else { [1; 3] };
        let before = self.body().entry.cluster;
        self.check_redeclared("the cluster", before.as_ref(), &shape);
        let single = self.body().without_cluster.filter(|_| before.is_none());
        if let Some(at) = single {
            self.refuse(format!(
                "expected the cluster to be declared before code that depends on it, found it after the code for single blocks of {at}"
            ));
        }
        let mut body = self.body();
        body.require(".reqnctapercluster", Location::caller());
        body.entry.cluster = Some(shape);
        drop(body);
        Cluster::current(self)
    }

    /// Declares the grid rule: the number of blocks per launch in x, y and z. Missing dimensions are 1.
    ///
    /// Each number must be a constant or an expression of unsigned integer parameters and the number of multiprocessors on the device, for
    /// example `k.grid([m.tiles(64), n.tiles(64)])` or, if the types of the numbers differ, `k.grid((rows, cols.tiles(64)))`. Launches and
    /// the exported header compute the grid from this rule. The builder rejects other computed values, more than three dimensions, and a
    /// second declaration that differs from the first.
    #[track_caller]
    pub fn grid(self, blocks: impl IntoGrid) {
        let grid = match blocks.into_grid() {
            Ok(grid) => grid,
            Err(rank) => return self.check_rank("dimensions of the grid rule", rank),
        };
        if !grid.iter().all(Dim::is_known) {
            return self.fail(BuildErrorKind::NotAParameter { what: "the grid rule" });
        }
        let before = self.body().entry.grid.clone();
        self.check_redeclared("the grid rule", before.as_ref(), &grid);
        let mut body = self.body();
        body.set_grid_order(&grid);
        body.entry.grid = Some(grid);
    }

    /// Rejects a declaration that differs from an earlier one, because emitted instructions may depend on the earlier value.
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

    /// Sets the kernel's description, which should be one or two lines of text. The description appears in a comment at the start of the
    /// PTX text, in a comment in the exported C header, and in the exported manifest.
    pub fn describe(self, text: impl Into<String>) {
        self.body().entry.description = text.into();
    }

    /// Records the extent of a view of the buffer that starts at `pointer`, for launches to check. `most` is the maximum number of
    /// coordinates per mode for which the kernel's index computations are correct. A view that launches cannot check is rejected, unless
    /// the pointer is assumed valid.
    #[track_caller]
    pub(crate) fn assume_extent<T: Element, A>(
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

    /// Returns the number of the innermost open block, which is a branch, a loop, or the kernel.
    pub(crate) fn innermost_block(self) -> u32 {
        *self.body().open_blocks.last().unwrap_or(&0)
    }

    /// Rejects the use of a value that was created in a block that has ended, because facts about the value may hold only in that block.
    #[track_caller]
    pub(crate) fn check_open(self, block: u32) {
        let is_open = self.body().open_blocks.contains(&block);
        if !is_open {
            self.refuse("expected a view or an element of the enclosing code, found one created in a branch or loop that has ended".into());
        }
    }

    /// Counts an `unsafe` builder call.
    pub(crate) fn count_unsafe_access(self) {
        self.body().entry.unsafe_accesses += 1;
    }

    /// Returns the value of an integer parameter, as loaded at the start of the kernel, or 0 for any other parameter.
    pub(crate) fn parameter_value(self, parameter: usize) -> Index<'k> {
        let register = self.body().parameter_register(parameter);
        match register {
            Some(reg) if reg.class == RegClass::B32 => Index::U32(Val::from_reg(reg, self)),
            Some(reg) => Index::U64(Val::from_reg(reg, self)),
            None => Index::U32(0.into()),
        }
    }

    /// Records that `divisor` divides the value of the parameter in `reg`, which implies the facts `known`. Every launch checks the
    /// divisor. If `signed` is false, the parameter must be unsigned.
    #[track_caller]
    pub(crate) fn assume_multiple(self, reg: RegId, divisor: u32, signed: bool, known: Known) {
        let mut body = self.body();
        match body.parameter(reg) {
            Some(parameter) if body.entry.params[parameter].is_integer(signed) => {
                body.set_known(reg, known);
                body.entry.assumptions.push(Assumption { parameter, divisor });
            }
            _ if body.known(reg).divisor().is_multiple_of(divisor.into()) => {}
            Some(parameter) => {
                let found = body.entry.params[parameter].element;
                drop(body);
                self.refuse_reinterpreted(found);
            }
            None => {
                drop(body);
                self.fail(BuildErrorKind::UnknownMultiple { divisor });
            }
        }
    }

    /// Records that the value of the unsigned parameter in `reg` is at most `max`. Every launch checks this bound.
    #[track_caller]
    pub(crate) fn assume_limit(self, reg: RegId, max: u32) {
        let mut body = self.body();
        match body.parameter(reg) {
            Some(parameter) if body.entry.params[parameter].is_integer(false) => {
                body.set_known(reg, Known::at_most(max.into(), 32));
                body.entry.limits.push(Limit { parameter, max });
            }
            _ if body.known(reg).most() <= max.into() => {}
            Some(parameter) => {
                let found = body.entry.params[parameter].element;
                drop(body);
                self.refuse_reinterpreted(found);
            }
            None => {
                drop(body);
                self.refuse(format!(
                    "expected a parameter, which launches compare with {max}, found a computed value"
                ));
            }
        }
    }

    /// Rejects an assumption about the reinterpreted bits of a parameter: launches check the parameter's numeric value, not its bits.
    #[track_caller]
    fn refuse_reinterpreted(self, found: &str) {
        self.refuse(format!(
            "expected an integer parameter, whose value each launch checks, found the bits of a parameter of type {found}"
        ));
    }
}

fn fill<const N: usize>(given: [u32; N], rest: u32) -> [u32; 3] {
    std::array::from_fn(|i| given.get(i).copied().unwrap_or(rest))
}

/// A finished kernel. `A` is the tuple of its parameter types, such as `(In<f32>, Out<f32>, u32)`.
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
    /// Builds a kernel for `target`. `write` receives the builder and the handles of the parameters, and emits the body of the kernel.
    ///
    /// `signature` is the name of the kernel, optionally followed by the names of its parameters, such as `"scale(x, y, n)"`. The default
    /// names are `p0`, `p1` and so on.
    ///
    /// # Errors
    /// Returns the first error, with the Rust source line that caused it. The build fails if the signature is invalid, a builder call in
    /// `write` fails, or the kernel uses more shared memory than the target allows.
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
        let ctx = Ctx::new(signature, target, A::declarations(), at);
        let k = Builder { ctx: &ctx, brand: PhantomData };
        let handles = {
            let _located = k.locate(at);
            A::handles(k, Once)
        };
        k.blank();
        write(k, handles);
        Ok(Self { entry: ctx.finish(at)?, parameters: PhantomData })
    }
}

impl<A> Kernel<A> {
    /// Returns the kernel without its parameter types.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the name of the entry point.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Returns the PTX text of a module that contains this kernel, without `.file` and `.loc` directives. The same builder calls produce
    /// the same text on every machine.
    pub fn ptx(&self) -> String {
        render::module(self.entry.target, &[&self.entry], render::Lines::Omit)
    }

    /// Returns the PTX text of a module that contains this kernel, with `.file` and `.loc` directives that refer to the Rust line of each
    /// builder call.
    #[doc(alias = ".loc")]
    pub fn ptx_with_lines(&self) -> String {
        self.entry.ptx_with_lines()
    }
}

impl<'k, T: Scalar> Val<'k, T>
where
    Self: IntoDim,
{
    /// Returns `⌈self / size⌉`, the number of tiles of `size` elements that cover `self` elements, for use in [`Builder::grid`]. A `size`
    /// of 0 is treated as 1.
    pub fn tiles(self, size: u32) -> Dim {
        self.into_dim().ceil_div(size)
    }
}
