//! The declarations of one kernel in the header: constants, arguments, buffer lengths, grid, checks, and launch.

use std::fmt::Write;

use super::{
    buffers,
    expression::{depends_on_device, expression},
    extended,
    tensors::{self, MAP_ALIGN, MAP_BYTES},
};
use crate::{
    export::c_name,
    ptx::{BUFFER_ALIGN, Entry, ParamDecl, ParamKind},
};

/// The maximum number of blocks in x, y and z (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Writes the declarations of one kernel.
pub(super) fn kernel(out: &mut String, entry: &Entry) {
    Kernel::new(entry).write(out);
}

/// Returns the macro names of one kernel.
pub(in crate::export) fn macros(entry: &Entry) -> impl Iterator<Item = String> {
    Kernel::new(entry).macros().into_iter().map(|(name, _)| name)
}

/// A kernel and the C names of its parameters.
struct Kernel<'a> {
    entry: &'a Entry,
    fields: Vec<String>,
    /// The prefix of its macros.
    prefix: String,
    /// Whether the grid depends on the number of multiprocessors.
    on_device: bool,
}

impl<'a> Kernel<'a> {
    fn new(entry: &'a Entry) -> Self {
        Self {
            entry,
            fields: c_name::fields(&entry.param_names()),
            prefix: entry.name.to_ascii_uppercase(),
            on_device: depends_on_device(entry),
        }
    }

    fn write(&self, out: &mut String) {
        self.constants(out);
        self.arguments(out);
        buffers::lengths(out, self.entry, &self.fields);
        self.grid(out);
        tensors::functions(out, self.entry, &self.fields);
        self.check(out);
        self.check_block(out);
        self.prepare(out);
        self.launch(out);
    }

