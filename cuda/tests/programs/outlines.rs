//! The outlines of large modules, which are stored in files.

use std::fs;

use pretty_assertions::assert_eq;

use super::host::{Program, Ran};

/// A module of 300 kB whose kernel `set` stores 41 + `added`.
fn module(added: u32) -> String {
    let unused = |i| format!(".entry unused{i}() {{\n{}    ret;\n}}\n", "    bar.sync 0;\n".repeat(100));
    let unused: String = (0..180).map(unused).collect();
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n{unused}.entry set(.param .u64 out) {{
    .reg .b64 %rd<2>;\n    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];\n    mov.u32 %r1, {added};\n    add.u32 %r1, %r1, 41;\n    st.global.u32 [%rd1], %r1;\n    ret;\n}}
.entry after() {{\n    ret;\n}}\n"
    )
}

struct Cache {
    program: Program,
    module: String,
}

impl Cache {
    fn new() -> Option<Self> {
        let program = Program::c("loads_file")?;
        let module = program.file("module.ptx");
        fs::write(&module, self::module(1)).expect("the folder can be written");
        Some(Self { program, module })
    }

    fn run(&self, disabled: &str) -> Ran {
        let variables =
            [("CUDA_CACHE_PATH", self.program.file("cache")), ("CUDA_CACHE_DISABLE", disabled.into())];
        self.program.run_in(&[&self.module], &variables)
    }

    /// Returns the paths of the stored outlines.
    fn files(&self) -> Vec<std::path::PathBuf> {
        let folder = fs::read_dir(self.program.file("cache/warpwright"));
        folder.map_or(vec![], |files| files.map(|file| file.expect("a file").path()).collect())
    }
}

#[test]
fn a_module_is_checked_once() {
    let Some(cache) = Cache::new() else { return };
    let right = ("42\n".to_string(), Some(0));
    let ran = cache.run("1");
    assert_eq!((ran.stdout, ran.status), right, "{}", ran.stderr);
    assert_eq!(cache.files().len(), 0);
    for _ in 0..2 {
        let ran = cache.run("0");
        assert_eq!((ran.stdout, ran.status), right, "{}", ran.stderr);
    }
    let [file] = &cache.files()[..] else { panic!("{:?}", cache.files()) };
    let outline = fs::read_to_string(file).expect("an outline");
    assert_eq!(outline.lines().count(), 1 + 182);

    // The outline is used: if the extent of `unused179` includes `set`, the module has no kernel `set`.
    let mut lines: Vec<Vec<&str>> = outline.lines().map(|line| line.split(' ').collect()).collect();
    let [start, _, line, column, ..] = lines[180][..] else { panic!("{outline}") };
    let [_, end, _, _, last_line, last_column] = lines[181][..] else { panic!("{outline}") };
    lines[180] = vec![start, end, line, column, last_line, last_column];
    let text: String = lines.iter().map(|words| words.join(" ") + "\n").collect();
    fs::write(file, text).expect("the folder can be written");
    let ran = cache.run("0");
    assert!(ran.stdout.contains("cuModuleGetFunction"), "{}{}", ran.stdout, ran.stderr);

    // An incomplete outline is not used, and is replaced.
    fs::write(file, &outline[..outline.len() / 2]).expect("the folder can be written");
    let ran = cache.run("0");
    assert_eq!((ran.stdout, ran.status), right, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(file).expect("an outline"), outline);
}

#[test]
fn each_text_has_its_own_outline() {
    let Some(cache) = Cache::new() else { return };
    for added in [1, 2, 3] {
        fs::write(&cache.module, module(added)).expect("the folder can be written");
        assert_eq!(cache.run("0").stdout, format!("{}\n", 41 + added));
    }
    assert_eq!(cache.files().len(), 3);
    // No outline is stored for an invalid module.
    fs::write(&cache.module, module(1).replace("bar.sync 0", "bar.sync x"))
        .expect("the folder can be written");
    assert!(cache.run("0").stdout.contains("cuModuleLoadData"));
    assert_eq!(cache.files().len(), 3);
}
