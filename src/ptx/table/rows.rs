//! The rows of the table, in the order of the chapters of the PTX ISA.

mod async_copy;
mod atomic;
mod bulk;
mod call;
mod compare;
mod control;
mod convert;
mod extended;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod mma;
mod sync;
mod wgmma;

use super::Form;
use crate::ptx::target::{Features, Version};

const fn row(
    mnemonic: &'static str,
    operands: &'static str,
    ptx: (u8, u8),
    needs: Features,
    reference: &'static str,
) -> Form {
    Form { mnemonic, operands, version: Version::new(ptx.0, ptx.1), needs, reference, rust: "" }
}

impl Form {
    /// Names the Rust method or operator that emits the form.
    const fn by(self, rust: &'static str) -> Self {
        Self { rust, ..self }
    }
}

const ANY: Features = Features::empty();
const SM_80: Features = Features::AMPERE;
const SM_89: Features = Features::FP8;
const SM_90: Features = Features::HOPPER;
const SM_100: Features = Features::BLACKWELL;
const WGMMA: Features = Features::WGMMA;
const MULTICAST: Features = Features::MULTICAST;
const TENSORMAP: Features = Features::TENSORMAP;
const SETMAXNREG: Features = Features::SETMAXNREG;
const SM_100A: Features = Features::TCGEN05;
const BLOCK_SCALE: Features = Features::MMA_BLOCK_SCALE;
const MX: Features = Features::MX;

/// The instruction chapters of the PTX ISA, each with its forms.
pub(super) static CHAPTERS: &[(&str, &[Form])] = &[
    ("Integer Arithmetic", integer::FORMS),
    ("Extended-Precision Integer Arithmetic", extended::FORMS),
    ("Floating-Point", float::FORMS),
    ("Half-Precision Floating-Point", half::FORMS),
    ("Comparison and Selection", compare::FORMS),
    ("Logic and Shift", logic::FORMS),
    ("Data Movement", memory::FORMS),
    ("Conversion", convert::FORMS),
    ("Asynchronous Copy", async_copy::FORMS),
    ("Bulk Copy and Tensor Maps", bulk::FORMS),
    ("Warp-Level Matrix", matrix::FORMS),
    ("Warp-Level Matrix Multiply-Accumulate", mma::FORMS),
    ("Asynchronous Warpgroup-Level Matrix", wgmma::FORMS),
    ("Parallel Synchronization and Communication", sync::FORMS),
    ("mbarrier", mbarrier::FORMS),
    ("Atomic Memory Operations", atomic::FORMS),
    ("Control Flow", control::FLOW),
    ("Calls", call::FORMS),
    ("Miscellaneous", control::MISCELLANEOUS),
    ("Special Registers", control::SPECIAL_REGISTERS),
    ("Directives", control::DIRECTIVES),
];
