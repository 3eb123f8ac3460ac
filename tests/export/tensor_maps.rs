//! The tensor maps that launches create, in the header and in the manifest, and grids that depend on the device.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use warpwright::{
    export::{Export, Manifest},
    ptx::bf16,
    run::{Device, Simulator},
};

use super::{
    compiler::{compile, compile_everywhere, folder, run, text},
    kernels, mapped_kernels,
};
use crate::ptxas;

fn exports() -> [Export; 4] {
    [
        Export::kernel(&mapped_kernels::product()),
        Export::kernel(&mapped_kernels::batches()),
        Export::kernel(&mapped_kernels::resident()),
        Export::kernel(&mapped_kernels::capped()),
    ]
}

/// The kernel that the C++ example runs, on the simulator.
#[test]
fn the_product_is_correct() {
    let [m, n, depth] = [130_usize, 200, 72];
    let matrix = |rows: usize, seed: usize| -> Vec<bf16> {
        (0..rows * depth).map(|i| bf16::from_f32(((i * seed) % 13) as f32 - 6.0)).collect()
    };
    let (a, b) = (matrix(m, 7919), matrix(n, 104_729));
    let device = Simulator::new().multiprocessors(2);
    let (da, db) = (device.upload(&a).expect("uploaded"), device.upload(&b).expect("uploaded"));
    let mut d = device.output::<bf16>(m * n).expect("allocated");
    let [rows, cols, length] = [m, n, depth].map(|size| size as u32);
    let arguments = (&da, length, &db, length, &mut d, cols, rows, cols, length);
    device.launch(&mapped_kernels::product(), arguments).expect("it runs");
    for (i, found) in device.download(&d).expect("copied").into_iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let products = (0..depth).map(|l| a[row * depth + l].to_f32() * b[col * depth + l].to_f32());
        assert_eq!(found, bf16::from_f32(products.sum()), "({row}, {col})");
    }
}

#[test]
fn headers_compile_alone_and_together() {
    let dir = folder("maps_languages");
    let main = "int main(void) { return 0; }\n";
    // Before and after a header without maps.
    Export::kernel(&kernels::scale()).write(&dir).expect("it is written");
    let mut together = "#include \"scale.h\"\n".to_string();
    for export in exports() {
        export.write(&dir).expect("it is written");
        let include = format!("#include \"{}\"\n", export.manifest.files.header);
        let alone = format!("{include}{include}#include \"scale.h\"\n{main}");
        compile_everywhere(&dir, &format!("alone_{}", export.name), &alone);
        together += &include;
        let target = export.manifest.target.parse().expect("a target");
        ptxas::module(&export.ptx, target);
    }
    compile_everywhere(&dir, "together", &format!("{together}{main}"));
}

/// With `cuda.h`, its functions are assigned without casts.
#[test]
fn headers_compile_with_cuda_h() {
    let dir = folder("maps_cuda_h");
    for export in exports() {
        export.write(&dir).expect("it is written");
    }
    fs::write(dir.join("cuda.h"), include_str!("cuda.h")).expect("written");
    let kernel = mapped_kernels::PRODUCT;
    let source = format!(
        "#include <cuda.h>\n#include \"{kernel}.h\"\n#include \"batches.h\"\n\
         int main(void) {{\n\
         \x20   warpwright_extended_driver driver;\n    CUfunction function = NULL;\n    CUstream stream = NULL;\n\
         \x20   {kernel}_args args = {{{{0, 0}}, 0, {{0, 0}}, 0, {{0, 0}}, 0, 0, 0, 0}};\n    CUresult result;\n\
         \x20   driver.basic.launch_kernel = cuLaunchKernel;\n    driver.basic.func_set_attribute = cuFuncSetAttribute;\n\
         \x20   driver.tensor_map_encode_tiled = cuTensorMapEncodeTiled;\n    driver.ctx_get_device = cuCtxGetDevice;\n\
         \x20   driver.device_get_attribute = cuDeviceGetAttribute;\n\
         \x20   result = {kernel}_prepare(&driver, function);\n\
         \x20   if (result != CUDA_SUCCESS) return 1;\n\
         \x20   return {kernel}_launch(&driver, function, stream, &args) == CUDA_SUCCESS ? 0 : 1;\n}}\n"
    );
    compile_everywhere(&dir, "beside", &source);
    let after = format!("#include \"{kernel}.h\"\n#include <cuda.h>\nint main(void) {{ return 0; }}\n");
    compile_everywhere(&dir, "beside_after", &after);
    // The driver API of CUDA 11 has no tensor maps.
    let old = include_str!("cuda.h").replace("#define CUDA_VERSION 13000", "#define CUDA_VERSION 11080");
    assert!(old.contains("11080"));
    fs::write(dir.join("cuda.h"), old).expect("written");
    let source = format!("#include <cuda.h>\n#include \"{kernel}.h\"\nint main(void) {{ return 0; }}\n");
    compile_everywhere(&dir, "beside_old", &source);
}

