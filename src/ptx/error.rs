//! Errors that occur when a kernel is built, with the caller's source line.

use std::{fmt, panic::Location};

use thiserror::Error;

use super::{
    target::{Features, Target},
    uniform::{ConditionKind, Uniformity},
};

/// The first error that occurred while a kernel was being built, with the Rust line that caused it.
#[derive(Clone, PartialEq)]
pub struct BuildError {
    kernel: String,
    kind: BuildErrorKind,
    at: &'static Location<'static>,
}

impl BuildError {
    pub(crate) fn new(kernel: &str, kind: BuildErrorKind, at: &'static Location<'static>) -> Self {
        Self { kernel: kernel.to_string(), kind, at }
    }

    /// Returns the name of the kernel.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> &BuildErrorKind {
        &self.kind
    }

    /// Returns the Rust source line that caused the error.
    pub fn location(&self) -> &'static Location<'static> {
        self.at
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: kernel `{}`: {}", self.at, self.kernel, self.kind)
    }
}

/// Formats the message as `Display` does, because `main` prints a returned error with `Debug`.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

/// The kind of a [`BuildError`].
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// The target does not support an instruction, a special register or a directive.
    #[error("`{mnemonic}`: expected target {lowest} or a successor that supports it, found {target}")]
    Unsupported {
        /// The instruction, special register or directive.
        mnemonic: String,
        /// The required features that the target lacks.
        needs: Features,
        /// The lowest target with all required features, or sm_120a if no target has all of them.
        lowest: Target,
        /// The kernel's target.
        target: Target,
    },
    /// The instruction is not in the instruction table.
    #[error(
        "expected an instruction from the instruction table, found `{mnemonic}`: check its qualifiers, or emit it with `raw`"
    )]
    UnknownInstruction {
        /// The instruction as it would be emitted.
        mnemonic: String,
    },
    /// A register is used where its definition may not have been executed.
    #[error(
        "register {register} is used outside the block that defines it: return it as loop state or store it in a `Var`"
    )]
    NotDominated {
        /// The name of the register.
        register: String,
    },
    /// A handle is used after its register has been overwritten.
    #[error(
        "register {register} was overwritten after this handle was created, by an accumulation in place or by a loop that carries it"
    )]
    Overwritten {
        /// The name of the register.
        register: String,
    },
    /// An emitted loop accumulates into a tile that is not part of the loop's state.
    #[error(
        "register {register} is accumulated into in an emitted loop that does not carry it: pass the tile to the loop as state"
    )]
    NotCarried {
        /// The name of the register.
        register: String,
    },
    /// An access requires a larger alignment than the known alignment of the address.
    #[error(
        "access of {bytes} bytes: expected an address known to be a multiple of {bytes}, found one known to be a multiple of {known}"
    )]
    Misaligned {
        /// The required alignment, in bytes.
        bytes: u32,
        /// The known alignment of the address, in bytes.
        known: u32,
    },
    /// A view is created from a pointer that is not a buffer parameter, so a launch cannot check the extents of the view.
    #[error(
        "expected a buffer parameter (`In`, `Out` or `InOut`) for `{view}`, found a computed pointer, whose extents a launch cannot \
         check: create the view from the parameter, or assert that the pointer is valid with `unsafe {{ pointer.assume_valid() }}`"
    )]
    UncheckedPointer {
        /// The method that creates the view.
        view: &'static str,
    },
    /// An extent or a stride of a view is not an expression of constants and integer parameters, so a launch cannot check the view.
    #[error(
        "expected extents and strides of `{view}` made of constants and integer parameters, found a computed register or a negative \
         constant, which a launch cannot check: pass the number as a parameter, or assert that the pointer is valid with \
         `unsafe {{ pointer.assume_valid() }}`"
    )]
    UncheckedExtent {
        /// The method that creates the view.
        view: &'static str,
    },
    /// [`multiple_of`](super::Val::multiple_of) is called on a computed value, which a launch cannot check.
    #[error(
        "expected a kernel parameter, which a launch checks to be a multiple of {divisor}, found a computed register: declare it for the \
         parameter, or assert it with `unsafe {{ value.assume_multiple_of({divisor}) }}`"
    )]
    UnknownMultiple {
        /// The divisor that the call declares.
        divisor: u32,
    },
    /// A vector access may extend past the end of its view.
    #[error(
        "expected index and length known to be multiples of {elements} for a vector of {elements} elements, found multiples of {known}: \
         declare `n.multiple_of({elements})`, which a launch checks, or take a slice of `n & !{}`", elements - 1
    )]
    CutVector {
        /// The number of elements of the vector.
        elements: usize,
        /// A known divisor of both the index and the length.
        known: u64,
    },
    /// The kernel uses more shared memory than the target allows per block.
    #[error("expected at most {max} bytes of shared memory per block on {target}, found {bytes}")]
    TooMuchShared {
        /// The number of bytes that the kernel uses.
        bytes: u64,
        /// The maximum number of bytes per block.
        max: u32,
        /// The kernel's target.
        target: Target,
    },
    /// A block, a cluster or an array in local memory is empty or too large, or a block, a cluster or a grid rule has more than three
    /// dimensions.
    #[error("{what}: expected 1 to {max}, found {found}")]
    BadShape {
        /// The quantity counted, such as `"threads of a block"`.
        what: &'static str,
        /// The number found.
        found: u64,
        /// The maximum number.
        max: u64,
    },
    /// A block size, maximum block size, cluster size or grid rule is declared again with a different value, or the block exceeds the
    /// declared maximum. Redeclaration is an error because emitted instructions may depend on the earlier value.
    #[error("expected {what} to be declared once, found {found} after {before}")]
    Redeclared {
        /// The kind of declaration, such as `"the block"`.
        what: &'static str,
        /// The earlier declaration, or the maximum.
        before: String,
        /// The new declaration, or the block that exceeds the maximum.
        found: String,
    },
    /// A loop body returns a state with more or fewer registers than the initial state, or two branches return states with different
    /// numbers of registers.
    #[error(
        "expected {expected} registers of state, as before the loop or in the first branch, found {found}: a `Vec` or an `Option` must keep its length"
    )]
    StateShape {
        /// The number of registers of the initial state, or of the first branch's state.
        expected: usize,
        /// The number of registers of the state that the loop body or the second branch returns.
        found: usize,
    },
    /// A collective operation is executed under a condition that may exclude some of the threads that must participate.
    #[error(
        "`{collective}` must be reached by {threads}, but they are not known to agree on {condition} at {condition_at}{}: \
         move `{collective}` to a point that all of them reach, or use `assume_uniform` to assert that the condition is uniform",
        varies_at.map(|at| format!(" (it depends on a loop-carried value that is written at {at})")).unwrap_or_default()
    )]
    Divergent {
        /// The collective instruction or operation.
        collective: String,
        /// The threads that must participate.
        threads: Uniformity,
        /// The kind of condition.
        condition: ConditionKind,
        /// The condition's source line.
        condition_at: &'static Location<'static>,
        /// If the condition depends on a loop-carried register, the source line that assigns it a value that may differ between threads.
        varies_at: Option<&'static Location<'static>>,
    },
    /// A name is not a valid identifier in PTX or in C.
    #[error("expected a PTX identifier, found `{name}`")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two parameters of a kernel or two declarations in a module have the same name. A parameter `x` of a kernel `f` is declared as `f_x`,
    /// and the shared memory of `f` as `f_smem`.
    #[error("expected names that differ within a module, found `{name}` twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Raw PTX is malformed, or its placeholders do not match its operands.
    #[error("raw line `{line}`: {problem}")]
    BadRaw {
        /// The raw PTX text with its placeholders.
        line: String,
        /// A description of the problem.
        problem: String,
    },
    /// A computed value or a negative constant is used where an expression of constants and integer kernel parameters is required.
    #[error(
        "{what}: expected an expression of constants and integer kernel parameters, found a computed value or a negative constant; `n.tiles(32)` is ⌈n / 32⌉"
    )]
    NotAParameter {
        /// The use of the value, such as `"the grid rule"`.
        what: &'static str,
    },
    /// The number of placeholders in a print format differs from the number of printed values.
    #[error("print format {format:?}: expected {expected} values, one for each `{{}}`, found {found}")]
    BadPrint {
        /// The format.
        format: String,
        /// The number of placeholders.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A print format contains a malformed placeholder, an unpaired brace, or a placeholder that does not support the type of its value.
    #[error("print format {format:?}: expected a placeholder for {value}, found `{placeholder}`")]
    BadPlaceholder {
        /// The format.
        format: String,
        /// The placeholder as written, or the unpaired brace.
        placeholder: String,
        /// The kind of value, such as `"an integer"`, or `"any value"` if the placeholder is malformed.
        value: &'static str,
    },
    /// Any other invalid request. The string is the error message.
    #[error("{0}")]
    Refused(String),
}
