//! `warpwright sim`.

use pretty_assertions::assert_eq;

use super::case::{Case, json};
use super::command::{Run, corpus, files, scratch, warpwright};

fn corpus_run(name: &str, out: &str, more: &[&str]) -> (Run, std::path::PathBuf) {
    let (folder, to) = (corpus(name).display().to_string(), scratch(out).join("out"));
    (warpwright(["sim", &folder, "--out", &to.display().to_string()].iter().chain(more)), to)
}

const OUT: &str =
    r#"{"kind": "buffer", "name": "out", "dtype": "u32", "shape": [32], "out": true, "init": "zeros"}"#;

/// Stores `%r1` of every thread into `out`.
const STORE: &str = ".reg .b32 %r<8>; .reg .b64 %rd<8>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %rd0, [out];
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd0, %rd1;";

#[test]
fn a_clean_run_writes_outputs_and_prints_nothing() {
    let (run, out) = corpus_run("misaligned_vector_fixed", "clean", &[]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
    assert_eq!(files(&out), ["out.npy"]);
}

#[test]
fn outputs_are_those_of_the_device() {
    for (case, name) in [("collatz", "peak"), ("shuffles", "out"), ("const_and_globals", "launches")] {
        let (run, out) = corpus_run(case, &format!("device_{case}"), &["--seed", "7"]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{case}");
        let expected = corpus(case).join(format!("expect_{name}.npy"));
        let got = std::fs::read(out.join(format!("{name}.npy"))).expect("written");
        // The headers differ in padding; the elements are at the end.
        let expected = std::fs::read(expected).expect("expected");
        let elements = expected.len() - 128;
        assert_eq!(got[got.len() - elements..], expected[128..], "{case}");
    }
}

#[test]
fn a_finding_names_kind_line_and_both_sides() {
    let (run, _) = corpus_run("uninit_shared_bug", "finding", &[]);
    assert_eq!(run.code, 1);
    assert!(
        run.err.starts_with("error[uninitialized_shared_read]: uninitialized shared memory"),
        "{}",
        run.err
    );
    assert!(run.err.contains("--> kernel.ptx:54:2"), "{}", run.err);
    assert!(
        run.err.contains("^^^^^^^^^^^^^ kernel padded_sum, block (0, 0, 0), thread (24, 0, 0)"),
        "{}",
        run.err
    );
    let body = format!(
        "{STORE}\n.shared .b32 s[32];\nshl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
        st.shared.u32 [%r3], %r0;\nxor.b32 %r4, %r2, 124; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;
        ld.shared.u32 %r1, [%r5];\nst.global.u32 [%rd1], %r1; ret;"
    );
    let race = Case::new("race", &json(OUT, ""), ".param .u64 out", &body).run(&[]);
    assert_eq!(race.code, 1);
    assert!(race.err.contains("error[shared_race]"), "{}", race.err);
    assert!(race.err.contains("note: the other side"), "{}", race.err);
    let unchecked = Case::new("race_unchecked", &json(OUT, ""), ".param .u64 out", &body);
    assert_eq!(unchecked.run(&["--check", "none"]).code, 0);
    assert_eq!(unchecked.run(&["--check", "uninitialized_shared,barriers"]).code, 0);
    for name in ["shared_races", "shared_race", "deadlock,shared-race"] {
        assert_eq!(unchecked.run(&["--check", name]).code, 1, "{name}");
    }
}

#[test]
fn scalars_and_structures_are_passed_as_their_bytes() {
    let args = format!(
        r#"{OUT}, {{"kind": "scalar", "dtype": "f32", "value": 0.5}},
        {{"kind": "scalar", "dtype": "s16", "value": -2}}, {{"kind": "scalar", "dtype": "f32", "value": "-inf"}},
        {{"kind": "struct", "size": 16, "align": 8, "fields": [
            {{"offset": 0, "kind": "address", "of": "hidden"}},
            {{"offset": 8, "kind": "scalar", "dtype": "u8", "value": 200}}]}}"#
    );
    let more = r#", "extra_buffers": [{"kind": "buffer", "name": "hidden", "dtype": "u32", "shape": [1, 1],
        "out": false, "init": "file", "file": "in_hidden.npy"}]"#;
    let body = format!(
        "{STORE}\n.reg .b16 %h<2>; .reg .b64 %p;
        ld.param.u32 %r1, [half]; st.global.u32 [%rd0], %r1;
        ld.param.s16 %r1, [minus]; st.global.u32 [%rd0+4], %r1;
        ld.param.u32 %r1, [infinity]; st.global.u32 [%rd0+8], %r1;
        ld.param.u64 %p, [all]; ld.global.u32 %r1, [%p]; st.global.u32 [%rd0+12], %r1;
        ld.param.u32 %r1, [all+8]; st.global.u32 [%rd0+16], %r1; ret;"
    );
    let params = ".param .u64 out, .param .f32 half, .param .s16 minus, .param .f32 infinity, .param .align 8 .b8 all[16]";
    let one_thread = json(&args, more).replace("[32, 1, 1]", "[1, 1, 1]");
    let case = Case::new("arguments", &one_thread, params, &body).with("in_hidden.npy", &[1, 1], &[77]);
    let run = case.run(&[]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let (shape, words) = case.output("out.npy");
    assert_eq!((shape, words.len()), (vec![32], 32));
    assert_eq!(words[..5], [0x3f00_0000, 0xffff_fffe, 0xff80_0000, 77, 200]);
}

#[test]
fn variables_of_the_module_are_written_and_read() {
    let more = r#", "globals": [{"name": "counter", "dtype": "u32", "shape": [1], "file": "counter.npy", "out": true}]"#;
    let body = ".reg .b32 %r; atom.global.add.u32 %r, [counter], 1; ret;";
    let case = Case::new("globals", &json("", more), "", body).with("counter.npy", &[1], &[100]);
    let run = case.run(&[]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(case.output("counter.npy").1, [132]);
}

#[test]
fn files_have_the_type_of_the_case() {
    let more = r#", "globals": [{"name": "counter", "dtype": "f32", "shape": [1], "file": "counter.npy", "out": true}]"#;
    let body = ".reg .b32 %r; atom.global.add.u32 %r, [counter], 1; ret;";
    let case = Case::new("types_of_files", &json("", more), "", body).with("counter.npy", &[1], &[100]);
    let run = case.run(&[]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("expected little-endian elements of f32, found '<u4'"), "{}", run.err);
}

/// A 4 × 8 box at (4, 2) of a 32 × 16 tensor is copied to shared memory by one copy.
#[test]
fn tensor_maps_are_encoded() {
    let map = r#"{"kind": "tensormap", "of": "in", "dtype": "u32", "dims": [16, 32], "strides_bytes": [64], "box": [8, 4],
        "element_strides": [1, 1], "interleave": "none", "swizzle": "CU_TENSOR_MAP_SWIZZLE_NONE", "l2_promotion": "none",
        "oob_fill": "none"}"#;
    let more = r#", "extra_buffers": [{"kind": "buffer", "name": "in", "dtype": "u32", "shape": [32, 16], "out": false,
        "init": "file"}]"#;
    let body = format!(
        "{STORE}\n.shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar; .reg .pred %p<3>; .reg .b64 %map;
        setp.ne.u32 %p0, %r0, 0; mov.b64 %map, tensor; cvta.param.u64 %map, %map; mov.u32 %r2, tile; mov.u32 %r3, bar;
        mov.u32 %r4, 4; mov.u32 %r5, 2;
        @%p0 bra WAIT;
        mbarrier.init.shared.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%map, {{%r4, %r5}}], [%r3];
        WAIT: bar.sync 0;
        AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0;
        @!%p1 bra AGAIN;
        shl.b32 %r6, %r0, 2; add.u32 %r6, %r6, %r2; ld.shared.u32 %r1, [%r6];
        st.global.u32 [%rd1], %r1; ret;"
    );
    let params = ".param .u64 out, .param .align 64 .b8 tensor[128]";
    let words: Vec<u32> = (0..512).collect();
    let case = Case::new("tensor_map", &json(&format!("{OUT}, {map}"), more), params, &body).with(
        "in_in.npy",
        &[32, 16],
        &words,
    );
    let run = case.run(&[]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let expected: Vec<u32> = (0..32).map(|i| (2 + i / 8) * 16 + 4 + i % 8).collect();
    assert_eq!(case.output("out.npy").1, expected);
    let unknown = std::fs::read_to_string(case.folder.join("case.json"))
        .expect("read")
        .replace("SWIZZLE_NONE", "WOBBLE");
    std::fs::write(case.folder.join("case.json"), unknown).expect("written");
    let run = case.run(&[]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("tensor map of `in`: expected `swizzle` none, 32B, 64B or 128B, found"),
        "{}",
        run.err
    );
}

