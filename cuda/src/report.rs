//! The findings of a run, which are printed and written as JSON as they occur.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use warpwright_sim::{Finding, Site};

use crate::config::config;
use crate::driver::origin::Origin;
use crate::host;

/// The report of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Run {
    /// The number of launches that were executed.
    pub(crate) launches: u64,
    findings: Vec<Found>,
    /// Reports of behavior that is defined but rarely intended.
    notes: Vec<Found>,
    /// The reasons why machine code without PTX, launches, or copies could not be executed.
    refused: Vec<String>,
    /// The unsupported functions that the program called, with the number of calls.
    unsupported: BTreeMap<String, u64>,
    /// Descriptions of memory that was not freed, one line per allocation.
    leaks: Vec<String>,
    #[serde(skip)]
    seen: HashSet<(String, &'static str, u32, u32)>,
    /// The kinds and calls of the findings about host operations that have been reported.
    #[serde(skip)]
    seen_calls: HashSet<(&'static str, Vec<String>)>,
}

/// A finding about a kernel launch, or about host operations.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The program's calls that caused the operations.
    calls: Vec<String>,
    text: String,
}

/// The number of findings and refusals up to which the report is rewritten after each of them; a longer report is written at exit.
const MOST_WRITTEN_AGAIN: usize = 100;

static RUN: Mutex<Option<Run>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Run>> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f` with the report of this process.
pub(crate) fn update<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    f(lock().get_or_insert_default())
}

/// Prints a line to standard error.
pub(crate) fn say(text: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "warpwright: {text}");
}

impl Run {
    /// Records the start of a launch, and returns its 1-based number.
    pub(crate) fn launch(&mut self) -> u64 {
        self.launches += 1;
        self.launches
    }

    /// Prints a finding or a note and adds it to the report, unless an earlier launch had the same finding at the same lines.
    pub(crate) fn finding(&mut self, launch: u64, shape: &str, finding: &Finding, origin: &Origin) {
        let site = &finding.site;
        let other = finding.other.as_ref().map_or(0, |site: &Site| site.line);
        // Two accesses that race are reported once, whichever is found second.
        let lines = (site.line.min(other), site.line.max(other));
        if !self.seen.insert((site.kernel.clone(), finding.kind.name(), lines.0, lines.1)) {
            return;
        }
        let text = finding.to_string();
        let call = origin.resolve().to_string();
        say(&format!("{}: launch {launch}, {shape}\n{text}\n  launched by {call}\n", finding.kind.name()));
        let source = site.source.as_ref().map(|at| format!("{}:{}", at.file, at.line));
        let list = if finding.kind.is_note() { &mut self.notes } else { &mut self.findings };
        list.push(Found {
            launch: Some(launch),
            kernel: Some(site.kernel.clone()),
            kind: finding.kind.name(),
            message: finding.message.clone(),
            ptx_line: Some(site.line),
            source,
            calls: vec![call],
            text,
        });
        if !finding.kind.is_note() {
            self.found();
        }
    }

    /// Prints a finding about host operations and adds it to the report, unless a finding of this kind was already reported for the same
    /// calls. `sides` contains the description and the origin of each operation.
    pub(crate) fn host_finding(&mut self, kind: &'static str, message: String, sides: &[(&str, &Origin)]) {
        let calls: Vec<String> = sides.iter().map(|(_, origin)| origin.resolve().to_string()).collect();
        if !self.seen_calls.insert((kind, calls.clone())) {
            return;
        }
        let lines: Vec<String> =
            sides.iter().zip(&calls).map(|((side, _), call)| format!("  {side}: {call}")).collect();
        let text = format!("{message}\n{}", lines.join("\n"));
        say(&format!("{kind}\n{text}\n"));
        let (launch, kernel, ptx_line, source) = (None, None, None, None);
        self.findings.push(Found { launch, kernel, kind, message, ptx_line, source, calls, text });
        self.found();
    }

    /// Records code, a launch or a copy that could not be executed.
    pub(crate) fn refused(&mut self, reason: String) {
        say(&reason);
        self.refused.push(reason);
        self.found();
    }

    /// Writes the findings so far, because the process may end without running its exit handlers.
    fn found(&self) {
        if let Some(path) = &config().found {
            // Errors are ignored: `warpwright run` removes the folder when the program ends, but its child processes may run longer.
            let _ = std::fs::write(path, config().exit_status.to_string());
        }
        if self.findings.len() + self.refused.len() <= MOST_WRITTEN_AGAIN {
            self.write();
        }
    }

    /// Writes the report, if one was requested.
    fn write(&self) {
        let Some(path) = &config().report else { return };
        let written = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .and_then(|text| std::fs::write(path, text + "\n"));
        if let Err(error) = written {
            say(&format!("the report could not be written to {}: {error}", path.display()));
        }
    }

    /// Records a call that is not supported, and prints it the first time.
    pub(crate) fn unsupported(&mut self, call: &str) {
        let count = self.unsupported.entry(call.to_string()).or_insert(0);
        *count += 1;
        if *count == 1 {
            let error = match call.get(..4) {
                Some("cuda") => "cudaErrorNotSupported",
                Some("cubl") => "CUBLAS_STATUS_NOT_SUPPORTED",
                Some("cura") => "CURAND_STATUS_TYPE_ERROR",
                _ => "CUDA_ERROR_NOT_SUPPORTED",
            };
            let reason = reason(call).map_or(String::new(), |reason| format!(": {reason}"));
            say(&format!("{call} is not supported; it returns {error}{reason}"));
        }
    }

    /// Records memory that was not freed.
    pub(crate) fn leak(&mut self, text: String) {
        say(&format!("leak: {text}"));
        self.leaks.push(text);
    }
}

/// Returns the reason why a function is not supported, if it belongs to an unsupported feature.
fn reason(call: &str) -> Option<&'static str> {
    const REASONS: &[(&str, &[&str])] = &[
        (
            "textures and surfaces are objects here, of arrays without mipmaps",
            &["Tex", "Surf", "Array", "Mipmap"],
        ),
        ("memory is not shared with graphics interfaces", &["Graphics", "GL", "EGL", "External"]),
        ("memory is not shared with other processes", &["Ipc", "Shareable"]),
        ("graphs have no conditional nodes", &["GraphConditional"]),
    ];
    let applies = |words: &[&str]| words.iter().any(|word| call.contains(word));
    REASONS.iter().find(|(_, words)| applies(words)).map(|(reason, _)| *reason)
}

/// Completes the report when the process exits. If there were findings, the process exits with the configured status.
pub(crate) fn at_exit() {
    if config().leaks {
        crate::driver::memory::leaks().into_iter().for_each(|leak| update(|run| run.leak(leak)));
    }
    let Some(run) = lock().take() else { return };
    run.write();
    let bad = run.findings.len() + run.refused.len() + run.leaks.len();
    if bad == 0 {
        return;
    }
    let counted = |count: usize, one: &str, several: &str| {
        format!("{count} {}", if count == 1 { one } else { several })
    };
    say(&format!(
        "{}, {}, {} refused, {}, {}",
        counted(run.launches as usize, "launch", "launches"),
        counted(run.findings.len(), "finding", "findings"),
        run.refused.len(),
        counted(run.leaks.len(), "leak", "leaks"),
        counted(run.unsupported.len(), "unsupported function called", "unsupported functions called"),
    ));
    if config().exit_status != 0 {
        host::flush_stdio();
        host::exit_now(config().exit_status);
    }
}
