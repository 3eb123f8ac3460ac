//! Parses the compiler's log: messages with PTX lines, and each kernel's registers, spills and shared memory.

use std::fmt;

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// `info`: facts and advice, such as a note on serialized `wgmma` instructions.
    Info,
    /// `warning`.
    Warning,
    /// `error`.
    Error,
    /// `fatal`: compilation was aborted.
    Fatal,
}

impl Severity {
    /// Returns the word that ptxas prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Info, Self::Warning, Self::Error, Self::Fatal].into_iter().find(|s| s.name() == word)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A message from ptxas, either the driver's built-in compiler or the command-line tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitMessage {
    /// The 1-based line of the PTX text, if the message has one: exact for errors, approximate for advisory notes ("around line 7").
    pub line: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// The text, without the line and the severity.
    pub text: String,
}

impl JitMessage {
    /// Parses one line of a log. Returns `None` if the line is not a message.
    ///
    /// Messages look like `ptxas application ptx input, line 7; error : Unknown symbol 'x'` or `ptxas info : 0 bytes gmem`; the
    /// command-line tool prints a file name instead of `application ptx input`.
    pub fn parse(log_line: &str) -> Option<Self> {
        let rest = log_line.trim().strip_prefix("ptxas")?;
        let (head, text) = rest.split_once(" : ").or_else(|| rest.split_once(": "))?;
        let (place, severity) = match head.rsplit_once(';') {
            Some((place, severity)) => (Some(place), severity),
            None => (None, head),
        };
        let severity = Severity::parse(severity.trim())?;
        let line = match place {
            Some(place) => Some(place.rsplit_once(", line ")?.1.trim().parse().ok()?),
            None => line_within(text),
        };
        Some(Self { line, severity, text: text.trim().to_owned() })
    }

    /// Returns all messages of a log, in order.
    pub fn parse_all(log: &str) -> Vec<Self> {
        log.lines().filter_map(Self::parse).collect()
    }

    /// Returns the code of an advisory note, or `None` for other messages.
    ///
    /// For example, the code of `(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized …` is `C7510`. ptxas
    /// prints these notes with the severity `info`.
    pub fn advisory(&self) -> Option<&str> {
        let code = self.text.strip_prefix('(')?.split_once(')')?.0;
        let digits = code.strip_prefix('C')?;
        (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(code)
    }

    /// Returns whether the message is an advisory note `(C75nn)`.
    ///
    /// Such a note reports that the compiler serialized `wgmma` instructions, inserted waits for them, or ignored `setmaxnreg`. The kernel
    /// is correct, but slow.
    pub fn is_hopper_advisory(&self) -> bool {
        self.advisory().is_some_and(|code| code.len() == 5 && code.starts_with("C75"))
    }

    /// Returns the name of the kernel that the message mentions, such as `scale` for `… in the function 'scale'`, or `None` if the message
    /// does not mention a kernel.
    pub fn kernel(&self) -> Option<&str> {
        let (_, rest) = self.text.split_once("function '")?;
        rest.split_once('\'').map(|(name, _)| name)
    }
}

/// Parses the line number in the text of an advisory note: `(C7517) warpgroup.wait is injected in around line 427 by compiler …`.
fn line_within(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(" around line ")?;
    rest.split_whitespace().next()?.parse().ok()
}

impl fmt::Display for JitMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}", self.severity, self.text)
    }
}

/// The compiler's statistics for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitKernel {
    /// The kernel's name.
    pub name: String,
    /// The architecture that the kernel was compiled for, such as `sm_90a`.
    pub target: String,
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of barriers that the kernel uses.
    pub barriers: u32,
    /// The size of the stack in local memory, in bytes per thread, including the stack frames of called functions.
    pub stack_bytes: u32,
    /// The number of bytes of spill stores, including those of called functions.
    pub spill_store_bytes: u32,
    /// The number of bytes of spill loads, including those of called functions.
    pub spill_load_bytes: u32,
    /// The static shared memory per block, in bytes.
    pub shared_bytes: u32,
}

/// The compiler's report on a module that it accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JitInfo {
    /// The compile time in milliseconds as measured by the driver. The time is 0 if the code came from the driver's cache or if the report
    /// was created by [`parse`](Self::parse).
    pub wall_ms: f32,
    /// The kernels that the log mentions. The list is empty if the code came from the driver's cache. The number of registers and the size
    /// of local memory are always available from [`Function::attributes`](super::Function::attributes).
    pub kernels: Vec<JitKernel>,
    /// All messages.
    pub messages: Vec<JitMessage>,
    /// The log, verbatim.
    pub log: String,
}

impl JitInfo {
    /// Parses the log of `cuModuleLoadDataEx` with `CU_JIT_LOG_VERBOSE`, or of `ptxas -v`.
    pub fn parse(log: &str) -> Self {
        let mut kernels: Vec<JitKernel> = Vec::new();
        for line in log.lines() {
            if let Some((name, target)) = entry_line(line) {
                kernels.push(JitKernel { name, target, ..JitKernel::default() });
            } else if let Some(kernel) = kernels.last_mut() {
                kernel.read_facts(line);
            }
        }
        Self { wall_ms: 0.0, kernels, messages: JitMessage::parse_all(log), log: log.to_owned() }
    }

    /// Returns the kernel named `name`, or `None` if the log does not mention it.
    pub fn kernel(&self, name: &str) -> Option<&JitKernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Returns the messages that a clean compilation does not produce: warnings, errors and advisory notes.
    pub fn warnings(&self) -> impl Iterator<Item = &JitMessage> {
        self.messages.iter().filter(|m| m.severity >= Severity::Warning || m.advisory().is_some())
    }

    /// Returns the advisory notes about `wgmma` and `setmaxnreg` ([`JitMessage::is_hopper_advisory`]), which make loading fail unless
    /// [`LoadOptions::allow_advisories`](super::LoadOptions::allow_advisories) is set.
    pub fn hopper_advisories(&self) -> impl Iterator<Item = &JitMessage> {
        self.messages.iter().filter(|message| message.is_hopper_advisory())
    }
}

impl JitKernel {
    /// Parses `Used 10 registers, used 1 barriers, 2048 bytes smem` and
    /// `0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`. The latter is printed once for the kernel and once for
    /// each function it calls.
    fn read_facts(&mut self, line: &str) {
        let facts = line.rsplit_once(" : ").map_or(line, |(_, facts)| facts);
        for fact in facts.split(',') {
            let mut words = fact.split_whitespace().skip_while(|word| word.parse::<u32>().is_err());
            let Some(count) = words.next().and_then(|word| word.parse().ok()) else { continue };
            match words.collect::<Vec<_>>().as_slice() {
                ["registers"] => self.registers = count,
                ["barriers"] => self.barriers = count,
                ["bytes", "smem"] => self.shared_bytes = count,
                ["bytes", "stack", "frame"] => self.stack_bytes += count,
                ["bytes", "spill", "stores"] => self.spill_store_bytes += count,
                ["bytes", "spill", "loads"] => self.spill_load_bytes += count,
                _ => {}
            }
        }
    }
}

/// Parses `ptxas info    : Compiling entry function 'k' for 'sm_90a'`.
fn entry_line(line: &str) -> Option<(String, String)> {
    let (_, rest) = line.split_once("Compiling entry function '")?;
    let (name, rest) = rest.split_once('\'')?;
    let target = rest.split('\'').nth(1)?;
    Some((name.to_owned(), target.to_owned()))
}
