//! Floating-point functions.

use crate::arith::compare::Class;
use crate::program::code::{Alu, FloatFn, Op, R2};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{BY_TYPE, Counted, Opcodes, row};
use crate::program::decode::order::{AS_WRITTEN, TYPES_LAST};
use crate::program::types::Type;
use crate::report::InstructionClass;

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"], BY_TYPE, TYPES_LAST, |d| {
        d.float_function().map(Op::Alu)
    }),
    row(&["copysign"], BY_TYPE, AS_WRITTEN, |d| d.float_function().map(Op::Alu)),
    row(&["testp"], Counted::As(InstructionClass::Compare), AS_WRITTEN, |d| d.testp().map(Op::Alu)),
];

impl Decoder<'_, '_, '_> {
    fn float_function(&mut self) -> Decoded<Alu> {
        let name = self.i.opcode();
        let (words, ty) = self.words()?;
        let rounding = words.round().is_some();
        let approx = words.has("approx");
        match (name, ty) {
            ("copysign", Type::F32 | Type::F64) => {
                self.allow(&words.0, &[])?;
                match ty {
                    Type::F32 => self.r2(R2::CopysignF32, ty),
                    _ => self.float_op(FloatFn::Copysign, ty, &words, 2),
                }
            }
            ("rcp" | "sqrt", Type::F32 | Type::F64) => {
                // A rounded `rcp` of f64 may have `.ftz`, which has no effect on f64.
                let ftz: &[&str] = if ty == Type::F32 || approx || name == "rcp" { &["ftz"] } else { &[] };
                let allowed = [&["rn", "rz", "rm", "rp", "approx"], ftz].concat();
                self.allow_one_rounding(&words, &allowed)?;
                if approx == rounding || (approx && ty == Type::F64 && (name == "sqrt" || !words.has("ftz")))
                {
                    return Err(
                        self.error(format!("`{name}{ty}` requires a rounding such as `.rn`, or `.approx`"))
                    );
                }
                let f = match (name, approx) {
                    ("rcp", true) => FloatFn::RcpApprox,
                    ("rcp", false) => FloatFn::Rcp,
                    (_, true) => FloatFn::SqrtApprox,
                    (_, false) => FloatFn::Sqrt,
                };
                self.float_op(f, ty, &words, 1)
            }
            _ => {
                let f = match (name, ty) {
                    ("rsqrt", Type::F32 | Type::F64) => FloatFn::RsqrtApprox,
                    ("sin", Type::F32) => FloatFn::SinApprox,
                    ("cos", Type::F32) => FloatFn::CosApprox,
                    ("lg2", Type::F32) => FloatFn::Lg2Approx,
                    ("ex2", Type::F32 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => {
                        FloatFn::Ex2Approx
                    }
                    ("tanh", Type::F32 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => {
                        FloatFn::TanhApprox
                    }
                    _ => return Err(self.no_such_type(ty)),
                };
                let ftz = match name {
                    "tanh" => false,
                    "ex2" => !matches!(ty, Type::F16 | Type::F16x2),
                    _ => true,
                };
                self.allow(&words.0, if ftz { &["approx", "ftz"] } else { &["approx"] })?;
                if !approx {
                    return Err(self.error(format!("`{name}` requires `.approx`")));
                }
                if matches!(ty, Type::Bf16 | Type::Bf16x2) && name == "ex2" && !words.has("ftz") {
                    return Err(self.error("`ex2` on bf16 requires `.ftz`"));
                }
                self.float_op(f, ty, &words, 1)
            }
        }
    }

    fn testp(&mut self) -> Decoded<Alu> {
        let class = self.want("a class such as `.finite`", |word| {
            Some(match word {
                "finite" => Class::Finite,
                "infinite" => Class::Infinite,
                "number" => Class::Number,
                "notanumber" => Class::NotANumber,
                "normal" => Class::Normal,
                "subnormal" => Class::Subnormal,
                _ => return None,
            })
        })?;
        let ty = self.want_type()?;
        if !matches!(ty, Type::F32 | Type::F64) {
            return Err(self.no_such_type(ty));
        }
        self.arity(2)?;
        let d = self.dst_p(self.operand(0))?;
        Ok(Alu::Testp { class, ty: self.float_ty(ty)?, d, a: self.any(1, ty)? })
    }
}