    /// Returns `text` if the grid depends on the number of multiprocessors.
    fn multiprocessors<'t>(&self, text: &'t str) -> &'t str {
        if self.on_device { text } else { "" }
    }

    /// Returns the C type of the driver argument.
    fn driver(&self) -> &'static str {
        if extended::is_required(self.entry) { "warpwright_extended_driver" } else { "warpwright_driver" }
    }

    /// Returns the prefix for access to the functions that both driver types contain.
    fn basic(&self) -> &'static str {
        if extended::is_required(self.entry) { "basic." } else { "" }
    }

    fn constants(&self, out: &mut String) {
        let _ = write!(out, "/* Kernel {}", self.entry.name);
        for line in self.entry.description.lines() {
            let _ = write!(out, "\n * {}", comment(line));
        }
        out.push_str("\n */\n");
        for (name, value) in self.macros() {
            let _ = writeln!(out, "#define {name} {value}");
        }
        out.push('\n');
    }

    /// Returns the names and values of the kernel's macros.
    fn macros(&self) -> Vec<(String, String)> {
        let entry = self.entry;
        let mut macros = vec![("NAME".into(), format!("\"{}\"", entry.name))];
        let shapes = [("BLOCK", entry.block), ("MAX_BLOCK", entry.max_block), ("CLUSTER", entry.cluster)];
        for (what, shape) in shapes {
            for (axis, n) in ["X", "Y", "Z"].iter().zip(shape.into_iter().flatten()) {
                macros.push((format!("{what}_{axis}"), format!("{n}u")));
            }
        }
        let names: Vec<_> = entry.params.iter().map(|param| param.name.to_ascii_uppercase()).collect();
        for (i, name) in c_name::fields(&names).iter().enumerate() {
            let divisor = entry.assumed_divisor(i);
            if divisor > 1 {
                macros.push((format!("{name}_MULTIPLE_OF"), divisor.to_string()));
            }
            if let Some(most) = entry.largest(i) {
                macros.push((format!("{name}_AT_MOST"), format!("{most}u")));
            }
        }
        macros.push(("STATIC_SHARED_BYTES".into(), format!("{}u", entry.static_shared_bytes)));
        macros.push(("DYNAMIC_SHARED_BYTES".into(), format!("{}u", entry.dynamic_shared_bytes)));
        if !entry.maps.is_empty() {
            macros.push(("TENSOR_MAPS".into(), format!("{}u", entry.maps.len())));
        }
        macros.into_iter().map(|(name, value)| (format!("{}_{name}", self.prefix), value)).collect()
    }

    fn arguments(&self, out: &mut String) {
        let name = &self.entry.name;
        if self.entry.params.iter().any(|param| param.kind.is_written()) {
            out.push_str("/* Buffers that the kernel writes must not overlap other buffers. */\n");
        }
        let _ = writeln!(out, "typedef struct {name}_args {{");
        for (i, (param, field)) in self.entry.params.iter().zip(&self.fields).enumerate() {
            let mut note = note(param);
            let divisor = self.entry.assumed_divisor(i);
            if divisor > 1 {
                let separator = if note.is_empty() { "" } else { ", " };
                let _ = write!(note, "{separator}a multiple of {divisor}");
            }
            if let Some(most) = self.entry.largest(i) {
                let separator = if note.is_empty() { "" } else { ", " };
                let _ = write!(note, "{separator}at most {most}");
            }
            let note = if note.is_empty() { note } else { format!(" /* {note} */") };
            let _ = writeln!(out, "    {} {field};{note}", c_type(param));
        }
        if self.fields.is_empty() {
            // C has no empty structs.
            out.push_str("    char none; /* no parameters */\n");
        }
        let _ = writeln!(out, "}} {name}_args;\n");
    }

    fn grid(&self, out: &mut String) {
        let Some(grid) = &self.entry.grid else { return };
        let name = &self.entry.name;
        let rules = grid.each_ref().map(|dim| expression(dim, &self.entry.params, &self.fields));
        let _ = write!(
            out,
            "/* The number of blocks in x, y and z{}. */\n\
             static inline void {name}_grid(const {name}_args *args, {}uint64_t grid[3]) {{\n",
            if self.on_device { " on a device with this number of multiprocessors" } else { "" },
            self.multiprocessors("uint32_t multiprocessors, ")
        );
        if !rules.iter().any(|rule| rule.contains("args->")) {
            out.push_str("    (void)args;\n");
        }
        for (axis, rule) in rules.iter().enumerate() {
            let _ = writeln!(out, "    grid[{axis}] = {rule};");
        }
        out.push_str("}\n\n");
    }

    fn check(&self, out: &mut String) {
        let name = &self.entry.name;
        let _ = write!(
            out,
            "/* Describes the first violated requirement of the arguments; NULL if they are valid. */\n\
             static inline const char *{name}_check(const {name}_args *args{}) {{\n",
            self.multiprocessors(", uint32_t multiprocessors")
        );
        let mut body = String::new();
        for (i, (param, field)) in self.entry.params.iter().zip(&self.fields).enumerate() {
            let (value, what, divisor) = match param.kind {
                ParamKind::TensorMap { .. } => {
                    let name = &param.name;
                    let _ = writeln!(
                        body,
                        "    if (args->{field} == NULL) return \"{name}: expected a tensor map\";"
                    );
                    continue;
                }
                ParamKind::Scalar => (field.clone(), "a", self.entry.assumed_divisor(i)),
                _ => (format!("{field}.address"), "an address that is a", BUFFER_ALIGN.into()),
            };
            if divisor > 1 {
                let name = &param.name;
                let _ = writeln!(
                    body,
                    "    if (args->{value} % {divisor} != 0) return \"{name}: expected {what} multiple of {divisor}\";"
                );
            }
            if let Some(most) = self.entry.largest(i) {
                let name = &param.name;
                let _ = writeln!(
                    body,
                    "    if (args->{field} > {most}u) return \"{name}: expected at most {most}\";"
                );
            }
        }
        buffers::checks(&mut body, self.entry, &self.fields);
        if self.entry.grid.is_some() {
            let _ = write!(
                body,
                "    {{\n        uint64_t grid[3];\n        {name}_grid(args, {}grid);\n        if ({}) return \"grid: expected at most {} blocks\";\n",
                self.multiprocessors("multiprocessors, "),
                each_axis(|i| format!("grid[{i}] > {}u", MAX_GRID[i]), " || "),
                each_axis(|i| MAX_GRID[i].to_string(), " x ")
            );
            if let Some(cluster) = self.entry.cluster {
                let _ = writeln!(
                    body,
                    "        if ({}) return \"grid: expected a multiple of the cluster\";",
                    each_axis(|i| format!("grid[{i}] % {}u != 0", cluster[i]), " || ")
                );
            }
            if !self.entry.maps.is_empty() {
                // A launch with an empty grid creates no maps.
                let nonempty = each_axis(|i| format!("grid[{i}] != 0"), " && ");
                let _ = writeln!(body, "        if ({nonempty}) return {name}_check_maps(args);");
            }
            body.push_str("    }\n");
        } else if !self.entry.maps.is_empty() {
            let _ = write!(
                body,
                "    {{\n        const char *problem = {name}_check_maps(args);\n        \
                 if (problem != NULL) return problem;\n    }}\n"
            );
        }
        if body.is_empty() {
            body.push_str("    (void)args;\n");
        }
        let _ = write!(out, "{body}    return NULL;\n}}\n\n");
    }

    /// Writes the function that checks the block shape passed to the launch function.
    fn check_block(&self, out: &mut String) {
        let Self { entry: Entry { name, block: None, max_block: Some(most), .. }, prefix, .. } = self else {
            return;
        };
        let _ = write!(
            out,
            "/* Describes the violated requirement of a block shape; NULL if it is valid. */\n\
             static inline const char *{name}_check_block(const uint32_t block[3]) {{\n    \
             if ({})\n        return \"block: expected at most {} threads\";\n    return NULL;\n}}\n\n",
            each_axis(|i| format!("block[{i}] > {prefix}_MAX_BLOCK_{}", ["X", "Y", "Z"][i]), " || "),
            most.map(|n| n.to_string()).join(" x ")
        );
    }

    fn prepare(&self, out: &mut String) {
        let Self { entry: Entry { name, dynamic_shared_bytes, .. }, prefix, .. } = self;
        let body = if *dynamic_shared_bytes == 0 {
            "    (void)driver;\n    (void)function;\n    return (warpwright_result)0;\n".to_string()
        } else {
            format!(
                "    /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */\n    \
                 return driver->{}func_set_attribute(function, (warpwright_attribute)8, (int){prefix}_DYNAMIC_SHARED_BYTES);\n",
                self.basic()
            )
        };
        let _ = write!(
            out,
            "/* Call once after cuModuleGetFunction: sets the kernel's dynamic shared memory limit. */\n\
             static inline warpwright_result {name}_prepare(\n    \
             const {} *driver, struct CUfunc_st *function) {{\n{body}}}\n\n",
            self.driver()
        );
    }

    fn launch(&self, out: &mut String) {
        let Self { entry: Entry { name, block, max_block, grid, maps, .. }, prefix, fields, .. } = self;
        let mut comment = String::from("/* Launches the kernel asynchronously.");
        let mut shapes = String::new();
        if grid.is_none() {
            comment.push_str(" `grid` is the number of blocks in x, y and z.");
            shapes.push_str("const uint32_t grid[3], ");
        }
        if block.is_none() {
            comment.push_str(" `block` is the number of threads per block in x, y and z.");
            shapes.push_str("const uint32_t block[3], ");
        }
        let _ = write!(
            comment,
            "\n * Returns CUDA_ERROR_INVALID_VALUE if {name}_check rejects the arguments. An empty grid launches nothing and succeeds. */",
        );
        let _ = write!(
            out,
            "{comment}\nstatic inline warpwright_result {name}_launch(\n    \
             const {} *driver, struct CUfunc_st *function, struct CUstream_st *stream,\n    \
             {shapes}const {name}_args *args) {{\n",
            self.driver()
        );
        if fields.is_empty() {
            out.push_str("    void **parameters = NULL;\n");
        } else {
            let _ = writeln!(out, "    {name}_args copy = *args;");
            let pointer = |(param, field): (&ParamDecl, &String)| match param.kind {
                ParamKind::Scalar => format!("&copy.{field}"),
                ParamKind::TensorMap { .. } => format!("(void *)copy.{field}"),
                _ => format!("&copy.{field}.address"),
            };
            let mut pointers: Vec<String> = self.entry.params.iter().zip(fields).map(pointer).collect();
            if !maps.is_empty() {
                // C99 has no alignment specifiers.
                let _ = write!(
                    out,
                    "    unsigned char memory[{MAP_BYTES} * {} + {MAP_ALIGN} - 1];\n    \
                     unsigned char *maps = memory + ({MAP_ALIGN} - (uintptr_t)memory % {MAP_ALIGN}) % {MAP_ALIGN};\n",
                    maps.len()
                );
                pointers.extend((0..maps.len()).map(|index| format!("maps + {}", index * MAP_BYTES)));
            }
            let _ = writeln!(out, "    void *parameters[] = {{{}}};", pointers.join(", "));
        }
        if grid.is_some() {
            out.push_str("    uint64_t grid[3];\n");
        }
        if self.on_device {
            out.push_str("    uint32_t multiprocessors;\n");
        }
        if extended::is_required(self.entry) {
            out.push_str("    warpwright_result result;\n");
        }
        if self.on_device {
            out.push_str(
                "    result = warpwright_multiprocessors(driver, &multiprocessors);\n    \
                 if (result != (warpwright_result)0) return result;\n",
            );
        }
        let multiprocessors = self.multiprocessors(", multiprocessors");
        let _ = writeln!(
            out,
            "    if ({name}_check(args{multiprocessors}) != NULL) return (warpwright_result)1;"
        );
        let checks_block = block.is_none() && max_block.is_some();
        if checks_block {
            let _ = writeln!(out, "    if ({name}_check_block(block) != NULL) return (warpwright_result)1;");
        }
        if grid.is_some() {
            let _ = writeln!(out, "    {name}_grid(args{multiprocessors}, grid);");
        }
        let empty = each_axis(|i| format!("grid[{i}] == 0"), " || ");
        let _ = writeln!(out, "    if ({empty}) return (warpwright_result)0;");
        if !maps.is_empty() {
            let _ = write!(
                out,
                "    result = {name}_encode_maps(driver, args, maps);\n    \
                 if (result != (warpwright_result)0) return result;\n"
            );
        }
        let block = if block.is_some() {
            ["X", "Y", "Z"].map(|axis| format!("{prefix}_BLOCK_{axis}")).join(", ")
        } else {
            each_axis(|i| format!("block[{i}]"), ", ")
        };
        let _ = write!(
            out,
            "    return driver->{}launch_kernel(\n        function, {},\n        {block},\n        \
             {prefix}_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);\n}}\n\n",
            self.basic(),
            each_axis(|i| format!("(unsigned int)grid[{i}]"), ", ")
        );
    }
}

