//! Device variables: module arrays in global or constant memory, and thread-local arrays.

use std::{fmt::Write, marker::PhantomData, panic::Location};

use super::{
    entry::{Declaration, is_identifier},
    error::BuildErrorKind,
    kernel::Builder,
    operand::Operand,
    ptr::{Access, Const, Global, Local, Ptr, Read, ReadWrite, Space},
    types::{Element, RegClass},
    val::Val,
};

/// The maximum size of a module's constant memory in bytes (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_CONSTANT_BYTES: u64 = 64 << 10;
/// The maximum size of a thread's local memory in bytes (same table).
const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// The alignment of local arrays, sufficient for any vector access.
const LOCAL_ALIGN: u32 = 16;

/// A state space of module variables: [`Global`] or [`Const`].
pub trait VariableSpace: Space {
    /// The access that kernels have to variables in this space.
    type Access: Access;
    /// The maximum size of a variable in bytes.
    #[doc(hidden)]
    const MAX_BYTES: u64;
}

impl VariableSpace for Global {
    type Access = ReadWrite;
    const MAX_BYTES: u64 = u64::MAX;
}

impl VariableSpace for Const {
    type Access = Read;
    const MAX_BYTES: u64 = MAX_CONSTANT_BYTES;
}

/// An array in global or constant memory that a module declares once. The kernels of the module access it through [`Builder::variable`]
/// (PTX ISA, "Variable Declarations").
///
/// Global variables retain their values between launches as long as the module remains loaded.
///
/// ```
/// use warpwright::{prelude::*, ptx::Variable};
///
/// let weights = Variable::constant("weights", &[0.25f32, 0.5, 0.25]);
/// let kernel = Kernel::<(Out<f32>,)>::build("first(y)", Target::SM_80, |k, (y,)| {
///     k.slice(y, 1).at(0).store(k.variable(&weights).at(1).load());
/// })?;
/// assert!(kernel.ptx().contains(".const .align 4 .f32 weights[3] = {0f3E800000, 0f3F000000, 0f3E800000};"));
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<T, S> {
    name: String,
    count: u64,
    /// The bits of the first elements; the rest are 0.
    initial: Vec<u64>,
    align: u32,
    kind: PhantomData<fn() -> (T, S)>,
}

impl<T: Element> Variable<T, Const> {
    /// Creates an array in constant memory with the given values. Reads are fastest if all lanes of a warp read the same address.
    #[doc(alias = ".const")]
    pub fn constant(name: &str, values: &[T]) -> Self {
        Self::new(name, values.len(), values)
    }
}

impl<T: Element> Variable<T, Global> {
    /// Creates an array in global memory with the given initial values.
    #[doc(alias = ".global")]
    pub fn global(name: &str, values: &[T]) -> Self {
        Self::new(name, values.len(), values)
    }

    /// Creates an array of `count` elements in global memory. All elements are initially 0.
    pub fn zeroed(name: &str, count: usize) -> Self {
        Self::new(name, count, &[])
    }
}

impl<T: Element, S: VariableSpace> Variable<T, S> {
    fn new(name: &str, count: usize, initial: &[T]) -> Self {
        let initial = initial.iter().map(|v| v.to_mem_bits()).collect();
        Self { name: name.to_string(), count: count as u64, initial, align: T::SIZE, kind: PhantomData }
    }

    /// Sets the alignment to `bytes` bytes, for vector accesses. `bytes` must be a power of two and at least the size of an element. The
    /// default alignment is the size of an element.
    #[must_use]
    pub fn aligned(self, bytes: u32) -> Self {
        Self { align: bytes, ..self }
    }

