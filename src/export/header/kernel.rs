//! One kernel's part of the header: its facts, its arguments, its grid, its checks, its launch.

use std::fmt::Write;

use crate::{
    export::c_name,
    ptx::{BUFFER_ALIGN, Entry, ParamDecl, ParamKind},
};

/// Most blocks of a launch in x, y and z (CUDA programming guide, "Technical Specifications per Compute Capability").
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Writes everything about one kernel.
pub(super) fn kernel(out: &mut String, entry: &Entry) {
    Kernel::new(entry).write(out);
}

/// A kernel and the names of its parameters in C.
struct Kernel<'a> {
    entry: &'a Entry,
    fields: Vec<String>,
    /// Prefix of its macros.
    prefix: String,
}

impl<'a> Kernel<'a> {
    fn new(entry: &'a Entry) -> Self {
        Self { entry, fields: c_name::fields(&entry.param_names()), prefix: entry.name.to_ascii_uppercase() }
    }

    fn write(&self, out: &mut String) {
        self.facts(out);
        self.arguments(out);
        self.grid(out);
        self.check(out);
        self.prepare(out);
        self.launch(out);
    }

    fn facts(&self, out: &mut String) {
        let Self { entry, prefix, .. } = self;
        let _ = write!(out, "/* Kernel {}", entry.name);
        for line in entry.description.lines() {
            let _ = write!(out, "\n * {}", comment(line));
        }
        let _ = write!(out, "\n */\n#define {prefix}_NAME \"{}\"\n", entry.name);
        let mut shape = |what: &str, shape: Option<[u32; 3]>| {
            for (axis, n) in ["X", "Y", "Z"].iter().zip(shape.into_iter().flatten()) {
                let _ = writeln!(out, "#define {prefix}_{what}_{axis} {n}u");
            }
        };
        shape("BLOCK", entry.block);
        shape("MAX_BLOCK", entry.max_block);
        shape("CLUSTER", entry.cluster);
        for (i, param) in entry.params.iter().enumerate() {
            let divisor = entry.promised_divisor(i);
            if divisor > 1 {
                let name = param.name.to_ascii_uppercase();
                let _ = writeln!(out, "#define {prefix}_{name}_MULTIPLE_OF {divisor}");
            }
        }
        let _ = writeln!(out, "#define {prefix}_STATIC_SHARED_BYTES {}u", entry.static_shared_bytes);
        let _ = writeln!(out, "#define {prefix}_DYNAMIC_SHARED_BYTES {}u\n", entry.dynamic_shared_bytes);
    }

