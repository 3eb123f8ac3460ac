//! The machine, software and date of a measurement.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use warpwright::gpu::{CublasLtProduct, DeviceProperties};

/// The machine, the libraries, the date and the command of a measurement.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Provenance {
    pub(super) gpu: String,
    /// The version of CUDA that the driver supports.
    pub(super) driver: String,
    /// The version of cuBLASLt, if it is installed.
    pub(super) cublaslt: Option<String>,
    /// The date in UTC, such as 2026-11-22.
    pub(super) date: String,
    pub(super) command: String,
}

impl Provenance {
    /// Describes a measurement that this process makes now.
    pub(super) fn now(gpu: &DeviceProperties) -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            gpu: gpu.name.clone(),
            driver: format!("CUDA {}", gpu.driver),
            cublaslt: CublasLtProduct::version().ok().map(version),
            date: date(seconds / 86_400),
            command: format!("warpwright {}", arguments.join(" ")),
        }
    }
}

/// Formats a version number: 130101 as 13.1.1 (cuBLAS documentation, "cublasLtGetVersion").
fn version(number: usize) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// Returns the date that is `days` days after 1970-01-01.
fn date(days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut day) = (1970, days);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::{date, version};

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (364, "1970-12-31"),
            (365, "1971-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_779, "2026-11-22"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn versions_have_three_parts() {
        assert_eq!(version(130_101), "13.1.1");
        assert_eq!(version(120_906), "12.9.6");
    }
}
