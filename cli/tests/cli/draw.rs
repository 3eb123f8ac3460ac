//! `warpwright draw`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;

fn draw(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpwright")).arg("draw").args(args).output().expect("the command runs")
}

/// Returns the path of a file that no other test writes.
fn place(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("draw");
    fs::create_dir_all(&folder).expect("a folder for tests");
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn text_is_printed() {
    let output = draw(&["layout", "((2,2),(2,1)):((4,1),(2,0))", "--tile", "2x4", "--thread", "2"]);
    let expected = "\
((2,2),(2,1)):((4,1),(2,0))
      0     1     2     3
0     ·     ·     ·     ·
1  T2V0  T2V1     ·     ·
";
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let found = String::from_utf8(output.stdout).expect("text");
    let found: Vec<String> =
        found.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected: Vec<String> =
        expected.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(found, expected);
}

#[test]
fn files_have_the_form_of_their_ending() {
    let paths = ["a.svg", "a.png", "a.typ", "a.txt"].map(place);
    let mut args = vec!["layout", "S<3,4,3> o 0 o (8,8):(128,16)"];
    for path in &paths {
        args.extend(["-o", path.to_str().expect("a path in Unicode")]);
    }
    let output = draw(&args);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let [svg, png, typst, text] = paths.map(|path| fs::read(path).expect("a file was written"));
    assert!(svg.starts_with(b"<svg") && png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(typst.starts_with(b"#set page") && text.starts_with("Sw<3,4,3> o 0 o (8,8):(128,16)".as_bytes()));
}

/// Returns the width and height in a PNG's header.
fn size(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
fn a_png_is_scaled_and_dark_on_request() {
    let paths = ["light.png", "dark.png", "large.png"].map(place);
    let names = paths.each_ref().map(|path| path.to_str().expect("a path in Unicode"));
    for (name, more) in names.iter().zip([&[][..], &["--dark"], &["--scale", "3"]]) {
        let mut args = vec!["banks", "(32,1):(2,0)", "-o", name];
        args.extend(more);
        assert_eq!(draw(&args).status.code(), Some(0));
    }
    let [light, dark, large] = paths.map(|path| fs::read(path).expect("a file was written"));
    let (width, height) = size(&light);
    assert_eq!((size(&dark), size(&large)), ((width, height), (3 * width, 3 * height)));
    assert_ne!(light, dark);
}

/// Returns the printed words, without the spaces that align them.
fn words(args: &[&str]) -> Vec<String> {
    let output = draw(args);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), ""),
        "{args:?}"
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn atoms_and_tiles_of_them_are_drawn() {
    let mma = words(&["mma", "SM80_16x8x8_F32F16F16F32_TN", "--thread", "5"]);
    assert_eq!(
        mma[..5],
        [
            "SM80_16x8x8_F32F16F16F32_TN: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
            "B: f16",
            r"k\n 0 1 2 3 4 5 6 7",
            "0 · · · · · · · ·",
            "1 · · · · · · · ·",
        ]
    );
    assert!(mma.iter().any(|line| line == "9 · · T5V2 T5V3 · · · ·"));
    let tiled = ["--atoms", "(2,2,1):(2,1,1)", "--permutation", "(32,32,8)"];
    let tiled = words(&[&["mma", "SM80_16x8x8_F32TF32TF32F32_TN"][..], &tiled].concat());
    assert_eq!(tiled[0], "SM80_16x8x8_F32TF32TF32F32_TN, tile 32×32×8, 128 threads");

    let copy = words(&[
        "copy",
        "UniversalCopy<u64>",
        "--bits",
        "64",
        "--threads",
        "(2,3):(3,1)",
        "--values",
        "(2,3):(1,2)",
    ]);
    assert_eq!(copy[0], "UniversalCopy<u64>, tile (4,9), 6 threads: ((3,2),(2,3)):((12,2),(1,4))");
    assert_eq!(copy[3], "0 T0V0 T0V2 T0V4 T1V0 T1V2 T1V4 T2V0 T2V2 T2V4");
    let matrices = words(&["copy", "SM75_U32x4_LDSM_N", "--warp", "0"]);
    assert_eq!(matrices[3], "0 T0V0 T0V1 T0V2 T0V3 T0V4 T0V5 T0V6 T0V7");
}

#[test]
fn unknown_atoms_are_named() {
    for (command, atom) in [("mma", "an mma"), ("copy", "a copy")] {
        let output = draw(&[command, "SM75_U32x4_LDSM"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1));
        let expected = format!("error: expected the name of {atom} atom, found `SM75_U32x4_LDSM`");
        assert!(stderr.starts_with(&expected), "{stderr}");
    }
}

#[test]
fn errors_are_one_line_and_write_nothing() {
    let path = place("none.svg");
    let file = path.to_str().expect("a path in Unicode");
    for (args, expected) in [
        (vec!["layout", "size(4)", "-o", file], "size(4): expected a layout, found 4"),
        (
            vec!["layout", "(4,2):(1", "-o", file],
            "\"(4,2):(1\", column 9: expected `,` or `)`, found the end",
        ),
        (
            vec!["layout", "(4,2):(1,4)", "--thread", "3", "-o", file],
            "(4,2):(1,4): --thread and --warp: expected --tile, which gives the size of the tile",
        ),
        (
            vec!["layout", "(4,3):(1,4)", "--tile", "4x2", "-o", file],
            "(4,3):(1,4): thread 0, value 2: expected an offset within 4×2, found 8",
        ),
        (vec!["swizzle", "4", "-o", file], "4: expected a swizzle S<bits,base,shift>, found 4"),
        (
            vec!["banks", "(32,2):(1,64)", "--vector", "2", "-o", file],
            "(32,2):(1,64): thread 0, value 1: expected byte 4, contiguous with the previous value, found 256",
        ),
        (
            vec!["layout", "4:1", "-o", file, "-o", "a.gif"],
            "a.gif: expected a file that ends in .svg, .png, .typ or .txt",
        ),
    ] {
        let output = draw(&args);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), stdout.as_ref()), (Some(2), ""), "{args:?}");
        assert_eq!(stderr, format!("error: {expected}\n"));
        assert!(!path.exists());
    }
}

