//! The checks that a program selects: those of kernels, which the simulator has, and those of the host's operations.

use std::str::FromStr;

use warpwright_sim::{Checks, UnknownCheck};

/// The enabled checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The checks of kernels.
    pub(crate) kernels: Checks,
    /// Copies to the host of device memory that was never written.
    pub(crate) uninitialized_copies: bool,
    /// Operations of different streams that access the same memory and that nothing orders.
    pub(crate) stream_races: bool,
    /// Launches that the driver rejects.
    pub(crate) invalid_launches: bool,
}

impl Selection {
    pub(crate) const ALL: Self = Self {
        kernels: Checks::all(),
        uninitialized_copies: true,
        stream_races: true,
        invalid_launches: true,
    };
    const NONE: Self = Self {
        kernels: Checks::empty(),
        uninitialized_copies: false,
        stream_races: false,
        invalid_launches: false,
    };

    /// Returns whether it must be known which bytes of device memory were written.
    pub(crate) fn records_writes(&self) -> bool {
        self.uninitialized_copies || self.kernels.contains(Checks::UNINITIALIZED_GLOBAL)
    }
}

/// Parses `all`, `none`, or a comma-separated list of names of checks and of kinds of findings.
impl FromStr for Selection {
    type Err = UnknownCheck;

    fn from_str(list: &str) -> Result<Self, UnknownCheck> {
        match list {
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self::NONE),
            _ => {}
        }
        let mut selection = Self::NONE;
        for name in list.split(',') {
            match name.trim().to_lowercase().replace('-', "_").as_str() {
                "uninitialized_copies" | "uninitialized_copy" => selection.uninitialized_copies = true,
                "stream_races" | "stream_race" => selection.stream_races = true,
                "invalid_launches" | "invalid_launch" => selection.invalid_launches = true,
                _ => selection.kernels |= name.parse()?,
            }
        }
        Ok(selection)
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;
    use warpwright_sim::Checks;

    #[test]
    fn lists_of_names() {
        assert_eq!("all".parse(), Ok(Selection::ALL));
        assert_eq!("none".parse(), Ok(Selection::NONE));
        let kernels = Checks::SHARED_RACES;
        let expected = Selection { stream_races: true, kernels, ..Selection::NONE };
        assert_eq!("stream-race, shared_races".parse(), Ok(expected));
        assert!("stream_racing".parse::<Selection>().is_err());
    }
}
