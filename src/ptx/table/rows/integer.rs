//! PTX ISA, "Integer Arithmetic Instructions".

use super::{ANY, Form, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                              operands               PTX     needs  PTX ISA     Rust
    row("add(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "add").by("+"),
    row("add.sat.s32",                                         "d:t a:t b:t",         (1, 0), ANY,   "add").by("Val::saturating_add"),
    row("sub(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "sub").by("-"),
    row("sub.sat.s32",                                         "d:t a:t b:t",         (1, 0), ANY,   "sub").by("Val::saturating_sub"),
    row("mul.lo(.u16|.s16|.u32|.s32|.u64|.s64)",               "d:t a:t b:t",         (1, 0), ANY,   "mul").by("*"),
    row("mul.hi(.u16|.s16|.u32|.s32|.u64|.s64)",               "d:t a:t b:t",         (1, 0), ANY,   "mul").by("Val::mul_hi"),
    row("mul.wide(.u16|.s16|.u32|.s32)",                       "d:w a:t b:t",         (1, 0), ANY,   "mul").by("Val::mul_wide"),
    row("mad.lo(.u16|.s16|.u32|.s32|.u64|.s64)",               "d:t a:t b:t c:t",     (1, 0), ANY,   "mad").by("Val::mad"),
    row("mad.hi(.u16|.s16|.u32|.s32|.u64|.s64)",               "d:t a:t b:t c:t",     (1, 0), ANY,   "mad").by("Val::mad_hi"),
    row("mad.hi.sat.s32",                                      "d:t a:t b:t c:t",     (1, 0), ANY,   "mad").by("Val::saturating_mad_hi"),
    row("mad.wide(.u16|.s16|.u32|.s32)",                       "d:w a:t b:t c:w",     (1, 0), ANY,   "mad").by("Val::mad_wide"),
    row("mul24(.lo|.hi)(.u32|.s32)",                           "d:t a:t b:t",         (1, 0), ANY,   "mul24").by("Val::mul24_lo, Val::mul24_hi"),
    row("mad24(.lo|.hi)(.u32|.s32)",                           "d:t a:t b:t c:t",     (1, 0), ANY,   "mad24").by("Val::mad24_lo, Val::mad24_hi"),
    row("mad24.hi.sat.s32",                                    "d:t a:t b:t c:t",     (1, 0), ANY,   "mad24").by("Val::saturating_mad24_hi"),
    row("sad(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t c:t",     (1, 0), ANY,   "sad").by("Val::sad"),
    row("div(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "div").by("/"),
    row("rem(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "rem").by("%"),
    row("abs(.s16|.s32|.s64)",                                 "d:t a:t",             (1, 0), ANY,   "abs").by("Val::abs"),
    row("neg(.s16|.s32|.s64)",                                 "d:t a:t",             (1, 0), ANY,   "neg").by("unary -"),
    row("min(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "min").by("Val::min"),
    row("max(.u16|.s16|.u32|.s32|.u64|.s64)",                  "d:t a:t b:t",         (1, 0), ANY,   "max").by("Val::max"),
    row("min.relu.s32",                                        "d:t a:t b:t",         (8, 0), SM_90, "min").by("Val::min_relu"),
    row("max.relu.s32",                                        "d:t a:t b:t",         (8, 0), SM_90, "max").by("Val::max_relu"),
    row("popc(.b32|.b64)",                                     "d:u32 a:t",           (2, 0), ANY,   "popc").by("Val::count_ones"),
    row("clz(.b32|.b64)",                                      "d:u32 a:t",           (2, 0), ANY,   "clz").by("Val::leading_zeros"),
    row("bfind(.u32|.s32|.u64|.s64)",                          "d:u32 a:t",           (2, 0), ANY,   "bfind").by("Val::highest_bit"),
    row("bfind.shiftamt(.u32|.s32|.u64|.s64)",                 "d:u32 a:t",           (2, 0), ANY,   "bfind").by("Val::normalizing_shift"),
    row("fns.b32",                                             "d:b32 a:b32 b:b32 c:s32", (6, 0), ANY, "fns").by("Val::find_nth_set"),
    row("brev(.b32|.b64)",                                     "d:t a:t",             (2, 0), ANY,   "brev").by("Val::reverse_bits"),
    row("bfe(.u32|.s32|.u64|.s64)",                            "d:t a:t b:u32 c:u32", (2, 0), ANY,   "bfe").by("Val::extract_bits"),
    row("bfi(.b32|.b64)",                                      "d:t a:t b:t c:u32 e:u32", (2, 0), ANY, "bfi").by("Val::insert_bits"),
    row("szext(.clamp|.wrap)(.u32|.s32)",                      "d:t a:t b:u32",       (7, 6), ANY,   "szext").by("Val::extend_from"),
    row("bmsk(.clamp|.wrap).b32",                              "d:b32 a:b32 b:b32",   (7, 6), ANY,   "bmsk").by("Val::bit_mask"),
    row("dp4a(.u32|.s32)(.u32|.s32)",                          "d:b32 a:b32 b:b32 c:b32", (5, 0), ANY, "dp4a").by("Val::dp4a"),
    row("dp2a(.lo|.hi)(.u32|.s32)(.u32|.s32)",                 "d:b32 a:b32 b:b32 c:b32", (5, 0), ANY, "dp2a").by("Val::dp2a_lo, Val::dp2a_hi"),
];
