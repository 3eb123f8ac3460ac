//! Tables of tuned kernels: their text, the selection from them, and the committed ones.

use pretty_assertions::assert_eq;
use warpwright::{
    kernels::{
        Gemm, GemmEntry, GemmResult, GemmTable, GemmTile, GpuKind,
        MatrixOrder::{Col, Row},
        call::GemmOperand,
    },
    prelude::*,
    tiles::{Convert, Schedule},
};

const TEXT: &str = "\
gpu: NVIDIA H200
capability: 9.0
multiprocessors: 132
driver: CUDA 13.0
date: 2026-11-23
command: warpwright tune gemm --m 77,500 --n 88 --k 99 --dtype bf16,e4m3
T D A B m n k tile cluster parts group µs
bf16 bf16 row col 77 88 99 64x64 1x1 2 4 12.5
bf16 f32 row row 500 88 99 128x192 1x2 1 32 40.0
e4m3 bf16 row col 77 88 99 16x128 1x1 1 16 9.1
";

fn h200() -> GpuKind {
    GpuKind { name: "NVIDIA H200".into(), capability: (9, 0), multiprocessors: 132 }
}

fn table() -> GemmTable {
    let of = |tile, cluster, parts, group| Gemm {
        b: Col,
        cluster,
        parts,
        schedule: Schedule::grouped(group),
        ..Gemm::new(tile)
    };
    let entry = |operand: &str, result: &str, size, gemm, micros| GemmEntry {
        operand: operand.into(),
        result: result.into(),
        size,
        gemm,
        micros,
    };
    GemmTable {
        gpu: h200(),
        driver: "CUDA 13.0".into(),
        date: "2026-11-23".into(),
        command: "warpwright tune gemm --m 77,500 --n 88 --k 99 --dtype bf16,e4m3".into(),
        entries: vec![
            entry("bf16", "bf16", [77, 88, 99], of(GemmTile::T64x64, [1, 1], 2, 4), 12.5),
            entry(
                "bf16",
                "f32",
                [500, 88, 99],
                Gemm { b: Row, ..of(GemmTile::T128x192, [1, 2], 1, 32) },
                40.0,
            ),
            entry("e4m3", "bf16", [77, 88, 99], of(GemmTile::T16x128, [1, 1], 1, 16), 9.1),
        ],
    }
}

#[test]
fn a_table_prints_and_parses() {
    assert_eq!(table().to_string(), TEXT);
    assert_eq!(TEXT.parse(), Ok(table()));
}

#[test]
fn the_entry_of_a_problem_is_chosen() {
    let table = table();
    let of = |number: usize| table.entries[number].gemm;
    assert_eq!(table.for_problem::<bf16, bf16>(Row, Col, [77, 88, 99]), of(0));
    assert_eq!(table.for_problem::<bf16, f32>(Row, Row, [500, 88, 99]), of(1));
    assert_eq!(table.for_problem::<e4m3, bf16>(Row, Col, [77, 88, 99]), of(2));
}

#[test]
fn other_problems_use_the_model() {
    let table = table();
    let model = |b, size| Gemm::for_problem::<bf16, bf16>(Row, b, size, &h200());
    for (b, size) in [(Row, [77, 88, 99]), (Col, [88, 77, 99]), (Col, [77, 88, 100]), (Row, [500, 88, 99])] {
        assert_eq!(table.get::<bf16, bf16>(Row, b, size), None);
        assert_eq!(table.for_problem::<bf16, bf16>(Row, b, size), model(b, size));
    }
    assert_eq!(table.get::<f16, bf16>(Row, Col, [77, 88, 99]), None);
    assert_eq!(table.get::<bf16, f32>(Row, Col, [77, 88, 99]), None);
}

