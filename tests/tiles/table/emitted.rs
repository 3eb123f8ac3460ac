//! The instructions that an operation emits.

use warpwright::{
    prelude::*,
    ptx::{Global, Ptr, Read, ReadWrite, Write as WriteAccess},
    tensor::TensorElement,
    tiles::Orthogonal,
};

/// What an operation may use: matrices of one tile, two tiles of 16×16 elements, or 16×32, a vector with one element per row, and the
/// buffers of a sparse matrix.
pub(super) struct Operands<'k, T: TensorElement> {
    pub(super) k: Builder<'k>,
    pub(super) values: Ptr<'k, T, Global, Read>,
    pub(super) metadata: Ptr<'k, u16, Global, Read>,
    pub(super) x: Gl<'k, T, Read>,
    pub(super) y: Gl<'k, T, WriteAccess>,
    pub(super) sums: Gl<'k, T, ReadWrite>,
    pub(super) t: Rt<'k, T, 1, 1>,
    pub(super) u: Rt<'k, T, 1, 1>,
    pub(super) v: Rv<'k, T, 1, Orthogonal>,
}

/// An operation whose instructions are counted.
pub(super) type Operation<'f, T> = dyn for<'k> Fn(Operands<'k, T>) + 'f;

/// The comments around an operation's lines. An operation that first creates its operands begins itself.
pub(super) const BEGIN: &str = "begin";
const END: &str = "end";

/// Returns the mnemonics that an operation emits by a block of this many threads, in order.
pub(super) fn mnemonics<T: TensorElement>(
    target: Target,
    threads: u32,
    operation: &Operation<'_, T>,
) -> Result<Vec<String>, BuildError> {
    type Args<T> = (In<T>, In<u16>, Out<T>, InOut<T>);
    let kernel = Kernel::<Args<T>>::build("operation", target, |k, (values, metadata, y, sums)| {
        k.block([threads]);
        let whole = row_major(Rt::<T, 1, 1>::ROWS, Rt::<T, 1, 1>::COLS);
        let (x, y, sums) = (k.global(values, whole), k.global(y, whole), k.global(sums, whole));
        let (t, u, v) = (x.tile(0, 0).load(), x.tile(0, 0).load(), x.col(0).tile(0).load());
        // The lane's number and the warp's are computed once per kernel.
        let _ = (k.lane().rank(), k.warp().rank());
        k.comment(BEGIN);
        operation(Operands { k, values, metadata, x, y, sums, t, u, v });
        k.comment(END);
    });
    let text = kernel?.ptx();
    let (_, operation) = text.rsplit_once(&format!("// {BEGIN}\n")).expect("the comment is emitted");
    let lines = operation.lines().map(str::trim).take_while(|line| *line != format!("// {END}"));
    let instructions = lines.filter(|line| !line.ends_with(':') && !line.starts_with("//"));
    let mnemonic = |line: &str| {
        let word = line.split_whitespace().find(|word| !word.starts_with('@'))?;
        Some(word.trim_end_matches(';').to_owned())
    };
    Ok(instructions.filter_map(mnemonic).collect())
}

/// Returns whether an instruction computes addresses, lanes or conditions from integers, or moves.
pub(super) fn is_of_addresses(mnemonic: &str) -> bool {
    let integers =
        ["add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "setp", "mov", "selp", "prmt"];
    let (operation, types) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
    integers.contains(&operation) && !types.contains('f')
}

/// Returns the instructions that an operation emits, with their numbers, in the order of their first use.
pub(super) fn counted<T: TensorElement>(name: &str, operation: &Operation<'_, T>) -> String {
    listed::<T>(name, 32, operation, |_| true)
}

/// Returns the instructions but those on addresses, of a block of one warp.
pub(super) fn moved_by_warp<T: TensorElement>(name: &str, operation: &Operation<'_, T>) -> String {
    moved::<T>(name, 32, operation)
}

/// Returns the instructions but those on addresses.
pub(super) fn moved<T: TensorElement>(name: &str, threads: u32, operation: &Operation<'_, T>) -> String {
    listed::<T>(name, threads, operation, |mnemonic| !is_of_addresses(mnemonic))
}

fn listed<T: TensorElement>(
    name: &str,
    threads: u32,
    operation: &Operation<'_, T>,
    is_listed: impl Fn(&str) -> bool,
) -> String {
    let mut found = mnemonics(Target::SM_90, threads, operation)
        .unwrap_or_else(|error| panic!("{name} of {}: {error}", T::NAME));
    found.retain(|mnemonic| is_listed(mnemonic));
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for mnemonic in &found {
        match counts.iter_mut().find(|(other, _)| other == mnemonic) {
            Some((_, count)) => *count += 1,
            None => counts.push((mnemonic, 1)),
        }
    }
    if counts.is_empty() {
        return "nothing".into();
    }
    let counts = counts.iter().map(|(mnemonic, count)| format!("{count} `{mnemonic}`"));
    counts.collect::<Vec<_>>().join(", ")
}

/// Code in a cell of a table.
pub(super) fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|"))
}

/// The names of the operations of a row.
pub(super) fn codes(names: &[&str]) -> String {
    names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

/// Returns the instructions of the first operation of a row. The others must emit the same number of each, as the head of the document
/// says.
pub(super) fn common(names: &[&str], lists: &[String]) -> String {
    for (name, list) in names.iter().zip(lists) {
        assert_eq!(kinds(&lists[0]), kinds(list), "`{}` and `{name}` are in one row", names[0]);
    }
    lists[0].clone()
}

/// Returns a list of instructions in alphabetical order, without the differences between operations of one row.
fn kinds(list: &str) -> Vec<String> {
    let kind = |entry: &str| {
        let (count, mnemonic) = entry.split_once(' ').unwrap_or((entry, ""));
        let mut words: Vec<&str> = mnemonic.trim_matches('`').split('.').collect();
        words.retain(|word| *word != "lo");
        if let Some(first) = words.first_mut() {
            *first = match *first {
                "min" => "max",
                "mul" => "add",
                "or" => "and",
                other => other,
            };
        }
        for word in words.iter_mut().skip(1) {
            *word = match *word {
                "lt" | "le" | "gt" | "ge" | "ne" => "eq",
                "all" => "any",
                other => other,
            };
        }
        (words.join("."), count.parse::<usize>().unwrap_or(0))
    };
    let mut counts = std::collections::BTreeMap::new();
    for (mnemonic, count) in list.split(", ").map(kind) {
        *counts.entry(mnemonic).or_insert(0) += count;
    }
    counts.into_iter().map(|(mnemonic, count)| format!("{count} {mnemonic}")).collect()
}
