//! `warpwright export`.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::command::{files, scratch, warpwright};

/// The exported files of this repository come from the same kernels.
#[test]
fn files_are_those_of_the_repository() {
    let folder = scratch("exported");
    let out = folder.to_str().expect("a plain name");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx");
    for (arguments, name) in [
        (&["copy", "--target", "sm_80"][..], "copy"),
        (&["matmul", "--type", "bf16,f16", "--divisor", "1,8"], "matmul"),
        (&["transpose", "--target", "sm_80", "--divisor", "1", "--divisor", "4"], "transpose"),
        (&["attention", "--target", "sm_90a", "--head-size", "128"], "attention"),
        (&["attention_cached", "--head-size", "128"], "attention_cached"),
        (&["cross_entropy", "--divisor", "8"], "cross_entropy"),
        (&["gemm", "--target", "sm_90a", "--layout", "nn,nt"], "gemm"),
        (&["gemm", "--target", "sm_90a", "--dtype", "e4m3", "--files", "gemm_e4m3"], "gemm_e4m3"),
        (&["gemm", "--target", "sm_90a", "--dtype", "s8", "--files", "gemm_s8"], "gemm_s8"),
        (&["gemm", "--target", "sm_90a", "--dtype", "tf32", "--files", "gemm_tf32"], "gemm_tf32"),
        (&["layernorm", "--target", "sm_90", "--divisor", "8"], "layernorm"),
        (&["rmsnorm", "--target", "sm_90", "--divisor", "8"], "rmsnorm"),
        (&["rotary", "--divisor", "8"], "rotary"),
        (&["silu", "--divisor", "8"], "silu"),
        (&["softmax", "--divisor", "1,8"], "softmax"),
    ] {
        let run = warpwright(["export", "--out", out].iter().chain(arguments));
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        let expected = ["ptx", "h", "json"].map(|extension| format!("{name}.{extension}"));
        let paths: Vec<_> = run.out.lines().collect();
        assert_eq!(paths, expected.clone().map(|file| folder.join(file).display().to_string()));
        for file in expected {
            let [found, wanted] =
                [folder.as_path(), &golden].map(|folder| fs::read_to_string(folder.join(&file)));
            assert_eq!(found.expect("written"), wanted.expect("an exported file"), "{file}");
        }
    }
}

