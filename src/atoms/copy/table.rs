//! The table of all copy atoms.

use std::sync::LazyLock;

use super::{CopyAtom, CopyKind, Matrices};
use crate::{
    atoms::mma::UnknownAtom,
    layout::{IntTuple, Layout},
};

static ATOMS: LazyLock<Vec<CopyAtom>> = LazyLock::new(|| {
    let mut atoms = Vec::new();
    atoms.extend([1, 2, 4, 8, 16].map(universal));
    for (bytes, bypass_l1) in [(4, false), (8, false), (16, false), (16, true)] {
        atoms.extend([false, true].map(|zero_fill| cp_async(bytes, bypass_l1, zero_fill)));
    }
    atoms.extend([1, 4].map(transpose_2x2));
    for transposed in [false, true] {
        atoms.extend([1, 2, 4].map(|count| ldmatrix(count, transposed)));
    }
    atoms.push(movmatrix());
    for transposed in [false, true] {
        atoms.extend([1, 2, 4].map(|count| stmatrix(count, transposed)));
    }
    atoms.extend([1, 2].map(ldmatrix_bytes));
    for count in [1, 2, 4] {
        atoms.extend([4, 6].map(|bits| ldmatrix_expanding(count, bits)));
    }
    atoms.extend([1, 2, 4].map(stmatrix_bytes));
    atoms
});

/// Returns all copy atoms.
pub fn copy_atoms() -> impl Iterator<Item = &'static CopyAtom> {
    ATOMS.iter()
}

/// Returns the copy atom named `name`, such as `SM75_U32x4_LDSM_N`.
///
/// # Errors
/// Returns [`UnknownAtom`] if no atom has this name. The error message suggests a similar name, if any.
pub fn copy_atom(name: &str) -> Result<&'static CopyAtom, UnknownAtom> {
    copy_atoms()
        .find(|atom| atom.name == name)
        .ok_or_else(|| UnknownAtom::new("a copy", name, copy_atoms().map(CopyAtom::name)))
}

/// Returns a layout whose shape and stride are known to be congruent.
fn layout(shape: impl Into<IntTuple>, stride: impl Into<IntTuple>) -> Layout {
    Layout::new(shape, stride).expect("small positive extents and strides, nested alike")
}

/// Returns a single-thread atom that moves `bytes` bytes.
fn single(name: String, kind: CopyKind, bytes: u32, mnemonic: String, cute_mnemonic: String) -> CopyAtom {
    let bits = layout((1, 8 * bytes), (0, 1));
    CopyAtom {
        name,
        mnemonic,
        cute_mnemonic,
        kind,
        threads: layout(1, 0),
        src: bits.clone(),
        dst: bits.clone(),
        reference: bits,
    }
}

fn universal(bytes: u32) -> CopyAtom {
    let name = format!("UniversalCopy<u{}>", 8 * bytes);
    single(name, CopyKind::Universal { bytes }, bytes, String::new(), String::new())
}

fn cp_async(bytes: u32, bypass_l1: bool, zero_fill: bool) -> CopyAtom {
    let (cache, word) = if bypass_l1 { ("cg", "GLOBAL") } else { ("ca", "ALWAYS") };
    let ending = if zero_fill { "_ZFILL" } else { "" };
    let name = format!("SM80_CP_ASYNC_CACHE{word}{ending}<u{}>", 8 * bytes);
    let mnemonic = format!("cp.async.{cache}.shared.global");
    // CuTe always requests a 128-byte prefetch into L2.
    let cute = format!("{mnemonic}.L2::128B");
    single(name, CopyKind::CpAsync { bytes, bypass_l1, zero_fill }, bytes, mnemonic, cute)
}

/// Returns a warp-level atom.
fn warp(
    name: String,
    kind: CopyKind,
    mnemonics: (String, String),
    [src, dst, reference]: [Layout; 3],
) -> CopyAtom {
    let (mnemonic, cute_mnemonic) = mnemonics;
    CopyAtom { name, mnemonic, cute_mnemonic, kind, threads: layout(32, 1), src, dst, reference }
}

/// Returns the atom in which lanes `l` and `l ^ lane_bit`, each with two words, exchange the off-diagonal words.
fn transpose_2x2(lane_bit: u32) -> CopyAtom {
    let src = layout((32, 64), (64, 1));
    let dst = match lane_bit {
        1 => layout(((2, 16), (32, 2)), ((32, 128), (1, 64))),
        _ => layout(((4, 2, 4), (32, 2)), ((64, 32, 512), (1, 256))),
    };
    let name = format!("SM50_Shuffle_U32_2x2Trans_XOR{lane_bit}");
    warp(name, CopyKind::Transpose2x2 { lane_bit }, Default::default(), [src.clone(), dst, src])
}

/// Returns the layout of the 128-bit rows whose addresses the lanes provide; lanes past the last row repeat earlier rows.
fn row_addresses(rows: u32) -> Layout {
    match rows {
        32 => layout((32, 128), (128, 1)),
        _ => layout(((rows, 32 / rows), 128), ((128, 0), 1)),
    }
}

/// Returns the layout of `count` 8×8 matrices of 16-bit elements, one register per lane and matrix, with pairs along rows.
fn by_rows(count: u32) -> Layout {
    match count {
        1 => layout((32, 32), (32, 1)),
        _ => layout((32, (32, count)), (32, (1, 1024))),
    }
}

