//! Functions of the section "Driver Entry Point Access".

use std::collections::HashMap;
use std::sync::{Once, OnceLock};

use super::pointers::{In, Out, Text};
use crate::c::{Entry, absent, all, call};
use crate::code::{Code, Fallible};
use crate::config::config;
use crate::report;

/// Flags of `cuGetProcAddress`.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

/// Results of a query: `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`, `_VERSION_NOT_SUFFICIENT`.
const NOT_FOUND: u32 = 1;
const TOO_OLD: u32 = 2;

/// For each later variant of a function with different parameters, the first CUDA version in which the plain name refers to that variant
/// (`cudaTypedefs.h`). All other later variants are older than CUDA 11.
#[rustfmt::skip]
const SINCE: &[(&str, i32)] = &[
    ("cuCtxCreate_v3", 11040), ("cuCtxCreate_v4", 12050), ("cuCtxGetDevice_v2", 13000), ("cuCtxSynchronize_v2", 13000),
    ("cuDeviceGetUuid_v2", 11040), ("cuEventElapsedTime_v2", 12080), ("cuGetProcAddress_v2", 12000),
    ("cuMemAdvise_v2", 12020), ("cuMemPrefetchAsync_v2", 12020), ("cuStreamGetCtx_v2", 12050),
    ("cuStreamGetCaptureInfo_v2", 11030), ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuStreamUpdateCaptureDependencies_v2", 12030), ("cuMemcpyBatchAsync_v2", 13000),
    ("cuStreamWaitValue32_v2", 11070), ("cuStreamWaitValue64_v2", 11070), ("cuStreamWriteValue32_v2", 11070),
    ("cuStreamWriteValue64_v2", 11070), ("cuStreamBatchMemOp_v2", 11070),
    ("cuGraphAddKernelNode_v2", 12000), ("cuGraphKernelNodeGetParams_v2", 12000),
    ("cuGraphKernelNodeSetParams_v2", 12000), ("cuGraphExecKernelNodeSetParams_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000), ("cuGraphGetEdges_v2", 12030), ("cuGraphNodeGetDependencies_v2", 12030),
    ("cuGraphNodeGetDependentNodes_v2", 12030), ("cuGraphAddDependencies_v2", 12030),
    ("cuGraphRemoveDependencies_v2", 12030), ("cuGraphAddNode_v2", 12030), ("cuGraphAddNode_v3", 13040),
    ("cuGraphNodeSetParams_v2", 13040), ("cuLaunchHostFunc_v2", 13010), ("cuMemcpy3DBatchAsync_v2", 13000),
    ("cuMulticastBindMem_v2", 13010), ("cuMulticastBindAddr_v2", 13010),
];

fn table() -> &'static HashMap<&'static str, usize> {
    static TABLE: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    TABLE.get_or_init(|| all().map(|entry| (entry.name, entry.address.expose_provenance())).collect())
}

/// Returns whether a variant of a function exists and is implemented.
fn is_supported(name: &str) -> bool {
    !absent::ENTRIES.iter().any(|entry| entry.name == name)
}

/// Returns the address of the variant of a function that a program for CUDA `version` expects under its plain name.
fn find(name: &str, version: i32, per_thread: bool) -> Option<usize> {
    // Since CUDA 12, the function with flags has the plain name.
    let name = match name {
        "cuGraphInstantiate" if version >= 12000 => "cuGraphInstantiateWithFlags",
        name => name,
    };
    let forms = [format!("{name}_v4"), format!("{name}_v3"), format!("{name}_v2"), name.to_string()];
    let known =
        |form: &&String| SINCE.iter().find(|(n, _)| n == form).is_none_or(|(_, since)| version >= *since);
    let suffixes: &[&str] = if per_thread { &["_ptsz", "_ptds", ""] } else { &[""] };
    let names = forms
        .iter()
        .filter(known)
        .flat_map(|form| suffixes.iter().map(move |suffix| format!("{form}{suffix}")));
    let found: Vec<String> = names.filter(|name| table().contains_key(name.as_str())).collect();
    let chosen = found.iter().find(|name| is_supported(name)).or(found.first());
    chosen.map(|name| table()[name.as_str()])
}

fn get(symbol: Text, out: Out<usize>, version: i32, flags: u64, status: Out<u32>) -> Fallible {
    let name = symbol.get()?;
    let found = find(&name, version, flags & PER_THREAD_DEFAULT_STREAM != 0);
    if config().trace {
        report::say(&format!(
            "cuGetProcAddress: {name} for {version}: {}",
            if found.is_some() { "found" } else { "missing" }
        ));
    }
    let later = found.is_none() && find(&name, i32::MAX, false).is_some();
    status.set_if(if found.is_some() {
        0
    } else if later {
        TOO_OLD
    } else {
        NOT_FOUND
    });
    out.set(found.unwrap_or(0))?;
    // A missing function is not an error if its status can be stored.
    if found.is_some() || !status.is_null() { Ok(()) } else { Err(Code::NOT_FOUND) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress(symbol: Text, out: Out<usize>, version: i32, flags: u64) -> Code {
    call("cuGetProcAddress", || get(symbol, out, version, flags, Out::at_address(0)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: Text,
    out: Out<usize>,
    version: i32,
    flags: u64,
    status: Out<u32>,
) -> Code {
    call("cuGetProcAddress", || get(symbol, out, version, flags, status))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2_ptsz(
    symbol: Text,
    out: Out<usize>,
    version: i32,
    flags: u64,
    status: Out<u32>,
) -> Code {
    call("cuGetProcAddress", || get(symbol, out, version, flags | PER_THREAD_DEFAULT_STREAM, status))
}

/// Returns an error. This library does not have the private interfaces of NVIDIA's driver, which NVIDIA's runtime library requests by
/// identifier.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetExportTable(_table: Out<usize>, _id: In<[u8; 16]>) -> Code {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        report::say("the program calls private functions of NVIDIA's driver. If it contains NVIDIA's runtime library, its symbol table is missing (do not `strip` it), or this driver was loaded too late (use `warpwright run`, or set `LD_PRELOAD=libcuda.so.1`); or build it with `nvcc --cudart shared`");
    });
    call("cuGetExportTable", || Err(Code::NOT_SUPPORTED))
}

/// The functions of this module, which do not require `cuInit`.
pub(super) const ENTRIES: &[Entry] = &[
    Entry { name: "cuGetProcAddress", address: cuGetProcAddress as *const () },
    Entry { name: "cuGetExportTable", address: cuGetExportTable as *const () },
    Entry { name: "cuGetProcAddress_v2", address: cuGetProcAddress_v2 as *const () },
];
