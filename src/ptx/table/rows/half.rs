//! PTX ISA, "Half Precision Floating Point Instructions".

use super::{ANY, Form, SM_80, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                  operands           PTX     needs  PTX ISA  Rust
    row("add{.rn}{.ftz}{.sat}(.f16|.f16x2)",       "d:t a:t b:t",     (4, 2), ANY,   "add").by("+"),
    row("add{.rn}(.bf16|.bf16x2)",                 "d:t a:t b:t",     (7, 8), SM_90, "add").by("+"),
    row("sub{.rn}{.ftz}{.sat}(.f16|.f16x2)",       "d:t a:t b:t",     (4, 2), ANY,   "sub").by("-"),
    row("sub{.rn}(.bf16|.bf16x2)",                 "d:t a:t b:t",     (7, 8), SM_90, "sub").by("-"),
    row("mul{.rn}{.ftz}{.sat}(.f16|.f16x2)",       "d:t a:t b:t",     (4, 2), ANY,   "mul").by("*"),
    row("mul{.rn}(.bf16|.bf16x2)",                 "d:t a:t b:t",     (7, 8), SM_90, "mul").by("*"),
    row("fma.rn{.ftz}{.sat}(.f16|.f16x2)",         "d:t a:t b:t c:t", (4, 2), ANY,   "fma").by("Val::mad, Val::fma_with"),
    row("fma.rn{.ftz}.relu(.f16|.f16x2)",          "d:t a:t b:t c:t", (7, 0), SM_80, "fma").by("Val::fma_relu"),
    row("fma.rn(.bf16|.bf16x2)",                   "d:t a:t b:t c:t", (7, 0), SM_80, "fma").by("Val::mad"),
    row("fma.rn.relu(.bf16|.bf16x2)",              "d:t a:t b:t c:t", (7, 0), SM_80, "fma").by("Val::fma_relu"),
    row("neg{.ftz}(.f16|.f16x2)",                  "d:t a:t",         (6, 0), ANY,   "neg").by("unary -"),
    row("neg(.bf16|.bf16x2)",                      "d:t a:t",         (7, 0), SM_80, "neg").by("unary -"),
    row("abs{.ftz}(.f16|.f16x2)",                  "d:t a:t",         (6, 5), ANY,   "abs").by("Val::abs"),
    row("abs(.bf16|.bf16x2)",                      "d:t a:t",         (7, 0), SM_80, "abs").by("Val::abs"),
    row("min{.ftz}(.f16|.f16x2)",                  "d:t a:t b:t",     (7, 0), SM_80, "min").by("Val::min"),
    row("min{.ftz}.NaN(.f16|.f16x2)",              "d:t a:t b:t",     (7, 0), SM_80, "min").by("Val::min_nan"),
    row("min(.bf16|.bf16x2)",                      "d:t a:t b:t",     (7, 0), SM_80, "min").by("Val::min"),
    row("min.NaN(.bf16|.bf16x2)",                  "d:t a:t b:t",     (7, 0), SM_80, "min").by("Val::min_nan"),
    row("max{.ftz}(.f16|.f16x2)",                  "d:t a:t b:t",     (7, 0), SM_80, "max").by("Val::max"),
    row("max{.ftz}.NaN(.f16|.f16x2)",              "d:t a:t b:t",     (7, 0), SM_80, "max").by("Val::max_nan"),
    row("max(.bf16|.bf16x2)",                      "d:t a:t b:t",     (7, 0), SM_80, "max").by("Val::max"),
    row("max.NaN(.bf16|.bf16x2)",                  "d:t a:t b:t",     (7, 0), SM_80, "max").by("Val::max_nan"),
    row("tanh.approx(.f16|.f16x2)",                "d:t a:t",         (7, 0), ANY,   "tanh").by("Builder::tanh_approx_f16, tanh_approx_f16x2"),
    row("tanh.approx(.bf16|.bf16x2)",              "d:t a:t",         (7, 8), SM_90, "tanh").by("Builder::tanh_approx_bf16, tanh_approx_bf16x2"),
    row("ex2.approx(.f16|.f16x2)",                 "d:t a:t",         (7, 0), ANY,   "ex2").by("Builder::ex2_approx_f16, ex2_approx_f16x2"),
    row("ex2.approx.ftz(.bf16|.bf16x2)",           "d:t a:t",         (7, 8), SM_90, "ex2").by("Builder::ex2_approx_bf16, ex2_approx_bf16x2"),
];
