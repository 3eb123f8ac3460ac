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
    kernels::{
        Attention, AttentionMask, CachedAttention, CrossEntropy, Gemm, GemmTile, MatrixOrder, Norm,
        NormFunction, Pointwise, PointwiseFunction, Rotary, RotaryPairs, Softmax, call::GemmOperand,
        copy_elements, matmul, transpose,
    },
    ptx::{Module, Target, bf16, e4m3, f16, tf32},
    tiles::Convert,
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
    vec![
        ("attention", attention()),
        ("attention_cached", cached_attention()),
        ("copy", copies),
        ("cross_entropy", cross_entropy()),
        ("gemm", gemms),
        ("gemm_e4m3", products::<e4m3, bf16>()),
        ("gemm_s8", products::<i8, i32>()),
        ("gemm_tf32", products::<tf32, f32>()),
        ("layernorm", norms(NormFunction::Layer)),
        ("matmul", product),
        ("rmsnorm", norms(NormFunction::Rms)),
        ("rotary", rotary()),
        ("silu", silu()),
        ("softmax", softmax()),
        ("transpose", transposes),
    ]
}

/// The maximum row lengths of the kernels on rows.
const LENGTHS: [u32; 3] = [1024, 4096, 16384];

/// Attention of bf16 on Hopper, with heads of 128.
fn attention() -> Module {
    let target = Target::SM_90A;
    let mut module = Module::new(target);
    for mask in [AttentionMask::Full, AttentionMask::Causal, AttentionMask::CausalFromEnd] {
        module.add(&Attention::new(target, 128, 128, mask).kernel::<bf16>().unwrap()).unwrap();
    }
    let packed = Attention::new(target, 128, 128, AttentionMask::CausalFromEnd);
    module.add(&packed.packed_kernel::<bf16>().unwrap()).unwrap();
    module
}

/// Attention of bf16 to caches, with heads of 128.
fn cached_attention() -> Module {
    let mut module = Module::new(Target::SM_90A);
    for (queries, parts) in [1, 4].into_iter().flat_map(|n| CachedAttention::PARTS.map(|parts| (n, parts))) {
        let attention = CachedAttention { head_size: 128, parts, queries };
        module.add(&attention.kernel::<bf16>().unwrap()).unwrap();
    }
    module
}

/// Products on Hopper of types that are not 16 bits wide: row-major A, column-major B.
fn products<T, D>() -> Module
where
    T: GemmOperand<Sum: Convert<D>>,
    D: warpwright::kernels::GemmResult,
{
    let mut module = Module::new(Target::SM_90A);
    for tile in [GemmTile::T128x128, GemmTile::T128x192] {
        let gemm = Gemm { b: MatrixOrder::Col, ..Gemm::new(tile) };
        module.add(&gemm.kernel::<T, T::Sum, D>().unwrap()).unwrap();
    }
    module
}

/// A norm of bf16, with and without a residual sum and a bias, of rows whose sizes are multiples of 8.
fn norms(function: NormFunction) -> Module {
    let target = Target::SM_90;
    let mut module = Module::new(target);
    for n in LENGTHS {
        let norm = Norm::for_rows(function, target, 2, &[n, 8]);
        module.add(&norm.kernel::<bf16, bf16, bf16>(target).unwrap()).unwrap();
    }
    for n in LENGTHS {
        let norm = Norm::for_residual_rows(function, target, 2, &[n, 8]);
        module.add(&norm.residual_kernel::<bf16, bf16, bf16>(target).unwrap()).unwrap();
    }
    for n in LENGTHS {
        let norm = Norm::for_biased_rows(function, target, 2, &[n, 8]);
        module.add(&norm.biased_kernel::<bf16, bf16, bf16>(target).unwrap()).unwrap();
    }
    for n in LENGTHS {
        let norm = Norm::for_residual_rows(function, target, 2, &[n, 8]);
        module.add(&norm.residual_biased_kernel::<bf16, bf16, bf16>(target).unwrap()).unwrap();
    }
    module
}

/// The cross-entropy loss of bf16 and its gradient, of sizes that are multiples of 8.
fn cross_entropy() -> Module {
    let target = Target::SM_80;
    let mut module = Module::new(target);
    let kernels = CrossEntropy::for_rows(target, 2, &[1 << 20, 8]);
    module.add(&kernels.kernel::<bf16>(target).unwrap()).unwrap();
    module.add(&kernels.backward_kernel::<bf16>(target).unwrap()).unwrap();
    module
}

/// SiLU and SwiGLU of bf16 and their gradients, of sizes that are multiples of 8.
fn silu() -> Module {
    let target = Target::SM_80;
    let mut module = Module::new(target);
    let kernels = Pointwise::for_rows(PointwiseFunction::Silu, target, 2, &[1 << 20, 8]);
    module.add(&kernels.kernel::<bf16, bf16>(target).unwrap()).unwrap();
    module.add(&kernels.backward_kernel::<bf16>(target).unwrap()).unwrap();
    module.add(&kernels.gated_kernel::<bf16, bf16>(target).unwrap()).unwrap();
    module.add(&kernels.gated_backward_kernel::<bf16>(target).unwrap()).unwrap();
    module
}

/// Rotary embeddings of bf16, of sizes that are multiples of 8.
fn rotary() -> Module {
    let target = Target::SM_80;
    let mut module = Module::new(target);
    for pairs in [RotaryPairs::Halves, RotaryPairs::Adjacent] {
        for inverse in [false, true] {
            let rotary = Rotary { inverse, ..Rotary::for_rows(pairs, 2, &[64, 8]) };
            module.add(&rotary.kernel::<bf16>(target).unwrap()).unwrap();
        }
    }
    module
}

/// Softmax of bf16, of rows of any size and of multiples of 8.
fn softmax() -> Module {
    let target = Target::SM_80;
    let mut module = Module::new(target);
    for (divisor, n) in [1, 8].into_iter().flat_map(|divisor| LENGTHS.map(|n| (divisor, n))) {
        let softmax = Softmax::for_rows(target, 2, &[n, divisor]);
        module.add(&softmax.kernel::<bf16, bf16>(target).unwrap()).unwrap();
    }
    module
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
        // For targets with 1536 threads or 16 blocks per multiprocessor, ptxas warns that it ignores greater numbers of resident blocks.
        if ["cross_entropy", "layernorm", "rmsnorm", "rotary", "softmax"].contains(&name) {
            assemble::module(&module.ptx(), module.target());
        } else {
            assemble::everywhere(&module.ptx(), module.target());
        }
    }
    let mut found: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names, "files in ptx/ that nothing makes");
}
