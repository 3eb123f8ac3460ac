//! The manifest: what a program must know of exported kernels, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ptx::{Entry, ParamKind, RegClass};

/// All that `NAME.json` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// What wrote it.
    pub generator: Generator,
    /// The files that belong together, in one folder.
    pub files: FileNames,
    /// `.target`: `"sm_80"`.
    pub target: String,
    /// `.version` of the module: `"7.0"`.
    pub ptx_version: String,
    /// The kernels, in the order of the PTX text.
    pub kernels: Vec<KernelManifest>,
}

/// What wrote the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Generator {
    /// Name of the crate.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The files of one export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileNames {
    /// The PTX text.
    pub ptx: String,
    /// The C and C++ header.
    pub header: String,
    /// The manifest itself.
    pub manifest: String,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelManifest {
    /// Name of the entry.
    pub name: String,
    /// What it does, if it says so.
    pub description: String,
    /// Parameters in order.
    pub parameters: Vec<ParameterManifest>,
    /// What every launch must keep.
    pub promises: Vec<PromiseManifest>,
    /// Threads of a block in x, y and z, if fixed.
    pub block: Option<[u32; 3]>,
    /// Most threads of a block in x, y and z, if bounded.
    pub max_block: Option<[u32; 3]>,
    /// Blocks that should fit on a multiprocessor, if asked for.
    pub min_blocks_per_multiprocessor: Option<u32>,
    /// Most 32-bit registers of a thread, if bounded.
    pub max_registers: Option<u32>,
    /// Blocks of a cluster in x, y and z, if it runs in clusters.
    pub cluster: Option<[u32; 3]>,
    /// Blocks of a launch in x, y and z, as C expressions of the parameters with integer division, if there is a rule.
    pub grid: Option<[String; 3]>,
    /// Shared memory of a block.
    pub shared_bytes: SharedBytes,
    /// Local memory that a thread declares, in bytes.
    pub local_bytes: u64,
    /// Registers declared, by PTX type: what was written, not what ptxas needs.
    pub registers: BTreeMap<String, u32>,
    /// Instructions written.
    pub instructions: u32,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParameterManifest {
    /// Its name.
    pub name: String,
    /// `"in"`, `"out"`, `"inout"` (device addresses of buffers) or `"scalar"`.
    pub kind: String,
    /// Element type of a buffer, or type of a scalar, by its Rust name: `"bf16"`.
    pub element: String,
    /// PTX type of the parameter itself: `"u64"`.
    pub ptx_type: String,
    /// Size of the parameter itself.
    pub bytes: u32,
}

/// What every launch must keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromiseManifest {
    /// Name of the parameter.
    pub parameter: String,
    /// What divides its value.
    pub multiple_of: u64,
}

/// Shared memory of a block, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SharedBytes {
    /// Declared in the PTX text.
    #[serde(rename = "static")]
    pub fixed: u32,
    /// For the launch to ask for.
    pub dynamic: u32,
}

impl Manifest {
    pub(super) fn new(name: &str, entries: &[&Entry], ptx: &str) -> Self {
        // The text is what counts: an empty module has a version and a target too.
        let directive = |word: &str| {
            let line = ptx.lines().find_map(|line| line.strip_prefix(word));
            line.map(|rest| rest.trim().to_string()).unwrap_or_default()
        };
        Self {
            generator: Generator {
                name: env!("CARGO_PKG_NAME").to_string(),
                version: env!("CARGO_PKG_VERSION").to_string(),
            },
            files: FileNames {
                ptx: format!("{name}.ptx"),
                header: format!("{name}.h"),
                manifest: format!("{name}.json"),
            },
            target: directive(".target"),
            ptx_version: directive(".version"),
            kernels: entries.iter().map(|entry| KernelManifest::new(entry)).collect(),
        }
    }

    /// The text of `NAME.json`.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists of such have no way to fail.
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        json + "\n"
    }
}

impl KernelManifest {
    fn new(entry: &Entry) -> Self {
        let names = entry.param_names();
        let mut registers = BTreeMap::new();
        for (class, &count) in RegClass::ALL.iter().zip(&entry.registers).filter(|(_, count)| **count > 0) {
            *registers.entry(class.decl().trim_start_matches('.').to_string()).or_insert(0) += count;
        }
        let promises = names.iter().enumerate().filter_map(|(i, name)| {
            let multiple_of = entry.promised_divisor(i);
            (multiple_of > 1).then(|| PromiseManifest { parameter: name.clone(), multiple_of })
        });
        Self {
            name: entry.name.clone(),
            description: entry.description.clone(),
            parameters: entry
                .params
                .iter()
                .map(|param| ParameterManifest {
                    name: param.name.clone(),
                    kind: kind_name(param.kind).to_string(),
                    element: param.element.to_string(),
                    ptx_type: param.ptx.to_string(),
                    bytes: param.bytes,
                })
                .collect(),
            promises: promises.collect(),
            block: entry.block,
            max_block: entry.max_block,
            min_blocks_per_multiprocessor: entry.min_blocks,
            max_registers: entry.max_registers,
            cluster: entry.cluster,
            grid: entry.grid.as_ref().map(|grid| grid.each_ref().map(|dim| dim.expression(&names))),
            shared_bytes: SharedBytes {
                fixed: entry.static_shared_bytes,
                dynamic: entry.dynamic_shared_bytes,
            },
            local_bytes: entry.local_bytes,
            registers,
            instructions: entry.instructions,
        }
    }
}

const fn kind_name(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::In => "in",
        ParamKind::Out => "out",
        ParamKind::InOut => "inout",
        ParamKind::Scalar => "scalar",
    }
}
