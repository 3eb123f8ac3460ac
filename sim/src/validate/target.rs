//! `.version` and `.target` (PTX ISA, "PTX Module Directives", "Release Notes").

use std::fmt;

/// A PTX version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The last published minor version of each major version.
const LAST: [(u32, u32); 9] = [(1, 5), (2, 3), (3, 2), (4, 3), (5, 0), (6, 5), (7, 8), (8, 8), (9, 0)];

impl Version {
    /// Returns whether the version has been published and is not newer than the newest supported version.
    pub(super) fn is_known(self) -> bool {
        LAST.iter().any(|&(major, minor)| self.0 == major && self.1 <= minor)
    }

    pub(super) fn newest() -> Self {
        let (major, minor) = LAST[LAST.len() - 1];
        Self(major, minor)
    }
}

/// The set of architecture features that a target may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Features that all later architectures also support, as for `sm_90`.
    Portable,
    /// Features of the architecture's family, as for `sm_100f`.
    Family,
    /// Features that only this architecture supports, as for `sm_90a`.
    Specific,
}

/// A target architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The architecture number: 90 for `sm_90a`.
    pub(super) sm: u32,
    pub(super) kind: Kind,
}

/// The architectures, each with the first PTX versions that support the plain target and its `a` and `f` variants, if they exist.
#[rustfmt::skip]
const TARGETS: [(u32, [Option<Version>; 3]); 31] = [
    (10,  [Some(Version(1, 0)), None, None]),
    (11,  [Some(Version(1, 0)), None, None]),
    (12,  [Some(Version(1, 2)), None, None]),
    (13,  [Some(Version(1, 2)), None, None]),
    (20,  [Some(Version(2, 0)), None, None]),
    (21,  [Some(Version(3, 2)), None, None]),
    (30,  [Some(Version(3, 0)), None, None]),
    (32,  [Some(Version(4, 0)), None, None]),
    (35,  [Some(Version(3, 1)), None, None]),
    (37,  [Some(Version(4, 1)), None, None]),
    (50,  [Some(Version(4, 0)), None, None]),
    (52,  [Some(Version(4, 1)), None, None]),
    (53,  [Some(Version(4, 2)), None, None]),
    (60,  [Some(Version(5, 0)), None, None]),
    (61,  [Some(Version(5, 0)), None, None]),
    (62,  [Some(Version(5, 0)), None, None]),
    (70,  [Some(Version(6, 0)), None, None]),
    (72,  [Some(Version(6, 1)), None, None]),
    (75,  [Some(Version(6, 3)), None, None]),
    (80,  [Some(Version(7, 0)), None, None]),
    (86,  [Some(Version(7, 1)), None, None]),
    (87,  [Some(Version(7, 4)), None, None]),
    (88,  [Some(Version(7, 3)), None, None]),
    (89,  [Some(Version(7, 8)), None, None]),
    (90,  [Some(Version(7, 8)), Some(Version(8, 0)), None]),
    (100, [Some(Version(8, 6)), Some(Version(8, 6)), Some(Version(8, 8))]),
    (101, [Some(Version(8, 6)), Some(Version(8, 6)), Some(Version(8, 8))]),
    (103, [Some(Version(8, 8)), Some(Version(8, 8)), Some(Version(8, 8))]),
    (110, [Some(Version(9, 0)), Some(Version(9, 0)), Some(Version(9, 0))]),
    (120, [Some(Version(8, 7)), Some(Version(8, 7)), Some(Version(8, 8))]),
    (121, [Some(Version(8, 8)), Some(Version(8, 8)), Some(Version(8, 8))]),
];

impl Target {
    /// Returns the target named `name`, such as `sm_90a`, and the first version that supports it.
    pub(super) fn parse(name: &str) -> Option<(Self, Version)> {
        let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = number.trim_end_matches(['a', 'f']);
        let (kind, column) = match &number[digits.len()..] {
            "" => (Kind::Portable, 0),
            "a" => (Kind::Specific, 1),
            "f" => (Kind::Family, 2),
            _ => return None,
        };
        let sm = digits.parse().ok().filter(|_| !digits.starts_with('0'))?;
        let (_, versions) = TARGETS.iter().find(|(known, _)| *known == sm)?;
        versions[column].map(|version| (Self { sm, kind }, version))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.kind {
            Kind::Portable => "",
            Kind::Family => "f",
            Kind::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}

/// The target that a feature requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// This architecture or a later one.
    Sm(u32),
    /// This architecture or a later one, in an `a` or `f` variant.
    Specific(u32),
    /// This architecture or a later one of its family, in an `a` or `f` variant.
    Family(u32),
    /// Only the `a` variant of this architecture.
    Only(u32),
}

impl Needs {
    pub(super) fn are_met_by(self, target: Target) -> bool {
        match self {
            Needs::Sm(sm) => target.sm >= sm,
            Needs::Specific(sm) => target.sm >= sm && target.kind != Kind::Portable,
            Needs::Family(sm) => {
                target.sm / 10 == sm / 10 && target.sm >= sm && target.kind != Kind::Portable
            }
            Needs::Only(sm) => target.sm == sm && target.kind == Kind::Specific,
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Sm(sm) => write!(f, "sm_{sm} or higher"),
            Needs::Specific(sm) => write!(f, "sm_{sm}a or a later one with `a` or `f`"),
            Needs::Family(sm) => write!(f, "sm_{sm}a or a later one of its family with `a` or `f`"),
            Needs::Only(sm) => write!(f, "sm_{sm}a"),
        }
    }
}
