//! Targets (`.target`), PTX versions (`.version`) and the features that instructions require.

use std::{fmt, str::FromStr};

use bitflags::bitflags;
use thiserror::Error;

/// A PTX ISA version, such as `7.0` in `.version 7.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version.
    pub major: u8,
    /// The minor version.
    pub minor: u8,
}

impl Version {
    /// Creates a version. For example, `Version::new(7, 0)` is PTX 7.0.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

bitflags! {
    /// Target features that instructions require. The description of each feature lists its most important instructions and the targets
    /// that have it. The oldest supported target, sm_75, has only `TURING`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Features: u32 {
        /// `cp.async`, bf16 and tf32 `mma`, f64 `mma`, `redux`, f16/bf16 `fma` with `relu`: sm_80 and later.
        const AMPERE        = 1 << 0;
        /// `.e4m3`/`.e5m2` conversions and fp8 `mma`: sm_89 and later.
        const FP8           = 1 << 1;
        /// bf16 `add/sub/mul`, `stmatrix`, `mbarrier.try_wait`, clusters, `cp.async.bulk`, `elect`: sm_90 and later.
        const HOPPER        = 1 << 2;
        /// `wgmma`: sm_90a only.
        const WGMMA         = 1 << 3;
        /// `tcgen05` (not in the instruction table) and stochastic rounding: sm_100a (data-center Blackwell).
        const TCGEN05       = 1 << 4;
        /// Block-scaled `mma`, and `mma` of 6-bit and 4-bit floating-point types: sm_120a.
        const MMA_BLOCK_SCALE = 1 << 5;
        /// `ldmatrix` and `stmatrix` of elements of at most 8 bits, fp8 `mma` with `.kind::f8f6f4`, f32x2 arithmetic and 3-input `min/max`
        /// (the last two are not in the instruction table): sm_100a and sm_120a.
        const BLACKWELL     = 1 << 6;
        /// `ldmatrix`, and f16 `tanh` and `ex2`: sm_75 and later.
        const TURING        = 1 << 7;
        /// `setmaxnreg`: sm_90a, sm_100a and sm_120a.
        const SETMAXNREG    = 1 << 8;
        /// `tensormap.replace`: sm_90a, sm_100a and sm_120a.
        const TENSORMAP     = 1 << 9;
        /// Bulk copies to several blocks of a cluster: sm_90a and sm_100a.
        const MULTICAST     = 1 << 10;
        /// Conversions to and from the microscaling formats `.e3m2`, `.e2m3`, `.e2m1` and `.ue8m0` (conversions of the last two are not in
        /// the instruction table): sm_100a and sm_120a.
        const MX            = 1 << 11;
    }
}

impl Features {
    /// Returns the lowest target that has all of these features, such as sm_80 for `AMPERE`. Returns sm_120a if no target has all of them.
    pub fn lowest_target(self) -> Target {
        *Target::ALL.iter().find(|t| t.features().contains(self)).unwrap_or(&Target::SM_120A)
    }
}

/// A GPU architecture for which code is generated, such as `sm_90a` in `.target sm_90a`.
///
/// Code for a target without the suffix `a` runs on GPUs of that architecture and of all later ones. Code for a target with the suffix runs
/// only on GPUs of that architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    sm: u16,
    specific: bool,
}

impl Target {
    /// Turing.
    pub const SM_75: Self = Self::new(75, false);
    /// Data-center Ampere (A100).
    pub const SM_80: Self = Self::new(80, false);
    /// Consumer Ampere.
    pub const SM_86: Self = Self::new(86, false);
    /// Jetson Orin (Ampere).
    pub const SM_87: Self = Self::new(87, false);
    /// Ada.
    pub const SM_89: Self = Self::new(89, false);
    /// Hopper, without its architecture-specific features.
    pub const SM_90: Self = Self::new(90, false);
    /// Hopper with its architecture-specific features, such as `wgmma` and `setmaxnreg`.
    pub const SM_90A: Self = Self::new(90, true);
    /// Data-center Blackwell.
    pub const SM_100A: Self = Self::new(100, true);
    /// Consumer Blackwell.
    pub const SM_120A: Self = Self::new(120, true);

    /// All supported targets, oldest first.
    pub const ALL: [Self; 9] = [
        Self::SM_75,
        Self::SM_80,
        Self::SM_86,
        Self::SM_87,
        Self::SM_89,
        Self::SM_90,
        Self::SM_90A,
        Self::SM_100A,
        Self::SM_120A,
    ];

    const fn new(sm: u16, specific: bool) -> Self {
        Self { sm, specific }
    }

    /// Returns the architecture number, such as 90 for sm_90a.
    pub const fn sm(self) -> u16 {
        self.sm
    }

