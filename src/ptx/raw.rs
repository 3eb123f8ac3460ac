//! Raw PTX for instructions that are not in the table, with named placeholders for typed operands.

use std::{fmt::Write, panic::Location};

use super::{
    body::RegId,
    entry::is_identifier,
    error::BuildErrorKind,
    kernel::Builder,
    operand::Operand,
    ptr::{Ptr, Space},
    target::{Features, Version},
    types::{Element, Scalar},
    val::Val,
    var::Var,
};

/// Raw PTX text under construction. Its methods bind placeholders to operands; [`emit`](Self::emit) emits it.
///
/// `O` is the type of the results: `()`, one result, or a tuple of results.
#[derive(Debug)]
#[must_use = "the line is only emitted by `emit`"]
pub struct Raw<'k, O = ()> {
    k: Builder<'k>,
    at: &'static Location<'static>,
    template: String,
    bindings: Vec<Binding>,
    needs: (Version, Features),
    results: O,
}

#[derive(Debug)]
struct Binding {
    placeholder: String,
    operand: RawOperand,
}

/// An operand of raw PTX, which consists of its text and the registers in the text.
#[derive(Clone, Debug)]
pub struct RawOperand {
    text: String,
    registers: Vec<RegId>,
    /// Whether the PTX code writes to the registers.
    written: bool,
}

impl RawOperand {
    fn written(self) -> Self {
        Self { written: true, ..self }
    }

    fn new(operand: &Operand<'_>) -> Self {
        let mut registers = Vec::new();
        operand.for_each_register(&mut |reg| registers.push(reg));
        Self { text: operand.to_string(), registers, written: false }
    }
}

/// Only this crate implements the public traits.
mod sealed {
    pub trait IntoRaw<'k> {}
    pub trait Append<T> {}
}

/// A type whose values can be bound to a placeholder in raw PTX.
///
/// A value or host constant becomes a register or an immediate. A [`Var`] becomes its register, which the PTX code may overwrite. A [`Ptr`]
/// becomes an address in square brackets. An array of values becomes a vector in braces.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a raw line",
    note = "bind a value, a host constant, a `Var`, a pointer, or an array of values"
)]
pub trait IntoRaw<'k>: sealed::IntoRaw<'k> {
    /// Converts the value to an operand in kernel `k`.
    fn into_raw(self, k: Builder<'k>) -> RawOperand;
}

impl<'k, T: Scalar> sealed::IntoRaw<'k> for Val<'k, T> {}
impl<'k, T: Scalar> IntoRaw<'k> for Val<'k, T> {
    #[track_caller]
    fn into_raw(self, k: Builder<'k>) -> RawOperand {
        // A guard cannot be an immediate.
        let operand = if T::PTX == "pred" { Operand::Reg(self.in_register(k)) } else { self.operand(k) };
        RawOperand::new(&operand)
    }
}

impl<'k, T: Scalar> sealed::IntoRaw<'k> for T {}
impl<'k, T: Scalar> IntoRaw<'k> for T {
    #[track_caller]
    fn into_raw(self, k: Builder<'k>) -> RawOperand {
        Val::from(self).into_raw(k)
    }
}

impl<'k, T: Scalar, const N: usize> sealed::IntoRaw<'k> for [Val<'k, T>; N] {}
impl<'k, T: Scalar, const N: usize> IntoRaw<'k> for [Val<'k, T>; N] {
    #[track_caller]
    fn into_raw(self, k: Builder<'k>) -> RawOperand {
        RawOperand::new(&Operand::Vector(&self.map(|v| v.operand(k))))
    }
}

impl<'k, T: Scalar> sealed::IntoRaw<'k> for Var<'k, T> {}
impl<'k, T: Scalar> IntoRaw<'k> for Var<'k, T> {
    fn into_raw(self, _: Builder<'k>) -> RawOperand {
        RawOperand::new(&Operand::Reg(self.register())).written()
    }
}

impl<'k, T: Element, S: Space, A> sealed::IntoRaw<'k> for Ptr<'k, T, S, A> {}
impl<'k, T: Element, S: Space, A> IntoRaw<'k> for Ptr<'k, T, S, A> {
    #[track_caller]
    fn into_raw(self, _: Builder<'k>) -> RawOperand {
        RawOperand::new(&self.operand())
    }
}