#[test]
fn tiles_and_vectors_are_drawn() {
    let tile = words(&["tile", "Rt<bf16,1,1,Col>", "--thread", "5"]);
    assert_eq!(tile[0], "Rt<bf16, 1, 1, Col>: ((4,8),((2,2,2),1,1)):((2,16),((1,128,8),256,16))");
    // Lane 4·1 + 1: columns 1 and 9, rows 2 and 3, 10 and 11.
    assert_eq!(tile[4], "2 · T5V0 · · · · · · · T5V2 · · · · · ·");
    assert_eq!(tile[13], "11 · T5V5 · · · · · · · T5V7 · · · · · ·");
    assert_eq!(tile.last().unwrap(), "4 registers per lane, 2 values in each: T is the lane, V its value");

    for (alias, name) in [("rt_fl_1x2", "Rt<f32, 1, 2, Row>"), ("RtBf16_1x1<Col>", "Rt<bf16, 1, 1, Col>")] {
        assert_eq!(words(&["tile", alias]), words(&["tile", name]));
    }

    let owners = words(&["tile", " ColVec < f32 , 1 > ", "--thread", "4"]);
    assert_eq!(owners[0], "ColVec<f32, 1, Row>: ((4,8),2):((0,1),8)");
    assert_eq!((owners[3].as_str(), owners[11].as_str()), ("1 T4V0+3", "9 T4V1+3"));
    let row = words(&["tile", "RowVec<bf16, 1, Row>", "--thread", "1"]);
    assert_eq!(row[2], "0 · · T1V0+7 T1V1+7 · · · · · · T1V2+7 T1V3+7 · · · ·");
    // The same registers: the columns of one layout are the rows of the other.
    let column = words(&["tile", "ColVec<bf16, 1, Col>"]);
    let aligned = words(&["tile", "Rv<bf16, 1, Aligned>"]);
    assert_eq!(column[1..], aligned[1..]);
    // The sums of the columns of an 8-bit tile, and those of its rows, of which two fill half a register of bytes.
    let columns = words(&["tile", "RowVec<f32, 1, Row, Length32>", "--thread", "1"]);
    assert_eq!(columns[0], "RowVec<f32, 1, Row, Length32>: ((4,8),(4,2,1,1)):((4,0),(1,16,32,1))");
    let rows = words(&["tile", "ColVec<e4m3, 1, Row, Length32>"]);
    assert_eq!(rows.last().unwrap(), "1 registers per lane, 4 values in each: T is the lane, V its value");

    let shared = words(&["tile", "St<bf16, 1, 4>"]);
    assert_eq!(shared[0], "St<bf16, 1, 4, Auto>: Sw<3,4,3> o 0 o (16,(64,1)):(128,(2,2048))");
    assert!(shared[3].starts_with("1 144 146 148 150 152 154 156 158 128 130 "), "{}", shared[3]);
    assert_eq!(shared.last().unwrap(), "offsets in bytes, 2048 in total; the bank is offset / 4 mod 32");
    // 16 rows of 128 bytes, and 32 of padding.
    let padded = words(&["tile", "St<f32, 1, 2, Padded>"]);
    assert_eq!(padded.last().unwrap(), "offsets in bytes, 2560 in total; the bank is offset / 4 mod 32");
    let vector = words(&["tile", "Sv<f64, 1>"]);
    assert_eq!(vector[2], "0 0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120");
}

