//! Atoms by the names in recorded results.

use warpwright::atoms::{CopyAtom, MmaAtom, copy_atom, mma_atom};

/// By CuTe's name, MoYe's, or the width of a plain copy (`u64`).
pub(super) fn copy(name: &str) -> &'static CopyAtom {
    let plain = format!("UniversalCopy<{name}>");
    let name = match name {
        "LDSM_U32x1_N" => "SM75_U32x1_LDSM_N",
        "LDSM_U32x2_N" => "SM75_U32x2_LDSM_N",
        "LDSM_U32x4_N" => "SM75_U32x4_LDSM_N",
        "LDSM_U16x2_T" => "SM75_U16x2_LDSM_T",
        "LDSM_U16x4_T" => "SM75_U16x4_LDSM_T",
        "LDSM_U16x8_T" => "SM75_U16x8_LDSM_T",
        name if name.starts_with('u') => &plain,
        name => name,
    };
    copy_atom(name).unwrap()
}

/// By CuTe's name or MoYe's.
pub(super) fn mma(name: &str) -> &'static MmaAtom {
    let name = match name.strip_prefix("MMAOP_") {
        Some("16x8x16_F16F16F16F16_TN") => "SM80_16x8x16_F16F16F16F16_TN",
        Some("16x8x8_F16F16F16F16_TN") => "SM80_16x8x8_F16F16F16F16_TN",
        Some("16x8x8_F32TF32TF32F32_TN") => "SM80_16x8x8_F32TF32TF32F32_TN",
        Some("8x8x4_F32F16F16F32_NT") => "SM70_8x8x4_F32F16F16F32_NT",
        Some(other) => panic!("{other}"),
        None if name == "UniversalFMA" => "UniversalFMA<f32>",
        None => name,
    };
    mma_atom(name).unwrap()
}

pub(super) fn bits(element: &str) -> u32 {
    match element {
        "u8" => 8,
        "f16" => 16,
        "f32" => 32,
        other => panic!("{other}"),
    }
}
