//! The rows of the table, in the order of the manual's chapters.

mod async_copy;
mod call;
mod matrix;

use super::Form;
use crate::ptx::target::{Features, Version};

const fn row(
    mnemonic: &'static str,
    operands: &'static str,
    ptx: (u8, u8),
    needs: Features,
    reference: &'static str,
) -> Form {
    Form { mnemonic, operands, version: Version::new(ptx.0, ptx.1), needs, reference }
}

const ANY: Features = Features::empty();
const SM_80: Features = Features::AMPERE;
const SM_90: Features = Features::HOPPER;

/// Chapters of the manual's instruction set.
pub(super) static CHAPTERS: &[(&str, &[Form])] = &[
    ("Integer Arithmetic", INTEGER),
    ("Floating-Point", FLOAT),
    ("Comparison and Selection", COMPARE),
    ("Data Movement", MOVE),
    ("Asynchronous Copy", async_copy::FORMS),
    ("Warp-Level Matrix", matrix::FORMS),
    ("Control Flow", CONTROL),
    ("Calls", call::FORMS),
    ("Directives", DIRECTIVES),
];

#[rustfmt::skip]
static INTEGER: &[Form] = &[
    //   mnemonic                                          operands        PTX     needs  PTX ISA
    row("add(.u16|.s16|.u32|.s32|.u64|.s64)",              "d:t a:t b:t",     (1, 0), ANY, "add"),
    row("sub(.u16|.s16|.u32|.s32|.u64|.s64)",              "d:t a:t b:t",     (1, 0), ANY, "sub"),
    row("mul(.lo|.hi)(.u16|.s16|.u32|.s32|.u64|.s64)",     "d:t a:t b:t",     (1, 0), ANY, "mul"),
    row("mul.wide(.u16|.s16|.u32|.s32)",                   "d:w a:t b:t",     (1, 0), ANY, "mul"),
    row("mad(.lo|.hi)(.u16|.s16|.u32|.s32|.u64|.s64)",     "d:t a:t b:t c:t", (1, 0), ANY, "mad"),
    row("mad.wide(.u16|.s16|.u32|.s32)",                   "d:w a:t b:t c:w", (1, 0), ANY, "mad"),
    row("div(.u16|.s16|.u32|.s32|.u64|.s64)",              "d:t a:t b:t",     (1, 0), ANY, "div"),
    row("rem(.u16|.s16|.u32|.s32|.u64|.s64)",              "d:t a:t b:t",     (1, 0), ANY, "rem"),
];

#[rustfmt::skip]
static FLOAT: &[Form] = &[
    row("add.rn(.f32|.f64)",                               "d:t a:t b:t",     (1, 0), ANY, "add"),
    row("mul.rn(.f32|.f64)",                               "d:t a:t b:t",     (1, 0), ANY, "mul"),
];

#[rustfmt::skip]
static COMPARE: &[Form] = &[
    row("setp(.eq|.ne|.lt|.le|.gt|.ge)(.u32)",             "d:pred a:t b:t",  (1, 0), ANY, "setp"),
];

#[rustfmt::skip]
static MOVE: &[Form] = &[
    row("mov(.pred|.b16|.b32|.b64|.u16|.s16|.u32|.s32|.u64|.s64|.f32|.f64|.b128)",                                 "d:t a:t",         (1, 0), ANY, "mov"),
    row("ld{.param|.global|.shared}(.u32|.u64|.f32)",      "d:t [a]",         (1, 0), ANY, "ld"),
    row("st{.global|.shared}(.u32|.u64|.f32)",             "[a] b:t",         (1, 0), ANY, "st"),
    row("cvta.to(.global|.shared|.local|.const).u64",      "d:t a:t",         (2, 0), ANY, "cvta"),
];

#[rustfmt::skip]
static CONTROL: &[Form] = &[
    row("bra{.uni}",                                       "label",           (1, 0), ANY, "bra"),
    row("ret{.uni}",                                       "",                (1, 0), ANY, "ret"),
];

#[rustfmt::skip]
static DIRECTIVES: &[Form] = &[
    row(".reqnctapercluster",                              "",                (7, 8), SM_90, ".reqnctapercluster"),
];
