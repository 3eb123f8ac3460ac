//! The checks that a user selects for a program: those of the simulator for kernels, and those of the driver for host operations.

use std::str::FromStr;

use crate::report::{Checks, UnknownCheck};

/// The checks enabled for a program whose CUDA driver is based on the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The checks of kernels.
    pub kernels: Checks,
    /// Whether to report copies of unwritten device memory to the host.
    pub uninitialized_copies: bool,
    /// Whether to report conflicting accesses to memory by unordered operations in different streams.
    pub stream_races: bool,
    /// Whether to report launches that the driver rejects.
    pub invalid_launches: bool,
}

impl Selection {
    /// Enables all checks.
    pub const ALL: Self = Self {
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

    /// The names of the checks for host operations.
    pub const HOST: [&str; 3] = ["uninitialized_copies", "stream_races", "invalid_launches"];

    /// Returns the check of host operations that has this name, or that reports findings of a kind with this name.
    fn host(&mut self, name: &str) -> Option<&mut bool> {
        let Self { uninitialized_copies, stream_races, invalid_launches, .. } = self;
        let checks = [uninitialized_copies, stream_races, invalid_launches];
        let kinds = ["uninitialized_copy", "stream_race", "invalid_launch"];
        let mut names = Self::HOST.into_iter().zip(kinds).zip(checks);
        names.find(|((check, kind), _)| *check == name || *kind == name).map(|(_, check)| check)
    }

    /// Returns whether an enabled check requires writes to device memory to be recorded.
    pub fn records_writes(&self) -> bool {
        self.uninitialized_copies || self.kernels.contains(Checks::UNINITIALIZED_GLOBAL)
    }
}

/// Parses `all`, `none`, or a comma-separated list of checks and kinds of findings. A kind enables the check that reports it.
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
            match selection.host(&name.trim().to_lowercase().replace('-', "_")) {
                Some(check) => *check = true,
                None => selection.kernels |= name.parse()?,
            }
        }
        Ok(selection)
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, Selection};

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