/// The results of raw PTX, to which another result of type `T` can be appended: `()` becomes `T`, `A` becomes `(A, T)`, `(A, B)` becomes
/// `(A, B, T)`, and so on, up to eight results.
pub trait Append<T>: sealed::Append<T> {
    /// The type of all results.
    type Joined;
    /// Appends a result.
    fn append(self, result: T) -> Self::Joined;
}

impl<T> sealed::Append<T> for () {}
impl<T> Append<T> for () {
    type Joined = T;

    fn append(self, result: T) -> T {
        result
    }
}

impl<T, A: Scalar> sealed::Append<T> for Val<'_, A> {}
impl<T, A: Scalar> Append<T> for Val<'_, A> {
    type Joined = (Self, T);

    fn append(self, result: T) -> (Self, T) {
        (self, result)
    }
}

impl<T, A: Scalar, const N: usize> sealed::Append<T> for [Val<'_, A>; N] {}
impl<T, A: Scalar, const N: usize> Append<T> for [Val<'_, A>; N] {
    type Joined = (Self, T);

    fn append(self, result: T) -> (Self, T) {
        (self, result)
    }
}

macro_rules! append {
    ($($r:ident)*) => {
        impl<T, $($r),*> sealed::Append<T> for ($($r,)*) {}
        #[allow(non_snake_case, reason = "one name serves as type and binding")]
        impl<T, $($r),*> Append<T> for ($($r,)*) {
            type Joined = ($($r,)* T);

            fn append(self, result: T) -> Self::Joined {
                let ($($r,)*) = self;
                ($($r,)* result)
            }
        }
    };
}

append! { A B }
append! { A B C }
append! { A B C D }
append! { A B C D E }
append! { A B C D E F }
append! { A B C D E F G }

impl<'k> Builder<'k> {
    /// Creates raw PTX with named placeholders for typed operands, for instructions that are not in the table. [`Raw::emit`] emits it.
    ///
    /// A placeholder is a name in braces. Other braces are literal: `{{lo}, {hi}}` is a vector of two placeholders, and `{ … }` may open a
    /// scope with its own declarations. Lines of raw PTX are marked `// raw` in the output.
    ///
    /// Instructions in the table are checked against the target as usual. Use [`Raw::needs`] to declare the requirements of other
    /// instructions.
    ///
    /// The builder rejects the following with [`BuildErrorKind::BadRaw`]:
    /// - a placeholder without a binding, a binding without a placeholder, and a name that is bound twice;
    /// - a character outside ASCII;
    /// - text whose last statement is incomplete;
    /// - in [`Builder::when`], anything other than a single instruction without a guard or a label.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(Out<u32>, u64)>::build("f(y, x)", Target::SM_80, |k, (y, x)| {
    ///     // SAFETY: the lines access no memory.
    ///     let (split, dot) = unsafe { (k.raw("mov.b64 {{lo}, {hi}}, {x};"), k.raw("dp4a.u32.u32 {d}, {a}, {b}, 1;")) };
    ///     let (lo, hi) = split.out::<u32>("lo").out::<u32>("hi").input("x", x).emit();
    ///     let dot = dot.out::<u32>("d").input("a", lo).input("b", hi).emit();
    ///     k.slice(y, 1).at(0).store(dot);
    /// })?;
    /// assert!(kernel.ptx().contains("dp4a.u32.u32 %r2, %r0, %r1, 1; // raw"));
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    ///
    /// # Safety
    ///
    /// In every launch, the PTX code must access only memory within live allocations and must not write to the memory of `In` parameters.
    /// The only registers of the kernel that it may write to are those bound with [`Raw::out`] and [`Raw::out_vector`], and those of bound
    /// [`Var`]s.
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn raw(self, template: &str) -> Raw<'k> {
        self.count_unsafe_access();
        Raw {
            k: self,
            at: Location::caller(),
            template: template.to_string(),
            bindings: Vec::new(),
            needs: (self.target().lowest_version(), Features::empty()),
            results: (),
        }
    }
}

impl<'k, O> Raw<'k, O> {
    /// Binds a placeholder to an operand that the PTX code reads, or to a [`Var`], which it may also overwrite.
    #[track_caller]
    pub fn input(mut self, placeholder: &str, operand: impl IntoRaw<'k>) -> Self {
        let operand = operand.into_raw(self.k);
        self.bindings.push(Binding { placeholder: placeholder.to_string(), operand });
        self
    }

