//! What a run has found: printed as it happens, and written as JSON at exit.

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
    /// Launches and copies that could not be executed, with the reason.
    refused: Vec<String>,
    /// Calls that the library does not support, and how often they were made.
    unsupported: BTreeMap<String, u64>,
    /// Memory that was not freed, one line per allocation.
    leaks: Vec<String>,
    #[serde(skip)]
    seen: HashSet<(String, &'static str, u32, u32)>,
    /// The kinds of findings of the host's operations, with their calls.
    #[serde(skip)]
    seen_calls: HashSet<(&'static str, Vec<String>)>,
}

/// A finding: of a kernel, with its launch, or of operations of the host.
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
    /// The calls of the program that the operations come from.
    calls: Vec<String>,
    text: String,
}

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
    /// A launch begins; returns its number, from 1.
    pub(crate) fn launch(&mut self) -> u64 {
        self.launches += 1;
        self.launches
    }

    /// Prints a finding and adds it to the report, unless an earlier launch has found the same at the same lines.
    pub(crate) fn finding(&mut self, launch: u64, shape: &str, finding: &Finding, origin: &Origin) {
        let line = |site: &Site| site.line;
        let site = &finding.site;
        let other = finding.other.as_ref().map_or(0, line);
        if !self.seen.insert((site.kernel.clone(), finding.kind.name(), site.line, other)) {
            return;
        }
        let text = finding.to_string();
        let call = origin.resolve().to_string();
        say(&format!("{}: launch {launch}, {shape}\n{text}\n  launched by {call}\n", finding.kind.name()));
        let source = site.source.as_ref().map(|at| format!("{}:{}", at.file, at.line));
        self.findings.push(Found {
            launch: Some(launch),
            kernel: Some(site.kernel.clone()),
            kind: finding.kind.name(),
            message: finding.message.clone(),
            ptx_line: Some(site.line),
            source,
            calls: vec![call],
            text,
        });
    }

    /// Prints a finding about operations of the host, each with its description, and adds it to the report, unless the same calls
    /// have had one of this kind.
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
    }

    /// A launch or a copy could not be executed.
    pub(crate) fn refused(&mut self, reason: String) {
        say(&reason);
        self.refused.push(reason);
    }

    /// A call is not supported; it is printed the first time.
    pub(crate) fn unsupported(&mut self, call: &str) {
        let count = self.unsupported.entry(call.to_string()).or_insert(0);
        *count += 1;
        if *count == 1 {
            let error =
                if call.starts_with("cuda") { "cudaErrorNotSupported" } else { "CUDA_ERROR_NOT_SUPPORTED" };
            let reason = reason(call).map_or(String::new(), |reason| format!(": {reason}"));
            say(&format!("{call} is not supported; it returns {error}{reason}"));
        }
    }

    /// Memory was not freed.
    pub(crate) fn leak(&mut self, text: String) {
        say(&format!("leak: {text}"));
        self.leaks.push(text);
    }
}

/// Returns why a function is not supported, if it belongs to a subject that is missing as a whole.
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

/// Completes the report when the process exits, and ends it with the configured status if there were findings.
pub(crate) fn at_exit() {
    if config().leaks {
        crate::driver::memory::leaks().into_iter().for_each(|leak| update(|run| run.leak(leak)));
    }
    let Some(run) = lock().take() else { return };
    if let Some(path) = &config().report {
        let written = serde_json::to_vec_pretty(&run)
            .map_err(std::io::Error::from)
            .and_then(|text| std::fs::write(path, text));
        if let Err(error) = written {
            say(&format!("{}: {error}", path.display()));
        }
    }
    let bad = run.findings.len() + run.refused.len() + run.leaks.len();
    if bad == 0 {
        return;
    }
    let unsupported = run.unsupported.len();
    say(&format!(
        "{} launches, {} findings, {} refused, {} leaks, {unsupported} unsupported functions called",
        run.launches,
        run.findings.len(),
        run.refused.len(),
        run.leaks.len()
    ));
    if config().exit_status != 0 {
        host::flush_stdio();
        host::exit_now(config().exit_status);
    }
}