    /// Returns the name of the variable in the module, which can be passed to `cuModuleGetGlobal`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of elements of the variable.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn bytes(&self) -> u64 {
        self.count.saturating_mul(T::SIZE.into())
    }

    fn problem(&self) -> Option<BuildErrorKind> {
        let Self { name, align, .. } = self;
        if !is_identifier(name) {
            return Some(BuildErrorKind::BadName { name: name.clone() });
        }
        if !align.is_power_of_two() || *align < T::SIZE {
            let least = T::SIZE;
            return Some(BuildErrorKind::Refused(format!(
                "variable `{name}` aligned to {align} bytes: expected a power of two, at least {least}"
            )));
        }
        let (bytes, most) = (self.bytes(), S::MAX_BYTES);
        let space = S::PTX;
        match bytes {
            0 => Some(BuildErrorKind::Refused(format!(
                "variable `{name}`: expected at least 1 element, found none"
            ))),
            _ if bytes > most => Some(BuildErrorKind::Refused(format!(
                "variable `{name}`: expected at most {most} bytes of `{space}` in a module, found {bytes}"
            ))),
            _ => None,
        }
    }

    fn declaration(&self) -> Declaration {
        let Self { name, count, align, .. } = self;
        let mut text = format!("{} .align {align} .{} {name}[{count}]", S::PTX, T::DECL);
        for (i, bits) in self.initial.iter().enumerate() {
            text.push_str(match i {
                0 => " = {",
                // Lines of 8 values, so that long tables are readable.
                _ if i % 8 == 0 => ",\n    ",
                _ => ", ",
            });
            let _ = match T::DECL {
                "f32" => write!(text, "0f{bits:08X}"),
                "f64" => write!(text, "0d{bits:016X}"),
                _ if T::NAME.starts_with(['u', 'i']) => write!(text, "{bits}"),
                _ => write!(text, "{bits:#0width$x}", width = 2 + 2 * T::SIZE as usize),
            };
        }
        text.push_str(if self.initial.is_empty() { ";\n" } else { "};\n" });
        Declaration { name: name.clone(), text }
    }
}

impl<'k> Builder<'k> {
    /// Returns a pointer to the first element of a module variable, and declares the variable in the kernel's module.
    ///
    /// Variables with the same name in a module must have the same declaration. The builder rejects a name that is not a valid identifier
    /// in PTX or in C, a name that is already used by the kernel or its shared memory, an invalid [alignment](Variable::aligned), an empty
    /// array, and an array of more than 64 KiB in constant memory.
    #[track_caller]
    pub fn address_of<T: Element, S: VariableSpace<Address = u64>>(
        self,
        variable: &Variable<T, S>,
    ) -> Ptr<'k, T, S, S::Access> {
        match variable.problem() {
            Some(problem) => self.fail(problem),
            None => self.body().declare(variable.declaration(), Location::caller()),
        }
        let align = if variable.align.is_power_of_two() { variable.align } else { T::SIZE };
        self.symbol_address(&variable.name, align)
    }

    /// Allocates an uninitialized array of `count` elements that is private to the thread and aligned to 16 bytes. `count` must not be 0,
    /// and the arrays of a kernel can occupy at most 512 KiB per thread.
    ///
    /// The array is stored in local memory unless ptxas can keep it in registers, which requires constant indices.
    #[doc(alias = ".local")]
    #[track_caller]
    pub fn local_array<T: Element>(self, count: u32) -> Ptr<'k, T, Local, ReadWrite> {
        let bytes = u64::from(count) * u64::from(T::SIZE);
        let mut body = self.body();
        let taken = body.entry.local_bytes.next_multiple_of(LOCAL_ALIGN.into()) + bytes;
        if bytes == 0 || taken > MAX_LOCAL_BYTES {
            let what = "bytes of local memory";
            body.fail(
                BuildErrorKind::BadShape { what, found: taken, max: MAX_LOCAL_BYTES },
                Location::caller(),
            );
        }
        body.entry.local_bytes = taken;
        // The `$` distinguishes the name from all names that a caller can choose.
        let name = format!("$local{}", body.entry.local_arrays);
        body.entry.local_arrays += 1;
        let _ = writeln!(body.entry.declarations, "    .local .align {LOCAL_ALIGN} .b8 {name}[{bytes}];");
        drop(body);
        self.symbol_address(&name, LOCAL_ALIGN)
    }

    /// Returns a pointer to the declared variable `name`, which is aligned to `align` bytes.
    #[track_caller]
    pub(crate) fn symbol_address<T: Element, S: Space<Address = u64>, A>(
        self,
        name: &str,
        align: u32,
    ) -> Ptr<'k, T, S, A> {
        let reg = self.fresh(RegClass::B64);
        self.emit(format_args!("mov.u64"), &[Operand::Reg(reg), Operand::Name(name)]);
        self.body().set_divisor(reg, align.into());
        Ptr::new(self, Val::from_reg(reg, self), align)
    }
}
