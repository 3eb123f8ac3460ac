//! The manifest compared with the kernel, as parsed by an independent JSON reader.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use warpwright::{export::Manifest, prelude::*, ptx::IntoDim};

use super::{compiler::folder, kernels};

#[test]
fn all_parameters_of_a_launch_are_listed() {
    let kernel = kernels::scale();
    let files = kernel.export(folder("manifest")).expect("it is written");
    let text = fs::read_to_string(files.manifest).expect("text");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let entry = kernel.entry();
    let buffer = |name: &str, kind: &str| json!({"name": name, "kind": kind, "element": "f32", "ptx_type": "u64", "bytes": 8});
    assert_eq!(
        value,
        json!({
            "generator": {"name": "warpwright", "version": env!("CARGO_PKG_VERSION")},
            "files": {"ptx": "scale.ptx", "header": "scale.h", "manifest": "scale.json"},
            "target": "sm_90a",
            "ptx_version": "8.0",
            "kernels": [{
                "name": "scale",
                "description": "y = x * by\n/* and a comment that ends */ here: “quoted”, 100%",
                "parameters": [
                    buffer("x", "in"),
                    buffer("y", "out"),
                    {"name": "n", "kind": "scalar", "element": "u32", "ptx_type": "u32", "bytes": 4},
                    {"name": "by", "kind": "scalar", "element": "f32", "ptx_type": "f32", "bytes": 4},
                ],
                "assumptions": [{"parameter": "n", "multiple_of": 4}],
                "block": [128, 1, 1],
                "max_block": null,
                "min_blocks_per_multiprocessor": null,
                "max_registers": null,
                "cluster": null,
                "grid": ["(n + 127) / 128", "(n + 31) / 32", "2"],
                "unsafe_accesses": 2,
                "shared_bytes": {"static": 0, "dynamic": 65536},
                "local_bytes": 0,
                "registers": value["kernels"][0]["registers"],
                "instructions": entry.instructions,
            }],
        })
    );
    let registers = value["kernels"][0]["registers"].as_object().expect("an object");
    let total: u64 = registers.values().map(|n| n.as_u64().expect("a number")).sum();
    assert_eq!(total, u64::from(entry.register_count()));
    assert!(["pred", "b32", "f32", "b64"].iter().all(|class| registers.contains_key(*class)));
}

#[test]
fn views_are_listed_with_their_buffer() {
    let export = warpwright::export::Export::kernel(&kernels::views());
    let value: Value = serde_json::from_str(&export.manifest.to_json()).expect("JSON");
    let parameters = &value["kernels"][0]["parameters"];
    let mode = |size: &str, stride: &str| json!({"size": size, "stride": stride});
    assert_eq!(
        parameters[0]["views"],
        json!([{"element_bytes": 4, "modes": [mode("m", "n"), mode("n", "1")]}])
    );
    assert_eq!(parameters[1]["views"], json!([{"element_bytes": 2, "modes": [mode("(m) * (n)", "2")]}]));
    assert_eq!(parameters[2]["views"].as_array().map(Vec::len), Some(2));
    assert_eq!(parameters[3].get("views"), None);
}

#[test]
fn manifests_are_parsed_back() {
    let export = warpwright::export::Export::module(&kernels::module(), "both").expect("a name for C");
    let read: Manifest = serde_json::from_str(&export.manifest.to_json()).expect("JSON");
    assert_eq!(read, export.manifest);
    assert_eq!(read.kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>(), ["first", "second"]);
}

#[test]
fn assumptions_about_one_parameter_are_combined() {
    let export = warpwright::export::Export::kernel(&kernels::scalars());
    let assumptions: Vec<_> = export.manifest.kernels[0]
        .assumptions
        .iter()
        .map(|p| (p.parameter.as_str(), p.multiple_of, p.at_most))
        .collect();
    assert_eq!(assumptions, [("NULL", 1, Some(100)), ("linux", 3, None), ("template", 6, None)]);
    assert_eq!(export.manifest.kernels[0].max_block, Some([256, 1, 1]));
    assert_eq!(export.manifest.kernels[0].min_blocks_per_multiprocessor, Some(2));
}

/// The grid expressions agree with the kernel's own rule.
#[test]
fn grid_expressions_are_c_expressions_of_the_parameters() {
    let kernel = Kernel::<(u32, u32)>::build("f(m, n)", Target::SM_80, |k, (m, n)| {
        k.grid([m.tiles(16) * n.tiles(8), (n.into_dim() + 7).ceil_div(64)]);
    })
    .expect("it builds");
    let export = warpwright::export::Export::kernel(&kernel);
    let grid = export.manifest.kernels[0].grid.clone().expect("a rule");
    assert_eq!(grid, ["((m + 15) / 16) * ((n + 7) / 8)", "(n + 7 + 63) / 64", "1"]);
}

#[test]
fn element_types_are_named_as_in_rust() {
    type Args = (In<e4m3>, In<e5m2>, In<tf32>, InOut<i8>);
    let kernel = Kernel::<Args>::build("types(a, b, c, d)", Target::SM_90, |k, _| {
        k.block([32]);
        k.grid([1]);
    });
    let export = warpwright::export::Export::kernel(&kernel.expect("it builds"));
    let value: Value = serde_json::from_str(&export.manifest.to_json()).expect("JSON");
    let parameters = value["kernels"][0]["parameters"].as_array().expect("an array");
    let elements: Vec<_> = parameters.iter().map(|p| (&p["element"], &p["ptx_type"], &p["bytes"])).collect();
    let [a, b, c, d] = ["e4m3", "e5m2", "tf32", "i8"].map(|name| json!(name));
    let (address, bytes) = (json!("u64"), json!(8));
    assert_eq!(elements, [&a, &b, &c, &d].map(|name| (name, &address, &bytes)));
    for name in ["e4m3", "e5m2", "tf32", "i8"] {
        assert!(export.header.contains(&format!("/* {name}, read")), "{}", export.header);
    }
}
