//! `--report json`.

use std::collections::BTreeMap;

use serde::Serialize;

use warpwright_sim::{Counts, Finding, LineCounts, Report, Site, SourceLocation};

/// A report. Numbers are counts unless their name says otherwise.
#[derive(Serialize)]
pub(super) struct Document<'r> {
    kernel: &'r str,
    blocks: u64,
    /// Whether a finding ended the run early, so that the counts are partial.
    stopped: bool,
    counts: Work,
    /// Warp instructions by class.
    classes: BTreeMap<&'static str, u64>,
    /// One entry per executed instruction, in text order.
    lines: Vec<Line<'r>>,
    contractions: Vec<Contracted>,
    leaks: Vec<Leaked>,
    findings: Vec<Found<'r>>,
    notes: Vec<Found<'r>>,
    printed: &'r [String],
}

#[derive(Serialize)]
struct Work {
    warp_instructions: u64,
    thread_instructions: u64,
    branches: u64,
    divergent_branches: u64,
    shared_requests: u64,
    shared_wavefronts: u64,
    shared_wavefronts_ideal: u64,
    bank_conflicts: u64,
    global_requests: u64,
    global_sectors: u64,
    global_sectors_ideal: u64,
    tensor_flops: u64,
    bytes: Bytes,
}

#[derive(Serialize)]
struct Bytes {
    global_read: u64,
    global_written: u64,
    shared_read: u64,
    shared_written: u64,
    local_read: u64,
    local_written: u64,
    constant_read: u64,
    param_read: u64,
}

#[derive(Serialize)]
struct Line<'r> {
    line: u32,
    column: u32,
    opcode: &'r str,
    /// The mnemonic without its first word. The full text, such as `fence.proxy`, could be mistaken for the name of a finding.
    qualifiers: &'r str,
    class: &'static str,
    source: Option<Source<'r>>,
    counts: Work,
}

#[derive(Serialize)]
struct Source<'r> {
    file: &'r str,
    line: u32,
    column: u32,
}

/// Blocks of the device heap that were not freed, by the line of the `malloc` call.
#[derive(Serialize)]
struct Leaked {
    line: u32,
    blocks: u64,
    bytes: u64,
}

/// The lines of a `mul` and an `add` or `sub` that were executed as one `fma`.
#[derive(Serialize)]
struct Contracted {
    product: u32,
    sum: u32,
}

#[derive(Serialize)]
struct Found<'r> {
    kind: &'static str,
    message: &'r str,
    site: Place<'r>,
    other: Option<Place<'r>>,
    notes: &'r [String],
}

#[derive(Serialize)]
struct Place<'r> {
    line: u32,
    column: u32,
    mnemonic: &'r str,
    block: [u32; 3],
    thread: Option<[u32; 3]>,
    warp: u32,
    lane: Option<u32>,
    source: Option<Source<'r>>,
}

impl<'r> Document<'r> {
    pub(super) fn new(kernel: &'r str, report: &'r Report) -> Self {
        Self {
            kernel,
            blocks: report.blocks,
            stopped: report.stopped,
            counts: work(&report.counts),
            classes: classes(report),
            lines: report.lines.iter().map(line).collect(),
            contractions: report
                .contractions
                .iter()
                .map(|c| Contracted { product: c.product, sum: c.sum })
                .collect(),
            leaks: report
                .leaks
                .iter()
                .map(|leak| Leaked { line: leak.line, blocks: leak.blocks, bytes: leak.bytes })
                .collect(),
            findings: report.findings.iter().map(found).collect(),
            notes: report.notes.iter().map(found).collect(),
            printed: &report.printed,
        }
    }
}

fn classes(report: &Report) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for line in &report.lines {
        *sums.entry(line.class.name()).or_default() += line.counts.warp_instructions;
    }
    sums
}

fn work(counts: &Counts) -> Work {
    let bytes = &counts.bytes;
    Work {
        warp_instructions: counts.warp_instructions,
        thread_instructions: counts.thread_instructions,
        branches: counts.branches,
        divergent_branches: counts.divergent_branches,
        shared_requests: counts.shared_requests,
        shared_wavefronts: counts.shared_wavefronts,
        shared_wavefronts_ideal: counts.shared_wavefronts_ideal,
        bank_conflicts: counts.bank_conflicts(),
        global_requests: counts.global_requests,
        global_sectors: counts.global_sectors,
        global_sectors_ideal: counts.global_sectors_ideal,
        tensor_flops: counts.tensor_flops,
        bytes: Bytes {
            global_read: bytes.global_read,
            global_written: bytes.global_written,
            shared_read: bytes.shared_read,
            shared_written: bytes.shared_written,
            local_read: bytes.local_read,
            local_written: bytes.local_written,
            constant_read: bytes.constant_read,
            param_read: bytes.param_read,
        },
    }
}

fn line(line: &LineCounts) -> Line<'_> {
    let (opcode, qualifiers) = line.mnemonic.split_once('.').unwrap_or((&line.mnemonic, ""));
    Line {
        line: line.line,
        column: line.column,
        opcode,
        qualifiers,
        class: line.class.name(),
        source: line.source.as_ref().map(source),
        counts: work(&line.counts),
    }
}

fn source(at: &SourceLocation) -> Source<'_> {
    Source { file: &at.file, line: at.line, column: at.column }
}

fn found(finding: &Finding) -> Found<'_> {
    Found {
        kind: finding.kind.name(),
        message: &finding.message,
        site: place(&finding.site),
        other: finding.other.as_ref().map(place),
        notes: &finding.notes,
    }
}

fn place(site: &Site) -> Place<'_> {
    Place {
        line: site.line,
        column: site.column,
        mnemonic: &site.mnemonic,
        block: site.block,
        thread: site.thread,
        warp: site.warp,
        lane: site.lane,
        source: site.source.as_ref().map(source),
    }
}
