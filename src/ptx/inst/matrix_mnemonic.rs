//! Mnemonics of matrix instructions. They contain the shape (m, n, k) and the types of D, A, B and C, such as `f32.bf16.bf16.f32`. An
//! absent qualifier, such as `.satfinite` or `.sp`, is an empty string.

type Shape = (u32, u32, u32);

/// Returns the mnemonic of a warp-level `mma` with a row-major A and a column-major B.
pub(crate) fn mma((m, n, k): Shape, qualifier: &str, types: &str) -> String {
    format!("mma.sync.aligned.m{m}n{n}k{k}.row.col{qualifier}.{types}")
}

/// Returns the mnemonic of a warp-level `mma` with a sparse A.
pub(crate) fn sparse_mma((m, n, k): Shape, qualifier: &str, types: &str) -> String {
    format!("mma.sp::ordered_metadata.sync.aligned.m{m}n{n}k{k}.row.col{qualifier}.{types}")
}

/// Returns the mnemonic of a `wgmma`. `types` contains the types of D, A and B, but not of C.
pub(crate) fn wgmma(sparse: &str, (m, n, k): Shape, qualifier: &str, types: &str) -> String {
    format!("wgmma.mma_async{sparse}.sync.aligned.m{m}n{n}k{k}{qualifier}.{types}")
}
