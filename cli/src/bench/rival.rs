//! A rival: another process that times its implementations on request.
//!
//! The rival reads lines. In reply to a line that describes a problem, it prints the names of its implementations, separated by tabs. In
//! reply to `time INDEX`, it prints the time of a launch in microseconds. If the problem names a folder with its inputs, the rival stores
//! its results in FOLDER in reply to `results INDEX FOLDER`, and prints `stored`.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::Fallible;

pub(super) struct Rival {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Rival {
    /// Starts a command.
    pub(super) fn start(command: &str) -> Fallible<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().ok_or("expected a command, found nothing")?;
        let mut child =
            Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or("the rival has no input")?;
        let replies = child.stdout.take().ok_or("the rival has no output")?;
        Ok(Self { child, requests, replies: BufReader::new(replies) })
    }

    /// Prepares a problem, and returns the names of the implementations that solve it.
    pub(super) fn begin(&mut self, problem: &str) -> Fallible<Vec<String>> {
        let reply = self.ask(problem)?;
        Ok(reply.split('\t').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the time of a launch of an implementation in microseconds.
    pub(super) fn time(&mut self, index: usize) -> Fallible<f64> {
        let reply = self.ask(&format!("time {index}"))?;
        reply.parse().map_err(|_| format!("rival: expected a time, found `{reply}`").into())
    }

    /// Stores the results of an implementation in a folder.
    pub(super) fn results(&mut self, index: usize, folder: &Path) -> Fallible<()> {
        let reply = self.ask(&format!("results {index} {}", folder.display()))?;
        if reply == "stored" {
            Ok(())
        } else {
            Err(format!("rival: expected `stored`, found `{reply}`").into())
        }
    }

    fn ask(&mut self, request: &str) -> Fallible<String> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        let mut reply = String::new();
        if self.replies.read_line(&mut reply)? == 0 {
            return Err(format!("rival: expected a reply to `{request}`, found the end of its output").into());
        }
        Ok(reply.trim_end().to_owned())
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
