//! What can be wrong with a kernel as built, and where in the caller's source.

use std::{fmt, panic::Location};

use thiserror::Error;

use super::{
    target::{Features, Target},
    uniform::{ConditionKind, Uniformity},
};

/// The first thing that was wrong while a kernel was built, with the Rust line that did it.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildError {
    kernel: String,
    kind: BuildErrorKind,
    at: &'static Location<'static>,
}

impl BuildError {
    pub(crate) fn new(kernel: &str, kind: BuildErrorKind, at: &'static Location<'static>) -> Self {
        Self { kernel: kernel.to_string(), kind, at }
    }

    /// Name of the kernel that was being built.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// What was wrong.
    pub fn kind(&self) -> &BuildErrorKind {
        &self.kind
    }

    /// The caller's source line.
    pub fn location(&self) -> &'static Location<'static> {
        self.at
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: kernel `{}`: {}", self.at, self.kernel, self.kind)
    }
}

impl std::error::Error for BuildError {}

/// What was wrong with a kernel as built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// The target lacks what an instruction needs.
    #[error("`{mnemonic}` is found on {lowest} and its successors, but the target is {target}")]
    Unsupported {
        /// The instruction.
        mnemonic: String,
        /// What the target lacks.
        needs: Features,
        /// The lowest target that has it.
        lowest: Target,
        /// The target that was asked for.
        target: Target,
    },
    /// The instruction table has no such instruction.
    #[error("no instruction `{mnemonic}` in the table: check its qualifiers, or write the line with `raw`")]
    UnknownInstruction {
        /// The instruction as it would have been written.
        mnemonic: String,
    },
    /// A register is used where its definition may not have run.
    #[error(
        "register {register} is used outside the block that defines it: carry it out as loop state or in a `Var`"
    )]
    NotDominated {
        /// Name of the register.
        register: String,
    },
    /// A register was overwritten after this handle to it was taken.
    #[error(
        "register {register} was overwritten after this handle to it was taken (by an accumulation in place, or by a loop that carries it)"
    )]
    Overwritten {
        /// Name of the register.
        register: String,
    },
    /// A tile from outside of an emitted loop is summed into inside of it.
    #[error(
        "register {register} is accumulated into inside an emitted loop that does not carry it: make the tile the loop's state"
    )]
    NotCarried {
        /// Name of the register.
        register: String,
    },
    /// A vector access wider than the address is known to be aligned.
    #[error(
        "a {bytes}-byte access needs an address aligned to {bytes} bytes, but this one is known to be aligned to {known} only"
    )]
    Misaligned {
        /// Width of the access.
        bytes: u32,
        /// Known alignment of the address.
        known: u32,
    },
    /// A view that a launch cannot check, as it begins elsewhere than a buffer parameter.
    #[error(
        "expected a buffer parameter (`In`, `Out` or `InOut`) for `{view}`, found a computed pointer, whose extents a launch cannot \
         check: make the view of the parameter, or vouch for the pointer with `unsafe {{ pointer.assume_valid() }}`"
    )]
    UncheckedPointer {
        /// What makes the view.
        view: &'static str,
    },
    /// A view that a launch cannot check, as its extents or strides are computed.
    #[error(
        "expected extents and strides of `{view}` made of constants and integer parameters, found a computed register, which a launch \
         cannot check: pass the number as a parameter, or vouch for the pointer with `unsafe {{ pointer.assume_valid() }}`"
    )]
    UncheckedExtent {
        /// What makes the view.
        view: &'static str,
    },
    /// A divisor that no launch can check.
    #[error(
        "expected a kernel parameter, which a launch checks to be a multiple of {divisor}, found a computed register: say it of the \
         parameter, or vouch for the value with `unsafe {{ value.assume_multiple_of({divisor}) }}`"
    )]
    UnknownMultiple {
        /// The divisor.
        divisor: u32,
    },
    /// A vector access that the end of its view may cut.
    #[error(
        "expected index and length known to be multiples of {elements} for a vector of {elements} elements, found multiples of {known}: \
         say `n.multiple_of({elements})`, which a launch checks, or take a slice of `n & !{}`", elements - 1
    )]
    CutVector {
        /// Elements of the vector.
        elements: usize,
        /// What is known to divide both.
        known: u64,
    },
    /// More shared memory than a block of the target may have.
    #[error("{bytes} bytes of shared memory wanted, but a block on {target} has at most {most}")]
    TooMuchShared {
        /// Bytes wanted.
        bytes: u64,
        /// Bytes there are.
        most: u32,
        /// The target.
        target: Target,
    },
    /// A block, cluster or grid shape that no device takes.
    #[error("{what}: {found} is not between 1 and {most}")]
    BadShape {
        /// Which shape.
        what: &'static str,
        /// The number found.
        found: u64,
        /// The most there may be.
        most: u64,
    },
    /// A shape that was declared before, as another: what follows from it is in the text already.
    #[error("expected {what} to be declared once, found {found} after {before}")]
    Redeclared {
        /// Which shape.
        what: &'static str,
        /// The shape declared before.
        before: String,
        /// The shape declared now.
        found: String,
    },
    /// A loop's state does not come back in the shape it went in, or two branches give different shapes.
    #[error(
        "expected {want} registers of state, as many as entered the loop or as the first branch gives, found {found}: a `Vec` or an `Option` must keep its length"
    )]
    StateShape {
        /// Registers that went in.
        want: usize,
        /// Registers that came back.
        found: usize,
    },
    /// A collective operation under a condition that may keep some of its threads away.
    #[error(
        "`{collective}` must be reached by {threads}, but {condition} at {condition_at} is not known to be the same for them{}: \
         move it out, or say what is known with `assume_uniform`",
        varies_at.map(|at| format!(" (a value that a loop carries, written at {at})")).unwrap_or_default()
    )]
    Divergent {
        /// The instruction or operation.
        collective: String,
        /// The threads that must take part.
        threads: Uniformity,
        /// What is conditional.
        condition: ConditionKind,
        /// The condition's source line.
        condition_at: &'static Location<'static>,
        /// Where a value that a loop carries, which the condition depends on, is written with one that differs.
        varies_at: Option<&'static Location<'static>>,
    },
    /// A name that PTX does not take.
    #[error("`{name}` is not a PTX identifier")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two things of one module with one name.
    #[error("the name `{name}` is taken in this module")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A raw line with a hole that names no operand, or an operand that no hole names.
    #[error("raw line `{line}`: {problem}")]
    BadRaw {
        /// The template.
        line: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value that must be a kernel parameter or constant is not.
    #[error("{what} must be made of constants and integer kernel parameters")]
    NotAParameter {
        /// What was asked for.
        what: &'static str,
    },
    /// Sizes that do not divide.
    #[error("{what}: {size} is not a multiple of {of}")]
    Indivisible {
        /// What was asked for.
        what: &'static str,
        /// The size found.
        size: u64,
        /// What it must be a multiple of.
        of: u64,
    },
    /// A print format that does not fit its values.
    #[error("print format {format:?} takes {want} values, but {found} were given")]
    BadPrint {
        /// The format.
        format: String,
        /// Holes in it.
        want: usize,
        /// Values given.
        found: usize,
    },
    /// A hole in a print format that is none, or that asks for what its value has not.
    #[error("print format {format:?}: `{hole}` does not fit {value}")]
    BadHole {
        /// The format.
        format: String,
        /// The hole as written.
        hole: String,
        /// What the value is.
        value: &'static str,
    },
    /// Anything else that a caller asked for and cannot have.
    #[error("{0}")]
    Refused(String),
}
