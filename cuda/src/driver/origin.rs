//! The origins of operations: the calls of the program.

use std::cell::Cell;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::host::Library;

thread_local! {
    /// The function of the interface that the thread is executing.
    static CALL: Cell<&'static str> = const { Cell::new("") };
}

/// Records that the thread executes a function of the interface.
pub(crate) fn enter(call: &'static str) {
    CALL.set(call);
}

/// The maximum number of frames that are recorded, and that are printed.
const MOST_RECORDED: usize = 32;
const MOST_PRINTED: usize = 4;

/// A call by the program. Its frames are recorded as addresses, whose names are looked up when the call is printed.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    call: &'static str,
    frames: Arc<[usize]>,
}

/// A call with the names of its frames.
#[derive(Debug)]
pub(crate) struct Call {
    /// The function that the program called.
    pub(crate) function: String,
    /// The frames of the program, innermost first, with their lines if known.
    pub(crate) frames: Vec<String>,
}

impl Origin {
    /// Returns the call that the thread is executing.
    pub(crate) fn here() -> Self {
        let mut frames = vec![];
        backtrace::trace(|frame| {
            // The address that the call returns to is that of the next instruction.
            frames.push((frame.ip() as usize).saturating_sub(1));
            frames.len() < MOST_RECORDED
        });
        Self { call: CALL.get(), frames: frames.into() }
    }

    pub(crate) fn resolve(&self) -> Call {
        let mut call = Call { function: unversioned(self.call).to_string(), frames: vec![] };
        let driver = Library::of(enter as *const () as usize).map(|own| own.base);
        let mut in_stub = false;
        for &address in self.frames.iter() {
            let library = Library::of(address);
            if library.as_ref().map(|library| library.base) == driver {
                continue;
            }
            if let Some(library) = library.as_ref().filter(|library| library.is_of_cuda()) {
                let function =
                    library.function.iter().map(|name| name.trim_start_matches('_')).filter(|name| {
                        ["cuda", "cublas", "curand"].iter().any(|start| name.starts_with(start))
                    });
                function.for_each(|name| call.function = unversioned(name).to_string());
                continue;
            }
            let offset = library.map(|library| library.offset(address)).unwrap_or_default();
            let mut symbols = symbols(address);
            if symbols.is_empty() {
                symbols.push(Symbol { name: "?".to_string(), line: None });
            }
            for Symbol { name, line } in symbols {
                if is_stub(&name) {
                    call.frames.clear();
                    in_stub = true;
                    continue;
                }
                // The kernel's name on the host is a function that calls the stub.
                if std::mem::take(&mut in_stub) {
                    continue;
                }
                call.frames.push(format!("{name} ({})", line.as_ref().unwrap_or(&offset)));
                if name == "main" || call.frames.len() == MOST_PRINTED {
                    return call;
                }
            }
        }
        call
    }
}

/// A function, and a line in it as `file:line`.
#[derive(Debug)]
struct Symbol {
    name: String,
    line: Option<String>,
}

/// Returns the functions at an address: those inlined there, and the one that contains it.
fn symbols(address: usize) -> Vec<Symbol> {
    let mut found = vec![];
    backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
        let Some(name) = symbol.name() else { return };
        let file =
            symbol.filename().and_then(Path::file_name).map(|file| file.to_string_lossy().into_owned());
        let line = file.zip(symbol.lineno()).map(|(file, line)| format!("{file}:{line}"));
        found.push(Symbol { name: without_arguments(&name.to_string()), line });
    });
    found
}

/// Removes the parameters of a C++ function: the name is the text before the last parenthesis that is not nested in another.
fn without_arguments(name: &str) -> String {
    let end = name.strip_suffix(" const").unwrap_or(name);
    let mut depth = 0;
    let open = end.strip_suffix(')').and_then(|_| {
        end.char_indices().rev().find_map(|(at, c)| {
            depth += i32::from(c == ')') - i32::from(c == '(');
            (depth == 0).then_some(at)
        })
    });
    open.map_or(name, |at| &name[..at]).to_string()
}

/// Returns whether nvcc generated the function, through which kernels are launched.
fn is_stub(name: &str) -> bool {
    name.contains("__device_stub__") || name.contains("cudaLaunchKernel<")
}

/// Returns the name of a function as in the manual, without the suffix of its version.
fn unversioned(name: &str) -> &str {
    let name = ["_ptsz", "_ptds"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    ["_v2", "_v3"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function)?;
        if self.frames.is_empty() {
            return Ok(());
        }
        write!(f, ", called by {}", self.frames.join(", called by "))
    }
}

#[cfg(test)]
mod tests {
    use super::{unversioned, without_arguments};

    #[test]
    fn names_of_functions() {
        let cases = [
            ("main", "main"),
            ("add(float*, int)", "add"),
            ("Tensor::fill(void (*)(int)) const", "Tensor::fill"),
            ("(anonymous namespace)::add()", "(anonymous namespace)::add"),
        ];
        for (name, expected) in cases {
            assert_eq!(without_arguments(name), expected);
        }
        assert_eq!(unversioned("cuMemcpyDtoHAsync_v2_ptsz"), "cuMemcpyDtoHAsync");
        assert_eq!(unversioned("cudaMemcpy_ptds"), "cudaMemcpy");
    }
}