#[test]
fn reports_have_consistent_counts() {
    let (run, _) = corpus_run("mma_f16_exact", "report", &["--report", "json"]);
    assert_eq!(run.code, 0);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0));
    let counts = &report["counts"];
    let lines = report["lines"].as_array().expect("lines");
    let sum: u64 = lines.iter().filter_map(|line| line["counts"]["thread_instructions"].as_u64()).sum();
    assert_eq!(counts["thread_instructions"].as_u64(), Some(sum));
    let tensor: u64 = lines
        .iter()
        .filter(|line| line["class"] == "tensor")
        .filter_map(|line| line["counts"]["warp_instructions"].as_u64())
        .sum();
    assert!(tensor > 0);
    assert_eq!(report["classes"]["tensor"].as_u64(), Some(tensor));
    assert!(lines.iter().any(|line| line["opcode"] == "mma" && line["qualifiers"] != ""));
    let (run, _) = corpus_run("mma_f16_exact", "table", &["--report", "table"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("kernel mma_m16n8k16_ldmatrix,"), "{}", run.out);
    assert!(counts["tensor_flops"].as_u64().is_some_and(|flops| flops > 0));
    assert!(run.out.contains(&format!("tensor cores  {} flop", counts["tensor_flops"])), "{}", run.out);
    // The hottest line is first.
    let hottest = lines.iter().filter_map(|line| line["counts"]["warp_instructions"].as_u64()).max();
    let mut rows = run.out.lines().skip_while(|line| !line.trim_start().starts_with("line"));
    let first = rows.nth(1).and_then(|row| row.split_whitespace().nth(1)).and_then(|n| n.parse().ok());
    assert_eq!(first, hottest, "{}", run.out);
}

