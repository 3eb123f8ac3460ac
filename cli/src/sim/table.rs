//! `--report table`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

use warpwright_sim::{Counts, LineCounts, Module, Report, SourceLocation};

/// The maximum number of PTX lines in the table.
const MOST_LINES: usize = 40;

/// Returns a summary, followed by the lines in decreasing order of warp instructions.
pub(super) fn table(kernel: &str, report: &Report, module: &Module) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = summary(&mut out, kernel, report).and_then(|()| lines(&mut out, report, module));
    out
}

fn summary(out: &mut String, kernel: &str, report: &Report) -> fmt::Result {
    let Counts { bytes, .. } = &report.counts;
    let counts = &report.counts;
    writeln!(out, "kernel {kernel}, {} blocks", report.blocks)?;
    writeln!(
        out,
        "instructions  {} of warps, {} of threads, {:.1} lanes active",
        counts.warp_instructions,
        counts.thread_instructions,
        32.0 * counts.active_lanes()
    )?;
    writeln!(out, "branches      {}, {} of them divergent", counts.branches, counts.divergent_branches)?;
    writeln!(
        out,
        "global        {} requests, {} sectors ({} at best), {} bytes read, {} written",
        counts.global_requests,
        counts.global_sectors,
        counts.global_sectors_ideal,
        bytes.global_read,
        bytes.global_written
    )?;
    writeln!(
        out,
        "shared        {} requests, {} wavefronts ({} at best), {} bytes read, {} written",
        counts.shared_requests,
        counts.shared_wavefronts,
        counts.shared_wavefronts_ideal,
        bytes.shared_read,
        bytes.shared_written
    )?;
    writeln!(out, "local         {} bytes read, {} written", bytes.local_read, bytes.local_written)?;
    if let [first, ..] = &report.contractions[..] {
        writeln!(
            out,
            "contracted    {} sums with products, as by ptxas; the first in line {}",
            report.contractions.len(),
            first.sum
        )?;
    }
    for leak in &report.leaks {
        writeln!(
            out,
            "heap          {} blocks of {} bytes in all, allocated in line {}, were not freed",
            leak.blocks, leak.bytes, leak.line
        )?;
    }
    writeln!(out, "tensor cores  {} flop", counts.tensor_flops)?;
    writeln!(out, "classes       {}", classes(report))
}

/// Formats `integer 40.1 %, load 12.0 %`, in decreasing order.
fn classes(report: &Report) -> String {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for line in &report.lines {
        *sums.entry(line.class).or_default() += line.counts.warp_instructions;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|&(class, n)| (std::cmp::Reverse(n), class));
    let all = report.counts.warp_instructions.max(1) as f64;
    let one = |(class, n): (warpwright_sim::InstructionClass, u64)| {
        format!("{class} {:.1} %", 100.0 * n as f64 / all)
    };
    sums.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

fn lines(out: &mut String, report: &Report, module: &Module) -> fmt::Result {
    let hot = report.hot_lines();
    if hot.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:>6} {:>12} {:>6} {:>6} {:>8} {:>9}  instruction",
        "line", "warps", "%", "lanes", "sectors", "conflicts"
    )?;
    let all = report.counts.warp_instructions.max(1) as f64;
    for line in hot.iter().take(MOST_LINES) {
        writeln!(out, "{}", row(line, all, module))?;
    }
    if hot.len() > MOST_LINES {
        writeln!(out, "… and {} lines more", hot.len() - MOST_LINES)?;
    }
    Ok(())
}

fn row(line: &LineCounts, all: f64, module: &Module) -> String {
    let counts = &line.counts;
    let blank = |n: u64, text: String| if n == 0 { String::new() } else { text };
    let source = |at: &SourceLocation| {
        let file =
            Path::new(&at.file).file_name().map_or(at.file.clone().into(), |name| name.to_string_lossy());
        format!("  // {file}:{}", at.line)
    };
    let text = words(module.line(line.line));
    format!(
        "{:>6} {:>12} {:>6.1} {:>6.1} {:>8} {:>9}  {}{}",
        line.line,
        counts.warp_instructions,
        100.0 * counts.warp_instructions as f64 / all,
        32.0 * counts.active_lanes(),
        blank(counts.global_requests, format!("{:.1}", counts.sectors_per_request())),
        blank(counts.shared_requests, counts.bank_conflicts().to_string()),
        text,
        line.source.as_ref().map(source).unwrap_or_default(),
    )
}

/// Returns a line of the text with single spaces. The qualifiers of a fence are separated, because `fence.proxy` could be mistaken for the
/// name of a finding.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("fence.", "fence .")
}
