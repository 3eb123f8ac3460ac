//! The C and C++ header.
//!
//! It declares what it needs of the driver API by itself, in a form that agrees with `cuda.h`, so that neither CUDA nor
//! its headers are needed to compile a program that launches the kernel.

mod kernel;

use std::fmt::Write;

use super::manifest::Manifest;
use crate::ptx::{Entry, Target};

/// What every exported header shares; the first one included defines it.
const DRIVER: &str = "\
/* Functions of the CUDA driver that a launch calls: linked, or looked up in the driver's library at run time. */
#ifndef WARPWRIGHT_DRIVER
#define WARPWRIGHT_DRIVER

#ifdef CUDA_VERSION /* <cuda.h> was included */
typedef CUresult warpwright_result;
typedef CUfunction_attribute warpwright_attribute;
#else
typedef int warpwright_result; /* CUresult: 0 is success */
typedef int warpwright_attribute; /* CUfunction_attribute */
#endif

#ifdef _WIN32
#define WARPWRIGHT_API __stdcall
#else
#define WARPWRIGHT_API
#endif

struct CUfunc_st; /* CUfunction is a pointer to it */
struct CUstream_st; /* CUstream is a pointer to it */

typedef struct warpwright_driver {
    /* cuLaunchKernel */
    warpwright_result (WARPWRIGHT_API *launch_kernel)(
        struct CUfunc_st *function,
        unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
        unsigned int block_x, unsigned int block_y, unsigned int block_z,
        unsigned int dynamic_shared_bytes, struct CUstream_st *stream, void **parameters, void **extra);
    /* cuFuncSetAttribute */
    warpwright_result (WARPWRIGHT_API *func_set_attribute)(
        struct CUfunc_st *function, warpwright_attribute attribute, int value);
} warpwright_driver;

#endif /* WARPWRIGHT_DRIVER */
";

/// The text of the header of these kernels.
pub(super) fn header(manifest: &Manifest, entries: &[&Entry]) -> String {
    let mut out = String::with_capacity(8 << 10);
    let name = manifest.files.header.trim_end_matches(".h");
    let prefix = name.to_ascii_uppercase();
    let (ptx, generator) = (&manifest.files.ptx, &manifest.generator);
    let _ = write!(
        out,
        "/* {name}.h: how to launch what is in {ptx}.\n * Written by {} {}; changes will be lost.\n */\n\
         #ifndef WARPWRIGHT_EXPORT_{prefix}_H\n#define WARPWRIGHT_EXPORT_{prefix}_H\n\n\
         #include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{DRIVER}\n",
        generator.name, generator.version
    );
    let target = &manifest.target;
    let _ = write!(
        out,
        "/* The module: load the text of this file with cuModuleLoadData. */\n\
         #define {prefix}_PTX \"{ptx}\"\n#define {prefix}_PTX_VERSION \"{}\"\n#define {prefix}_TARGET \"{target}\"\n\n",
        manifest.ptx_version
    );
    if let Some(target) = entries.first().map(|entry| entry.target) {
        runs_on(&mut out, name, target);
    }
    for entry in entries {
        kernel::kernel(&mut out, entry);
    }
    let _ = write!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif /* WARPWRIGHT_EXPORT_{prefix}_H */\n");
    out
}

fn runs_on(out: &mut String, name: &str, target: Target) {
    let relation = if target.runs_on(99, 0) { ">=" } else { "==" };
    let _ = write!(
        out,
        "/* Whether a device of compute capability `major.minor` runs it. */\n\
         static inline int {name}_runs_on(int major, int minor) {{\n\
         \x20   return 10 * major + minor {relation} {};\n}}\n\n",
        target.sm()
    );
}
