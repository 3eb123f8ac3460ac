//! Scalar instructions on integers and bits.

use warpwright_sim::arith::{
    Int,
    bits::{self, Beyond, Permute},
    compare, int,
};

use crate::scalar::{any_type, int_type};

/// Returns the result of an instruction; updates the condition code.
pub(crate) fn execute(opcode: &[&str], s: &[u64], carry: &mut bool) -> Option<u64> {
    if opcode.contains(&"cc") || matches!(opcode[0], "addc" | "subc" | "madc") {
        return extended(opcode, s, carry);
    }
    let ty = *opcode.last()?;
    if let Some(half) = ty.strip_suffix("x2") {
        let scalar: Vec<&str> = [&opcode[..opcode.len() - 1], &[half]].concat();
        let mut part = |shift: u32| {
            let s: Vec<u64> = s.iter().map(|s| s >> shift & 0xffff).collect();
            execute(&scalar, &s, carry)
        };
        return Some(part(0)? | part(16)? << 16);
    }
    logic(opcode, s).or_else(|| bit_field(opcode, s)).or_else(|| arithmetic(opcode, s))
}

fn arithmetic(opcode: &[&str], s: &[u64]) -> Option<u64> {
    let ty = int_type(opcode.last()?)?;
    let (sat, relu) = (opcode.contains(&"sat"), opcode.contains(&"relu"));
    let dot_types = || {
        let [.., a, b] = opcode else { return None };
        Some((int_type(a)?.signed(), int_type(b)?.signed()))
    };
    let words = || [s[0] as u32, s[1] as u32, s[2] as u32];
    Some(match (opcode[0], opcode[1]) {
        ("add", _) => int::add(ty, sat, s[0], s[1]),
        ("sub", _) => int::sub(ty, sat, s[0], s[1]),
        ("mul", "lo") => int::mul_lo(ty, s[0], s[1]),
        ("mul", "hi") => int::mul_hi(ty, s[0], s[1]),
        ("mul", "wide") => int::mul_wide(ty, s[0], s[1]),
        ("mad", "lo") => int::mad_lo(ty, s[0], s[1], s[2]),
        ("mad", "hi") => int::mad_hi(ty, sat, s[0], s[1], s[2]),
        ("mad", "wide") => int::mad_wide(ty, s[0], s[1], s[2]),
        ("mul24", "lo") => int::mul24_lo(ty, s[0], s[1]),
        ("mul24", "hi") => int::mul24_hi(ty, s[0], s[1]),
        ("mad24", "lo") => int::mad24_lo(ty, s[0], s[1], s[2]),
        ("mad24", "hi") => int::mad24_hi(ty, sat, s[0], s[1], s[2]),
        ("div", _) => int::div(ty, s[0], s[1]),
        ("rem", _) => int::rem(ty, s[0], s[1]),
        ("abs", _) => int::abs(ty, s[0]),
        ("neg", _) => int::neg(ty, s[0]),
        ("min", _) => int::min(ty, relu, s[0], s[1]),
        ("max", _) => int::max(ty, relu, s[0], s[1]),
        ("sad", _) => int::sad(ty, s[0], s[1], s[2]),
        ("dp4a", _) => {
            let [a, b, c] = words();
            int::dp4a(dot_types()?, a, b, c).into()
        }
        ("dp2a", half) => {
            let [a, b, c] = words();
            int::dp2a(dot_types()?, half == "hi", a, b, c).into()
        }
        _ => return None,
    })
}

fn logic(opcode: &[&str], s: &[u64]) -> Option<u64> {
    if opcode[0] == "slct" {
        let condition = any_type(opcode.last()?)?;
        return Some(compare::slct(condition, opcode.contains(&"ftz"), s[0], s[1], s[2]));
    }
    let ty = int_type(opcode.last()?)?;
    Some(match opcode[0] {
        "and" => s[0] & s[1],
        "or" => s[0] | s[1],
        "xor" => s[0] ^ s[1],
        "not" => !s[0] & ty.mask(),
        "cnot" => bits::cnot(ty, s[0]),
        "shl" => bits::shl(ty, s[0], s[1] as u32),
        "shr" => bits::shr(ty, s[0], s[1] as u32),
        "lop3" => bits::lop3(s[0] as u32, s[1] as u32, s[2] as u32, s[3] as u8).into(),
        _ => return None,
    })
}

fn bit_field(opcode: &[&str], s: &[u64]) -> Option<u64> {
    if opcode[0] == "prmt" {
        let mode = match opcode.get(2) {
            None => Permute::Generic,
            Some(&"f4e") => Permute::F4e,
            Some(&"b4e") => Permute::B4e,
            Some(&"rc8") => Permute::Rc8,
            Some(&"ecl") => Permute::Ecl,
            Some(&"ecr") => Permute::Ecr,
            Some(&"rc16") => Permute::Rc16,
            _ => return None,
        };
        return Some(bits::prmt(mode, s[0] as u32, s[1] as u32, s[2] as u32).into());
    }
    let ty = int_type(opcode.last()?)?;
    let beyond = if opcode.contains(&"wrap") { Beyond::Wrap } else { Beyond::Clamp };
    let w: Vec<u32> = s.iter().map(|&s| s as u32).collect();
    Some(match (opcode[0], opcode[1]) {
        ("popc", _) => bits::popc(ty, s[0]).into(),
        ("clz", _) => bits::clz(ty, s[0]).into(),
        ("bfind", modifier) => bits::bfind(ty, modifier == "shiftamt", s[0]).into(),
        ("brev", _) => bits::brev(ty, s[0]),
        ("bfe", _) => bits::bfe(ty, s[0], w[1], w[2]),
        ("bfi", _) => bits::bfi(ty, s[0], s[1], w[2], w[3]),
        ("bmsk", _) => bits::bmsk(beyond, w[0], w[1]).into(),
        ("szext", _) => bits::szext(ty, beyond, w[0], w[1]).into(),
        ("fns", _) => bits::fns(w[0], w[1], w[2] as i32).into(),
        ("shf", "l") => bits::funnel_left(beyond, w[0], w[1], w[2]).into(),
        ("shf", "r") => bits::funnel_right(beyond, w[0], w[1], w[2]).into(),
        _ => return None,
    })
}

fn extended(opcode: &[&str], s: &[u64], carry: &mut bool) -> Option<u64> {
    let ty: Int = int_type(opcode.last()?)?;
    let high = opcode.contains(&"hi");
    let (result, after) = match opcode[0] {
        "add" => int::add_with_carry(ty, s[0], s[1], false),
        "addc" => int::add_with_carry(ty, s[0], s[1], *carry),
        "sub" => int::sub_with_carry(ty, s[0], s[1], true),
        "subc" => int::sub_with_carry(ty, s[0], s[1], *carry),
        "mad" => int::mad_with_carry(ty, high, s[0], s[1], s[2], false),
        "madc" => int::mad_with_carry(ty, high, s[0], s[1], s[2], *carry),
        _ => return None,
    };
    if opcode.contains(&"cc") {
        *carry = after;
    }
    Some(result)
}