#[test]
fn files_may_have_another_name_and_a_source() {
    let folder = scratch("exported_source").join("new");
    let out = folder.to_str().expect("a plain name");
    let run = warpwright(["export", "copy", "--type", "bf16", "--files", "copies", "--source", "--out", out]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(files(&folder), ["copies.h", "copies.json", "copies.ptx", "copies_source.h"]);
    let ptx = fs::read_to_string(folder.join("copies.ptx")).expect("written");
    assert!(ptx.contains(".target sm_75\n") && ptx.contains(".entry copy_bf16("), "{ptx}");
}

/// Every kernel of the list is exported with each of its types and divisors.
#[test]
fn the_list_has_valid_options() {
    let folder = scratch("exported_list");
    let out = folder.to_str().expect("a plain name");
    let list = warpwright(["export", "--list"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    let mut names = Vec::new();
    for line in list.out.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, target, types, divisors] = words[..4] else { panic!("{line}") };
        // Products of 8-bit floats, which the list includes, require sm_89.
        let target = if name.starts_with("gemm") && target == "sm_80" { "sm_89" } else { target };
        let mut arguments = vec!["export", name, "--target", target, "--type", types, "--out", out];
        let divisors = divisors.split(',').all(|n| n.parse::<u32>().is_ok()).then_some(divisors);
        arguments.extend(divisors.iter().flat_map(|&divisors| ["--divisor", divisors]));
        let run = warpwright(&arguments);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{line}");
        let ptx = fs::read_to_string(folder.join(format!("{name}.ptx"))).expect("written");
        let kernels = match name {
            // Two kernels of one head size for each of three masks; packed sequences.
            "attention" => 2 * (3 + 1),
            "attention_dropout" => 2 * 3,
            "attention_extras" => 2 * 3 * 2,
            // Two numbers of queries, three numbers of blocks, and two sizes of pages.
            "attention_cached" | "attention_cached_e4m3" => 2 * 2 * 3,
            "attention_paged" | "attention_paged_e4m3" => 2 * 2 * 3 * 2,
            // Rows, with and without sums, and the end, of two lengths; keys with and without sums, and queries, for three masks each.
            "attention_backward" | "attention_backward_dropout" => 2 * (3 + 3 * 3),
            "attention_backward_packed" => 2 * (3 + 3),
            // Two results.
            "cast" => 2,
            // Three lengths of rows.
            "log_softmax" | "softmax" | "log_softmax_backward" | "softmax_backward" => 3,
            "causal_softmax" | "lengths_softmax" => 2 * 3,
            "layernorm_backward" | "rmsnorm_backward" => 3,
            // Three lengths of transforms.
            "fft_convolution" => 3,
            "cross_entropy" | "cumsum" | "embedding" | "top_k" => 2,
            // Two tiles in four orders.
            "matmul_simt" => 2 * 4,
            // Two sizes; sums and normalized.
            "decayed_attention" | "hedgehog" | "state_space" | "taylor_attention" => 2,
            // Alone, behind two norms and behind a gate, with scales of three lengths of rows and of blocks.
            "quantize_e4m3" | "quantize_s8" => 4 * (3 + 1),
            // Alone, and in a sum ahead of two norms of three lengths.
            "dropout" => 1 + 2 * 3,
            // Three numbers of threads per row, and tiles.
            "permute" => 4,
            // Two pairings and two directions.
            "rotary" => 2 * 2,
            // Five functions of rows and of columns.
            "reductions" => 5 * 2,
            "gelu" | "gelu_tanh" | "relu" | "silu" => 4,
            // With and without a residual sum, with and without a bias.
            "layernorm" | "rmsnorm" => 3 * 2 * 2,
            // Two tiles, and two ways of scales.
            "gemm_promoted" => 2 + 2,
            _ => 1,
        };
        let types = types.split(',').count();
        let count = match name {
            // Two types have four orders of their two factors, and the others one. A kernel for aligned rows, and one for any.
            "gemm" | "gemm_grouped" => 2 * (2 * 4 + 5),
            "gemm_batched" => 2 * 4 + 5,
            // Row-major A: two types have two orders of B.
            "gemm_ragged" => 2 * (2 * 2 + 5),
            // Partial products, and sums of f32 as bf16, f16 and f32, and of s32.
            "gemm_split_k" => 2 * (2 * 4 + 5) + 4,
            // Four functions with a bias, and two sums with a matrix; scales for types of 8 bits.
            "gemm_fused" => 6 * (2 * 4 + 1) + 2 * 4,
            // Two functions in two tiles.
            "gemm_gated" => 4 * (2 * 4 + 2),
            // Two types of results have the masks of attention; they share a kernel for V.
            "attention_e4m3" => 2 * (2 * 3 + 1),
            _ => kernels * types * divisors.map_or(1, |divisors| divisors.split(',').count()),
        };
        assert_eq!(ptx.matches("\n.visible .entry ").count(), count, "{line}");
        names.push(name.to_string());
    }
    assert!(names.is_sorted() && names.len() >= 3, "{names:?}");
}

/// One name for all targets, which determine the instructions.
#[test]
fn products_are_exported_for_every_target() {
    let folder = scratch("exported_products");
    let out = folder.to_str().expect("a plain name");
    for (target, tile, instruction) in [
        ("sm_80", "128x256", "mma.sync.aligned.m16n8k16"),
        ("sm_86", "128x128", "mma.sync.aligned.m16n8k16"),
        ("sm_90a", "128x192", "wgmma.mma_async"),
        ("sm_100a", "128x256", "mma.sync.aligned.m16n8k16"),
    ] {
        let run = warpwright(["export", "gemm", "--target", target, "--out", out]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{target}");
        let ptx = fs::read_to_string(folder.join("gemm.ptx")).expect("written");
        assert!(ptx.contains(&format!(".target {target}\n")) && ptx.contains(instruction), "{target}");
        assert!(ptx.contains(&format!(".entry gemm_bf16_row_col_{tile}(")), "{target}");
    }
}

/// Types, layouts, head sizes and masks select kernels.
#[test]
fn options_select_kernels() {
    let folder = scratch("exported_selection");
    let out = folder.to_str().expect("a plain name");
    for (arguments, expected) in [
        (
            &["gemm", "--dtype", "bf16", "--layout", "nt,tn", "--target", "sm_90a"][..],
            &[
                "gemm_bf16_row_col_128x128",
                "gemm_bf16_col_row_128x128",
                "gemm_bf16_row_col_128x192",
                "gemm_bf16_col_row_128x192",
            ][..],
        ),
        // The lowest target of a type.
        (
            &["gemm", "--dtype", "e4m3"],
            &["gemm_e4m3_bf16_row_col_128x128", "gemm_e4m3_bf16_row_col_128x128_any_ldd_any_size"],
        ),
        (
            &["attention", "--target", "sm_80", "--head-size", "192", "--window", "1023,0"],
            &["attention_bf16_192_128_window_1023_0", "attention_bf16_192_128_window_1023_0_packed"],
        ),
        (
            &["attention_e4m3", "--head-size", "64", "--dtype", "bf16,f16", "--window", "7,7"],
            &[
                "attention_values_e4m3_64",
                "attention_e4m3_bf16_64_window_7_7",
                "attention_e4m3_f16_64_window_7_7",
            ],
        ),
        (
            &["attention_extras", "--head-size", "32", "--window", "7,7", "--soft-cap", "50"],
            &[
                "attention_bf16_32_window_7_7_cap50",
                "attention_bf16_32_window_7_7_cap50_slopes",
                "attention_bf16_32_window_7_7_cap50_sinks",
            ],
        ),
    ] {
        let run = warpwright(["export", "--files", "selected", "--out", out].iter().chain(arguments));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments:?}");
        let ptx = fs::read_to_string(folder.join("selected.ptx")).expect("written");
        let names: Vec<_> = ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry ")).collect();
        let names: Vec<_> = names.iter().map(|name| name.trim_end_matches('(')).collect();
        assert_eq!(names, expected, "{arguments:?}");
    }
    let run = warpwright(["export", "gemm", "--dtype", "s8", "--layout", "nn", "--out", out]);
    let expected = "expected row-major A and column-major B for types other than those of 16 bits";
    assert!(run.code == 2 && run.err.contains(expected), "{}", run.err);
    let run = warpwright(["export", "gemm_ragged", "--layout", "tn", "--out", out]);
    assert!(run.code == 2 && run.err.contains("expected row-major A for groups"), "{}", run.err);
    let run = warpwright(["export", "gemm", "--layout", "nx", "--out", out]);
    assert!(run.code == 2 && run.err.contains("expected two letters n or t, found `nx`"), "{}", run.err);
}

#[test]
fn invalid_options_are_errors_in_one_line() {
    let folder = scratch("not_exported");
    let out = folder.to_str().expect("a plain name");
    for (arguments, complaint) in [
        (&["mat"][..], "expected the name of a kernel, which `--list` prints, found `mat`"),
        (&["matmul", "--type", "f32"], "`matmul`: expected elements of bf16 or f16, found `f32`"),
        (&["matmul", "--divisor", "3"], "`matmul`: expected a divisor of 1, 2, 4 or 8, found 3"),
        (&["copy", "--divisor", "4"], "`copy`: it has no --divisor"),
        (
            &["attention_cached", "--target", "sm_100a"],
            "`attention_cached`: expected --target sm_90a, the only one that has its instructions, found sm_100a",
        ),
        (
            &["matmul", "--target", "sm_75", "--divisor", "8"],
            "`matmul`: expected --target sm_80 or a later one, found sm_75",
        ),
        (&["copy", "--layout", "nt"], "`copy`: it has no --layout"),
        (&["gemm", "--head-size", "64"], "`gemm`: it has no --head-size"),
        (&["attention_paged", "--window", "7,0"], "`attention_paged`: it has no --window"),
        (&["attention", "--soft-cap", "30"], "`attention`: it has no --soft-cap"),
        (
            &["attention", "--window", "7"],
            "`attention`: expected a window of two numbers, BEFORE,AFTER, found 1",
        ),
        (
            &["copy", "--files", "a-b"],
            "`copy`: expected a C identifier as the name of the files, found `a-b`",
        ),
        (
            &["copy", "--type", "f32,f32"],
            "`copy`: kernel `copy_f32`: expected one declaration of `copy_f32` in the module, found two",
        ),
    ] {
        let run = warpwright(["export", "--out", out].iter().chain(arguments));
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(run.err, format!("error: {complaint}\n"));
    }
    assert!(files(&folder).is_empty());
    for incomplete in [&["export"][..], &["export", "copy"], &["export", "copy", "--list"]] {
        assert_eq!(warpwright(incomplete).code, 2, "{incomplete:?}");
    }
}