fn each_axis(text: impl Fn(usize) -> String, separator: &str) -> String {
    [0, 1, 2].map(text).join(separator)
}

/// Returns the text in a form that is valid in a C comment.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

/// Returns the information that the field's type does not express.
fn note(param: &ParamDecl) -> String {
    let use_ = match param.kind {
        ParamKind::In => "read",
        ParamKind::Out => "written",
        ParamKind::InOut => "read and written",
        ParamKind::Scalar => return scalar_note(param),
        ParamKind::TensorMap { written } => {
            return format!("a map of {}, {}", param.element, if written { "written" } else { "read" });
        }
    };
    format!("{}, {use_}; address: a multiple of {BUFFER_ALIGN}", param.element)
}

fn scalar_note(param: &ParamDecl) -> String {
    match param.element {
        "f16" | "bf16" => format!("bits of a {}", param.element),
        _ => String::new(),
    }
}

/// Returns the C type of a parameter.
fn c_type(param: &ParamDecl) -> &'static str {
    match param.kind {
        ParamKind::Scalar => {}
        // cuda.h: CUtensorMap.
        ParamKind::TensorMap { .. } => return "const struct CUtensorMap_st *",
        _ => return "warpwright_buffer",
    }
    match param.element {
        "f32" => "float",
        "f64" => "double",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        // f16 and bf16 are passed as their bits.
        _ => match param.bytes {
            2 => "uint16_t",
            4 => "uint32_t",
            _ => "uint64_t",
        },
    }
}
