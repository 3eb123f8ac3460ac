//! The exported files: names, contents, replacement, errors.

use std::fs;

use pretty_assertions::assert_eq;
use warpwright::{
    export::{Export, ExportError},
    ptx::{In, Kernel, Module, Target},
};

use super::{
    compiler::{folder, text},
    kernels,
};
use crate::ptxas;

fn names(dir: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("plain")).collect();
    names.sort();
    names
}

#[test]
fn three_files_in_a_new_folder() {
    let dir = folder("files").join("a/b");
    let kernel = kernels::scale();
    let files = kernel.export(&dir).expect("it is written");
    assert_eq!(names(&dir), ["scale.h", "scale.json", "scale.ptx"]);
    let ptx = fs::read_to_string(&files.ptx).expect("text");
    assert_eq!(ptx, kernel.ptx());
    assert!(!ptx.contains(".loc ") && !ptx.contains(".file "));
    let export = Export::kernel(&kernel);
    assert_eq!(fs::read_to_string(&files.header).expect("text"), export.header);
    assert_eq!(fs::read_to_string(&files.manifest).expect("text"), export.manifest.to_json());
}

#[test]
fn the_same_kernel_gives_the_same_bytes() {
    assert_eq!(Export::kernel(&kernels::scale()), Export::kernel(&kernels::scale()));
    let module = || Export::module(&kernels::module(), "both").expect("a name for C");
    assert_eq!(module(), module());
    // No text depends on the machine.
    for (name, text) in Export::kernel(&kernels::scale()).files() {
        assert!(
            !text.contains(env!("CARGO_MANIFEST_DIR").trim_end_matches("/tests")) && !text.contains(".rs"),
            "{name}"
        );
    }
}

#[test]
fn old_files_are_replaced_whole() {
    let dir = folder("replaced");
    fs::write(dir.join("scale.ptx"), "x".repeat(1 << 20)).expect("written");
    kernels::scale().export(&dir).expect("it is written");
    assert_eq!(fs::read_to_string(dir.join("scale.ptx")).expect("text"), kernels::scale().ptx());
    assert_eq!(names(&dir).len(), 3);
}

#[test]
fn a_failure_names_the_path_and_leaves_no_part() {
    let dir = folder("failed");
    fs::write(dir.join("file"), "").expect("written");
    let error = kernels::bare().export(dir.join("file")).expect_err("it is not a folder");
    assert!(error.to_string().starts_with(&format!("cannot write {}", text(&dir.join("file")))), "{error}");

    // A folder with the name of the header cannot be replaced by a file.
    let dir = folder("blocked");
    fs::create_dir(dir.join("bare.h")).expect("made");
    let error = kernels::bare().export(&dir).expect_err("a folder has the name of the header");
    let ExportError::Write { path, .. } = &error else { panic!("{error}") };
    assert_eq!(*path, dir.join("bare.h"));
    let left = names(&dir);
    assert!(left.iter().all(|name| !name.ends_with(".tmp")), "{left:?}");
    assert!(!left.contains(&"bare.json".to_string()), "{left:?}");
}

