//! The table for one row length.

use warpwright::ptx;

use super::{contender::Buffers, element::Element};
use crate::bench::samples::Samples;

/// A row of the table.
pub(super) struct Line {
    pub(super) name: String,
    /// The number of bytes that must be read and written.
    pub(super) bytes: f64,
    pub(super) is_rival: bool,
    pub(super) samples: Samples,
}

/// Returns the name of the kernel, which is the prefix of a contender's name.
pub(super) fn kernel(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}

/// Prints the times of the contenders. The first contender is the driver's copy.
pub(super) fn print<E: Element>(buffers: &Buffers<E>, lines: &[Line]) {
    println!("{} rows of {} elements of {}", buffers.m, buffers.n, <E as ptx::Element>::NAME);
    println!("    {:<60} {:>9} {:>9} {:>9} {:>9}  10 % … 90 %", "", "µs", "GB/s", "of copy", "of rival");
    let rate = |line: &Line| line.bytes / line.samples.median() / 1e3;
    let copy = lines.first().map_or(f64::NAN, rate);
    for line in lines {
        let (median, [low, high]) =
            (line.samples.median(), [0.1, 0.9].map(|part| line.samples.quantile(part)));
        let rivals = lines.iter().filter(|other| other.is_rival && kernel(&other.name) == kernel(&line.name));
        let best = rivals.map(|other| other.samples.median()).fold(f64::INFINITY, f64::min);
        let of_rival = if best.is_finite() { format!("{:.3}", best / median) } else { String::new() };
        let (rate, ratio) = (rate(line), rate(line) / copy);
        println!(
            "    {:<60} {median:>9.1} {rate:>9.0} {ratio:>9.3} {of_rival:>9}  {low:.1} … {high:.1}",
            line.name
        );
    }
}
