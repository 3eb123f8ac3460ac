//! `warpwright layout`.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;

use pretty_assertions::assert_eq;
use serde_json::Value;

fn layout(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpwright"))
        .arg("layout")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let (mut stdin, input) = (child.stdin.take().expect("a pipe"), input.to_owned());
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("no panic").expect("all input is read");
    output
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// Returns the value of an expression: the first printed line.
fn value(expression: &str) -> String {
    let output = layout(&["--no-table", expression], "");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{expression}");
    stdout(&output).lines().next().expect("a result").to_owned()
}

/// Returns the error of an expression: the only line on standard error.
fn error_of(expression: &str) -> String {
    let output = layout(&[expression], "");
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{expression}");
    let text = stderr(&output).to_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

#[test]
fn a_layout_is_printed_with_its_sizes_and_table() {
    let output = layout(&["logical_divide((4,8):(8,1), (2:1, 4:2))"], "");
    let expected = "\
((2,2),(4,2)):((8,16),(2,1))
size 32  cosize 32  injective: yes
r\\c  0  1  2  3  4  5  6  7
  0  0  2  4  6  1  3  5  7
  1  8 10 12 14  9 11 13 15
  2 16 18 20 22 17 19 21 23
  3 24 26 28 30 25 27 29 31
";
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), expected));
    let broadcast = layout(&["(4,2):(1,0)"], "");
    assert!(stdout(&broadcast).contains("\nsize 8  cosize 4  injective: no\n"));
}

#[test]
fn coordinates_and_swizzles_have_tables_too() {
    let places = layout(&["zipped_divide(make_identity_layout((4,2)), (2,1))"], "");
    assert_eq!(
        stdout(&places),
        "((2,1),(2,2)):((1@0,0),(2@0,1@1))\n\
         size 8  injective: yes\n\
         r\\c     0     1     2     3\n  \
           0 (0,0) (2,0) (0,1) (2,1)\n  \
           1 (1,0) (3,0) (1,1) (3,1)\n"
    );
    let swizzled = layout(&["slice(S<1,4,3> o 0 o (2,4):(128,16), (1,_))"], "");
    assert_eq!(
        stdout(&swizzled),
        "Sw<1,4,3> o 128 o (4):(16)\nsize 4  cosize 177  injective: yes\n      0   1   2   3\n  0 144 128 176 160\n"
    );
}