#[test]
fn modules_need_a_name_for_c_and_distinct_macros() {
    let dir = folder("modules");
    for bad in ["", "two words", "../up", "1st"] {
        let error = kernels::module().export(&dir, bad).expect_err("not a C identifier");
        assert!(matches!(error, ExportError::BadName { .. }), "{bad}");
    }
    let mut module = Module::new(Target::SM_80);
    for name in ["copy", "Copy"] {
        let kernel = Kernel::<()>::build(name, Target::SM_80, |_, ()| ()).expect("it builds");
        module.add(&kernel).expect("names that differ");
    }
    let error = module.export(&dir, "copies").expect_err("one macro for two kernels");
    assert_eq!(
        error.to_string(),
        "expected kernels whose macros have different names in C, found `COPY_NAME` for `copy` and `Copy`"
    );
    let mut module = Module::new(Target::SM_80);
    let most = Kernel::<()>::build("reduce", Target::SM_80, |k, ()| k.max_block([256])).expect("it builds");
    let exact = Kernel::<()>::build("reduce_max", Target::SM_80, |k, ()| {
        k.block([128]);
    });
    module.add(&most).expect("a first kernel");
    module.add(&exact.expect("it builds")).expect("names that differ");
    let error = module.export(&dir, "reductions").expect_err("one macro for two kernels");
    let expected = "found `REDUCE_MAX_BLOCK_X` for `reduce` and `reduce_max`";
    assert!(error.to_string().ends_with(expected), "{error}");
    let mut module = Module::new(Target::SM_80);
    for signature in ["a(b_c)", "a_b(c)"] {
        let kernel = Kernel::<(In<f32>,)>::build(signature, Target::SM_80, |_, _| ()).expect("it builds");
        module.add(&kernel).expect("names that differ");
    }
    let error = module.export(&dir, "both").expect_err("one function for two buffers");
    assert_eq!(
        error.to_string(),
        "expected kernels whose buffers have different names in C, found `a_b_c` twice"
    );
    assert!(names(&dir).is_empty());
}

#[test]
fn macros_of_parameters_that_differ_only_in_case() {
    let kernel = Kernel::<(u32, u32)>::build("f(n, N)", Target::SM_80, |_, (small, large)| {
        let _ = (small.multiple_of(4), large.multiple_of(8));
    })
    .expect("it builds");
    let header = Export::kernel(&kernel).header;
    let defined: Vec<_> = header.lines().filter(|line| line.contains("_MULTIPLE_OF")).collect();
    assert_eq!(defined, ["#define F_N_MULTIPLE_OF 4", "#define F_N__MULTIPLE_OF 8"]);
}

#[test]
fn exported_text_assembles() {
    let dir = folder("assembled");
    let exports = [
        Export::kernel(&kernels::scale()),
        Export::kernel(&kernels::bare()),
        Export::kernel(&kernels::scalars()),
        Export::kernel(&kernels::gridless()),
        Export::kernel(&kernels::clustered()),
        Export::kernel(&kernels::views()),
        Export::module(&kernels::module(), "both").expect("a name for C"),
    ];
    for export in exports {
        let files = export.write(&dir).expect("it is written");
        let target = export.manifest.target.parse().expect("a target");
        ptxas::module(&fs::read_to_string(files.ptx).expect("text"), target);
    }
}

#[test]
fn the_source_is_the_text_as_a_c_array() {
    let dir = folder("source");
    let export = Export::kernel(&kernels::views()).with_source();
    let files = export.write(&dir).expect("it is written");
    assert_eq!(names(&dir), ["views.h", "views.json", "views.ptx", "views_source.h"]);
    let source = fs::read_to_string(files.source.expect("a fourth file")).expect("text");
    let (_, array) = source.split_once("views_source[] = {").expect("an array");
    let (array, _) = array.split_once('}').expect("its end");
    let bytes: Vec<u8> = array.split(',').map(|byte| byte.trim().parse().expect("a byte")).collect();
    assert_eq!(String::from_utf8(bytes).expect("ASCII"), export.ptx + "\0");
    assert_eq!(Export::kernel(&kernels::views()).write(&dir).expect("it is written").source, None);
}

/// PTX text is ASCII; the header and the manifest keep the description as it is.
#[test]
fn descriptions_keep_their_characters_outside_ptx() {
    let export = Export::kernel(&kernels::views());
    assert!(export.ptx.is_ascii());
    assert!(export.ptx.contains("//   Z = X*Z^T\n"), "{}", export.ptx);
    assert!(export.header.contains("\n * Z = X·Zᵀ\n"), "{}", export.header);
    assert_eq!(export.manifest.kernels[0].description, "Z = X·Zᵀ");
}