    /// Returns whether the target's name ends in `a`. Code for such a target runs only on GPUs of that architecture.
    pub const fn is_specific(self) -> bool {
        self.specific
    }

    /// Returns whether code for this target runs on devices of compute capability `major.minor` (PTX ISA, "PTX Module
    /// Directives: .target").
    pub const fn runs_on(self, major: u16, minor: u16) -> bool {
        let device = major * 10 + minor;
        if self.specific { device == self.sm } else { device >= self.sm }
    }

    /// Returns the newest target without the suffix `a` that [runs on](Self::runs_on) devices of compute capability `major.minor`, or
    /// `None` if the compute capability is lower than 7.5. For compute capability 12.x, the result is sm_89 instead of sm_90, because these
    /// devices have less shared memory than sm_90 permits.
    pub fn newest_portable(major: u32, minor: u32) -> Option<Self> {
        let [major, minor] = [major, minor].map(|number| u16::try_from(number).unwrap_or(u16::MAX / 16));
        // Devices of 12.x run code for sm_90, but have less shared memory.
        let shared = if major == 12 { Self::SM_120A } else { Self::SM_90 }.max_shared_bytes();
        let is_portable = |target: &Self| {
            !target.specific && target.runs_on(major, minor) && target.max_shared_bytes() <= shared
        };
        Self::ALL.into_iter().rev().find(is_portable)
    }

    /// Returns all features of this target.
    pub const fn features(self) -> Features {
        let mut f = Features::TURING;
        if self.sm >= 80 {
            f = f.union(Features::AMPERE);
        }
        if self.sm >= 89 {
            f = f.union(Features::FP8);
        }
        if self.sm >= 90 {
            f = f.union(Features::HOPPER);
        }
        if self.sm >= 100 {
            f = f.union(Features::BLACKWELL);
        }
        if self.sm >= 90 && self.specific {
            f = f.union(Features::SETMAXNREG).union(Features::TENSORMAP);
        }
        match (self.sm, self.specific) {
            (90, true) => f.union(Features::WGMMA).union(Features::MULTICAST),
            (100, true) => f.union(Features::TCGEN05).union(Features::MULTICAST).union(Features::MX),
            (120, true) => f.union(Features::MMA_BLOCK_SCALE).union(Features::MX),
            _ => f,
        }
    }

    /// Returns the lowest PTX version that supports this target (PTX ISA, "PTX Release Notes").
    pub const fn lowest_version(self) -> Version {
        match (self.sm, self.specific) {
            (75, _) => Version::new(6, 3),
            (80, _) => Version::new(7, 0),
            (86, _) => Version::new(7, 1),
            (87, _) => Version::new(7, 4),
            (89 | 90, false) => Version::new(7, 8),
            (90, true) => Version::new(8, 0),
            (100, _) => Version::new(8, 6),
            _ => Version::new(8, 7),
        }
    }

    /// Returns the maximum size of shared memory per block, static and dynamic together, in bytes (CUDA C++ Programming Guide, "Technical
    /// Specifications per Compute Capability").
    pub const fn max_shared_bytes(self) -> u32 {
        1024 * match self.sm {
            75 => 64,
            80 | 87 => 163,
            86 | 89 | 120 => 99,
            _ => 227,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, if self.specific { "a" } else { "" })
    }
}

/// The error returned for an unrecognized target name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "unknown target `{found}`: expected one of sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100a, sm_120a"
)]
pub struct UnknownTarget {
    found: String,
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(s: &str) -> Result<Self, UnknownTarget> {
        Self::ALL
            .into_iter()
            .find(|t| t.to_string() == s)
            .ok_or_else(|| UnknownTarget { found: s.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for t in Target::ALL {
            assert_eq!(t.to_string().parse(), Ok(t));
        }
        assert!("sm_99".parse::<Target>().unwrap_err().to_string().contains("sm_99"));
    }

    #[test]
    fn portable_targets_run_on_later_devices() {
        for ((major, minor), expected) in [
            ((7, 0), None),
            ((7, 5), Some(Target::SM_75)),
            ((8, 0), Some(Target::SM_80)),
            ((8, 6), Some(Target::SM_86)),
            ((9, 0), Some(Target::SM_90)),
            ((10, 0), Some(Target::SM_90)),
            // 99 KiB of shared memory.
            ((12, 0), Some(Target::SM_89)),
            ((u32::MAX, 0), Some(Target::SM_90)),
        ] {
            assert_eq!(Target::newest_portable(major, minor), expected, "{major}.{minor}");
        }
    }

    #[test]
    fn specific_targets_run_on_their_own_device_alone() {
        assert!(Target::SM_80.runs_on(9, 0));
        assert!(Target::SM_90A.runs_on(9, 0));
        assert!(!Target::SM_90A.runs_on(10, 0));
        assert!(!Target::SM_100A.runs_on(9, 0));
    }
}
