//! The header in C and C++, alone and with `cuda.h`, and its launches.

use std::{fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::export::Export;

use super::{
    compiler::{compile, compile_everywhere, folder, run, text},
    kernels,
};

/// Writes every test kernel's files into `dir`; returns the names of the headers.
fn export_all(dir: &Path) -> Vec<String> {
    let module = Export::module(&kernels::module(), "both").expect("a name for C");
    let exports = [
        Export::kernel(&kernels::scale()),
        Export::kernel(&kernels::bare()),
        Export::kernel(&kernels::scalars()),
        Export::kernel(&kernels::gridless()),
        Export::kernel(&kernels::clustered()),
        Export::kernel(&kernels::views()).with_source(),
        Export::kernel(&kernels::mapped()),
        module,
    ];
    exports
        .iter()
        .flat_map(|export| {
            export.write(dir).expect("it is written");
            let files = &export.manifest.files;
            std::iter::once(files.header.clone()).chain(files.source.clone())
        })
        .collect()
}

#[test]
fn every_header_compiles_alone_twice_and_together() {
    let dir = folder("languages");
    let headers = export_all(&dir);
    let main = "int main(void) { return 0; }\n";
    let mut together = String::new();
    for header in &headers {
        let include = format!("#include \"{header}\"\n");
        compile_everywhere(
            &dir,
            &format!("alone_{}", header.trim_end_matches(".h")),
            &format!("{include}{include}{main}"),
        );
        together += &include;
    }
    compile_everywhere(&dir, "together", &format!("{together}{main}"));
}

/// With `cuda.h`, the header uses its types, so that no casts are needed.
#[test]
fn headers_compile_with_cuda_h() {
    let dir = folder("cuda_h");
    export_all(&dir);
    fs::write(dir.join("cuda.h"), include_str!("cuda.h")).expect("written");
    let source = "#include <cuda.h>\n#include \"scale.h\"\n#include \"clustered.h\"\n\
                  int main(void) {\n\
                  \x20   warpwright_driver driver;\n    CUfunction function = NULL;\n    CUstream stream = NULL;\n\
                  \x20   scale_args args = {{0, 0}, {0, 0}, 0, 0.0f};\n    CUresult result;\n\
                  \x20   driver.launch_kernel = cuLaunchKernel;\n    driver.func_set_attribute = cuFuncSetAttribute;\n\
                  \x20   result = scale_prepare(&driver, function);\n\
                  \x20   if (result != CUDA_SUCCESS) return 1;\n\
                  \x20   return scale_launch(&driver, function, stream, &args) == CUDA_SUCCESS ? 0 : 1;\n}\n";
    compile_everywhere(&dir, "beside_before", source);
    // If the header is included first, it does not declare names of cuda.h.
    compile_everywhere(
        &dir,
        "beside_after",
        "#include \"scale.h\"\n#include <cuda.h>\nint main(void) { return 0; }\n",
    );
}

#[test]
fn launches_pass_the_kernels_parameters() {
    let dir = folder("launch");
    export_all(&dir);
    for (compiler, standard, source) in [("cc", "-std=c99", "launch.c"), ("c++", "-std=c++11", "launch.cpp")]
    {
        let path = dir.join(source);
        fs::write(&path, include_str!("launch.c")).expect("written");
        let program = dir.join(source.replace('.', "_"));
        let include = format!("-I{}", text(&dir));
        let compiled = compile(compiler, &[standard, &include, text(&path), "-o", text(&program)]);
        if compiled.is_none() {
            continue;
        }
        let output = run(&program, &[], &dir);
        assert_eq!(String::from_utf8_lossy(&output.stdout), include_str!("launch.txt"), "{source}");
        assert!(output.status.success());
    }
}