/// `missing_proxy_fence` is a finding; fences in the kernel's text are not.
#[test]
fn reports_of_a_clean_run_contain_no_names_of_findings() {
    let body = format!("{STORE}\nfence.proxy.async;\nst.global.u32 [%rd1], %r0; ret;");
    let case = Case::new("fenced", &json(OUT, ""), ".param .u64 out", &body);
    for form in ["table", "json"] {
        let run = case.run(&["--report", form]);
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        assert!(run.out.contains("proxy.async") && !run.out.contains("fence.proxy"), "{}", run.out);
    }
}

#[test]
fn findings_are_printed_even_if_outputs_cannot_be_written() {
    let body =
        format!("{STORE}\n.shared .b32 s[1]; ld.shared.u32 %r1, [s];\nst.global.u32 [%rd1], %r1; ret;");
    let case = Case::new("unwritable", &json(OUT, ""), ".param .u64 out", &body);
    // A folder cannot be created inside a file.
    let out = case.folder.join("kernel.ptx").join("out").display().to_string();
    let run = warpwright(["sim", &case.folder.display().to_string(), "--out", &out]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("error[uninitialized_shared_read]"), "{}", run.err);
    assert!(run.err.lines().last().is_some_and(|line| line.starts_with("error: ")), "{}", run.err);
}

#[test]
fn a_trace_shows_instructions_and_registers() {
    let body = format!("{STORE}\nmul.lo.u32 %r1, %r0, 3;\nst.global.u32 [%rd1], %r1; ret;");
    let case = Case::new("trace", &json(OUT, ""), ".param .u64 out", &body);
    let run = case.run(&["--trace", "12"]);
    assert_eq!(run.code, 0);
    assert!(
        run.err.starts_with("block (0, 0, 0), warp 0, lanes 0xffffffff, line 12: mul.lo.u32 %r1, %r0, 3;\n    %r1 = 0x0 0x3 0x6 "),
        "{}",
        run.err
    );
    assert_eq!(run.err.lines().count(), 3);
    let all = case.run(&["--trace", "warp:0"]);
    assert_eq!(all.err.lines().filter(|line| line.starts_with("block")).count(), 7, "{}", all.err);
    assert_eq!(case.run(&["--trace", "warp:1"]).err, "the trace is empty: warp 1 executed no instructions\n");
    assert_eq!(case.run(&["--trace", "99"]).err, "the trace is empty: line 99 of the PTX was not executed\n");
    assert_eq!(case.run(&["--trace", "block:1"]).code, 2);
}