    fn arguments(&self, out: &mut String) {
        let name = &self.entry.name;
        let _ = writeln!(out, "typedef struct {name}_args {{");
        for (i, (param, field)) in self.entry.params.iter().zip(&self.fields).enumerate() {
            let mut note = note(param);
            let divisor = self.entry.promised_divisor(i);
            if divisor > 1 {
                let separator = if note.is_empty() { "" } else { ", " };
                let _ = write!(note, "{separator}a multiple of {divisor}");
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
        // In 64 bits: sizes near 2^32 must not wrap around.
        let fields: Vec<String> =
            self.fields.iter().map(|field| format!("(uint64_t)args->{field}")).collect();
        let rules = grid.each_ref().map(|dim| dim.expression(&fields));
        let _ = write!(
            out,
            "/* Blocks of a launch in x, y and z. */\n\
             static inline void {name}_grid(const {name}_args *args, uint64_t grid[3]) {{\n"
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
            "/* What is wrong with these arguments, or null. */\n\
             static inline const char *{name}_check(const {name}_args *args) {{\n"
        );
        let mut body = String::new();
        for (i, (param, field)) in self.entry.params.iter().zip(&self.fields).enumerate() {
            let divisor = match param.kind {
                ParamKind::Scalar => self.entry.promised_divisor(i),
                _ => BUFFER_ALIGN.into(),
            };
            if divisor > 1 {
                let _ = writeln!(
                    body,
                    "    if (args->{field} % {divisor} != 0) return \"{} is not a multiple of {divisor}\";",
                    param.name
                );
            }
        }
        if self.entry.grid.is_some() {
            let _ = write!(
                body,
                "    {{\n        uint64_t grid[3];\n        {name}_grid(args, grid);\n        if ({}) return \"the grid is too large\";\n",
                each_axis(|i| format!("grid[{i}] > {}u", MAX_GRID[i]), " || ")
            );
            if let Some(cluster) = self.entry.cluster {
                let _ = writeln!(
                    body,
                    "        if ({}) return \"the grid is not made of whole clusters\";",
                    each_axis(|i| format!("grid[{i}] % {}u != 0", cluster[i]), " || ")
                );
            }
            body.push_str("    }\n");
        }
        if body.is_empty() {
            body.push_str("    (void)args;\n");
        }
        let _ = write!(out, "{body}    return NULL;\n}}\n\n");
    }

    fn prepare(&self, out: &mut String) {
        let Self { entry: Entry { name, dynamic_shared_bytes, .. }, prefix, .. } = self;
        let body = if *dynamic_shared_bytes == 0 {
            "    (void)driver;\n    (void)function;\n    return (warpwright_result)0;\n".to_string()
        } else {
            format!(
                "    /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */\n    \
                 return driver->func_set_attribute(function, (warpwright_attribute)8, (int){prefix}_DYNAMIC_SHARED_BYTES);\n"
            )
        };
        let _ = write!(
            out,
            "/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */\n\
             static inline warpwright_result {name}_prepare(\n    \
             const warpwright_driver *driver, struct CUfunc_st *function) {{\n{body}}}\n\n"
        );
    }

    fn launch(&self, out: &mut String) {
        let Self { entry: Entry { name, block, grid, .. }, prefix, fields } = self;
        let mut comment = String::from("/* Launches the kernel; does not wait for it.");
        let mut shapes = String::new();
        if grid.is_none() {
            comment.push_str(" `grid` is the number of blocks in x, y and z.");
            shapes.push_str("const uint32_t grid[3], ");
        }
        if block.is_none() {
            comment.push_str(" `block` is the number of threads of each in x, y and z.");
            shapes.push_str("const uint32_t block[3], ");
        }
        comment.push_str(
            "\n * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */",
        );
        let _ = write!(
            out,
            "{comment}\nstatic inline warpwright_result {name}_launch(\n    \
             const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,\n    \
             {shapes}const {name}_args *args) {{\n"
        );
        if fields.is_empty() {
            out.push_str("    void **parameters = NULL;\n");
        } else {
            let _ = writeln!(out, "    {name}_args copy = *args;");
            let pointers: Vec<String> = fields.iter().map(|field| format!("&copy.{field}")).collect();
            let _ = writeln!(out, "    void *parameters[] = {{{}}};", pointers.join(", "));
        }
        if grid.is_some() {
            out.push_str("    uint64_t grid[3];\n");
        }
        let _ = writeln!(out, "    if ({name}_check(args) != NULL) return (warpwright_result)1;");
        if grid.is_some() {
            let _ = writeln!(out, "    {name}_grid(args, grid);");
        }
        let empty = each_axis(|i| format!("grid[{i}] == 0"), " || ");
        let _ = writeln!(out, "    if ({empty}) return (warpwright_result)0;");
        let block = if block.is_some() {
            ["X", "Y", "Z"].map(|axis| format!("{prefix}_BLOCK_{axis}")).join(", ")
        } else {
            each_axis(|i| format!("block[{i}]"), ", ")
        };
        let _ = write!(
            out,
            "    return driver->launch_kernel(\n        function, {},\n        {block},\n        \
             {prefix}_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);\n}}\n\n",
            each_axis(|i| format!("(unsigned int)grid[{i}]"), ", ")
        );
    }
}

fn each_axis(text: impl Fn(usize) -> String, separator: &str) -> String {
    [0, 1, 2].map(text).join(separator)
}

/// Text that can stand in a C comment.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

/// What a field's type does not say.
fn note(param: &ParamDecl) -> String {
    let use_ = match param.kind {
        ParamKind::In => "read",
        ParamKind::Out => "written",
        ParamKind::InOut => "read and written",
        ParamKind::Scalar => return scalar_note(param),
    };
    format!("device address of {} that are {use_}, a multiple of {BUFFER_ALIGN}", param.element)
}

fn scalar_note(param: &ParamDecl) -> String {
    match param.element {
        "f16" | "bf16" => format!("bits of a {}", param.element),
        _ => String::new(),
    }
}

/// C's type for a parameter.
fn c_type(param: &ParamDecl) -> &'static str {
    if param.kind != ParamKind::Scalar {
        return "uint64_t";
    }
    match param.element {
        "f32" => "float",
        "f64" => "double",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        // The sizes of the rest are their bits: f16 and bf16 are passed as such.
        _ => match param.bytes {
            2 => "uint16_t",
            4 => "uint32_t",
            _ => "uint64_t",
        },
    }
}
