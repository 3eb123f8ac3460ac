//! The tensor maps that a launch creates and passes after the kernel's parameters.

use std::fmt::Write;

use super::expression::expression;
use crate::{
    export::tensor_map::{data_type, swizzle},
    ptx::{BufferMap, Dim, Entry},
};

/// The size and alignment of a map in bytes.
pub(super) const MAP_BYTES: usize = 128;
pub(super) const MAP_ALIGN: usize = 64;

/// Writes, for each map, a function that returns its tensor; then a function that describes the first tensor without a map, and a function
/// that creates all maps.
pub(super) fn functions(out: &mut String, entry: &Entry, fields: &[String]) {
    if entry.maps.is_empty() {
        return;
    }
    for (index, map) in entry.maps.iter().enumerate() {
        tensor(out, entry, fields, index, map);
    }
    check(out, entry);
    encode(out, entry);
}

fn tensor(out: &mut String, entry: &Entry, fields: &[String], index: usize, map: &BufferMap) {
    let (kernel, param, field) = (&entry.name, &entry.params[map.parameter], &fields[map.parameter]);
    let list = |dims: &[Dim]| -> String {
        let dims: Vec<String> = dims.iter().map(|dim| expression(dim, &entry.params, fields)).collect();
        // C has no empty lists.
        if dims.is_empty() { "0".to_string() } else { dims.join(", ") }
    };
    let (dims, strides) = (list(&map.dims), list(&map.strides));
    let box_dims: Vec<String> = map.box_dims.iter().map(u32::to_string).collect();
    let ((type_name, type_), (swizzle_name, swizzle)) = (data_type(param), swizzle(map.swizzle));
    let _ = write!(
        out,
        "/* The tensor and box of map {index}, of buffer `{}`. */\n\
         static inline warpwright_tensor {kernel}_tensor_{index}(const {kernel}_args *args) {{\n    \
         const warpwright_tensor tensor = {{\n        \
         args->{field}.address, {{{dims}}}, {{{strides}}}, {{{}}}, {}, {},\n        \
         {type_} /* {type_name} */, {swizzle} /* {swizzle_name} */}};\n    \
         return tensor;\n}}\n\n",
        param.name,
        box_dims.join(", "),
        map.dims.len(),
        param.element_bytes,
    );
}

/// The messages are those of a launch from Rust (`run/tensor_map.rs`), without the values found.
fn check(out: &mut String, entry: &Entry) {
    let kernel = &entry.name;
    let _ = write!(
        out,
        "/* Describes the first tensor that has no map; NULL if all have one. */\n\
         static inline const char *{kernel}_check_maps(const {kernel}_args *args) {{\n    \
         warpwright_tensor tensor;\n"
    );
    for (index, map) in entry.maps.iter().enumerate() {
        let _ = write!(
            out,
            "    tensor = {kernel}_tensor_{index}(args);\n    switch (warpwright_tensor_problem(&tensor)) {{\n"
        );
        let limits = [
            (1, "expected extents that fit in 64 bits".to_string()),
            (2, format!("expected at most {} coordinates along a dimension", i32::MAX)),
            (3, "expected rows that are a multiple of 16 bytes apart".to_string()),
        ];
        let parameter = &entry.params[map.parameter].name;
        for (code, message) in limits {
            let _ = writeln!(out, "    case {code}: return \"{parameter}: {message}\";");
        }
        out.push_str("    default: break;\n    }\n");
    }
    out.push_str("    return NULL;\n}\n\n");
}

fn encode(out: &mut String, entry: &Entry) {
    let (kernel, count) = (&entry.name, entry.maps.len());
    let _ = write!(
        out,
        "/* Creates the tensor maps, {MAP_BYTES} bytes each, at `maps`, a multiple of {MAP_ALIGN}. They are passed after the parameters. */\n\
         static inline warpwright_result {kernel}_encode_maps(\n    \
         const warpwright_extended_driver *driver, const {kernel}_args *args, unsigned char maps[{MAP_BYTES} * {count}]) {{\n    \
         warpwright_tensor tensor;\n    warpwright_result result;\n"
    );
    for index in 0..count {
        let _ = write!(
            out,
            "    tensor = {kernel}_tensor_{index}(args);\n    \
             result = warpwright_encode(driver, &tensor, maps + {});\n",
            index * MAP_BYTES
        );
        if index + 1 < count {
            out.push_str("    if (result != (warpwright_result)0) return result;\n");
        }
    }
    out.push_str("    return result;\n}\n\n");
}