/// A driver that prints its arguments, and that fails on request.
#[test]
fn launches_create_the_maps() {
    let dir = folder("maps_launch");
    for export in exports() {
        export.write(&dir).expect("it is written");
    }
    for (compiler, standard, source) in [("cc", "-std=c99", "maps.c"), ("c++", "-std=c++11", "maps.cpp")] {
        let path = dir.join(source);
        fs::write(&path, include_str!("launch_maps.c")).expect("written");
        let program = dir.join(source.replace('.', "_"));
        let include = format!("-I{}", text(&dir));
        let compiled = compile(compiler, &[standard, "-O2", &include, text(&path), "-o", text(&program)]);
        if compiled.is_none() {
            continue;
        }
        let output = run(&program, &[], &dir);
        assert_eq!(String::from_utf8_lossy(&output.stdout), include_str!("launch_maps.txt"), "{source}");
        assert!(output.status.success());
    }
}

#[test]
fn the_manifest_describes_the_maps() {
    let export = Export::kernel(&mapped_kernels::product());
    let text = export.manifest.to_json();
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let kernel = &value["kernels"][0];
    let map = |parameter: &str, dims: [&str; 2], stride: &str, tile: [u32; 2]| {
        json!({
            "parameter": parameter,
            "data_type": "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
            "dims": dims,
            "strides_bytes": [stride],
            "box": tile,
            "swizzle": "CU_TENSOR_MAP_SWIZZLE_128B",
            "l2_promotion": "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
            "oob_fill": "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE",
        })
    };
    let mut maps = kernel["tensor_maps"].as_array().expect("an array").clone();
    maps.sort_by_key(|map| map["parameter"].to_string());
    // Each block of a pair loads half of the columns of B. Copies to D write whole units of 16 bytes.
    assert_eq!(
        maps,
        [
            map("a", ["k", "m"], "(lda) * (2)", [64, 128]),
            map("b", ["k", "n"], "(ldb) * (2)", [64, 64]),
            map("d", ["(n) / 8 * 8", "m"], "(ldd) * (2)", [64, 64]),
        ]
    );
    assert_eq!(
        kernel["grid"],
        json!([
            "min(((((m + 127) / 128 + 1) / 2) * (((n + 127) / 128 + 0) / 1)) * (2), max((multiprocessors) / 2 * 2, 2))",
            "1",
            "1"
        ])
    );
    let read: Manifest = serde_json::from_str(&text).expect("JSON");
    assert_eq!(read, export.manifest);

    let export = Export::kernel(&mapped_kernels::batches());
    let [map] = export.manifest.kernels[0].tensor_maps.as_slice() else { panic!("expected one map") };
    assert_eq!(map.dims, ["n", "m", "count"]);
    assert_eq!(map.strides_bytes, ["(n) * (4)", "((n) * (m)) * (4)"]);
    assert_eq!(
        (map.box_dims.as_slice(), map.data_type.as_str()),
        ([32, 64, 1].as_slice(), "CU_TENSOR_MAP_DATA_TYPE_FLOAT32")
    );

    let export = Export::kernel(&kernels::scale());
    assert!(!export.manifest.to_json().contains("tensor_maps"));
}
