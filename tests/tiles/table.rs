//! `docs/tile-operations.md`: the instructions of each tile operation for each type, scope and target, generated from the kernels.

use std::{
    collections::BTreeSet,
    env,
    fmt::Write,
    fs,
    ops::{Div, Sub},
    path::Path,
};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Global, Ptr, Read, Write as WriteAccess, traits::Numeric},
    tensor::TensorElement,
    tiles::{Filled, SparseProduct, SparseRt},
};

use super::numbers::Numeral;

/// What an operation may use: matrices of one tile, a tile of 16×16 elements, or 16×32, and the buffers of a sparse matrix.
struct Operands<'k, T: TensorElement> {
    k: Builder<'k>,
    values: Ptr<'k, T, Global, Read>,
    metadata: Ptr<'k, u16, Global, Read>,
    x: Gl<'k, T, Read>,
    y: Gl<'k, T, WriteAccess>,
    t: Rt<'k, T, 1, 1>,
}

/// An operation whose instructions are counted.
type Operation<'f, T> = dyn for<'k> Fn(Operands<'k, T>) + 'f;

/// The comments around an operation's lines. An operation that first creates its operands begins itself.
const BEGIN: &str = "begin";
const END: &str = "end";

/// Returns the mnemonics that an operation emits by a block of this many threads, in order.
fn mnemonics<T: TensorElement>(
    target: Target,
    threads: u32,
    operation: &Operation<'_, T>,
) -> Result<Vec<String>, BuildError> {
    let kernel =
        Kernel::<(In<T>, In<u16>, Out<T>)>::build("operation", target, |k, (values, metadata, y)| {
            k.block([threads]);
            let whole = row_major(Rt::<T, 1, 1>::ROWS, Rt::<T, 1, 1>::COLS);
            let (x, y) = (k.global(values, whole), k.global(y, whole));
            let t = x.tile(0, 0).load();
            // The lane's number and the warp's are computed once per kernel.
            let _ = (k.lane().rank(), k.warp().rank());
            k.comment(BEGIN);
            operation(Operands { k, values, metadata, x, y, t });
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
fn is_of_addresses(mnemonic: &str) -> bool {
    let integers =
        ["add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "setp", "mov", "selp", "prmt"];
    let (operation, types) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
    integers.contains(&operation) && !types.contains('f')
}

/// Returns the instructions that an operation emits, with their numbers, in the order of their first use.
fn counted<T: TensorElement>(name: &str, operation: &Operation<'_, T>) -> String {
    listed::<T>(name, 32, operation, |_| true)
}

/// Returns the instructions but those on addresses, of a block of one warp.
fn moved_by_warp<T: TensorElement>(name: &str, operation: &Operation<'_, T>) -> String {
    moved::<T>(name, 32, operation)
}

/// Returns the instructions but those on addresses.
fn moved<T: TensorElement>(name: &str, threads: u32, operation: &Operation<'_, T>) -> String {
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
    let counts = counts.iter().map(|(mnemonic, count)| format!("{count} `{mnemonic}`"));
    counts.collect::<Vec<_>>().join(", ")
}

/// Writes the table of a group of operations: a column per type.
macro_rules! types {
    ($text:ident by $emitted:ident => $($group:literal [$($t:ident)*] $operations:tt)*) => {$(
        let _ = write!($text, "\n### {}\n\n| operation |", $group);
        $( let _ = write!($text, " {} |", stringify!($t)); )*
        let _ = writeln!($text);
        let _ = writeln!($text, "| --- |{}", " --- |".repeat([$(stringify!($t)),*].len()));
        types! { @rows $text $emitted, [$($t)*] $operations }
    )*};
    (@rows $text:ident $emitted:ident, $types:tt { $($name:literal |$operands:pat_param| $operation:expr;)* }) => {
        $( types! { @row $text $emitted, $types $name $operands, $operation } )*
    };
    (@row $text:ident $emitted:ident, [$($t:ident)*] $name:literal $operands:pat_param, $operation:expr) => {
        let _ = write!($text, "| `{}` |", $name);
        $({
            type T = $t;
            let _: Option<T> = None;
            let operation: &Operation<'_, T> = &|$operands| { let _ = $operation; };
            let _ = write!($text, " {} |", $emitted::<T>($name, operation));
        })*
        let _ = writeln!($text);
    };
}

/// Returns a number of a type.
fn of<T: Numeral>(number: f64) -> T {
    T::of(number)
}

/// The length of a subtile of a type.
type LengthOf<T> = <T as TensorElement>::Length;

/// Returns whether a number is greater than 0.
fn positive<S: Numeral + Numeric>(x: Val<'_, S>) -> Val<'_, bool> {
    x.gt(S::of(0.0))
}

/// The part of the document for elements of 16 bits or more that are computed in themselves.
fn wide(text: &mut String) {
    let text: &mut String = text;
    types! { text by counted =>
        "Arithmetic" [f32 bf16 f16 f64 i32] {
            "&t + &u" |Operands { t, .. }| &t + &t;
            "&t - &u" |Operands { t, .. }| Sub::sub(&t, &t);
            "&t * &u" |Operands { t, .. }| &t * &t;
            "&t / &u" |Operands { t, .. }| Div::div(&t, &t);
            "t * 2" |Operands { t, .. }| t * of::<T>(2.0);
            "t.mul_add(2, 1)" |Operands { t, .. }| t.mul_add(of::<T>(2.0), of::<T>(1.0));
            "t.max(0)" |Operands { t, .. }| t.max(of::<T>(0.0));
            "t.clamp(0, 6)" |Operands { t, .. }| t.clamp(of::<T>(0.0), of::<T>(6.0));
            "-t" |Operands { t, .. }| -t;
            "t.abs()" |Operands { t, .. }| t.abs();
            "t.relu()" |Operands { t, .. }| t.relu();
        }
        "Vectors" [f32 bf16 f16 f64 i32] {
            "t - &per_row" |Operands { k, t, .. }| t - &k.filled::<ColVec<T, 1>>(of::<T>(1.0));
            "t - &per_column" |Operands { k, t, .. }| t - &k.filled::<RowVec<T, 1>>(of::<T>(1.0));
            "Rt::broadcast(&per_row)" |Operands { k, .. }| Rt::<T, 1, 1>::broadcast(&k.filled::<ColVec<T, 1>>(of::<T>(1.0)));
        }
        "Functions" [f32 bf16 f16] {
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.rsqrt()" |Operands { t, .. }| t.rsqrt();
            "t.recip()" |Operands { t, .. }| t.recip();
            "t.exp2()" |Operands { t, .. }| t.exp2();
            "t.exp()" |Operands { t, .. }| t.exp();
            "t.log2()" |Operands { t, .. }| t.log2();
            "t.ln()" |Operands { t, .. }| t.ln();
            "t.tanh()" |Operands { t, .. }| t.tanh();
            "t.sin()" |Operands { t, .. }| t.sin();
            "t.cos()" |Operands { t, .. }| t.cos();
            "t.sigmoid()" |Operands { t, .. }| t.sigmoid();
            "t.silu()" |Operands { t, .. }| t.silu();
            "t.gelu()" |Operands { t, .. }| t.gelu();
            "t.gelu_tanh()" |Operands { t, .. }| t.gelu_tanh();
        }
        "Roots of f64" [f64] {
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.rsqrt()" |Operands { t, .. }| t.rsqrt();
            "t.recip()" |Operands { t, .. }| t.recip();
        }
        "Conversions" [f32 bf16 f16 f64 i32] {
            "t.convert::<f32>()" |Operands { t, .. }| t.convert::<f32>();
            "t.convert::<bf16>()" |Operands { t, .. }| t.convert::<bf16>();
            "t.convert::<f16>()" |Operands { t, .. }| t.convert::<f16>();
            "t.convert::<f64>()" |Operands { t, .. }| t.convert::<f64>();
            "t.convert::<i32>()" |Operands { t, .. }| t.convert::<i32>();
        }
        "Reductions" [f32 bf16 f16 f64 i32] {
            "t.row_sum()" |Operands { t, .. }| t.row_sum();
            "t.row_max()" |Operands { t, .. }| t.row_max();
            "t.col_sum()" |Operands { t, .. }| t.col_sum();
            "t.col_max()" |Operands { t, .. }| t.col_max();
            "t.sum()" |Operands { t, .. }| t.sum();
            "t.row_argmax()" |Operands { t, .. }| t.row_argmax();
            "t.argmax()" |Operands { t, .. }| t.argmax();
            "t.row_any(|x| x.gt(0))" |Operands { t, .. }| t.row_any(positive);
            "t.any(|x| x.gt(0))" |Operands { t, .. }| t.any(positive);
            "t.row_scan()" |Operands { t, .. }| t.row_scan();
        }
        "Masks" [f32 bf16 f16 f64 i32] {
            "t.tril(0, 0)" |Operands { t, .. }| t.tril(0, of::<T>(0.0));
            "t.right_fill(5, 0)" |Operands { t, .. }| t.right_fill(5, of::<T>(0.0));
        }
        "NaN and random numbers" [f32 bf16 f16] {
            "t.has_nan()" |Operands { t, .. }| t.has_nan();
            "t.dropout(0.1, &random)" |Operands { k, t, .. }| t.dropout(0.1, &k.random(1, 2).tile(0, 0));
        }
    }
}

/// The part for types that are computed in a wider one.
fn narrow(text: &mut String) {
    let text: &mut String = text;
    types! { text by counted =>
        "Types that are computed in f32 or i32" [tf32 e4m3 i8] {
            "&t + &u" |Operands { t, .. }| &t + &t;
            "&t / &u" |Operands { t, .. }| Div::div(&t, &t);
            "t.max(0)" |Operands { t, .. }| t.max(of::<T>(0.0));
            "t.abs()" |Operands { t, .. }| t.abs();
            "t - &per_row" |Operands { k, t, .. }| t - &k.filled::<ColVec<T, 1>>(of::<T>(1.0));
            "t - &per_column" |Operands { k, t, .. }| t - &k.filled::<RowVec<T, 1, Row, LengthOf<T>>>(of::<T>(1.0));
            "t.row_sum()" |Operands { t, .. }| t.row_sum();
            "t.row_max()" |Operands { t, .. }| t.row_max();
            "t.col_sum()" |Operands { t, .. }| t.col_sum();
            "t.col_max()" |Operands { t, .. }| t.col_max();
            "t.sum()" |Operands { t, .. }| t.sum();
            "t.col_argmax()" |Operands { t, .. }| t.col_argmax();
            "t.col_any(|x| x.gt(0))" |Operands { t, .. }| t.col_any(positive);
            "t.any(|x| x.gt(0))" |Operands { t, .. }| t.any(positive);
            "t.right_fill(5, 0)" |Operands { t, .. }| t.right_fill(5, super::masks::value(of::<T>(0.0)));
        }
        "Functions in f32" [tf32 e4m3] {
            "t.tril(0, 0)" |Operands { t, .. }| t.tril(0, of::<T>(0.0));
            "t.exp2()" |Operands { t, .. }| t.exp2();
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.has_nan()" |Operands { t, .. }| t.has_nan();
        }
        "Width" [e4m3 i8] {
            "t.widen::<f32>()" |Operands { t, .. }| t.widen::<f32, 1, 2>();
            "t.widen::<f16>()" |Operands { t, .. }| t.widen::<f16, 1, 2>();
        }
    }
}

/// The part for memory, by a block of one warp.
fn memory(text: &mut String) {
    let text: &mut String = text;
    types! { text by moved_by_warp =>
        "Memory (the arithmetic of addresses, lanes and conditions is omitted)" [f32 bf16 f64 e4m3] {
            "x.tile(0, 0).load()" |Operands { x, .. }| x.tile(0, 0).load::<T, 1, 1, Row>();
            "y.tile(0, 0).store(&t)" |Operands { y, t, .. }| y.tile(0, 0).store(&t);
            "st.fill(x.tile(0, 0)).wait()" |Operands { k, x, .. }| k.shared_tile::<St<T, 1, 1>>().fill(x.tile(0, 0)).wait();
            "st.store(&t).wait()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store(&t).wait();
            "st.store(&t).wait().load()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store(&t).wait().load::<Row>();
            "y.tile(0, 0).store_shared(&st.store(&t).wait())" |Operands { k, y, t, .. }| y.tile(0, 0).store_shared(&k.shared_tile::<St<T, 1, 1>>().store(&t).wait());
        }
        "Transposition" [f32 bf16 f64] {
            "t.swap_layout()" |Operands { t, .. }| t.swap_layout();
            "t.transpose()" |Operands { t, .. }| t.transpose();
        }
    }
}

/// Returns a shared tile of a scope, of ones: its instructions are those of `fill_with`.
fn of_ones<'k>(k: Builder<'k>, scope: impl Scope<'k>) -> Filled<St<'k, f32, 1, 1>> {
    k.shared_tile_of::<St<f32, 1, 1>>(scope).fill_with(1.0).wait()
}

/// The part for scopes of a block of 8 warps.
fn scopes(text: &mut String) {
    let _ = write!(
        text,
        "\n## Scopes\n\nThe operations are on f32, in a block of 8 warps. The arithmetic of addresses, lanes and conditions is omitted. Shared tiles \
         belong to the scope; operations on a filled tile are listed with the `fill_with` that fills it.\n\n| operation | Warp | Warps<2> | WarpGroup | Block |\n| --- | --- | --- | --- | --- |\n"
    );
    macro_rules! scopes {
        ($($name:literal |$operands:pat_param, $scope:ident| $operation:expr;)*) => {$(
            let of_scope = [
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warp(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warps::<2>(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warp_group(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.this_block(); let $operands = operands; let _ = $operation; }),
            ];
            let _ = writeln!(text, "| `{}` | {} |", $name, of_scope.join(" | "));
        )*};
    }
    scopes! {
        "t.sum_over(scope)" |Operands { t, .. }, scope| t.sum_over(scope);
        "t.maximum_over(scope)" |Operands { t, .. }, scope| t.maximum_over(scope);
        "t.minimum_over(scope)" |Operands { t, .. }, scope| t.minimum_over(scope);
        "t.row_sum_over(scope)" |Operands { t, .. }, scope| t.row_sum_over(scope);
        "t.row_max_over(scope)" |Operands { t, .. }, scope| t.row_max_over(scope);
        "t.col_sum_over(scope)" |Operands { t, .. }, scope| t.col_sum_over(scope);
        "t.col_max_over(scope)" |Operands { t, .. }, scope| t.col_max_over(scope);
        "per_row.all_reduce_sum(scope)" |Operands { k, .. }, scope| k.filled::<ColVec<f32, 1>>(1.0).all_reduce_sum(scope);
        "x.tile_of(scope, 0, 0).load()" |Operands { x, .. }, scope| x.tile_of(scope, 0, 0).load::<f32, 1, 1, Row>();
        "st.fill(x.tile(0, 0)).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).fill(x.tile(0, 0)).wait();
        "st.fill_or(x.tile(0, 0), 1.0).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).fill_or(x.tile(0, 0), 1.0).wait();
        "st.fill_with(1.0).wait()" |Operands { k, .. }, scope| of_ones(k, scope);
        "st.map(|x| -x).wait()" |Operands { k, .. }, scope| of_ones(k, scope).map(|x| -x).wait();
        "st.copy_from(&other).wait()" |Operands { k, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).copy_from(&of_ones(k, scope)).wait();
        "st.row_sum(sv).wait()" |Operands { k, .. }, scope| of_ones(k, scope).row_sum(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.col_sum(sv).wait()" |Operands { k, .. }, scope| of_ones(k, scope).col_sum(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.any(|x| x.gt(0))" |Operands { k, .. }, scope| of_ones(k, scope).any(positive);
        "st.has_nan()" |Operands { k, .. }, scope| of_ones(k, scope).has_nan();
        "st.add_with(|st| st.add(0, 0, &t)).wait()" |Operands { k, t, .. }, scope| of_ones(k, scope).add_with(|st| st.add(0, 0, &t)).wait();
        "y.tile(0, 0).store_shared(&st)" |Operands { k, y, .. }, scope| y.tile(0, 0).store_shared(&of_ones(k, scope));
        "st.release()" |Operands { k, .. }, scope| of_ones(k, scope).release();
        "scope.sync()" |_, scope| scope.sync();
    }
}

/// The targets whose instructions differ.
const TARGETS: [Target; 5] = [Target::SM_75, Target::SM_80, Target::SM_89, Target::SM_90, Target::SM_100A];

/// Returns the instructions of an operation that not all targets emit, for each target, or the lowest target that has them.
fn of_targets<T: TensorElement>(operation: &Operation<'_, T>) -> Vec<String> {
    let found = TARGETS.map(|target| mnemonics(target, 32, operation));
    let sets: Vec<BTreeSet<&String>> = found.iter().flatten().map(|found| found.iter().collect()).collect();
    let in_all = |mnemonic: &String| sets.iter().all(|set| set.contains(mnemonic));
    let cell = |found: &Result<Vec<String>, BuildError>| match found {
        Ok(found) => {
            let mut own: Vec<&String> = Vec::new();
            for mnemonic in found {
                if !in_all(mnemonic) && !own.contains(&mnemonic) {
                    own.push(mnemonic);
                }
            }
            if own.is_empty() && sets.len() < TARGETS.len() {
                // All targets that have the operation emit the same.
                own = found
                    .iter()
                    .filter(|name| !is_of_addresses(name))
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect();
            }
            if own.is_empty() {
                return "the same on all".into();
            }
            own.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        Err(error) => match error.kind() {
            BuildErrorKind::Unsupported { lowest, .. } => format!("requires {lowest}"),
            kind => panic!("{kind}"),
        },
    };
    found.iter().map(cell).collect()
}

/// The product of a sparse tile and a tile of zeros.
fn sparse_product<'k, T: SparseProduct<T, C>, C: TensorElement>(
    operands: Operands<'k, T>,
) -> Rt<'k, C, 1, 1> {
    let Operands { k, values, metadata, .. } = operands;
    let a = k.sparse(values, metadata, 16, 2 * T::SUBTILE_LENGTH);
    let a: SparseRt<'_, T, 1, 1> = a.tile(0, 0).load();
    let (b, sum) = (k.zeros::<Rt<T, 1, 2>>(), k.zeros::<Rt<C, 1, 1>>());
    k.comment(BEGIN);
    sum.mma_abt_sparse(&a, &b)
}

/// The part for targets.
fn targets(text: &mut String) {
    let _ = write!(
        text,
        "\n## Targets\n\nThe instructions that operations emit on some targets but not on all. An operation for which a target has no instructions \
         is rejected when the kernel is built.\n\n| operation |"
    );
    for target in TARGETS {
        let _ = write!(text, " {target} |");
    }
    let _ = writeln!(text, "\n| --- |{}", " --- |".repeat(TARGETS.len()));
    macro_rules! targets {
        ($($name:literal: $t:ty, |$operands:pat_param| $operation:expr;)*) => {$(
            let cells = of_targets::<$t>(&|$operands| { let _ = $operation; });
            let _ = writeln!(text, "| {} | {} |", $name, cells.join(" | "));
        )*};
    }
    targets! {
        "`+` of bf16": bf16, |Operands { t, .. }| &t + &t;
        "`-` of bf16": bf16, |Operands { t, .. }| Sub::sub(&t, &t);
        "`*` of bf16": bf16, |Operands { t, .. }| &t * &t;
        "`/` of bf16": bf16, |Operands { t, .. }| Div::div(&t, &t);
        "`mul_add` of bf16": bf16, |Operands { t, .. }| t.mul_add(bf16::ONE, bf16::ONE);
        "`max` of bf16": bf16, |Operands { t, .. }| t.max(bf16::ZERO);
        "`relu` of bf16": bf16, |Operands { t, .. }| t.relu();
        "`relu` of f16": f16, |Operands { t, .. }| t.relu();
        "`abs` of bf16": bf16, |Operands { t, .. }| t.abs();
        "`max` of f16": f16, |Operands { t, .. }| t.max(f16::ZERO);
        "`+` of f16": f16, |Operands { t, .. }| &t + &t;
        "`+` of tf32": tf32, |Operands { t, .. }| &t + &t;
        "`+` of e4m3": e4m3, |Operands { t, .. }| &t + &t;
        "`+` of i8": i8, |Operands { t, .. }| &t + &t;
        "`tril` of bf16": bf16, |Operands { t, .. }| t.tril(0, bf16::ZERO);
        "`has_nan` of bf16": bf16, |Operands { t, .. }| t.has_nan();
        "`row_sum` of bf16": bf16, |Operands { t, .. }| t.row_sum();
        "`sqrt` of bf16": bf16, |Operands { t, .. }| t.sqrt();
        "`exp` of f16": f16, |Operands { t, .. }| t.exp();
        "`tanh` of f32": f32, |Operands { t, .. }| t.tanh();
        "`tanh` of f16": f16, |Operands { t, .. }| t.tanh();
        "`sigmoid` of bf16": bf16, |Operands { t, .. }| t.sigmoid();
        "`gelu` of f32": f32, |Operands { t, .. }| t.gelu();
        "`exp2` of f16": f16, |Operands { t, .. }| t.exp2();
        "`exp2` of bf16": bf16, |Operands { t, .. }| t.exp2();
        "`tanh` of bf16": bf16, |Operands { t, .. }| t.tanh();
        "`convert` of f32 to f16": f32, |Operands { t, .. }| t.convert::<f16>();
        "`convert` of f32 to bf16": f32, |Operands { t, .. }| t.convert::<bf16>();
        "`convert` of f32 to tf32": f32, |Operands { t, .. }| t.convert::<tf32>();
        "`convert` of f16 to bf16": f16, |Operands { t, .. }| t.convert::<bf16>();
        "`convert` of f32 to i32": f32, |Operands { t, .. }| t.convert::<i32>();
        "`convert_saturating` of f32 to f16": f32, |Operands { t, .. }| t.convert_saturating::<f16>();
        "`widen` of i8 to f32": i8, |Operands { t, .. }| t.widen::<f32, 1, 2>();
        "`widen` of e4m3 to f16": e4m3, |Operands { t, .. }| t.widen::<f16, 1, 2>();
        "`convert_stochastic` of f32 to bf16": f32, |Operands { k, t, .. }| t.convert_stochastic::<bf16>(&k.random(1, 2).tile(0, 0));
        "`dropout` of f32": f32, |Operands { k, t, .. }| t.dropout(0.1, &k.random(1, 2).tile(0, 0));
        "`maximum_over` a warp, of i32": i32, |Operands { k, t, .. }| t.maximum_over(k.warp());
        "`maximum_over` a warp, of f32": f32, |Operands { k, t, .. }| t.maximum_over(k.warp());
        "`row_argmax` of f32": f32, |Operands { t, .. }| t.row_argmax();
        "`sum_over` a warp, of i32": i32, |Operands { k, t, .. }| t.sum_over(k.warp());
        "`fill` of a shared tile": bf16, |Operands { k, x, .. }| k.shared_tile::<St<bf16, 1, 1>>().fill(x.tile(0, 0)).wait();
        "`fill_or` of a shared tile": bf16, |Operands { k, x, .. }| k.shared_tile::<St<bf16, 1, 1>>().fill_or(x.tile(0, 0), bf16::ONE).wait();
        "`fill` of a stage of a pipeline": bf16, |Operands { k, x, .. }| k.pipeline::<(St<bf16, 1, 1>,), 2>().run(2, (), |_, stage| stage.fill((x.tile(0, 0),)), |(), _| ());
        "`store` to a shared tile": f16, |Operands { k, t, .. }| k.shared_tile::<St<f16, 1, 1>>().store(&t).wait();
        "`swap_layout` of bf16": bf16, |Operands { t, .. }| t.swap_layout();
        "`swap_layout` of f32": f32, |Operands { t, .. }| t.swap_layout();
        "`mma_abt` of f16 in f16": f16, |Operands { k, t, .. }| k.zeros::<Rt<f16, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of f16 in f32": f16, |Operands { k, t, .. }| k.zeros::<Rt<f32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of bf16": bf16, |Operands { k, t, .. }| k.zeros::<Rt<f32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of tf32": tf32, |Operands { k, t, .. }| k.zeros::<Rt<f32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of f64": f64, |Operands { k, t, .. }| k.zeros::<Rt<f64, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of e4m3": e4m3, |Operands { k, t, .. }| k.zeros::<Rt<f32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of e5m2 in f16": e5m2, |Operands { k, t, .. }| k.zeros::<Rt<f16, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of u8": u8, |Operands { k, t, .. }| k.zeros::<Rt<i32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt` of i8": i8, |Operands { k, t, .. }| k.zeros::<Rt<i32, 1, 1>>().mma_abt(&t, &t);
        "`mma_abt_sparse` of f16 in f16": f16, |operands| sparse_product::<_, f16>(operands);
        "`mma_abt_sparse` of f16 in f32": f16, |operands| sparse_product::<_, f32>(operands);
        "`mma_abt_sparse` of bf16": bf16, |operands| sparse_product::<_, f32>(operands);
        "`mma_abt_sparse` of tf32": tf32, |operands| sparse_product::<_, f32>(operands);
        "`mma_abt_sparse` of e4m3": e4m3, |operands| sparse_product::<_, f32>(operands);
        "`mma_abt_sparse` of u8": u8, |operands| sparse_product::<_, i32>(operands);
    }
}

#[test]
fn operations_are_documented() {
    let mut text = String::from(
        "# Operations on tiles\n\nThis file lists the instructions that operations emit on sm_90 for a `Row` tile of one subtile (16×16 \
         elements, or 16×32 elements of 8 bits), in the order of their first use. Larger tiles repeat them per subtile, except the shuffles of \
         reductions. f16 represents all types with the same instructions; u32 is like i32, e5m2 like e4m3, and u8 like i8; 64-bit integers use \
         64-bit instructions. The tests generate this file from the kernels.\n\n## Types\n",
    );
    wide(&mut text);
    narrow(&mut text);
    memory(&mut text);
    scopes(&mut text);
    targets(&mut text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tile-operations.md");
    if env::var_os("WARPWRIGHT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap_or_default(),
        text,
        "WARPWRIGHT_BLESS=1 rewrites docs/tile-operations.md"
    );
}

/// The number of an operation's instructions that start with `mnemonic`.
fn count<T: TensorElement>(mnemonic: &str, operation: &Operation<'_, T>) -> usize {
    let found = mnemonics(Target::SM_90, 32, operation).unwrap();
    found.iter().filter(|name| name.starts_with(mnemonic)).count()
}

/// A row reduction takes 4 shuffles per 16 rows of a tile of any width, one of columns of a column-layout tile too.
#[test]
fn shuffles_do_not_depend_on_the_width() {
    fn rows<T: Numeral + warpwright::tiles::Accumulate, const H: usize, const W: usize>() -> [usize; 3] {
        let tile = |k: Builder<'_>| drop(k.zeros::<Rt<T, H, W>>().row_sum());
        let max = |k: Builder<'_>| drop(k.zeros::<Rt<T, H, W>>().row_max());
        let transposed = |k: Builder<'_>| drop(k.zeros::<Rt<T, W, H, Col>>().col_sum());
        let of = |f: &dyn Fn(Builder<'_>)| count::<f32>("shfl", &|operands| f(operands.k));
        [of(&tile), of(&max), of(&transposed)]
    }
    assert_eq!(rows::<f32, 1, 1>(), [4; 3]);
    assert_eq!(rows::<f32, 1, 16>(), [4; 3]);
    assert_eq!(rows::<bf16, 1, 8>(), [4; 3]);
    assert_eq!(rows::<f16, 1, 16>(), [4; 3]);
    assert_eq!(rows::<bf16, 3, 4>(), [12; 3]);
    assert_eq!(rows::<i8, 1, 4>(), [4; 3]);
    assert_eq!(rows::<tf32, 1, 6>(), [4; 3]);
}

/// One `ldmatrix.x4` per 16×16 elements of 16 bits, and per 16×32 of 8 bits; on sm_90 one `stmatrix.x4`.
#[test]
fn matrices_move_four_at_a_time() {
    fn moves<T: TensorElement, const H: usize, const W: usize>() -> [usize; 4] {
        let tile = |k: Builder<'_>| {
            k.shared_tile::<St<T, H, W>>()
                .store(&k.zeros::<Rt<T, H, W>>())
                .wait()
                .load::<Row>()
                .registers()
                .len()
        };
        let operation = |operands: Operands<'_, f32>| assert!(tile(operands.k) > 0);
        ["ldmatrix.sync.aligned.m8n8.x4", "ldmatrix", "stmatrix.sync.aligned.m8n8.x4", "stmatrix"]
            .map(|name| count::<f32>(name, &operation))
    }
    assert_eq!(moves::<bf16, 1, 1>(), [1; 4]);
    assert_eq!(moves::<f16, 2, 4>(), [8; 4]);
    assert_eq!(moves::<bf16, 4, 4>(), [16; 4]);
    assert_eq!(moves::<bf16, 1, 3>(), [3; 4]);
    assert_eq!(moves::<u8, 2, 2>(), [4; 4]);
    fn columns<T: TensorElement, const H: usize, const W: usize>() -> [usize; 2] {
        let operation = |operands: Operands<'_, f32>| {
            let k = operands.k;
            let _ = k.shared_tile::<St<T, H, W>>().store(&k.zeros::<Rt<T, H, W>>()).wait().load::<Col>();
        };
        ["ldmatrix.sync.aligned.m8n8.x4.trans", "ldmatrix"].map(|name| count::<f32>(name, &operation))
    }
    assert_eq!(columns::<f16, 2, 2>(), [4; 2]);
    assert_eq!(columns::<bf16, 4, 3>(), [12; 2]);
}