    /// Binds a placeholder to a fresh register that the PTX code writes to. The register becomes a result of type `T`.
    pub fn out<T: Scalar>(mut self, placeholder: &str) -> Raw<'k, O::Joined>
    where
        O: Append<Val<'k, T>>,
    {
        let value = Val::<T>::from_reg(self.k.fresh(T::CLASS), self.k);
        let operand = RawOperand::new(&value.operand(self.k)).written();
        self.bindings.push(Binding { placeholder: placeholder.to_string(), operand });
        self.with(|results| results.append(value))
    }

    /// Binds a placeholder to a vector of `N` fresh registers, such as `{%f0, %f1}`, that the PTX code writes to. The registers become one
    /// result, an array of `N` values.
    pub fn out_vector<T: Scalar, const N: usize>(mut self, placeholder: &str) -> Raw<'k, O::Joined>
    where
        O: Append<[Val<'k, T>; N]>,
    {
        let values = std::array::from_fn(|_| Val::<T>::from_reg(self.k.fresh(T::CLASS), self.k));
        let operand = values.into_raw(self.k).written();
        self.bindings.push(Binding { placeholder: placeholder.to_string(), operand });
        self.with(|results| results.append(values))
    }

    /// Declares the requirements of the PTX code: the lowest `.version` and the required target features.
    pub fn needs(mut self, version: Version, features: Features) -> Self {
        self.needs = (self.needs.0.max(version), self.needs.1 | features);
        self
    }

    fn with<P>(self, f: impl FnOnce(O) -> P) -> Raw<'k, P> {
        let Self { k, at, template, bindings, needs, results } = self;
        Raw { k, at, template, bindings, needs, results: f(results) }
    }

    /// Emits the PTX code and returns its results.
    pub fn emit(self) -> O {
        let mut body = self.k.body();
        match self.fill() {
            Ok((text, registers)) => {
                let root = mnemonics(&text).next().unwrap_or_default();
                body.require_support(root, self.needs, self.at);
                if let Err(problem) = body.raw(&text, &registers, self.at) {
                    body.fail(BuildErrorKind::BadRaw { line: self.template, problem }, self.at);
                }
                for operand in self.bindings.iter().map(|b| &b.operand).filter(|operand| operand.written) {
                    operand.registers.iter().for_each(|&reg| body.uniform.write_unknown(reg, self.at));
                }
            }
            Err(problem) => body.fail(BuildErrorKind::BadRaw { line: self.template, problem }, self.at),
        }
        self.results
    }