#[test]
fn bad_input_is_refused_in_one_line_and_nothing_is_written() {
    let refused = |name: &str, json: &str, body: &str, message: &str| {
        let case = Case::new(name, json, ".param .u64 out", body);
        let run = case.run(&[]);
        assert_eq!(run.code, 2, "{name}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{name}: {}", run.err);
        assert!(run.err.starts_with("error: ") && run.err.contains(message), "{name}: {}", run.err);
        assert_eq!((run.out.as_str(), case.out().exists()), ("", false), "{name}");
    };
    refused("no_json", "{", "ret;", "case.json: EOF while parsing");
    refused(
        "no_entry",
        &json(OUT, "").replace("\"k\"", "\"q\""),
        "ret;",
        "the module has no kernel `q`; it has `k`",
    );
    refused("too_few", &json("", ""), "ret;", "kernel `k`: expected 1 arguments, found 0");
    refused("no_file", &json(&OUT.replace("zeros", "file"), ""), "ret;", "in_out.npy: ");
    refused(
        "bad_ptx",
        &json(OUT, ""),
        "frobnicate.u32 %r1;",
        "kernel.ptx:7:1: unknown instruction `frobnicate.u32`",
    );
    refused(
        "huge",
        &json(&OUT.replace("[32]", "[4294967296, 4294967296]"), ""),
        "ret;",
        "expected at most 8589934592 bytes",
    );
    refused(
        "path",
        &json(&OUT.replace("\"out\", \"dtype", "\"../out\", \"dtype"), ""),
        "ret;",
        "expected a valid file name for an output",
    );
    refused("block", &json(OUT, "").replace("[32, 1, 1]", "[2048, 1, 1]"), "ret;", "1024 in all");
    refused(
        "grid",
        &json(OUT, "").replace("[1, 1, 1]", "[2147483647, 65535, 65535]"),
        "ret;",
        "runs at most",
    );
    refused(
        "mistyped_key",
        &json(OUT, "").replace("dynamic_shared_bytes", "dynamic_shared_byte"),
        "ret;",
        "unknown key `dynamic_shared_byte`; a case has",
    );
    refused(
        "mistyped_inner_key",
        &json(&OUT.replace("\"shape\"", "\"shapes\""), ""),
        "ret;",
        "unknown field `shapes`",
    );
    let float = json(r#"{"kind": "scalar", "dtype": "f64", "value": 256}"#, "");
    refused("float", &float, "ret;", "argument 0: `out` is a u64, found f64");
    let overflow = json(r#"{"kind": "scalar", "dtype": "u8", "value": 256}"#, "");
    refused("overflow", &overflow, "ret;", "argument 0: expected an integer of 8 bits, found 256");
    let run = warpwright(["sim", "no-such-folder", "--out", "nowhere"]);
    assert_eq!((run.code, run.err.lines().count()), (2, 1), "{}", run.err);
    let run = warpwright(["sim", "x", "--out", "y", "--check", "everything"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("expected `all`, `none` or a list of"), "{}", run.err);
}

#[test]
fn arrays_of_another_shape_or_type_are_refused() {
    let input =
        r#"{"kind": "buffer", "name": "out", "dtype": "u32", "shape": [4], "out": true, "init": "file"}"#;
    let case = |name: &str, shape: &[u64], words: &[u32]| {
        Case::new(name, &json(input, ""), ".param .u64 out", "ret;").with("in_out.npy", shape, words).run(&[])
    };
    assert_eq!(case("right_shape", &[4], &[1, 2, 3, 4]).code, 0);
    let run = case("wrong_shape", &[2, 2], &[1, 2, 3, 4]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("expected the shape [4], found [2, 2]"), "{}", run.err);
}

#[test]
fn help_names_every_option() {
    let run = warpwright(["sim", "--help"]);
    assert_eq!(run.code, 0);
    for option in [
        "--out <DIR>",
        "--check <LIST>",
        "--arch <ARCH>",
        "--report <FORM>",
        "--seed <N>",
        "--steps <N>",
        "--contract <",
        "--heap <",
        "--trace <LINE|WARP>",
        "shared_races",
    ] {
        assert!(run.out.contains(option), "{option} in\n{}", run.out);
    }
}

#[test]
fn members_of_a_family_are_architectures() {
    for arch in ["sm_86", "sm_87", "sm_90a", "sm_103", "sm_100a", "sm_120a"] {
        let (run, _) = corpus_run("misaligned_vector_fixed", &format!("arch_{arch}"), &["--arch", arch]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arch}");
    }
}

#[test]
fn a_run_stops_at_the_step_limit() {
    let body = format!("{STORE}\nL: add.u32 %r1, %r1, 1; bra L;");
    let run = Case::new("steps", &json(OUT, ""), ".param .u64 out", &body).run(&["--steps", "5000"]);
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("error[step_limit]: step limit: a block executed more than 5000"),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("note: block (0, 0, 0), warp 0, lanes 0xffffffff is at kernel.ptx"),
        "{}",
        run.err
    );
}

/// (1 + 2⁻¹²)² is not a number of 24 bits: contracted, the square minus the rounded square is 2⁻²⁴.
#[test]
fn contraction_is_an_option() {
    let body = format!(
        "{STORE}\n.reg .f32 %f<4>; add.u32 %r2, %r0, 0x3f800800; mov.b32 %f0, %r2;
        mul.rn.f32 %f1, %f0, %f0; mul.f32 %f2, %f0, %f0; sub.f32 %f3, %f2, %f1;
        mov.b32 %r1, %f3; st.global.u32 [%rd1], %r1; ret;"
    );
    let case = Case::new("contract", &json(OUT, ""), ".param .u64 out", &body);
    for (options, fused) in
        [(&[][..], true), (&["--contract", "ptxas"], true), (&["--contract", "never"], false)]
    {
        let run = case.run(&[options, &["--report", "json"]].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{options:?}");
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(report["contractions"].as_array().map(Vec::len), Some(usize::from(fused)), "{options:?}");
        assert_eq!(case.output("out.npy").1[0], if fused { 0x3380_0000 } else { 0 }, "{options:?}");
    }
}

#[test]
fn the_heap_has_the_requested_size() {
    let body = format!(
        "{STORE}\n.reg .pred %p; setp.ne.u32 %p, %r0, 0; @%p ret;
        {{ .param .b64 n; .param .b64 q; mov.u64 %rd2, 5000; st.param.b64 [n], %rd2;
        call.uni (q), malloc, (n); ld.param.b64 %rd3, [q]; }}
        setp.ne.u64 %p, %rd3, 0; selp.u32 %r1, 1, 0, %p; st.global.u32 [%rd1], %r1; ret;"
    );
    let case = Case::new("heap", &json(OUT, ""), ".param .u64 out", &body)
        .declares(".extern .func (.param .b64 r) malloc(.param .b64 n);");
    for (bytes, allocated) in [("4096", 0), ("8192", 1)] {
        let run = case.run(&["--heap", bytes]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{bytes}");
        assert_eq!(case.output("out.npy").1[0], allocated, "{bytes}");
    }
}

#[test]
fn notes_are_printed_and_do_not_fail() {
    let body = format!(
        "{STORE}\n.reg .pred %p; setp.lt.u32 %p, %r0, 16; @%p ret;
        bar.sync 0; mov.u32 %r1, 5; st.global.u32 [%rd1], %r1; ret;"
    );
    let case = Case::new("note", &json(OUT, ""), ".param .u64 out", &body);
    let run = case.run(&["--report", "json"]);
    assert_eq!(run.code, 0);
    assert!(run.err.starts_with("note[exited_before_barrier]: exited before a barrier"), "{}", run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["notes"][0]["kind"], "exited_before_barrier");
    assert_eq!((report["findings"].as_array().map(Vec::len), case.output("out.npy").1[31]), (Some(0), 5));
}