#[test]
fn errors_name_the_line() {
    let of = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        TEXT.replacen(from, to, 1).parse::<GemmTable>().expect_err(to).to_string()
    };
    for (from, to, expected) in [
        ("gpu: ", "gpu ", "line 1: expected `gpu: …`, found `gpu NVIDIA H200`"),
        ("9.0", "90", "line 2: expected a compute capability such as 9.0, found `90`"),
        ("132", "many", "line 3: expected a number of at least 1, found `many`"),
        ("date", "day", "line 5: expected `date: …`, found `day: 2026-11-23`"),
        (
            " µs",
            "",
            "line 7: expected `T D A B m n k tile cluster parts group µs`, found `T D A B m n k tile cluster parts group`",
        ),
        (" 12.5", "", "line 8: expected 12 fields, found 11"),
        ("12.5", "fast", "line 8: expected a time in microseconds, found `fast`"),
        (
            "bf16 bf16",
            "b16 bf16",
            "line 8: expected operands of bf16, f16, tf32, e4m3, e5m2, i8, u8, found `b16`",
        ),
        ("bf16 bf16", "bf16 i32", "line 8: expected a result of bf16, f16, f32, e4m3, e5m2, found `i32`"),
        ("bf16 bf16", "i8 e4m3", "line 8: expected a result of i32, f32, bf16, f16, i8, u8, found `e4m3`"),
        ("row col 77", "row up 77", "line 8: expected row or col, found `up`"),
        ("77 88 99 64", "77 0 99 64", "line 8: expected a number of at least 1, found `0`"),
        ("64x64", "64x65", "line 8: expected a tile such as 128x192, found `64x65`"),
        (
            "bf16 bf16 row col 77 88 99 64x64 1x1 2",
            "bf16 e4m3 row col 77 88 99 128x176 1x1 1",
            "line 8: expected a result of 16 or 32 bits for tiles of 128x176, found `e4m3`",
        ),
        ("64x64 1x1", "64x64 4x2", "line 8: expected clusters of 1 to 8 blocks, found 16"),
        ("1x2", "12", "line 9: expected a cluster such as 2x1, found `12`"),
        ("1x2", "0x2", "line 9: expected a number of at least 1, found `0`"),
        ("1x2 1 32", "1x2 2 32", "line 9: expected one of [1] parts for tiles of 128x192, found 2"),
        (
            "e4m3 bf16 row col",
            "e4m3 bf16 row row",
            "line 10: expected row-major A and column-major B for types other than those of 16 bits, found row-major A and row-major B",
        ),
        (
            "16x128 1x1",
            "16x128 1x2",
            "line 10: expected clusters of one column of tiles for tiles of 16 rows, found 2 columns",
        ),
        (
            "e4m3 bf16 row",
            "bf16 bf16 row",
            "line 10: expected one entry for each problem, found another on line 8",
        ),
    ] {
        assert_eq!(of(from, to), expected);
    }
    let short = TEXT.lines().take(3).collect::<Vec<_>>().join("\n");
    let error = short.parse::<GemmTable>().expect_err("no driver").to_string();
    assert_eq!(error, "line 4: expected `driver`, found the end of the table");
}

/// The committed tables state where they were measured, and contain kernels that can be built.
#[test]
fn committed_tables_are_the_choice_for_their_gpus() {
    let tables = GemmTable::builtin();
    assert_eq!(tables[0].gpu, h200());
    for table in tables {
        assert!(table.command.starts_with("warpwright tune gemm "), "{}", table.command);
        assert!(
            table.driver.starts_with("CUDA ") && table.date.len() == 10,
            "{} {}",
            table.driver,
            table.date
        );
        assert!(!table.entries.is_empty());
        for entry in &table.entries {
            // A problem in two tables would be chosen from one of them only.
            match (&*entry.operand, &*entry.result) {
                ("bf16", "bf16") => assert_is_chosen::<bf16, bf16>(table, entry),
                ("f16", "f16") => assert_is_chosen::<f16, f16>(table, entry),
                ("tf32", "f32") => assert_is_chosen::<tf32, f32>(table, entry),
                ("e4m3", "bf16") => assert_is_chosen::<e4m3, bf16>(table, entry),
                ("i8", "i32") => assert_is_chosen::<i8, i32>(table, entry),
                other => panic!("no kernel is built for {other:?}"),
            }
        }
    }
}

fn assert_is_chosen<T, D>(table: &GemmTable, entry: &GemmEntry)
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let Gemm { a, b, .. } = entry.gemm;
    let chosen = Gemm::for_problem::<T, D>(a, b, entry.size, &table.gpu);
    assert_eq!(chosen, entry.gemm, "{entry}");
    assert!(chosen.kernel::<T, T::Sum, D>().is_ok(), "{entry}");
    let with_it = GemmTable::builtin()
        .iter()
        .filter(|other| other.gpu == table.gpu && other.get::<T, D>(a, b, entry.size).is_some());
    assert_eq!(with_it.count(), 1, "tables with {entry}");
}

/// A GPU with another compute capability or number of multiprocessors has the choice of the model.
#[test]
fn other_gpus_have_the_choice_of_the_model() {
    let table = &GemmTable::builtin()[0];
    for gpu in [GpuKind { capability: (9, 1), ..h200() }, GpuKind { multiprocessors: 131, ..h200() }] {
        let differs = |entry: &GemmEntry| {
            let Gemm { a, b, .. } = entry.gemm;
            Gemm::for_problem::<bf16, bf16>(a, b, entry.size, &gpu) != entry.gemm
        };
        assert!(table.entries.iter().any(differs), "{gpu}");
    }
}

/// The tables of a GPU also apply to others with its compute capability and number of multiprocessors, for problems that their own tables
/// do not contain.
#[test]
fn similar_gpus_have_the_choice_of_a_table() {
    let unnamed = GpuKind { name: String::new(), ..h200() };
    for entry in &GemmTable::builtin()[0].entries {
        let Gemm { a, b, .. } = entry.gemm;
        if (&*entry.operand, &*entry.result) == ("bf16", "bf16") {
            assert_eq!(Gemm::for_problem::<bf16, bf16>(a, b, entry.size, &unnamed), entry.gemm);
        }
    }
}

/// The tables do not apply to other types of results.
#[test]
fn other_results_have_the_choice_of_the_model() {
    let table = &GemmTable::builtin()[0];
    let differs = |entry: &GemmEntry| {
        let Gemm { a, b, .. } = entry.gemm;
        assert_eq!(table.get::<bf16, f32>(a, b, entry.size), None);
        Gemm::for_problem::<bf16, f32>(a, b, entry.size, &h200()) != entry.gemm
    };
    assert!(table.entries.iter().any(differs));
}
