//! Support for the host's vector unit. Loops over lanes are compiled twice; the version for the vector unit runs if the unit is available.

/// Work that is compiled twice. Implementations, and all functions that they call, must be `#[inline(always)]`, because code is compiled
/// for the instruction set of the function into which it is inlined.
pub(crate) trait Work {
    type Out;

    /// Executes the work. `FMA` specifies whether the host has fused multiply-add instructions.
    fn work<const FMA: bool>(self) -> Self::Out;
}

/// Executes `work`, compiled for AVX2 and fused multiply-add if the host supports both.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn on_best<W: Work>(work: W) -> W::Out {
    use std::sync::OnceLock;

    struct Fast<W>(W);

    impl<W: Work> pulp::NullaryFnOnce for Fast<W> {
        type Output = W::Out;

        #[inline(always)]
        fn call(self) -> W::Out {
            self.0.work::<true>()
        }
    }

    static V3: OnceLock<Option<pulp::x86::V3>> = OnceLock::new();
    match V3.get_or_init(pulp::x86::V3::try_new) {
        Some(v3) => v3.vectorize(Fast(work)),
        None => work.work::<false>(),
    }
}

/// Executes `work`, with `FMA` on architectures whose processors all have fused multiply-add instructions.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn on_best<W: Work>(work: W) -> W::Out {
    if cfg!(target_arch = "aarch64") { work.work::<true>() } else { work.work::<false>() }
}
