//! Values that can be printed, and their representation as C's variable arguments.

use super::format::Spec;
use crate::ptx::{
    ptr::{Local, Ptr, ReadWrite, Space},
    types::{B16, B32, B64, Element, RegClass, bf16, f16},
    val::Val,
};

/// An argument of [`Builder::print`](crate::ptx::Builder::print).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PrintValue<'k> {
    /// A predicate, printed as 0 or 1.
    Bool(Val<'k, bool>),
    /// An unsigned 16-bit integer, printed in decimal by default.
    U16(Val<'k, u16>),
    /// A signed 16-bit integer, printed in decimal by default.
    I16(Val<'k, i16>),
    /// An unsigned 32-bit integer, printed in decimal by default.
    U32(Val<'k, u32>),
    /// A signed 32-bit integer, printed in decimal by default.
    I32(Val<'k, i32>),
    /// An unsigned 64-bit integer, printed in decimal by default.
    U64(Val<'k, u64>),
    /// A signed 64-bit integer, printed in decimal by default.
    I64(Val<'k, i64>),
    /// 16 untyped bits, printed as `0x` and 4 hexadecimal digits by default.
    B16(Val<'k, B16>),
    /// 32 untyped bits, printed as `0x` and 8 hexadecimal digits by default.
    B32(Val<'k, B32>),
    /// 64 untyped bits, printed as `0x` and 16 hexadecimal digits by default.
    B64(Val<'k, B64>),
    /// An f16 number, converted to f64 before it is printed.
    F16(Val<'k, f16>),
    /// A bf16 number, converted to f64 before it is printed.
    Bf16(Val<'k, bf16>),
    /// An f32 number, converted to f64 before it is printed.
    F32(Val<'k, f32>),
    /// An f64 number.
    F64(Val<'k, f64>),
    /// A 32-bit address, printed in hexadecimal.
    Address32(Val<'k, u32>),
    /// A 64-bit address, printed in hexadecimal.
    Address64(Val<'k, u64>),
}

enum Class {
    /// An integer: its decimal `printf` conversion, and whether it is 64 bits wide.
    Integer {
        decimal: char,
        long: bool,
    },
    Float,
    Bits {
        digits: u32,
        long: bool,
    },
}

impl<'k> PrintValue<'k> {
    const fn class(&self) -> Class {
        match self {
            Self::Bool(_) | Self::U16(_) | Self::U32(_) => Class::Integer { decimal: 'u', long: false },
            Self::I16(_) | Self::I32(_) => Class::Integer { decimal: 'd', long: false },
            Self::U64(_) => Class::Integer { decimal: 'u', long: true },
            Self::I64(_) => Class::Integer { decimal: 'd', long: true },
            Self::F16(_) | Self::Bf16(_) | Self::F32(_) | Self::F64(_) => Class::Float,
            Self::B16(_) => Class::Bits { digits: 4, long: false },
            Self::B32(_) => Class::Bits { digits: 8, long: false },
            Self::B64(_) => Class::Bits { digits: 16, long: true },
            Self::Address32(_) => Class::Bits { digits: 1, long: false },
            Self::Address64(_) => Class::Bits { digits: 1, long: true },
        }
    }

    /// Returns the size of the value in bytes when it is passed as a variable argument.
    pub(super) const fn bytes(&self) -> u32 {
        match self.class() {
            Class::Float | Class::Integer { long: true, .. } | Class::Bits { long: true, .. } => 8,
            Class::Integer { .. } | Class::Bits { .. } => 4,
        }
    }

    /// Returns the name of the type for messages.
    pub(super) const fn name(&self) -> &'static str {
        match self.class() {
            Class::Integer { .. } => "an integer",
            Class::Float => "a float",
            Class::Bits { .. } => "bits or an address",
        }
    }

    /// Returns the `printf` conversion, or `None` if the type does not support the placeholder's options.
    pub(super) fn conversion(&self, spec: &Spec) -> Option<String> {
        let Spec { flags, precision, conversion } = spec;
        let size = |long: bool| if long { "ll" } else { "" };
        match (self.class(), conversion.as_str(), precision) {
            (Class::Integer { decimal, long }, "", None) => Some(format!("%{flags}{}{decimal}", size(long))),
            // C's `+` applies only to signed conversions.
            (Class::Integer { long, .. } | Class::Bits { long, .. }, "x" | "X", None)
                if !flags.starts_with('+') =>
            {
                Some(format!("%{flags}{}{conversion}", size(long)))
            }
            (Class::Bits { digits, long }, "", None) if flags.is_empty() => {
                Some(format!("0x%0{digits}{}x", size(long)))
            }
            (Class::Float, "", None) => Some(format!("%{flags}g")),
            (Class::Float, "", Some(precision)) => Some(format!("%{flags}.{precision}f")),
            (Class::Float, "e" | "E", None) => Some(format!("%{flags}{conversion}")),
            (Class::Float, "e" | "E", Some(precision)) => Some(format!("%{flags}.{precision}{conversion}")),
            _ => None,
        }
    }

    /// Returns the value in a form that is promoted without sign extension, so that its hexadecimal digits are those of its own width.
    #[track_caller]
    pub(super) fn in_own_width(self) -> Self {
        if let Self::I16(v) = self { Self::U16(v.bits()) } else { self }
    }

    /// Stores the value with C's argument promotion: integers to at least 32 bits, floating-point numbers to f64.
    #[track_caller]
    pub(super) fn store(&self, to: Ptr<'k, u8, Local, ReadWrite>) {
        match *self {
            Self::Bool(v) => to.cast::<u32>().store(v.select(1u32, 0u32)),
            Self::U16(v) => to.cast::<u32>().store(v.cast::<u32>()),
            Self::I16(v) => to.cast::<i32>().store(v.cast::<i32>()),
            Self::U32(v) | Self::Address32(v) => to.cast::<u32>().store(v),
            Self::I32(v) => to.cast::<i32>().store(v),
            Self::U64(v) | Self::Address64(v) => to.cast::<u64>().store(v),
            Self::I64(v) => to.cast::<i64>().store(v),
            Self::B16(v) => to.cast::<u32>().store(v.bits::<u16>().cast::<u32>()),
            Self::B32(v) => to.cast::<B32>().store(v),
            Self::B64(v) => to.cast::<B64>().store(v),
            Self::F16(v) => to.cast::<f64>().store(v.cast::<f64>()),
            Self::Bf16(v) => to.cast::<f64>().store(v.cast::<f64>()),
            Self::F32(v) => to.cast::<f64>().store(v.cast::<f64>()),
            Self::F64(v) => to.cast::<f64>().store(v),
        }
    }
}

/// Only this crate implements the public traits.
mod sealed {
    pub trait Print<'k> {}
    pub trait PrintArgs<'k> {}
}

/// A type that [`Builder::print`](crate::ptx::Builder::print) accepts: a pointer, or a number, bits or a predicate in the form of a [`Val`]
/// or a host constant.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be printed from a kernel")]
pub trait Print<'k>: Sized + sealed::Print<'k> {
    /// Converts the value to the [`PrintValue`] variant for its type.
    fn print_value(self) -> PrintValue<'k>;
}

macro_rules! print {
    ($($t:ty, $variant:ident;)*) => {$(
        impl<'k> sealed::Print<'k> for Val<'k, $t> {}
        impl<'k> Print<'k> for Val<'k, $t> {
            fn print_value(self) -> PrintValue<'k> {
                PrintValue::$variant(self)
            }
        }

        impl<'k> sealed::Print<'k> for $t {}
        impl<'k> Print<'k> for $t {
            fn print_value(self) -> PrintValue<'k> {
                PrintValue::$variant(Val::from(self))
            }
        }
    )*};
}

print! {
    bool, Bool;
    u16,  U16;
    i16,  I16;
    u32,  U32;
    i32,  I32;
    u64,  U64;
    i64,  I64;
    B16,  B16;
    B32,  B32;
    B64,  B64;
    f16,  F16;
    bf16, Bf16;
    f32,  F32;
    f64,  F64;
}

impl<'k, T: Element, S: Space, A> sealed::Print<'k> for Ptr<'k, T, S, A> {}
impl<'k, T: Element, S: Space, A> Print<'k> for Ptr<'k, T, S, A> {
    #[track_caller]
    fn print_value(self) -> PrintValue<'k> {
        let k = self.kernel();
        let register = self.address().in_register(k);
        match register.class {
            RegClass::B64 => PrintValue::Address64(Val::from_reg(register, k)),
            _ => PrintValue::Address32(Val::from_reg(register, k)),
        }
    }
}

/// The arguments of [`Builder::print`](crate::ptx::Builder::print): one value, or a tuple of up to 12 values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed from a kernel",
    note = "give one value or a tuple of up to 12: numbers, bits, predicates, pointers"
)]
pub trait PrintArgs<'k>: sealed::PrintArgs<'k> {
    /// Converts each value to the [`PrintValue`] variant for its type.
    fn print_value(self) -> Vec<PrintValue<'k>>;
}

impl<'k, T: Print<'k>> sealed::PrintArgs<'k> for T {}
impl<'k, T: Print<'k>> PrintArgs<'k> for T {
    #[track_caller]
    fn print_value(self) -> Vec<PrintValue<'k>> {
        vec![Print::print_value(self)]
    }
}

impl<'k> sealed::PrintArgs<'k> for () {}
impl<'k> PrintArgs<'k> for () {
    fn print_value(self) -> Vec<PrintValue<'k>> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($($p:ident)*) => {
        impl<'k, $($p: Print<'k>),*> sealed::PrintArgs<'k> for ($($p,)*) {}
        #[allow(non_snake_case, reason = "one name serves as type and binding")]
        impl<'k, $($p: Print<'k>),*> PrintArgs<'k> for ($($p,)*) {
            #[track_caller]
            fn print_value(self) -> Vec<PrintValue<'k>> {
                let ($($p,)*) = self;
                vec![$($p.print_value()),*]
            }
        }
    };
}

tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J L }
tuples! { A B C D E F G H I J L M }
