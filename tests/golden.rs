//! The exported kernels in `ptx/`, which C++ programs use, must match the crate's output. `WARPWRIGHT_BLESS=1 cargo test --test golden`
//! rewrites them.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/require.rs"]
mod require;

use std::{env, fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::{
    export::Export,
    kernels::{Gemm, GemmTile, MatrixOrder, copy_elements, matmul, transpose},
    ptx::{Module, Target, bf16, f16},
};

/// Every module in `ptx/`, with the name of its files.
fn modules() -> Vec<(&'static str, Module)> {
    let target = Target::SM_80;
    let mut product = Module::new(target);
    for divisor in [1, 8] {
        product.add(&matmul::<bf16>(target, divisor).unwrap()).unwrap();
        product.add(&matmul::<f16>(target, divisor).unwrap()).unwrap();
    }
    let mut copies = Module::new(target);
    copies.add(&copy_elements::<f32>(target).unwrap()).unwrap();
    let mut transposes = Module::new(target);
    for divisor in [1, 4] {
        transposes.add(&transpose::<f32>(target, divisor).unwrap()).unwrap();
    }
    let mut gemms = Module::new(Target::SM_90A);
    for tile in [GemmTile::T128x128, GemmTile::T128x192] {
        for b in MatrixOrder::ALL {
            let gemm = Gemm { b, ..Gemm::new(tile) };
            gemms.add(&gemm.kernel::<bf16, f32, bf16>().unwrap()).unwrap();
        }
    }
    vec![("copy", copies), ("gemm", gemms), ("matmul", product), ("transpose", transposes)]
}

#[test]
fn exported_kernels_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx");
    let mut names = Vec::new();
    for (name, module) in modules() {
        if env::var_os("WARPWRIGHT_BLESS").is_some() {
            module.export(&folder, name).unwrap();
        }
        for (file, text) in Export::module(&module, name).unwrap().files() {
            let found = fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert_eq!(
                found, text,
                "ptx/{file} is stale: WARPWRIGHT_BLESS=1 cargo test --test golden rewrites it"
            );
            names.push(file.to_string());
        }
        assemble::everywhere(&module.ptx(), module.target());
    }
    let mut found: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names, "files in ptx/ that nothing makes");
}
