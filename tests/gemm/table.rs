//! Tables of tuned kernels: their text, the selection from them, and the table of an H200.

use pretty_assertions::assert_eq;
use warpwright::{
    kernels::{
        Gemm, GemmEntry, GemmTable, GemmTile,
        MatrixOrder::{Col, Row},
    },
    prelude::*,
    tiles::Schedule,
};

const TEXT: &str = "\
gpu: NVIDIA H200
multiprocessors: 132
driver: CUDA 13.0
date: 2026-11-23
command: warpwright tune gemm --m 77,500 --n 88 --k 99 --dtype bf16,e4m3
type A B m n k tile cluster parts group µs
bf16 row col 77 88 99 64x64 1x1 2 4 12.5
bf16 row row 500 88 99 128x192 1x2 1 32 40.0
e4m3 row col 77 88 99 16x128 1x1 1 16 9.1
";

fn table() -> GemmTable {
    let of = |tile, cluster, parts, group| Gemm {
        b: Col,
        cluster,
        parts,
        schedule: Schedule::grouped(group),
        ..Gemm::new(tile)
    };
    let entry = |dtype: &str, size, gemm, micros| GemmEntry { dtype: dtype.into(), size, gemm, micros };
    GemmTable {
        gpu: "NVIDIA H200".into(),
        multiprocessors: 132,
        driver: "CUDA 13.0".into(),
        date: "2026-11-23".into(),
        command: "warpwright tune gemm --m 77,500 --n 88 --k 99 --dtype bf16,e4m3".into(),
        entries: vec![
            entry("bf16", [77, 88, 99], of(GemmTile::T64x64, [1, 1], 2, 4), 12.5),
            entry("bf16", [500, 88, 99], Gemm { b: Row, ..of(GemmTile::T128x192, [1, 2], 1, 32) }, 40.0),
            entry("e4m3", [77, 88, 99], of(GemmTile::T16x128, [1, 1], 1, 16), 9.1),
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
    assert_eq!(table.for_problem::<bf16>(Row, Col, [77, 88, 99]), of(0));
    assert_eq!(table.for_problem::<bf16>(Row, Row, [500, 88, 99]), of(1));
    assert_eq!(table.for_problem::<e4m3>(Row, Col, [77, 88, 99]), of(2));
}

#[test]
fn other_problems_are_those_of_the_model() {
    let table = table();
    let model = |b, size| Gemm::for_problem::<bf16>(Row, b, size, 132);
    for (b, size) in [(Row, [77, 88, 99]), (Col, [88, 77, 99]), (Col, [77, 88, 100])] {
        assert_eq!(table.get::<bf16>(Row, b, size), None);
        assert_eq!(table.for_problem::<bf16>(Row, b, size), model(b, size));
    }
    assert_eq!(table.get::<f16>(Row, Col, [77, 88, 99]), None);
}

#[test]
fn errors_name_the_line() {
    let of = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        TEXT.replacen(from, to, 1).parse::<GemmTable>().expect_err(to).to_string()
    };
    for (from, to, expected) in [
        ("gpu: ", "gpu ", "line 1: expected `gpu: …`, found `gpu NVIDIA H200`"),
        ("132", "many", "line 2: expected a number, found `many`"),
        ("date", "day", "line 4: expected `date: …`, found `day: 2026-11-23`"),
        (
            " µs",
            "",
            "line 6: expected `type A B m n k tile cluster parts group µs`, found `type A B m n k tile cluster parts group`",
        ),
        (" 12.5", "", "line 7: expected 11 fields, found 10"),
        ("12.5", "fast", "line 7: expected a time in microseconds, found `fast`"),
        ("row col 77", "row up 77", "line 7: expected row or col, found `up`"),
        ("77 88 99 64", "77 0 99 64", "line 7: expected a number from 1, found `0`"),
        ("64x64", "64x65", "line 7: expected a tile such as 128x192, found `64x65`"),
        ("1x2", "12", "line 8: expected a cluster such as 2x1, found `12`"),
        ("1x2 1 32", "1x2 2 32", "line 8: expected [1] parts for tiles of 128x192, found 2"),
    ] {
        assert_eq!(of(from, to), expected);
    }
    let short = TEXT.lines().take(3).collect::<Vec<_>>().join("\n");
    let error = short.parse::<GemmTable>().expect_err("no date").to_string();
    assert_eq!(error, "line 4: expected `date`, found the end of the table");
}

#[test]
fn the_table_of_an_h200_is_the_choice_for_132_multiprocessors() {
    let table = GemmTable::h200();
    assert_eq!((&*table.gpu, table.multiprocessors), ("NVIDIA H200", 132));
    assert!(table.command.starts_with("warpwright tune gemm "), "{}", table.command);
    assert!(table.driver.starts_with("CUDA ") && table.date.len() == 10, "{} {}", table.driver, table.date);
    assert!(!table.entries.is_empty());
    for entry in &table.entries {
        let Gemm { a, b, .. } = entry.gemm;
        assert_eq!(entry.dtype, "bf16");
        assert_eq!(Gemm::for_problem::<bf16>(a, b, entry.size, 132), entry.gemm, "{entry}");
        assert!(entry.gemm.kernel::<bf16, f32, bf16>().is_ok(), "{entry}");
        assert!(entry.micros > 0.0, "{entry}");
    }
}

/// A GPU with another number of multiprocessors has the choice of the model.
#[test]
fn other_gpus_have_the_choice_of_the_model() {
    let table = GemmTable::h200();
    let differs = |entry: &GemmEntry| {
        let Gemm { a, b, .. } = entry.gemm;
        Gemm::for_problem::<bf16>(a, b, entry.size, 131) != entry.gemm
    };
    assert!(table.entries.iter().any(differs));
}
