//! The table for rows of one length.

use warpwright::ptx;

use super::{
    contender::{Buffers, Contender},
    element::Element,
};
use crate::bench::samples::Samples;

/// Prints the times of the contenders, of which the first is the driver's copy.
pub(super) fn print<E: Element>(buffers: &Buffers<E>, contenders: &[Contender<E>], samples: &[Samples]) {
    println!("{} rows of {} elements of {}", buffers.m, buffers.n, <E as ptx::Element>::NAME);
    println!("    {:<60} {:>9} {:>9} {:>9}  10 % … 90 %", "", "µs", "GB/s", "of copy");
    let rate = |at: usize| contenders[at].bytes / samples[at].median() / 1e3;
    let copy = rate(0);
    for (at, (contender, samples)) in contenders.iter().zip(samples).enumerate() {
        let (median, [low, high]) = (samples.median(), [0.1, 0.9].map(|part| samples.quantile(part)));
        let (rate, ratio) = (rate(at), rate(at) / copy);
        println!("    {:<60} {median:>9.1} {rate:>9.0} {ratio:>9.3}  {low:.1} … {high:.1}", contender.name);
    }
}