#[test]
fn functions_have_their_cute_names() {
    for (expression, expected) in [
        ("coalesce((2,(1,6)):(1,(6,2)))", "12:1"),
        ("composition((10,2):(16,4), (5,4):(1,5))", "(5,(2,2)):(16,(80,4))"),
        ("composition(S<3,4,3>, 16, (8,64):(128,2))", "Sw<3,4,3> o 16 o (8,64):(128,2)"),
        ("(10,2):(16,4) o (5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ("complement(4:2, 24)", "(2,3):(1,8)"),
        ("right_inverse((4,8):(8,1))", "(8,4):(4,1)"),
        ("left_inverse((4,2):(1,8))", "(8,2):(1,4)"),
        ("nullspace((4,2):(0,1))", "4:1"),
        (
            "zipped_divide((9,(4,8)):(59,(13,1)), (3:3, (2,4):(1,8)))",
            "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))",
        ),
        ("blocked_product((2,5):(5,1), (3,4):(1,3))", "((2,3),(5,4)):((5,10),(1,30))"),
        ("raked_product((2,5):(5,1), (3,4):(1,3))", "((3,2),(4,5)):((10,5),(30,1))"),
        ("tile_to_shape((2,2):(1,2), (4,4), (1,0))", "((2,2),(2,2)):((1,8),(2,4))"),
        ("make_layout((2,3))", "(2,3):(1,2)"),
        ("make_layout(4:1, (2,2):(8,4))", "(4,(2,2)):(1,(8,4))"),
        ("make_ordered_layout((2,3,4), (2,0,1))", "(2,3,4):(12,1,3)"),
        ("make_fragment_like(((2,2),7,4):((336,8),48,1))", "((2,2),7,4):((1,2),16,4)"),
        ("make_identity_layout((4,8))", "(4,8):(1@0,1@1)"),
        ("composition((4,8):(1@0,1@1), (2,_))", "(2,8):(1@0,1@1)"),
        ("recast_layout((4,3):(1,4), 32, 16)", "(8,3):(1,8)"),
        ("max_common_vector((4,8):(1,4), (4,8):(1,5))", "4"),
        ("max_alignment((4,8):(1,6))", "2"),
        ("domain_distribute((15,14), 6)", "(3,2):(1,15)"),
        ("slice_and_offset((4,8):(8,1), (_,3))", "(4):(8) at 3"),
        ("dice((4,8):(8,1), (_,3))", "(8):(1)"),
        ("crd2idx((4,(2,2)):(2,(1,8)), (1,(0,1)))", "10"),
        ("crd2idx((1,2), (4,8))", "9"),
        ("idx2crd(9, (4,(2,2)))", "(1,(0,1))"),
        ("crd2crd((1,2), (4,8), (2,16))", "(1,4)"),
        ("transpose((32,32):(1,33))", "(32,32):(33,1)"),
        ("offsets((2,3):(3,1))", "(0,3,1,4,2,5)"),
        (
            "tile_to_shape(S<3,3,3> o 0 o (8,64):(64,1), (16,64))",
            "Sw<3,3,3> o 0 o ((8,2),(64,1)):((64,512),(1,0))",
        ),
        ("logical_product(S<1,4,3> o 0 o 4:1, 2)", "Sw<1,4,3> o 0 o (4,2):(1,4)"),
        ("upcast(S<3,4,3> o 0 o (8,64):(128,2), 2)", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("cosize(S<1,4,3> o 128 o 4:16)", "177"),
        ("make_layout(2:0, identity((8,4)))", "(2,(8,4)):(0,(1@0,1@1))"),
        ("cosize(identity((8,4)))", "32"),
        ("(4,8):(E<0>,E<1>)", "(4,8):(1@0,1@1)"),
        ("zipped_divide((4,8), (2,4))", "((2,4),(2,2)):((1,4),(2,16))"),
        ("idx2crd(10, (4,8), (8,1))", "(1,2)"),
        ("warp_accesses((4,2):(2,1), 4, 2)", "((0,8,16,24))"),
        ("bank_conflicts((32,1):(32,0), 4)", "((32))"),
        ("coalescing((32,1):(2,0), 4)", "((8,2))"),
        ("size(group((2,3,4):(1,2,6), 1, 3), 1)", "12"),
        ("get(zipped_divide((_8,_16):(_16,_1), (4, 8)), 1)", "(2,2):(64,8)"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

/// Every listed function can be called by each of its names.
#[test]
fn listed_functions_exist() {
    let listed = layout(&["--functions"], "");
    let mut count = 0;
    for line in stdout(&listed).lines() {
        let first = line.split('(').next().expect("a name");
        for name in std::iter::once(first).chain(line.split("  also ").skip(1)) {
            assert!(error_of(&format!("{name}()")).contains(&format!("{name}: expected (")), "{line}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn errors_are_one_line_with_their_column() {
    for (expression, expected) in [
        ("foo(3)", "column 1: expected the name of a function, found `foo`; --functions lists them"),
        ("coalesce((2,3):(1,2)", "column 21: expected `,` or `)`, found the end"),
        ("coalesce((2,3):(1,x))", "column 20: expected `(` after `x`, found `)`"),
        ("size(4:1) size", "column 11: expected the end or `o`, found `size`"),
        (
            "S<4,4,3>",
            "column 2: expected |shift| ≥ bits and bits + base + |shift| ≤ 62, found swizzle<4,4,3>",
        ),
        ("(4,8):(1)", "column 1: mode (whole): expected a stride nested like shape (4,8), found (1)"),
        ("99999999999999999999:1", "column 1: expected an integer of 64 bits, found `99999999999999999999`"),
        (
            "upcast((4,8):(1,6), S<1,1,1>)",
            "column 21: upcast: argument 2: expected an integer, found a swizzle Sw<1,1,1>",
        ),
        (
            "coalesce(upcast((4,8):(1,6), 4))",
            "column 10: upcast of (4,8):(1,6) by 4: mode 1 (extent 8): stride 6 must divide 4 or be a multiple of it",
        ),
        (
            "offsets(4611686018427387904:1)",
            "column 9: offsets: argument 1: expected a layout of at most 4194304 elements, found a layout 4611686018427387904:1",
        ),
        ("1 o 2 o 3:1", "column 1: o: argument 1: expected a swizzle before the offset, found an integer 1"),
        ("size()", "column 1: size: expected (layout or shape[, mode]), found 0 arguments"),
    ] {
        assert_eq!(error_of(expression), format!("error: {expression:?}, {expected}"));
    }
    let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
    assert!(error_of(&deep).contains("at most 64 nested parentheses"));
}

#[test]
fn an_error_in_any_expression_writes_nothing() {
    let output = layout(&["(2,2)", "bad("], "");
    assert_eq!((stdout(&output), output.status.code()), ("", Some(2)));
}

#[cfg(unix)]
#[test]
fn the_reader_may_close_the_pipe() {
    for arguments in [["layout", "--table", "(512,512)"], ["draw", "layout", "(32,32):(1,32)"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_warpwright"))
            .args(arguments)
            .stdout(writer)
            .status()
            .expect("it starts");
        assert!(status.success(), "{arguments:?}: {status}");
    }
}

#[test]
fn lines_are_evaluated_in_order() {
    let output = layout(&["--no-table"], "size((2,3))\n\ncoalesce(\n(2,2):(1,3) o 4:1\n");
    assert_eq!(stdout(&output), "6\n(2,2):(1,3)\nsize 4  cosize 5  injective: yes\n");
    let expected =
        "error: line 3, column 10: expected a number, a tuple, a layout or a function, found the end\n";
    assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected));
}

fn answers(lines: &str) -> Vec<Value> {
    let output = layout(&["--jsonl"], lines);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// CuTe's results, through the command line. The library's own test covers results that are not compared literally.
#[test]
fn oracle_cases_have_results() {
    let cases = include_str!("../../../tests/data/layout/algebra.jsonl");
    let answers = answers(cases);
    let mut compared = 0;
    for (case, answer) in cases.lines().zip(&answers) {
        let case: Value = serde_json::from_str(case).expect("a case");
        assert_eq!(case["id"], answer["id"]);
        if case["compare"] == "literal" {
            assert_eq!(answer["result"], case["expect"], "{case}");
            compared += 1;
        }
    }
    assert_eq!((answers.len(), compared), (cases.lines().count(), 2927));
}

#[test]
fn oracle_traps_are_errors() {
    let traps = include_str!("../../../tests/data/layout/traps.jsonl");
    let answers = answers(traps);
    assert_eq!(answers.len(), 24);
    assert!(answers.iter().all(|answer| answer["error"].is_string() && answer.get("result").is_none()));
}

#[test]
fn invalid_lines_of_json_are_errors() {
    let answers = answers(
        "{\"id\":1\n{\"id\":2,\"op\":\"foo\",\"in\":[]}\n{\"id\":3,\"op\":\"coalesce\",\"in\":[true]}\n\
         {\"id\":\"x\",\"op\":\"size\",\"in\":[4]}\n\
         {\"id\":5,\"op\":\"zipped_divide\",\"in\":[{\"shape\":[4,8],\"stride\":[\"1@0\",\"E<1>\"]},[2,4]]}\n",
    );
    let places = serde_json::json!({"shape": [[2, 4], [2, 2]], "stride": [["1@0", "1@1"], ["2@0", "4@1"]]});
    assert_eq!(answers[4]["result"], places);
    assert_eq!(answers[0]["id"], Value::Null);
    assert!(answers[0]["error"].as_str().expect("an error").starts_with("expected JSON: "));
    assert_eq!(answers[1]["error"], "expected the name of a function, found \"foo\"");
    assert!(answers[2]["error"].as_str().expect("an error").ends_with("found true"));
    assert_eq!((&answers[3]["id"], &answers[3]["result"]), (&"x".into(), &4.into()));
}