#[test]
fn a_tile_has_the_form_of_the_files_ending() {
    let paths = ["tile.svg", "tile.png", "tile.typ"].map(place);
    let mut args = vec!["tile", "Rt<e4m3, 1, 1>"];
    for path in &paths {
        args.extend(["-o", path.to_str().expect("a path in Unicode")]);
    }
    let output = draw(&args);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let [svg, png, typst] = paths.map(|path| fs::read(path).expect("a file was written"));
    assert!(
        svg.starts_with(b"<svg") && png.starts_with(b"\x89PNG\r\n\x1a\n") && typst.starts_with(b"#set page")
    );
    let svg = String::from_utf8(svg).expect("text");
    assert!(
        svg.contains("Rt&lt;e4m3, 1, 1, Row&gt;") && svg.lines().any(|line| line == "V15"),
        "title and last element"
    );
}

#[test]
fn errors_in_types_are_located() {
    for (text, expected) in [
        ("Rt<bf16,1,1,Cool>", "\"Rt<bf16,1,1,Cool>\", column 13: expected a layout (Row, Col), found `Cool`"),
        ("Rt<bf16,1>", "\"Rt<bf16,1>\", column 10: expected `,`, found `>`"),
        ("Rt<bf16,1,0>", "\"Rt<bf16,1,0>\", column 11: expected the width in subtiles, 1 to 256, found `0`"),
        (
            "Rt<bf16,99999999999,1>",
            "column 9: expected the height in subtiles, 1 to 256, found `99999999999`",
        ),
        (
            "Rt<i4,1,1>",
            "column 4: expected an element type (bf16, f16, f32, tf32, f64, e4m3, e5m2, i8, u8, i32, u32, i64, u64), found `i4`",
        ),
        ("Rt<bf16,1,1,Row", "column 16: expected `>`, found the end"),
        ("Rt<bf16,1,1> x", "column 14: expected the end, found `x`"),
        (
            "Tt<bf16,1,1>",
            "column 1: expected a type of tiles or vectors (Rt, Rv, ColVec, RowVec, St, Sv), found `Tt`",
        ),
        ("Rv<u8,3,Aligned<Length8>>", "column 17: expected a length (Length16, Length32), found `Length8`"),
        ("Rv<u8,3,Orthogonal<Length32>>", "column 19: expected `>`, found `<`"),
        (
            "ColVec<e4m3,1,Row,16>",
            "column 19: expected a length of subtiles (Length16, Length32), found `16`",
        ),
        ("Rv<f32,1,Row>", "column 10: expected a layout (Orthogonal, Aligned, Naive), found `Row`"),
        (
            "St<bf16,4,3,Swizzle128>",
            "column 12: expected a swizzle of a divisor of the 96 bytes of a row, found 128 bytes",
        ),
        (
            "St<bf16,4,5,Swizzle64>",
            "column 12: expected a swizzle of a divisor of the 160 bytes of a row, found 64 bytes",
        ),
        ("Sv<f32,2,Plain>", "column 9: expected `>`, found `,`"),
        ("Rt<bf16,1,é>", "column 11: expected the width in subtiles, 1 to 256, found `é`"),
        ("", "column 1: expected a type of tiles or vectors (Rt, Rv, ColVec, RowVec, St, Sv), found the end"),
    ] {
        let output = draw(&["tile", text]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), stderr.lines().count(), output.stdout.len()),
            (Some(2), 1, 0),
            "{text}"
        );
        assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{text}: {stderr}");
    }
    let output = draw(&["tile", "St<bf16, 1, 1>", "--thread", "3"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("--thread and --warp: expected a tile or vector in registers"), "{stderr}");
}

#[test]
fn schedules_show_their_rounds() {
    let output = draw(&["schedule", "4x3", "--group", "2", "--blocks", "4"]);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<String> =
        text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "4×3 tiles in groups of 2 rows, column by column");
    let rows = ["0 0 2 4", "1 1 3 5", "2 6 8 10", "3 7 9 11"];
    assert!(rows.iter().all(|row| lines.iter().any(|line| line == row)), "{text}");
    let note = "4 resident blocks: at most 4 tiles of A and 2 of B at each step, for 4 tiles";
    assert!(lines.iter().any(|line| line == note), "{text}");
}

#[test]
fn clusters_may_be_larger_than_the_result() {
    let with = |cluster| draw(&["schedule", "4x3", "--cluster", cluster]);
    let (fits, large) = (with("4x3"), with("4294967295x4294967295"));
    assert_eq!((fits.status.code(), large.status.code()), (Some(0), Some(0)));
    assert_eq!(fits.stdout.len(), large.stdout.len());
}
