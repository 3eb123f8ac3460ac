//! `warpwright check`.

use super::command::{Run, corpus, scratch, warpwright};

fn check(name: &str, text: &str) -> Run {
    let path = scratch(name).join("k.ptx");
    std::fs::write(&path, text).expect("written");
    warpwright(["check", &path.display().to_string()])
}

#[test]
fn ptx_of_compilers_is_valid() {
    let names = ["collatz", "triton_vector_add", "clang_vectors_O0", "noinline_calls", "mma_f16_exact"];
    let paths = names.map(|name| corpus(name).join("kernel.ptx").display().to_string());
    let run = warpwright(["check".to_string()].iter().chain(&paths));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
}

#[test]
fn every_error_has_its_location() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    .reg .b32 %r<3>;\n    .reg .f32 %f<2>;
    add.u32 %r1, %r5, 1;\n    mul.u32 %r1, %r2, 3;\n    add.f32 %f1, %d1, %f0;\n    bra NOWHERE;\n    mov.u32 %r1 %r2;\n    ret;\n}\n";
    let run = check("syntax_error", text);
    assert_eq!(run.code, 1);
    // An invalid statement hides errors in the others.
    assert!(run.err.contains("error: expected `,` or `;`, found `%r2`"), "{}", run.err);
    let run = check("semantic_errors", &text.replace("mov.u32 %r1 %r2;", ""));
    assert_eq!(run.code, 1);
    for (message, place) in [
        ("error: `%r5` is not declared", "k.ptx:8:18"),
        ("error: an integer `mul` requires `.lo`, `.hi` or, up to 32 bits, `.wide`", "k.ptx:9:5"),
        ("error: `%d1` is not declared", "k.ptx:10:18"),
        ("error: there is no label `NOWHERE` here", "k.ptx:11:9"),
    ] {
        assert!(run.err.contains(message), "{message} in\n{}", run.err);
        assert!(run.err.contains(place), "{place} in\n{}", run.err);
    }
    assert!(run.err.contains("8 |     add.u32 %r1, %r5, 1;\n  |                  ^^^"), "{}", run.err);
}

#[test]
fn versions_and_targets_bind_features() {
    let module = |version: &str, target: &str, body: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k()\n{{\n.reg .b32 %r<4>; .reg .pred %p;\n{body}\nret;\n}}\n"
        )
    };
    let cluster = "mov.u32 %r1, %cluster_ctarank; barrier.cluster.arrive; barrier.cluster.wait;";
    assert_eq!(check("new_enough", &module("7.8", "sm_90", cluster)).code, 0);
    let run = check("old_target", &module("7.8", "sm_80", cluster));
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("`barrier.cluster.arrive` needs sm_90 or higher; the target is sm_80"),
        "{}",
        run.err
    );
    let run = check("old_version", &module("7.0", "sm_80", "elect.sync %r1|%p, -1;"));
    assert!(run.err.contains("`elect.sync` needs version 8.0 of PTX; this is 7.0"), "{}", run.err);
    let fence = "wgmma.fence.sync.aligned;";
    assert_eq!(check("specific", &module("8.0", "sm_90a", fence)).code, 0);
    assert!(
        check("portable", &module("8.0", "sm_90", fence)).err.contains("needs sm_90a; the target is sm_90")
    );
    assert!(check("unknown", &module("8.0", "sm_95", "")).err.contains("unknown target `sm_95`"));
    assert!(check("future", &module("77.0", "sm_90", "")).err.contains("there is no version 77.0 of PTX"));
    let run = check("too_new", &module("7.0", "sm_90", ""));
    assert!(run.err.contains("target `sm_90` is known since version 7.8; this is 7.0"), "{}", run.err);
}

#[test]
fn files_that_cannot_be_read_are_bad_input() {
    let run = warpwright(["check", "no-such-file.ptx"]);
    assert_eq!((run.code, run.err.lines().count()), (2, 1), "{}", run.err);
    assert!(run.err.starts_with("error: no-such-file.ptx: "), "{}", run.err);
    assert_eq!(warpwright(["check"]).code, 2);
}

#[test]
fn help_explains_exit_codes() {
    let run = warpwright(["check", "--help"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains("Exit codes: 0 if all files are valid"), "{}", run.out);
}
