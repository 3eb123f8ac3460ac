//! Video instructions (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions").

use crate::arith::Int;
use crate::arith::bits::Beyond;
use crate::arith::video::{Lanes, Part, VideoOp};
use crate::program::code::{Alu, Op, R, Video, VideoFn, VideoSource, VideoThen};
use crate::program::decode::Decoded;
use crate::program::decode::compare::compare_of;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind};

const U32: Type = Type::Int(Int::U32);

/// Returns the operation for an opcode without its `v` and its number of lanes. Shifts and comparisons also depend on qualifiers.
fn plain_op(name: &str) -> Option<VideoOp> {
    Some(match name {
        "add" => VideoOp::Add,
        "sub" => VideoOp::Sub,
        "absdiff" => VideoOp::AbsDiff,
        "min" => VideoOp::Min,
        "max" => VideoOp::Max,
        _ => return None,
    })
}

/// Returns the part of a register that a selector such as `h1` or `b3` denotes.
fn part_of(word: &str) -> Option<Part> {
    Some(match word {
        "b0" => Part::Byte(0),
        "b1" => Part::Byte(1),
        "b2" => Part::Byte(2),
        "b3" => Part::Byte(3),
        "h0" => Part::Half(0),
        "h1" => Part::Half(1),
        _ => return None,
    })
}

/// Returns an operand's register, and the selector of its part.
fn selected(operand: &Operand) -> (Operand, Option<&str>) {
    match &operand.kind {
        OperandKind::Component(parts) => {
            let [name, part] = &**parts;
            (Operand { kind: OperandKind::Name(name.clone()), ..*operand }, Some(part))
        }
        _ => (operand.clone(), None),
    }
}

pub(super) const OPCODES: &[Opcodes] = &[
    row(
        &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"],
        Counted::As(InstructionClass::Integer),
        AS_WRITTEN,
        |d| d.video().map(Op::Alu),
    ),
    row(
        &["vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2"],
        Counted::As(InstructionClass::Integer),
        AS_WRITTEN,
        |d| d.video().map(Op::Alu),
    ),
    row(
        &["vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4"],
        Counted::As(InstructionClass::Integer),
        AS_WRITTEN,
        |d| d.video().map(Op::Alu),
    ),
];