/// Returns the layout of the transposed matrices, with pairs along columns.
fn by_columns(count: u32) -> Layout {
    match count {
        1 => layout(((4, 8), (16, 2)), ((256, 16), (1, 128))),
        _ => layout(((4, 8), (16, 2, count)), ((256, 16), (1, 128, 1024))),
    }
}

fn registers(count: u32, transposed: bool) -> Layout {
    if transposed { by_columns(count) } else { by_rows(count) }
}

/// Returns `U32x4_LDSM_N` or `U16x8_LDSM_T`: CuTe's names count the values that a lane receives.
fn matrix_name(count: u32, transposed: bool, operation: &str) -> String {
    if transposed { format!("U16x{}_{operation}_T", 2 * count) } else { format!("U32x{count}_{operation}_N") }
}

/// Returns the mnemonic with its qualifiers in the manual's order, and in CuTe's order.
fn matrix_mnemonics(operation: &str, count: u32, transposed: bool) -> (String, String) {
    let trans = if transposed { ".trans" } else { "" };
    (
        format!("{operation}.sync.aligned.m8n8.x{count}{trans}.shared.b16"),
        format!("{operation}.sync.aligned.x{count}{trans}.m8n8.shared.b16"),
    )
}

fn halves(count: u32, transposed: bool) -> Matrices {
    Matrices { count, transposed, element_bits: 16, memory_bits: 16, rows: 8 * count }
}

fn ldmatrix(count: u32, transposed: bool) -> CopyAtom {
    let dst = registers(count, transposed);
    warp(
        format!("SM75_{}", matrix_name(count, transposed, "LDSM")),
        CopyKind::LdMatrix(halves(count, transposed)),
        matrix_mnemonics("ldmatrix", count, transposed),
        [row_addresses(8 * count), dst.clone(), dst],
    )
}

fn stmatrix(count: u32, transposed: bool) -> CopyAtom {
    let src = registers(count, transposed);
    warp(
        format!("SM90_{}", matrix_name(count, transposed, "STSM")),
        CopyKind::StMatrix(halves(count, transposed)),
        matrix_mnemonics("stmatrix", count, transposed),
        [src.clone(), row_addresses(8 * count), src],
    )
}

/// Returns `movmatrix`. Its destination layout reflects the transposition, whereas CuTe uses the same layout on both sides.
fn movmatrix() -> CopyAtom {
    let mnemonic = "movmatrix.sync.aligned.m8n8.trans.b16".to_owned();
    warp(
        "SM75_U32x1_MOVM_T".to_owned(),
        CopyKind::MovMatrix,
        (mnemonic.clone(), mnemonic),
        [by_rows(1), by_columns(1), by_rows(1)],
    )
}

/// Returns the (thread, bit) layout of transposed 16×16 matrices of bytes in registers.
fn bytes_by_columns(pairs: u32) -> Layout {
    match pairs {
        1 => layout(((4, 8), (8, 2, 2)), ((256, 8), (1, 128, 64))),
        _ => layout(((4, 8), (8, 2, 2, pairs)), ((256, 8), (1, 128, 64, 1024))),
    }
}

/// Returns `ldmatrix` of 16×16 bytes, transposed (sm_100a or sm_120a), with CuTe's layouts.
fn ldmatrix_bytes(count: u32) -> CopyAtom {
    let dst = bytes_by_columns(2 * count);
    let src = match count {
        1 => layout(((2, 2, 4, 2), 128), ((128, 1024, 256, 0), 1)),
        _ => layout(((2, 2, 4, 2), 128), ((128, 1024, 256, 2048), 1)),
    };
    let matrices = Matrices { count, transposed: true, element_bits: 8, memory_bits: 8, rows: 16 * count };
    let mnemonic = format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8");
    warp(
        format!("SM100_U8x{}_LDSM_T", 8 * count),
        CopyKind::LdMatrix(matrices),
        (mnemonic.clone(), mnemonic),
        [src, dst.clone(), dst],
    )
}

/// Returns `ldmatrix` of 8×16 4-bit or 6-bit elements, each expanded to a byte (sm_100a or sm_120a). CuTe's
/// layouts number the bits of the expanded bytes.
fn ldmatrix_expanding(count: u32, bits: u32) -> CopyAtom {
    let padding = if bits == 4 { "b4x16_p64" } else { "b6x16_p32" };
    let matrices = Matrices { count, transposed: false, element_bits: 8, memory_bits: bits, rows: 8 * count };
    let mnemonic = format!("ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.{padding}");
    warp(
        format!("SM100_SU{bits}_DU8x16_x{count}_LDSM_N"),
        CopyKind::LdMatrix(matrices),
        (mnemonic.clone(), mnemonic),
        [row_addresses(8 * count), by_rows(count), by_rows(count)],
    )
}

/// Returns `stmatrix` of 16×8 bytes, transposed (sm_100a or sm_120a), with CuTe's layouts.
fn stmatrix_bytes(count: u32) -> CopyAtom {
    let src = bytes_by_columns(count);
    let matrices = Matrices { count, transposed: true, element_bits: 8, memory_bits: 8, rows: 8 * count };
    let mnemonic = format!("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8");
    warp(
        format!("SM100_U8x{}_STSM_T", 4 * count),
        CopyKind::StMatrix(matrices),
        (mnemonic.clone(), mnemonic),
        [src.clone(), row_addresses(8 * count), src],
    )
}
