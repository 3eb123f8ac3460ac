//! The part of the document for targets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    ops::{Div, Sub},
};

use warpwright::{prelude::*, ptx::BuildErrorKind, tensor::TensorElement};

use super::{
    emitted::{Operands, Operation, is_of_addresses, mnemonics},
    products::sparse_product,
};

/// The targets, from the lowest.
const TARGETS: [Target; 8] = [
    Target::SM_75,
    Target::SM_80,
    Target::SM_86,
    Target::SM_87,
    Target::SM_89,
    Target::SM_90,
    Target::SM_100A,
    Target::SM_120A,
];

/// The instructions that the targets emit for an operation.
enum Emitted {
    /// All targets from this one emit the same.
    Alike(Target),
    /// For each target, the instructions that not all targets emit, or the lowest target that has them.
    Different(Vec<String>),
}

fn of_targets<T: TensorElement>(operation: &Operation<'_, T>) -> Emitted {
    let found = TARGETS.map(|target| mnemonics(target, 32, operation));
    let sets: Vec<BTreeSet<&String>> = found.iter().flatten().map(|found| found.iter().collect()).collect();
    let lowest = found.iter().position(Result::is_ok).expect("a target has the operation");
    if sets.iter().all(|set| *set == sets[0]) && found[lowest..].iter().all(Result::is_ok) {
        return Emitted::Alike(TARGETS[lowest]);
    }
    let are_alike = sets.iter().all(|set| *set == sets[0]);
    let in_all = |mnemonic: &String| sets.iter().all(|set| set.contains(mnemonic));
    let cell = |found: &Result<Vec<String>, BuildError>| match found {
        Ok(found) => {
            let is_listed = |name: &String| if are_alike { !is_of_addresses(name) } else { !in_all(name) };
            let own: BTreeSet<&String> = found.iter().filter(|name| is_listed(name)).collect();
            if own.is_empty() {
                return "no others".into();
            }
            own.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        Err(error) => match error.kind() {
            BuildErrorKind::Unsupported { lowest, .. } => format!("requires {lowest}"),
            kind => panic!("{kind}"),
        },
    };
    Emitted::Different(found.iter().map(cell).collect())
}

/// The names of operations with the instructions that the targets emit.
fn rows() -> Vec<(&'static str, Emitted)> {
    macro_rules! targets {
        ($($name:literal: $t:ty, |$operands:pat_param| $operation:expr;)*) => {
            vec![$(($name, of_targets::<$t>(&|$operands| { let _ = $operation; }))),*]
        };
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
        "`+` of e3m2": e3m2, |Operands { t, .. }| &t + &t;
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
        "`convert_saturating` of f32 to bf16": f32, |Operands { t, .. }| t.convert_saturating::<bf16>();
        "`widen` of i8 to f32": i8, |Operands { t, .. }| t.widen::<f32, 1, 2>();
        "`widen` of e4m3 to f16": e4m3, |Operands { t, .. }| t.widen::<f16, 1, 2>();
        "`narrow` of f16 to e3m2": f16, |Operands { k, .. }| k.zeros::<Rt<f16, 1, 2>>().narrow::<e3m2, 1, 1>();
        "`convert_stochastic` of f32 to f16, bf16": f32, |Operands { k, t, .. }| t.convert_stochastic::<bf16>(&k.random(1, 2).tile(0, 0));
        "`narrow_stochastic` of f32 to e4m3, e5m2, e3m2, e2m3": f32, |Operands { k, .. }| k.zeros::<Rt<f32, 1, 2>>().narrow_stochastic::<e4m3, 1, 1>(&k.random(1, 2).tile(0, 0));
        "`dropout` of f32": f32, |Operands { k, t, .. }| t.dropout(0.1, &k.random(1, 2).tile(0, 0));
        "`maximum_over` a warp, of i32": i32, |Operands { k, t, .. }| t.maximum_over(k.warp());
        "`maximum_over` a warp, of f32": f32, |Operands { k, t, .. }| t.maximum_over(k.warp());
        "`row_argmax` of f32": f32, |Operands { t, .. }| t.row_argmax();
        "`sum_over` a warp, of i32": i32, |Operands { k, t, .. }| t.sum_over(k.warp());
        "`fill` of a shared tile": bf16, |Operands { k, x, .. }| k.shared_tile::<St<bf16, 1, 1>>().fill(x.tile(0, 0)).wait();
        "`fill_or` of a shared tile": bf16, |Operands { k, x, .. }| k.shared_tile::<St<bf16, 1, 1>>().fill_or(x.tile(0, 0), bf16::ONE).wait();
        "`fill` of a stage of a pipeline": bf16, |Operands { k, x, .. }| k.pipeline::<(St<bf16, 1, 1>,), 2>().run(2, (), |_, stage| stage.fill((x.tile(0, 0),)), |(), _| ());
        "`store` to a shared tile": f16, |Operands { k, t, .. }| k.shared_tile::<St<f16, 1, 1>>().store(&t).wait();
        "`add` to global memory, of f32": f32, |Operands { sums, t, .. }| sums.tile(0, 0).add(&t);
        "`add` to global memory, of f16": f16, |Operands { sums, t, .. }| sums.tile(0, 0).add(&t);
        "`add` to global memory, of bf16": bf16, |Operands { sums, t, .. }| sums.tile(0, 0).add(&t);
        "`add_with` of a shared tile of f32": f32, |Operands { k, t, .. }| k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0).wait().add_with(|to| to.add(0, 0, &t)).wait();
        "`add_with` of a shared tile of bf16": bf16, |Operands { k, t, .. }| k.shared_tile::<St<bf16, 1, 1>>().fill_with(bf16::ZERO).wait().add_with(|to| to.add(0, 0, &t)).wait();
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
        "`mma_abt_sparse` of f16 in f16": f16, |operands| sparse_product::<_, _, f16>(operands, true);
        "`mma_abt_sparse` of f16 in f32": f16, |operands| sparse_product::<_, _, f32>(operands, true);
        "`mma_abt_sparse` of bf16": bf16, |operands| sparse_product::<_, _, f32>(operands, true);
        "`mma_abt_sparse` of tf32": tf32, |operands| sparse_product::<_, _, f32>(operands, true);
        "`mma_abt_sparse` of e4m3": e4m3, |operands| sparse_product::<_, e4m3, f32>(operands, true);
        "`mma_abt_sparse` of u8": u8, |operands| sparse_product::<_, u8, i32>(operands, true);
    }
}

