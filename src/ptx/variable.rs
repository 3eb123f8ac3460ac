//! Device variables: arrays in global or constant memory that belong to the module, and arrays of a thread's own.

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

/// Bytes of constant memory that a module may have (CUDA programming guide, "Technical Specifications per Compute Capability").
const MAX_CONSTANT_BYTES: u64 = 64 << 10;
/// Bytes of local memory that a thread may have (same table).
const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// Alignment of local arrays: any vector access fits.
const LOCAL_ALIGN: u32 = 16;

/// A state space that module variables live in: [`Global`] or [`Const`].
pub trait VariableSpace: Space {
    /// What kernels may do with the variable.
    type Access: Access;
    /// Most bytes that one variable may have.
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

/// An array that a module declares once and its kernels reach by [`Builder::variable`] (PTX ISA, "Variable Declarations").
///
/// Global variables keep what kernels write from one launch to the next, for as long as the module is loaded.
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
    /// Bits of the first elements; the rest are 0.
    initial: Vec<u64>,
    align: u32,
    kind: PhantomData<fn() -> (T, S)>,
}

impl<T: Element> Variable<T, Const> {
    /// An array in constant memory: read fastest when all lanes of a warp read one address.
    #[doc(alias = ".const")]
    pub fn constant(name: &str, values: &[T]) -> Self {
        Self::new(name, values.len(), values)
    }
}

impl<T: Element> Variable<T, Global> {
    /// An array in device memory that starts with these values.
    #[doc(alias = ".global")]
    pub fn global(name: &str, values: &[T]) -> Self {
        Self::new(name, values.len(), values)
    }

    /// An array of `count` elements in device memory that starts as zeros.
    pub fn zeroed(name: &str, count: usize) -> Self {
        Self::new(name, count, &[])
    }
}

impl<T: Element, S: VariableSpace> Variable<T, S> {
    fn new(name: &str, count: usize, initial: &[T]) -> Self {
        let initial = initial.iter().map(|v| v.to_mem_bits()).collect();
        Self { name: name.to_string(), count: count as u64, initial, align: T::SIZE, kind: PhantomData }
    }

    /// The same array at a multiple of `bytes`, a power of two. Vector accesses need it.
    #[must_use]
    pub fn aligned(self, bytes: u32) -> Self {
        Self { align: bytes, ..self }
    }

    /// The name in the module, by which a host finds it (`cuModuleGetGlobal`).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Elements in it.
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
                "variable `{name}` aligned to {align} bytes: wanted a power of two, at least {least}"
            )));
        }
        let (bytes, most) = (self.bytes(), S::MAX_BYTES);
        let space = S::PTX;
        match bytes {
            0 => Some(BuildErrorKind::Refused(format!("variable `{name}` has no elements"))),
            _ if bytes > most => Some(BuildErrorKind::Refused(format!(
                "variable `{name}` has {bytes} bytes, but a module has at most {most} of `{space}`"
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
                // Whole lines of 8, so that long tables can be read.
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
    /// Pointer to the first element of a module variable, which is declared in the kernel's module.
    ///
    /// Two variables of one name in a module must be declared alike.
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

    /// An array of `count` elements of this thread's own, not initialised, at a multiple of 16 bytes.
    ///
    /// It lies in device memory behind the caches unless ptxas can keep it in registers, which takes constant indices.
    #[doc(alias = ".local")]
    #[track_caller]
    pub fn local_array<T: Element>(self, count: u32) -> Ptr<'k, T, Local, ReadWrite> {
        let bytes = u64::from(count) * u64::from(T::SIZE);
        let mut body = self.body();
        let taken = body.entry.local_bytes.next_multiple_of(LOCAL_ALIGN.into()) + bytes;
        if bytes == 0 || taken > MAX_LOCAL_BYTES {
            let what = "bytes of local memory";
            body.fail(
                BuildErrorKind::BadShape { what, found: taken, most: MAX_LOCAL_BYTES },
                Location::caller(),
            );
        }
        body.entry.local_bytes = taken;
        // A `$` keeps it apart from every name that a caller can give.
        let name = format!("$local{}", body.entry.local_arrays);
        body.entry.local_arrays += 1;
        let _ = writeln!(body.entry.declarations, "    .local .align {LOCAL_ALIGN} .b8 {name}[{bytes}];");
        drop(body);
        self.symbol_address(&name, LOCAL_ALIGN)
    }

    /// Pointer to a declared variable.
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