    /// Returns the text with its placeholders filled in and the registers that it contains, or a description of the error.
    fn fill(&self) -> Result<(String, Vec<RegId>), String> {
        for (i, binding) in self.bindings.iter().enumerate() {
            if self.bindings[..i].iter().any(|b| b.placeholder == binding.placeholder) {
                return Err(format!("`{}` is bound twice", binding.placeholder));
            }
        }
        let mut text = String::with_capacity(self.template.len() + 32);
        let mut registers = Vec::new();
        let mut used = vec![false; self.bindings.len()];
        for piece in pieces(&self.template) {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Hole(placeholder) => {
                    let bound = self.bindings.iter().position(|b| b.placeholder == placeholder);
                    let index = bound.ok_or_else(|| {
                        format!("expected a value for the placeholder `{{{placeholder}}}`, found none")
                    })?;
                    let operand = &self.bindings[index].operand;
                    let _ = write!(text, "{}", operand.text);
                    registers.extend_from_slice(&operand.registers);
                    used[index] = true;
                }
            }
        }
        match self.bindings.iter().zip(used).find(|(_, used)| !used) {
            Some((binding, _)) => {
                Err(format!("expected a placeholder `{{{}}}`, found none", binding.placeholder))
            }
            None => Ok((text, registers)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Hole(&'a str),
}

/// Splits a template at its placeholders.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text = 0;
    for (open, _) in template.match_indices('{') {
        let inner = &template[open + 1..];
        let Some(placeholder) =
            inner.find('}').map(|close| &inner[..close]).filter(|name| is_identifier(name))
        else {
            continue;
        };
        pieces.push(Piece::Text(&template[text..open]));
        pieces.push(Piece::Hole(placeholder));
        text = open + placeholder.len() + 2;
    }
    pieces.push(Piece::Text(&template[text..]));
    pieces
}

/// Returns the mnemonics of the instructions in a piece of PTX.
pub(crate) fn mnemonics(text: &str) -> impl Iterator<Item = &str> {
    statements(text).filter_map(|statement| {
        let mut words =
            statement.split_whitespace().filter(|word| !word.starts_with('@') && !word.ends_with(':'));
        words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}

/// Returns the statements of a piece of PTX without comments and without leading scope braces.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(|line| line.split_inclusive(';'))
        // Text that continues a statement from an earlier line, such as an operand, does not start a statement.
        .scan(true, |begins, part| {
            let part = part.trim();
            let begun = *begins;
            *begins =
                part.is_empty() && begun || part.ends_with([';', '{', '}', ':']) && !part.ends_with("},");
            Some(if begun { part } else { "" })
        })
        .map(|part| part.trim_start_matches(['{', '}', ' ']).trim_end_matches(';'))
        .filter(|part| !part.is_empty())
}

/// Returns a description of the error in the structure of a piece of PTX, if any. `guarded` specifies whether the piece is emitted under a
/// guard.
pub(crate) fn shape_problem(text: &str, guarded: bool) -> Option<String> {
    if let Some(bad) = text.chars().find(|c| !c.is_ascii()) {
        return Some(format!("expected only ASCII characters, even in comments, found `{bad}`"));
    }
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim().to_string();
    let last = text.lines().rev().map(code).find(|line| !line.is_empty()).unwrap_or_default();
    if !last.ends_with([';', '}', ':']) {
        return Some("it does not end a statement: `;` is missing".to_string());
    }
    let mut statements = statements(text);
    let is_instruction = |statement: &str| {
        let word = statement.split_whitespace().next().unwrap_or_default();
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.ends_with(':')
    };
    let single =
        !last.ends_with('}') && statements.next().is_some_and(is_instruction) && statements.next().is_none();
    (guarded && !single)
        .then(|| "under a guard, expected a single instruction without its own guard or label".to_string())
}

#[cfg(test)]
mod tests {

    use super::{Piece::*, *};

    #[test]
    fn a_hole_is_a_name_in_braces() {
        assert_eq!(pieces("mov {d}, {a};"), [Text("mov "), Hole("d"), Text(", "), Hole("a"), Text(";")]);
        assert_eq!(pieces("{{a}}{"), [Text("{"), Hole("a"), Text("}{")]);
        assert_eq!(pieces("{ .reg .b32 t; }"), [Text("{ .reg .b32 t; }")]);
        assert_eq!(pieces("{%r1} {} {a b}"), [Text("{%r1} {} {a b}")]);
    }

    #[test]
    fn mnemonics_are_found_in_scopes_after_guards_and_labels() {
        let text =
            "{ .reg .pred q; setp.eq.u32 q, %r0, 1; // add.u32 x;\n@q bra done;\n}\ndone: membar.gl;\n";
        assert_eq!(mnemonics(text).collect::<Vec<_>>(), ["setp.eq.u32", "bra", "membar.gl"]);
        let wrapped = "mma.sync.aligned\n  {%f0, %f1},\n  %r0;\nret;";
        assert_eq!(mnemonics(wrapped).collect::<Vec<_>>(), ["mma.sync.aligned", "ret"]);
        assert_eq!(mnemonics("").count(), 0);
    }

    #[test]
    fn shapes() {
        assert_eq!(shape_problem("add.u32 a, b, c;", true), None);
        assert_eq!(shape_problem("{ add.u32 a, b, c; }", false), None);
        assert!(shape_problem("add.u32 a, b, c", false).is_some());
        assert!(shape_problem("", false).is_some());
        assert!(shape_problem("ret; // \u{b5}", false).is_some());
        assert!(shape_problem("ret; ret;", true).is_some());
        assert!(shape_problem("@p ret;", true).is_some());
        assert!(shape_problem("{ ret; }", true).is_some());
        assert!(shape_problem("done:", true).is_some());
        assert!(shape_problem("done: ret;", true).is_some());
        assert_eq!(shape_problem("// why\nmov.b32 a,\n  b; // how\n// that is all", true), None);
    }
}
