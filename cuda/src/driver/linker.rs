//! The linker, which joins several images. The simulator has no object code, so the result is PTX.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::module::{self, Image, LoadError};
use crate::driver::registry::{Handle, Registry};

/// The state of a linker.
#[derive(Debug)]
pub(crate) struct Linker {
    pub(crate) handle: Handle,
    /// The PTX modules that have been added, as text.
    parts: Mutex<Vec<String>>,
    /// The result, which programs may read at its address until the linker is destroyed.
    linked: Mutex<Option<CString>>,
}

static LINKERS: Registry<Linker> = Registry::new(12);

impl Linker {
    pub(crate) fn create() -> Arc<Self> {
        LINKERS.add(|handle| Self { handle, parts: Mutex::default(), linked: Mutex::default() })
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        LINKERS.get(handle)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        LINKERS.remove(handle).map(drop)
    }

    /// Adds an image, which must be valid PTX on its own.
    pub(crate) fn add(&self, image: &Image) -> Result<(), LoadError> {
        let parsed = module::parse(image)?;
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(parsed.text().to_string());
        Ok(())
    }

    /// Returns the address and the size in bytes of the linked code.
    pub(crate) fn complete(&self) -> Result<(usize, usize), LoadError> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &parts[..] {
            [] => return Err(LoadError { code: Code::INVALID_VALUE, log: String::new() }),
            [only] => only.clone(),
            several => join(several),
        };
        module::parse(&Image::Text(text.clone()))?;
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        let linked = linked.insert(CString::new(text).unwrap_or_default());
        Ok((linked.as_ptr().expose_provenance(), linked.as_bytes_with_nul().len()))
    }
}

/// Joins several modules into one, with the newest version and target. A function that one module defines may be declared in others. If
/// several modules define the same weak function or variable, the first definition is kept. Otherwise, modules that define variables or
/// functions with the same name cannot be joined. Source files are renumbered.
fn join(parts: &[String]) -> String {
    let newest = |name: &str| {
        let lines =
            parts.iter().flat_map(|part| part.lines()).filter(|line| line.trim_start().starts_with(name));
        let number = |line: &&str| {
            let digits = line.chars().filter(char::is_ascii_digit).collect::<String>();
            // Longer numbers are newer: versions have one digit after the point, and sm_100 is newer than sm_90.
            (digits.len(), digits)
        };
        lines.max_by_key(number).unwrap_or_default().to_string()
    };
    let is_header = |line: &str| {
        [".version", ".target", ".address_size"].iter().any(|name| line.trim_start().starts_with(name))
    };
    let mut text = format!("{}\n{}\n.address_size 64\n", newest(".version"), newest(".target"));
    let mut weak = BTreeSet::new();
    let parts: Vec<_> = parts.iter().map(|part| without_repeated_functions(part, &mut weak)).collect();
    let (mut files, mut shared) = (0, BTreeSet::new());
    for part in &parts {
        let numbers = part.lines().filter_map(|line| file_number(line.trim_start().strip_prefix(".file")?));
        let most = numbers.max().unwrap_or(0);
        for line in part.lines().filter(|line| !is_header(line)) {
            // Of variables that several modules may define, the linker keeps one.
            let is_shared =
                [".common", ".weak .global", ".weak .const"].iter().any(|start| line.starts_with(start));
            if is_shared && !shared.insert(line) {
                continue;
            }
            text += &renumber(line, files).replace(".extern .func", ".func");
            text.push('\n');
        }
        files += most;
    }
    text
}

/// Returns a module without the weak functions named in `defined`, and adds the names of its other weak functions to `defined`.
fn without_repeated_functions<'a>(module: &'a str, defined: &mut BTreeSet<&'a str>) -> String {
    let (mut kept, mut rest) = (String::new(), module);
    while let Some((start, name)) = weak_function(rest) {
        let (before, from) = rest.split_at(start);
        let (function, after) = from.split_at(end_of_function(from));
        kept += before;
        // Declarations end with a semicolon.
        if !function.ends_with('}') || defined.insert(name) {
            kept += function;
        }
        rest = after;
    }
    kept + rest
}

/// Returns the position and the name of the first weak function of a module, if any.
fn weak_function(module: &str) -> Option<(usize, &str)> {
    let mut start = 0;
    for line in module.split_inclusive('\n') {
        if line.trim_start().starts_with(".weak")
            && let Some(name) = name_of_weak_function(&module[start..])
        {
            return Some((start, name));
        }
        start += line.len();
    }
    None
}

/// Returns the name of the weak function at the start of the text, or `None` for a variable.
fn name_of_weak_function(text: &str) -> Option<&str> {
    let declared = text.trim_start().strip_prefix(".weak")?.trim_start();
    let results = declared.strip_prefix(".func").or_else(|| declared.strip_prefix(".entry"))?.trim_start();
    let named = results.strip_prefix('(').and_then(|results| results.split_once(')'));
    let named = named.map_or(results, |(_, named)| named).trim_start();
    let end = named.find(|c: char| c.is_whitespace() || "(;{".contains(c)).unwrap_or(named.len());
    // An attribute may precede the name.
    Some(&named[..end]).filter(|name| !name.is_empty() && !name.starts_with('.'))
}

/// Returns the position after the function at the start of the text.
fn end_of_function(text: &str) -> usize {
    let (mut position, mut depth) = (0, 0);
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        for (at, c) in code.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(c, '}' | ';') {
                return position + at + 1;
            }
        }
        position += line.len();
    }
    text.len()
}

/// Returns the source file number at the start of the text.
fn file_number(text: &str) -> Option<u32> {
    text.split_whitespace().next()?.parse().ok()
}

/// Adds `offset` to the source file numbers in a line, such as `.file 1 "a.cu"` or `.loc 1 20 3, function_name f, inlined_at 1 30 5`.
fn renumber(line: &str, offset: u32) -> String {
    let start = line.trim_start();
    if offset == 0 || !(start.starts_with(".file") || start.starts_with(".loc")) {
        return line.to_string();
    }
    let mut is_number = false;
    let words = line.split_inclusive(char::is_whitespace).map(|piece| {
        let word = piece.trim_end();
        let number = if is_number { word.parse::<u32>().ok() } else { None };
        if !word.is_empty() {
            is_number = matches!(word, ".file" | ".loc" | "inlined_at");
        }
        number.map_or_else(
            || piece.to_string(),
            |number| format!("{}{}", number + offset, &piece[word.len()..]),
        )
    });
    words.collect()
}
