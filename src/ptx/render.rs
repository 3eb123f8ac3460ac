//! Rendering of modules as PTX text: header, declarations, entries, and optional source lines.

use std::{collections::BTreeMap, fmt::Write, panic::Location};

use super::{
    ascii::ascii,
    body::Asserted,
    entry::Entry,
    inst::{MAP_ALIGN, MAP_BYTES},
    params::{BUFFER_ALIGN, ParamDecl, ParamKind},
    target::Target,
    types::RegClass,
    uniform::Uniformity,
};

/// The lines that are printed in addition to the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// `.file` and `.loc` directives.
    Keep,
    /// Nothing.
    Omit,
    /// `.file` and `.loc` directives, and pragmas for the assumptions that the simulator checks. ptxas warns about these pragmas, which it
    /// does not recognize.
    Check,
}

/// Renders a module with these entries, all of which are for `target`.
pub(crate) fn module(target: Target, entries: &[&Entry], lines: Lines) -> String {
    let mut out = String::with_capacity(entries.iter().map(|e| 2 * e.text.len() + 2048).sum());
    let files = Files::of(entries, lines);
    let version = entries.iter().map(|e| e.version).max().unwrap_or(target.lowest_version());

    for entry in entries {
        header_comment(&mut out, entry);
    }
    let _ = write!(out, "\n.version {version}\n.target {target}\n.address_size 64\n");
    let mut declared: Vec<&str> = Vec::new();
    for declaration in entries.iter().flat_map(|e| &e.module_declarations) {
        if !declared.contains(&declaration.name.as_str()) {
            declared.push(&declaration.name);
            let _ = write!(out, "\n{}", declaration.text);
        }
    }
    for entry in entries {
        self::entry(&mut out, entry, &files);
    }
    for (path, number) in &files.numbers {
        let _ = writeln!(out, ".file {number} \"{}\"", ascii(&path.replace('\\', "/")));
    }
    out
}

fn header_comment(out: &mut String, entry: &Entry) {
    let _ = writeln!(out, "// {}: written by warpwright {}", entry.name, env!("CARGO_PKG_VERSION"));
    for line in entry.description.lines() {
        let _ = writeln!(out, "//   {}", ascii(line));
    }
    let _ = writeln!(
        out,
        "//   {} instructions, {} registers declared, {} bytes of shared memory",
        entry.instructions,
        entry.register_count(),
        entry.shared_bytes()
    );
}

fn entry(out: &mut String, entry: &Entry, files: &Files<'_>) {
    let _ = write!(out, "\n.visible .entry {}(", entry.name);
    let map_type = format!(".align {MAP_ALIGN} .b8");
    let params = entry.params.iter().enumerate().map(|(i, param)| match param.kind {
        // The size follows the name.
        ParamKind::TensorMap { .. } => (map_type.clone(), format!("{}[{MAP_BYTES}]", entry.param_symbol(i))),
        _ => (param_type(param), entry.param_symbol(i)),
    });
    let maps =
        (0..entry.maps.len()).map(|i| (map_type.clone(), format!("{}[{MAP_BYTES}]", entry.map_symbol(i))));
    for (i, (kind, symbol)) in params.chain(maps).enumerate() {
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        let _ = write!(out, "    .param {kind:<32}{symbol}");
    }
    out.push_str(if entry.params.is_empty() { ")\n" } else { "\n)\n" });
    let shape = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    let directives = [
        (".reqntid", entry.block.map(shape)),
        // ptxas rejects both directives together, and the first implies the second.
        (".maxntid", entry.max_block.filter(|_| entry.block.is_none()).map(shape)),
        (".minnctapersm", entry.min_blocks.map(|n| n.to_string())),
        (".maxnreg", entry.max_registers.map(|n| n.to_string())),
        (".reqnctapercluster", entry.cluster.map(shape)),
    ];
    for (directive, value) in directives {
        if let Some(value) = value {
            let _ = writeln!(out, "{directive} {value}");
        }
    }
    out.push_str("{\n");
    for class in RegClass::ALL {
        let count = entry.registers[class.index()];
        if count > 0 {
            let _ = writeln!(out, "    .reg {:<6} {}<{count}>;", class.decl(), class.prefix());
        }
    }
    out.push_str(&entry.declarations);
    out.push('\n');
    body(out, entry, files);
    out.push_str("}\n");
}

/// Returns the type of a parameter; pointers include their state space and alignment (PTX ISA, "Kernel Parameter Attribute:
/// .ptr").
fn param_type(param: &ParamDecl) -> String {
    match param.kind {
        ParamKind::Scalar => format!(".{}", param.ptx),
        _ => format!(".u64 .ptr .global .align {BUFFER_ALIGN}"),
    }
}

fn body(out: &mut String, entry: &Entry, files: &Files<'_>) {
    if files.numbers.is_empty() {
        out.push_str(&entry.text);
        return;
    }
    let mut start = 0;
    let mut last = None;
    let mut locate = |out: &mut String, at: &'static Location<'static>| {
        let place = (at.file(), at.line(), at.column());
        if last != Some(place) {
            last = Some(place);
            let _ = writeln!(out, "    .loc {} {} {}", files.numbers[at.file()], at.line(), at.column());
        }
    };
    let mut asserted = entry.asserted.iter().filter(|_| files.lines == Lines::Check).peekable();
    for (line, mark) in entry.marks.iter().enumerate() {
        while let Some(assumption) = asserted.next_if(|assumption| assumption.line <= line) {
            locate(out, assumption.at);
            pragma(out, assumption);
        }
        if let Some(at) = mark.at {
            locate(out, at);
        }
        out.push_str(&entry.text[start..mark.end]);
        start = mark.end;
    }
}

/// Prints an assumption for the simulator (`warpwright-sim`, `program/decode/pragma.rs`).
fn pragma(out: &mut String, assumption: &Asserted) {
    let Asserted { reg, level, guard, .. } = assumption;
    let _ = write!(out, "    .pragma \"warpwright.uniform {reg} ");
    let _ = match level {
        Uniformity::Threads(count) => write!(out, "{count}"),
        Uniformity::Block => write!(out, "block"),
        Uniformity::Cluster | Uniformity::Grid => write!(out, "cluster"),
    };
    if let Some((predicate, negated)) = guard {
        let _ = write!(out, " @{}{predicate}", if *negated { "!" } else { "" });
    }
    out.push_str("\";\n");
}

/// The Rust source files and their numbers.
struct Files<'a> {
    numbers: BTreeMap<&'a str, usize>,
    lines: Lines,
}

impl<'a> Files<'a> {
    fn of(entries: &[&'a Entry], lines: Lines) -> Self {
        let mut numbers = BTreeMap::new();
        if lines != Lines::Omit {
            let emitted = entries.iter().flat_map(|e| &e.marks).filter_map(|m| m.at);
            let assumed = entries.iter().flat_map(|e| &e.asserted).map(|a| a.at);
            for at in emitted.chain(assumed) {
                let next = numbers.len() + 1;
                numbers.entry(at.file()).or_insert(next);
            }
        }
        Self { numbers, lines }
    }
}