pub(super) fn write(text: &mut String) {
    let mut alike: BTreeMap<Target, Vec<&str>> = BTreeMap::new();
    let mut different: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, emitted) in rows() {
        match emitted {
            Emitted::Alike(lowest) => alike.entry(lowest).or_default().push(name),
            Emitted::Different(cells) => different.push((name, cells)),
        }
    }
    let _ = write!(
        text,
        "\n## Targets\n\nAn operation for which a target has no instructions is rejected when the kernel is built. The following operations emit the \
         same instructions on all targets that have them.\n\n| requires | operations |\n| --- | --- |\n"
    );
    for (lowest, names) in alike {
        let lowest = if lowest == TARGETS[0] { "–".to_owned() } else { lowest.to_string() };
        let _ = writeln!(text, "| {lowest} | {} |", names.join("; "));
    }
    // Adjacent targets with the same cells share a column.
    let columns: Vec<Vec<&str>> = (0..TARGETS.len())
        .map(|at| different.iter().map(|(_, cells)| cells[at].as_str()).collect())
        .collect();
    let mut heads: Vec<(String, usize)> = Vec::new();
    for (at, target) in TARGETS.iter().enumerate() {
        match heads.last_mut().filter(|(_, first)| columns[*first] == columns[at]) {
            Some((head, _)) => *head += &format!(", {target}"),
            None => heads.push((target.to_string(), at)),
        }
    }
    let _ = write!(
        text,
        "\nThe following operations emit different instructions. The table lists those that not all targets emit.\n\n| operation |"
    );
    for (head, _) in &heads {
        let _ = write!(text, " {head} |");
    }
    let _ = writeln!(text, "\n| --- |{}", " --- |".repeat(heads.len()));
    for (name, cells) in &different {
        let cells: Vec<&str> = heads.iter().map(|(_, at)| cells[*at].as_str()).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
}