impl Decoder<'_, '_, '_> {
    /// Decodes `vadd`, `vmad`, `vset4` …
    fn video(&mut self) -> Decoded<Alu> {
        let f = &self.i.opcode()[1..];
        let video = match (f.strip_suffix('2'), f.strip_suffix('4')) {
            (Some(f), _) => self.simd_video(f, 2)?,
            (_, Some(f)) => self.simd_video(f, 4)?,
            _ if f == "mad" => self.video_mad()?,
            _ => self.scalar_video(f)?,
        };
        Ok(Alu::Video(Box::new(video)))
    }

    /// Decodes `.u32` or `.s32`, and returns whether the type is signed.
    fn sign(&mut self) -> Decoded<bool> {
        self.want("`.u32` or `.s32`", |word| match word {
            "u32" => Some(false),
            "s32" => Some(true),
            _ => None,
        })
    }

    /// Decodes a comparison of signed or unsigned numbers.
    fn video_compare(&mut self) -> Decoded<VideoOp> {
        self.want("a comparison such as `.lt`", |word| match compare_of(word) {
            Some((compare, false, false)) => Some(VideoOp::Set(compare)),
            _ => None,
        })
    }

    /// Decodes `vop.dtype.atype.btype[.sat][.mode][.op2] d[.part], a[.part], b[.part][, c]`; `vset` has no `dtype`.
    fn scalar_video(&mut self, f: &str) -> Decoded<Video> {
        let signed = if f == "set" { false } else { self.sign()? };
        let (a_signed, b_signed) = (self.sign()?, self.sign()?);
        let shift = matches!(f, "shl" | "shr");
        if shift && b_signed {
            return Err(self.unknown_word("s32"));
        }
        let sat = f != "set" && self.m.eat("sat");
        let op = match f {
            "set" => self.video_compare()?,
            _ if shift => {
                let beyond = self.want("`.clamp` or `.wrap`", |word| match word {
                    "clamp" => Some(Beyond::Clamp),
                    "wrap" => Some(Beyond::Wrap),
                    _ => None,
                })?;
                if f == "shl" { VideoOp::ShiftLeft(beyond) } else { VideoOp::ShiftRight(beyond) }
            }
            _ => plain_op(f).ok_or_else(|| self.unknown())?,
        };
        let then: Option<fn(R) -> VideoThen> = self.m.take(|word| {
            Some(match word {
                "add" => VideoThen::Add as fn(R) -> VideoThen,
                "min" => VideoThen::Min,
                "max" => VideoThen::Max,
                _ => return None,
            })
        });
        self.arity_of(3, 4)?;
        let (to, part) = selected(self.operand(0));
        let part = part.map(|word| self.part(0, word)).transpose()?;
        let third = then.is_some() || part.is_some();
        if (third && self.count() != 4) || (then.is_some() && part.is_some()) {
            return Err(
                self.error("a third source goes with a second operation or with a part of `d`, one of them")
            );
        }
        let d = self.video_register(&to, signed, true)?;
        let (a, b) = (self.video_source(1, a_signed)?, self.video_source(2, b_signed)?);
        let then = match (then, part) {
            (Some(then), _) => then(self.video_register(self.operand(3), signed, false)?),
            (_, Some(part)) => VideoThen::Merge(part, self.video_register(self.operand(3), signed, false)?),
            // ptxas accepts a third source that has no effect.
            _ if self.count() == 4 => {
                self.video_register(self.operand(3), signed, false)?;
                VideoThen::Write
            }
            _ => VideoThen::Write,
        };
        Ok(Video { d, sat, f: VideoFn::Scalar { op, signed, a, b, then } })
    }

    /// Decodes `vmad.dtype.atype.btype[.po][.sat][.shr7|.shr15] d, [-]a[.part], [-]b[.part], [-]c`.
    fn video_mad(&mut self) -> Decoded<Video> {
        let signed = self.sign()?;
        let (a_signed, b_signed) = (self.sign()?, self.sign()?);
        let plus_one = self.m.eat("po");
        let sat = self.m.eat("sat");
        let shift = self.m.take(|word| match word {
            "shr7" => Some(7),
            "shr15" => Some(15),
            _ => None,
        });
        self.arity(4)?;
        let d = self.video_register(self.operand(0), signed, true)?;
        let (a, a_negated) = self.negatable(1);
        let (b, b_negated) = self.negatable(2);
        let (c, c_negated) = self.negatable(3);
        let a = self.video_part(&a, a_signed)?;
        let b = self.video_part(&b, b_signed)?;
        let c = self.video_register(&c, signed, false)?;
        let signs = (a_negated != b_negated, c_negated, plus_one);
        if plus_one && (signs.0 || signs.1) {
            return Err(self.error("`.po` does not go with a minus"));
        }
        let f = VideoFn::Mad { a, b, c, c_signed: signed, signs, shift: shift.unwrap_or(0) };
        Ok(Video { d, sat, f })
    }

    /// Decodes `vop2.dtype.atype.btype[.sat][.add] d[.mask], a[.select], b[.select], c`; `vset2` has no `dtype`.
    fn simd_video(&mut self, f: &str, count: u32) -> Decoded<Video> {
        let d_signed = if f == "set" { false } else { self.sign()? };
        let signed = (d_signed, self.sign()?, self.sign()?);
        let sat = f != "set" && self.m.eat("sat");
        let op = match f {
            "set" => self.video_compare()?,
            "avrg" => VideoOp::Average,
            _ => plain_op(f).ok_or_else(|| self.unknown())?,
        };
        let accumulate = self.m.eat("add");
        self.arity(4)?;
        let mut lanes = Lanes::straight(count);
        let (to, mask) = selected(self.operand(0));
        if let Some(word) = mask {
            let digits = self.selector(0, word, count, count, false)?;
            lanes.mask = digits.iter().fold(0, |mask, lane| mask | 1 << lane);
        }
        let (a, a_select) = selected(self.operand(1));
        let (b, b_select) = selected(self.operand(2));
        for (n, select, into) in [(1, a_select, &mut lanes.a), (2, b_select, &mut lanes.b)] {
            let Some(word) = select else { continue };
            // The last digit belongs to lane 0.
            let digits = self.selector(n, word, count, 2 * count, true)?;
            digits.iter().rev().zip(into.iter_mut()).for_each(|(digit, lane)| *lane = *digit);
        }
        let d = self.video_register(&to, d_signed, true)?;
        let operands = [
            self.video_register(&a, signed.1, false)?,
            self.video_register(&b, signed.2, false)?,
            self.video_register(self.operand(3), d_signed, false)?,
        ];
        Ok(Video { d, sat, f: VideoFn::Simd { op, lanes, signed, accumulate, operands } })
    }

    /// Decodes a selector such as `.h10` or `.b3210`: digits less than `below`, from the highest lane down. If `full` is set, there must be
    /// a digit for each lane; otherwise, the digits must decrease.
    fn selector(&self, n: usize, word: &str, count: u32, below: u32, full: bool) -> Decoded<Vec<u32>> {
        let kind = if count == 2 { 'h' } else { 'b' };
        let digits: Option<Vec<u32>> =
            word.strip_prefix(kind).and_then(|digits| digits.chars().map(|c| c.to_digit(10)).collect());
        let falling = |digits: &[u32]| digits.windows(2).all(|pair| pair[0] > pair[1]);
        digits
            .filter(|digits| !digits.is_empty() && digits.iter().all(|&digit| digit < below))
            .filter(|digits| if full { digits.len() == count as usize } else { falling(digits) })
            .ok_or_else(|| self.error_at(self.operand(n), format!("`.{word}` selects nothing here")))
    }

    fn part(&self, n: usize, word: &str) -> Decoded<Part> {
        part_of(word)
            .ok_or_else(|| self.error_at(self.operand(n), format!("`.{word}` is not part of a register")))
    }

    fn negatable(&self, n: usize) -> (Operand, bool) {
        match &self.operand(n).kind {
            OperandKind::Negative(inner) => ((**inner).clone(), true),
            _ => (self.operand(n).clone(), false),
        }
    }

    fn video_source(&mut self, n: usize, signed: bool) -> Decoded<VideoSource> {
        self.video_part(self.operand(n), signed)
    }

    fn video_part(&mut self, operand: &Operand, signed: bool) -> Decoded<VideoSource> {
        let (from, part) = selected(operand);
        let part = match part {
            None => Part::Word,
            Some(word) => part_of(word)
                .ok_or_else(|| self.error_at(operand, format!("`.{word}` is not part of a register")))?,
        };
        Ok(VideoSource { signed, part, register: self.video_register(&from, signed, false)? })
    }

    fn video_register(&mut self, operand: &Operand, signed: bool, destination: bool) -> Decoded<R> {
        let ty = if signed { Type::Int(Int::S32) } else { U32 };
        let reg = if destination {
            self.dst_as(operand, ty, Fit::Exact)?
        } else {
            self.src_as(operand, ty, Fit::Exact)?
        };
        self.only_r(operand, reg)
    }
}
