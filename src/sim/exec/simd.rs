//! The machine's vector unit: loops over lanes are compiled for it too, and that code is taken where it is there.

/// Runs `fast`, compiled with AVX2 and fused multiply-add, where the machine has them, else `plain`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in crate::sim) fn on_best<T>(fast: impl FnOnce() -> T, plain: impl FnOnce() -> T) -> T {
    use std::sync::OnceLock;
    static V3: OnceLock<Option<pulp::x86::V3>> = OnceLock::new();
    match V3.get_or_init(pulp::x86::V3::try_new) {
        Some(v3) => v3.vectorize(fast),
        None => plain(),
    }
}

/// Runs `fast` where fused multiply-add belongs to every processor of the architecture, else `plain`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(in crate::sim) fn on_best<T>(fast: impl FnOnce() -> T, plain: impl FnOnce() -> T) -> T {
    if cfg!(target_arch = "aarch64") { fast() } else { plain() }
}
