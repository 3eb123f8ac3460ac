//! The machine's vector unit: loops over lanes are compiled for it too, and that code is taken where it is there.

/// What is compiled twice. Implementations are `#[inline(always)]`, as everything they are to speed up: code takes
/// its instruction set from the function that it is compiled into.
pub(crate) trait Work {
    type Out;

    /// With `FMA` the machine has a fused multiply-add.
    fn work<const FMA: bool>(self) -> Self::Out;
}

/// Runs `work`, compiled with AVX2 and fused multiply-add where the machine has them.
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

/// Runs `work`; a fused multiply-add belongs to every processor of some architectures.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn on_best<W: Work>(work: W) -> W::Out {
    if cfg!(target_arch = "aarch64") { work.work::<true>() } else { work.work::<false>() }
}
