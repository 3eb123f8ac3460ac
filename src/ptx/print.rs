//! Printing from a kernel, for debugging: `{}` formats, based on the device's `vprintf`.
//!
//! The format is translated to C according to the types of the values, the values are stored in a buffer in local memory, and
//! `vprintf` receives the addresses of both (CUDA C++ Programming Guide, "Formatted Output"; PTX ISA, "System Calls: vprintf").

mod format;
mod value;

use std::{fmt::Write, panic::Location};

pub use value::{Print, PrintArgs, PrintValue};

use super::{
    entry::Declaration,
    error::BuildErrorKind,
    kernel::Builder,
    operand::{AddressBase, Operand},
    ptr::{Global, Read},
    val::Val,
};
use format::{Piece, pieces};

/// The prototype of the system call.
const VPRINTF: &str = ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 args);\n";

impl<'k> Builder<'k> {
    /// Prints formatted text from every thread that executes the call: `k.print("i = {}, x = {}\n", (i, x))`.
    ///
    /// A placeholder is `{}` or `{:…}`. As in Rust, the options after the colon are `+`, `0`, a width, a `.precision`, and one of `x`, `X`,
    /// `e` and `E`. Literal braces are written `{{` and `}}`.
    ///
    /// Values may be integers, floating-point numbers (including 16-bit ones), bits, pointers or predicates. Bits, such as
    /// [`B32`](super::B32), and pointers are printed in hexadecimal; predicates are printed as 0 or 1. If no precision is specified,
    /// floating-point numbers are printed with six significant digits (`%g`) or, for `e` and `E`, with six digits after the decimal point.
    ///
    /// The formatted text is written to standard output. On a GPU, it appears when the host synchronizes with the device; in the simulator,
    /// when the launch ends or fails. No newline is added.
    ///
    /// The builder rejects a format that does not match its values ([`BuildErrorKind::BadPrint`], [`BuildErrorKind::BadPlaceholder`]) or
    /// that contains a NUL character. It also rejects calls within [`Builder::when`]; use [`Builder::if_`] instead.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(In<f32>,)>::build("show(x)", Target::SM_80, |k, (x,)| {
    ///     let i = k.tid_x();
    ///     let x = k.slice(x, 32);
    ///     k.print("x[{}] = {:.3}\n", (i, x.at(i).load()));
    /// })?;
    /// assert!(kernel.ptx().contains(r#"// "x[%u] = %.3f\n""#));
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[doc(alias = "printf")]
    #[doc(alias = "vprintf")]
    #[track_caller]
    pub fn print(self, format: &str, values: impl PrintArgs<'k>) {
        let mut values = values.print_value();
        match self.c_format(format, &mut values) {
            Err(kind) => self.fail(kind),
            Ok(c_format) => self.emit_print(format, &c_format, &values),
        }
    }

    /// Returns the format in C notation, and replaces each value that is printed in hexadecimal with one that is not sign-extended; returns
    /// an error if the call is invalid.
    #[track_caller]
    fn c_format(self, format: &str, values: &mut [PrintValue<'k>]) -> Result<String, BuildErrorKind> {
        if self.body().is_guarded() {
            return Err(BuildErrorKind::Refused("`print` cannot be used under `when`: use `if_`".into()));
        }
        let bad_placeholder = |placeholder: &str, value| BuildErrorKind::BadPlaceholder {
            format: format.to_string(),
            placeholder: placeholder.to_string(),
            value,
        };
        let pieces = pieces(format).map_err(|placeholder| bad_placeholder(&placeholder, "any value"))?;
        let expected = pieces.iter().filter(|piece| matches!(piece, Piece::Hole { .. })).count();
        if expected != values.len() {
            return Err(BuildErrorKind::BadPrint {
                format: format.to_string(),
                expected,
                found: values.len(),
            });
        }
        let mut values = values.iter_mut();
        let mut c_format = String::new();
        for piece in &pieces {
            match piece {
                Piece::Text(text) => c_format.push_str(&text.replace('%', "%%")),
                Piece::Hole { text, spec } => {
                    // The numbers of placeholders and values were compared above.
                    let Some(value) = values.next() else { break };
                    let conversion =
                        value.conversion(spec).ok_or_else(|| bad_placeholder(text, value.name()))?;
                    c_format.push_str(&conversion);
                    if spec.is_hexadecimal() {
                        *value = value.in_own_width();
                    }
                }
            }
        }
        if c_format.contains('\0') {
            return Err(BuildErrorKind::Refused(format!("print format {format:?} contains a NUL character")));
        }
        Ok(c_format)
    }

    #[track_caller]
    fn emit_print(self, format: &str, c_format: &str, values: &[PrintValue<'k>]) {
        self.comment(format_args!("print \"{}\"", format.escape_default()));
        let string = self.declare_string(c_format);
        let string = self.symbol_address::<u8, Global, Read>(&string, 1).address();
        let string = self.generic_address("global", string);
        let args = if values.is_empty() { Val::from(0) } else { self.print_buffer(values) };

        let line = |text: &str| self.body().line(format_args!("    {text}"));
        line("{");
        line(".param .b64 format;");
        line(".param .b64 args;");
        line(".param .b32 status;");
        for (name, value) in [("format", string), ("args", args)] {
            let address = Operand::Address { base: AddressBase::Name(name), offset: 0 };
            self.emit(format_args!("st.param.b64"), &[address, value.operand(self)]);
        }
        let operands = ["(status)", "vprintf", "(format, args)"].map(Operand::Name);
        self.emit(format_args!("call.uni"), &operands);
        line("}");
    }

    /// Declares a string in the module, with the prototype of `vprintf`, and returns its name.
    #[track_caller]
    fn declare_string(self, text: &str) -> String {
        let at = Location::caller();
        let mut body = self.body();
        let name = format!("{}_format{}", body.entry.name, body.entry.print_formats);
        body.entry.print_formats += 1;
        let escaped = text.escape_default();
        let mut declaration =
            format!("// \"{escaped}\"\n.global .align 1 .b8 {name}[{}] = {{", text.len() + 1);
        for (i, byte) in text.bytes().chain([0]).enumerate() {
            declaration.push_str(match i {
                0 => "",
                _ if i % 24 == 0 => ",\n    ",
                _ => ", ",
            });
            let _ = write!(declaration, "{byte}");
        }
        declaration.push_str("};\n");
        body.declare(Declaration { name: "vprintf".to_string(), text: VPRINTF.to_string() }, at);
        body.declare(Declaration { name: name.clone(), text: declaration }, at);
        name
    }

    /// Stores the values consecutively, each aligned to its size, as C passes variable arguments.
    #[track_caller]
    fn print_buffer(self, values: &[PrintValue<'k>]) -> Val<'k, u64> {
        let mut end = 0;
        let offsets: Vec<u32> = values
            .iter()
            .map(|value| {
                let offset = u32::next_multiple_of(end, value.bytes());
                end = offset + value.bytes();
                offset
            })
            .collect();
        let buffer = self.local_array::<u8>(end);
        for (value, offset) in values.iter().zip(offsets) {
            value.store(buffer.byte_offset(offset.into()));
        }
        self.generic_address("local", buffer.address())
    }

    /// Converts the address to a generic one, as `vprintf` requires.
    #[track_caller]
    fn generic_address(self, space: &str, address: Val<'k, u64>) -> Val<'k, u64> {
        self.result(format_args!("cvta.{space}.u64"), &[address.operand(self)])
    }
}
