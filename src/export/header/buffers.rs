//! The checks of a launch's buffers: minimum lengths and overlap.

use std::fmt::Write;

use super::expression::expression;
use crate::ptx::{Dim, Entry, Extent};

/// The declarations for buffers in every header.
pub(super) const HELPERS: &str = "\
/* A buffer in device memory: `bytes` bytes that a launch may access, from `address` on. */
typedef struct warpwright_buffer {
    uint64_t address;
    uint64_t bytes;
} warpwright_buffer;

/* Bytes up to the end of the last element of a view with these modes; UINT64_MAX if they do not fit in 64 bits. */
static inline uint64_t warpwright_extent(
    int modes, const uint64_t *size, const uint64_t *stride, uint64_t element_bytes) {
    uint64_t last = 0;
    int empty = 0, i;
    for (i = 0; i < modes; i++) {
        if (size[i] == WARPWRIGHT_OVERFLOW || stride[i] == WARPWRIGHT_OVERFLOW) return WARPWRIGHT_OVERFLOW;
        if (size[i] == 0) empty = 1;
        else last = warpwright_add(last, warpwright_mul(size[i] - 1, stride[i]));
    }
    return empty ? 0 : warpwright_mul(warpwright_add(last, 1), element_bytes);
}

/* Whether two buffers share bytes. */
static inline int warpwright_overlap(warpwright_buffer a, warpwright_buffer b) {
    if (a.bytes == 0 || b.bytes == 0) return 0;
    return a.address < b.address ? b.address - a.address < a.bytes : a.address - b.address < b.bytes;
}
";

/// Writes, for each buffer whose views have known extents, a function that computes its minimum length.
pub(super) fn lengths(out: &mut String, entry: &Entry, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        let views: Vec<&Extent> = entry.extents.iter().filter(|view| view.parameter == i).collect();
        if views.is_empty() {
            continue;
        }
        let name = &entry.name;
        let modes = views.iter().map(|view| view.modes.len()).max().unwrap_or(1).max(1);
        let mut body = String::new();
        for view in views {
            if view.modes.is_empty() {
                body.push_str("    size[0] = 1;\n    stride[0] = 0;\n");
            }
            for (mode, dims) in view.modes.iter().enumerate() {
                let [size, stride] =
                    [&dims.size, &dims.stride].map(|dim| expression(dim, &entry.params, fields));
                let _ = writeln!(body, "    size[{mode}] = {size};\n    stride[{mode}] = {stride};");
            }
            let (modes, bytes) = (view.modes.len().max(1), view.element_bytes);
            let _ = write!(
                body,
                "    extent = warpwright_extent({modes}, size, stride, {bytes});\n    \
                 if (extent > bytes) bytes = extent;\n"
            );
        }
        let unused = if body.contains("args->") { "" } else { "    (void)args;\n" };
        let _ = write!(
            out,
            "/* Minimum length of buffer `{}` in bytes; UINT64_MAX if it does not fit in 64 bits. */\n\
             static inline uint64_t {name}_{field}_bytes(const {name}_args *args) {{\n    \
             uint64_t size[{modes}], stride[{modes}], extent, bytes = 0;\n{unused}{body}    return bytes;\n}}\n\n",
            entry.params[i].name
        );
    }
}

/// Writes the checks that no mode of a buffer's views has more coordinates than the kernel's arithmetic supports.
fn coordinates(out: &mut String, entry: &Entry, parameter: usize, fields: &[String]) {
    let views = entry.extents.iter().filter(|view| view.parameter == parameter);
    let modes = views.flat_map(|view| view.modes.iter().map(|mode| (&mode.size, view.most)));
    let mut written: Vec<(String, u64)> = Vec::new();
    for (size, most) in modes {
        let limit = (expression(size, &entry.params, fields), most);
        if matches!(size, Dim::Const(n) if *n <= most) || most == u64::MAX || written.contains(&limit) {
            continue;
        }
        let _ = write!(
            out,
            "    if ({} > {most}ull)\n        \
             return \"{}: expected at most {most} coordinates along a mode\";\n",
            limit.0, entry.params[parameter].name
        );
        written.push(limit);
    }
}

/// Writes the checks of lengths and overlaps.
pub(super) fn checks(out: &mut String, entry: &Entry, fields: &[String]) {
    let params = || entry.params.iter().zip(fields);
    for (i, (param, field)) in params().enumerate() {
        coordinates(out, entry, i, fields);
        if entry.extents.iter().any(|view| view.parameter == i) {
            let (kernel, name) = (&entry.name, &param.name);
            let _ = write!(
                out,
                "    if (args->{field}.bytes < {kernel}_{field}_bytes(args))\n        \
                 return \"{name}: expected a buffer of at least {kernel}_{field}_bytes(args) bytes\";\n"
            );
        }
    }
    for (i, (a, first)) in params().enumerate().filter(|(_, (a, _))| a.kind.is_buffer()) {
        for (b, second) in params().skip(i + 1).filter(|(b, _)| b.kind.is_buffer()) {
            if a.kind.is_written() || b.kind.is_written() {
                let _ = write!(
                    out,
                    "    if (warpwright_overlap(args->{first}, args->{second}))\n        \
                     return \"{}, {}: expected buffers that do not overlap\";\n",
                    a.name, b.name
                );
            }
        }
    }
}
