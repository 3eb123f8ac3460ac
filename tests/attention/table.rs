//! Tables of kernels for problems.

use warpwright::{
    kernels::{Attention, AttentionMask, AttentionProblem, AttentionTable, ProductOrder, ScaledAttention},
    ptx::{Target, bf16, f16},
    tiles::Schedule,
};

const HEAD: &str = "\
gpu: NVIDIA H200
capability: 9.0
multiprocessors: 132
driver: CUDA 13.0
date: 2026-11-26
command: warpwright tune attention
T d e mask heads kv_heads queries keys tile group order products rounding µs
";
const BF16: &str = "bf16 128 128 causal 128 16 4096 4096 128x80 12 back free late 885.6";
const E4M3: &str = "e4m3 128 128 causal 128 16 4096 4096 128x192 4 forth staggered early 600.0";

fn parsed(lines: &[&str]) -> Result<AttentionTable, String> {
    format!("{HEAD}{}\n", lines.join("\n"))
        .parse()
        .map_err(|error: warpwright::kernels::TableError| error.to_string())
}

#[test]
fn texts_are_parsed_and_written() {
    let windows = "f16 64 64 window_90_10 4 4 100 200 192x96 1 forth free late 3.5";
    let table = parsed(&[BF16, E4M3, windows]).expect("a table");
    assert_eq!(table.to_string(), format!("{HEAD}{BF16}\n{E4M3}\n{windows}\n"));
    let problem = AttentionProblem {
        target: Target::SM_90A,
        head_size: 128,
        value_size: 128,
        mask: AttentionMask::Causal,
        heads: 128,
        kv_heads: 16,
        queries: 4096,
        keys: 4096,
        multiprocessors: 132,
    };
    let Attention { tile, schedule, mask, .. } = table.get::<bf16>(&problem).expect("an entry");
    assert_eq!((tile.keys, mask), (80, AttentionMask::Causal));
    assert_eq!(schedule, Schedule::grouped(12).back_and_forth());
    let ScaledAttention { tile, schedule, overlap, .. } = table.get_scaled(&problem).expect("an entry");
    assert_eq!((tile.keys, schedule), (192, Schedule::grouped(4)));
    assert_eq!((overlap.order, overlap.rounds_early), (ProductOrder::Staggered, true));
    assert_eq!(table.get::<f16>(&problem), None);
    assert_eq!(table.get_scaled(&AttentionProblem { kv_heads: 128, ..problem }), None);
}

#[test]
fn errors_name_the_line() {
    let with = |from: &str, to: &str| parsed(&[&E4M3.replace(from, to)]).expect_err("it is rejected");
    for (from, to, expected) in [
        ("e4m3", "f32", "line 8: expected elements of bf16, f16, e4m3, found `f32`"),
        (
            "causal",
            "none",
            "line 8: expected full, causal, causal_from_end or window_BEFORE_AFTER, found `none`",
        ),
        (
            "128x192",
            "128x80",
            "line 8: expected a tile of 192x96, 128x128, 128x160, 128x192, 128x224, 192x64, found `128x80`",
        ),
        ("e4m3 128 128", "e4m3 96 96", "line 8: expected a head size that has tiles, found `128x192`"),
        ("forth", "up", "line 8: expected an order of forth or back, found `up`"),
        (
            "early",
            "soon",
            "line 8: expected free, in-turn, staggered and early or late, found `staggered soon`",
        ),
        ("600.0", "0", "line 8: expected a time in microseconds, found `0`"),
        (" 600.0", "", "line 8: expected 14 fields, found 13"),
        ("4096 4096", "0 4096", "line 8: expected a number of at least 1, found `0`"),
    ] {
        assert_eq!(with(from, to), expected);
    }
    let of_halves = parsed(&[&BF16.replace("free", "in-turn")]).expect_err("it is rejected");
    assert_eq!(of_halves, "line 8: expected free and late for 16-bit elements, found `in-turn late`");
    let twice = parsed(&[BF16, E4M3, &BF16.replace("128x80", "128x128")]).expect_err("it is rejected");
    assert_eq!(twice, "line 10: expected one entry for each problem, found another on line 8");
}

/// The crate's tables state where they were measured, contain each problem once, and their kernels can be built.
#[test]
fn committed_tables_contain_kernels() {
    let tables = AttentionTable::builtin();
    for (at, table) in tables.iter().enumerate() {
        assert!(table.command.starts_with("warpwright tune attention "), "{}", table.command);
        assert!(table.driver.starts_with("CUDA ") && table.date.len() == 10, "{table}");
        assert!(!table.entries.is_empty());
        for entry in &table.entries {
            let problem = &entry.problem;
            let is_in = |other: &AttentionTable| match &*entry.element {
                "bf16" => other.get::<bf16>(problem).is_some(),
                _ => other.get_scaled(problem).is_some(),
            };
            assert!(!tables[..at].iter().any(|other| other.gpu == table.gpu && is_in(other)), "{entry}");
            match &*entry.element {
                "bf16" => {
                    let attention = table.get::<bf16>(problem).expect("an entry");
                    assert_eq!((attention.tile, attention.schedule), (entry.tile, entry.schedule));
                    attention.kernel::<bf16>().unwrap_or_else(|error| panic!("{entry}: {error}"));
                }
                "e4m3" => {
                    let attention = table.get_scaled(problem).expect("an entry");
                    assert_eq!((attention.tile, attention.overlap), (entry.tile, entry.overlap));
                    attention.kernel::<bf16>().unwrap_or_else(|error| panic!("{entry}: {error}"));
                }
                other => panic!("no kernel is built for {other}"),
            }
        }
    }
}
