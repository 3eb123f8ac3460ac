//! The manifest: a description of exported kernels as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::tensor_map::{L2_PROMOTION, OOB_FILL, data_type, swizzle};
use crate::ptx::{BufferMap, Dim, Entry, ExtentMode, ParamKind, RegClass};

/// The contents of `NAME.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The program that generated the files.
    pub generator: Generator,
    /// The names of the exported files, which are in the same folder.
    pub files: FileNames,
    /// The `.target` of the module, such as `"sm_80"`.
    pub target: String,
    /// The `.version` of the module, such as `"7.0"`.
    pub ptx_version: String,
    /// The kernels, in the order in which the PTX text defines them.
    pub kernels: Vec<KernelManifest>,
}

/// The program that generated the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Generator {
    /// The name of the crate.
    pub name: String,
    /// The version of the crate.
    pub version: String,
}

/// The names of the exported files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileNames {
    /// The name of the file that contains the PTX text.
    pub ptx: String,
    /// The name of the C and C++ header.
    pub header: String,
    /// The name of the file that contains this manifest.
    pub manifest: String,
    /// The name of the header that contains the PTX text as a C array, if the header was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The description of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelManifest {
    /// The name of the entry function.
    pub name: String,
    /// The kernel's description, or an empty string if the kernel has no description.
    pub description: String,
    /// The parameters in order.
    pub parameters: Vec<ParameterManifest>,
    /// The tensor maps that every launch must create and pass after the parameters, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensor_maps: Vec<TensorMapManifest>,
    /// The assumptions about arguments, which every launch must check.
    pub assumptions: Vec<AssumptionManifest>,
    /// The number of threads per block in x, y and z, if the kernel fixes it.
    pub block: Option<[u32; 3]>,
    /// The maximum number of threads per block in x, y and z, if the kernel bounds it.
    pub max_block: Option<[u32; 3]>,
    /// The minimum number of resident blocks per multiprocessor, if the kernel requests one.
    pub min_blocks_per_multiprocessor: Option<u32>,
    /// The maximum number of 32-bit registers per thread, if the kernel bounds it.
    pub max_registers: Option<u32>,
    /// The number of blocks per cluster in x, y and z, if the kernel uses clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether the kernel itself waits for the preceding kernel in the stream (`griddepcontrol.wait`) and may therefore be launched with
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub programmatic: bool,
    /// The number of blocks in x, y and z, as C expressions of the parameters, if the kernel has a grid rule. Divisions round down.
    /// `min(a, b)` and `max(a, b)` are the smaller and the larger of `a` and `b`. `multiprocessors` is the number of multiprocessors of the
    /// device (`CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`).
    pub grid: Option<[String; 3]>,
    /// The number of `unsafe` builder calls, whose safety is the responsibility of the kernel's author. If this number is 0, the kernel
    /// cannot access global memory outside its buffers.
    pub unsafe_accesses: u32,
    /// Shared memory per block.
    pub shared_bytes: SharedBytes,
    /// The declared local memory per thread, in bytes.
    pub local_bytes: u64,
    /// The number of declared registers of each PTX type, before register allocation by ptxas.
    pub registers: BTreeMap<String, u32>,
    /// The number of instructions.
    pub instructions: u32,
}

/// The description of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParameterManifest {
    /// The name of the parameter.
    pub name: String,
    /// The kind of the parameter: `"in"`, `"out"` or `"inout"` for the device address of a buffer, `"tensor_map"` or `"tensor_map_out"` for
    /// a tensor map, or `"scalar"`.
    pub kind: String,
    /// The Rust name of the element type of a buffer or tensor map, or of the type of a scalar. Example: `"bf16"`.
    pub element: String,
    /// The PTX type of the parameter itself, such as `"u64"`.
    pub ptx_type: String,
    /// The size of the parameter itself, in bytes.
    pub bytes: u32,
    /// The views of the buffer whose extents are known. The buffer must contain all of these views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<ViewManifest>,
}

/// The arguments of `cuTensorMapEncodeTiled` for a tensor map that every launch must create. The tensor begins at the address of a buffer.
/// Lists start with the innermost dimension. Element strides are 1, and the layout is not interleaved.
///
/// If a dimension has 0 elements, the header's launch function passes 128 zero bytes instead of a map; copies that use these bytes fault. A
/// launch from Rust instead passes the map of a one-element tensor in memory that the launch allocates. If the kernel only reads the
/// tensor, the element is zero; if the kernel writes to it, the element is scratch space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TensorMapManifest {
    /// The name of the buffer's parameter.
    pub parameter: String,
    /// The type of the elements (`CUtensorMapDataType`).
    pub data_type: String,
    /// The number of elements along each dimension, as C expressions of the parameters. Each must be less than 2³¹.
    pub dims: Vec<String>,
    /// The strides of all dimensions except the innermost, in bytes, as C expressions of the parameters. Each must be a multiple of 16. For
    /// a dimension with a single element, pass any positive multiple of 16 less than 2⁴⁰ instead.
    pub strides_bytes: Vec<String>,
    /// The number of elements of a box along each dimension.
    #[serde(rename = "box")]
    pub box_dims: Vec<u32>,
    /// The swizzle in shared memory (`CUtensorMapSwizzle`).
    pub swizzle: String,
    /// The minimum size of fetches into the L2 cache (`CUtensorMapL2promotion`).
    pub l2_promotion: String,
    /// The value of out-of-bounds elements (`CUtensorMapFloatOOBfill`).
    pub oob_fill: String,
}

/// A view of a buffer. The offset of an element, in elements, is the sum of coordinate × stride over all modes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ViewManifest {
    /// The size of an element in bytes.
    pub element_bytes: u32,
    /// The modes of the view.
    pub modes: Vec<ModeManifest>,
}

/// A mode of a view. Its fields are C expressions of the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModeManifest {
    /// The number of coordinates.
    pub size: String,
    /// The distance in elements between consecutive coordinates.
    pub stride: String,
}

/// An assumption about an argument, which every launch must check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AssumptionManifest {
    /// The name of the parameter.
    pub parameter: String,
    /// An assumed divisor of the argument, or 1 if none is assumed.
    pub multiple_of: u64,
    /// The assumed maximum of the argument, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
}

/// Shared memory per block, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SharedBytes {
    /// The number of bytes declared in the PTX text (static shared memory).
    #[serde(rename = "static")]
    pub fixed: u32,
    /// The number of bytes requested by the launch (dynamic shared memory).
    pub dynamic: u32,
}

impl Manifest {
    pub(super) fn new(name: &str, entries: &[&Entry], ptx: &str) -> Self {
        // Parsed from the text, because a module without kernels also has a version and a target.
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
                source: None,
            },
            target: directive(".target"),
            ptx_version: directive(".version"),
            kernels: entries.iter().map(|entry| KernelManifest::new(entry)).collect(),
        }
    }

    /// Returns the text of `NAME.json`.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists cannot fail to serialize.
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
        let assumptions = names.iter().enumerate().filter_map(|(i, name)| {
            let multiple_of = entry.assumed_divisor(i);
            let at_most = entry.largest(i);
            (multiple_of > 1 || at_most.is_some()).then(|| AssumptionManifest {
                parameter: name.clone(),
                multiple_of,
                at_most,
            })
        });
        Self {
            name: entry.name.clone(),
            description: entry.description.clone(),
            parameters: entry
                .params
                .iter()
                .enumerate()
                .map(|(i, param)| ParameterManifest {
                    name: param.name.clone(),
                    kind: kind_name(param.kind).to_string(),
                    element: param.element.to_string(),
                    ptx_type: param.ptx.to_string(),
                    bytes: param.bytes,
                    views: views(entry, i, &names),
                })
                .collect(),
            tensor_maps: entry.maps.iter().map(|map| tensor_map(entry, map, &names)).collect(),
            assumptions: assumptions.collect(),
            block: entry.block,
            max_block: entry.max_block,
            min_blocks_per_multiprocessor: entry.min_blocks,
            max_registers: entry.max_registers,
            cluster: entry.cluster,
            programmatic: entry.programmatic,
            grid: entry.grid.as_ref().map(|grid| grid.each_ref().map(|dim| dim.expression(&names))),
            unsafe_accesses: entry.unsafe_accesses,
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

/// Returns whether a flag has its default value, which is omitted from the file.
fn is_false(flag: &bool) -> bool {
    !flag
}

fn views(entry: &Entry, parameter: usize, names: &[String]) -> Vec<ViewManifest> {
    let of_parameter = entry.extents.iter().filter(|view| view.parameter == parameter);
    let mode = |mode: &ExtentMode| ModeManifest {
        size: mode.size.expression(names),
        stride: mode.stride.expression(names),
    };
    of_parameter
        .map(|view| ViewManifest {
            element_bytes: view.element_bytes,
            modes: view.modes.iter().map(mode).collect(),
        })
        .collect()
}

fn tensor_map(entry: &Entry, map: &BufferMap, names: &[String]) -> TensorMapManifest {
    let param = &entry.params[map.parameter];
    let bytes = |stride: &Dim| (stride.clone() * param.element_bytes).expression(names);
    TensorMapManifest {
        parameter: param.name.clone(),
        data_type: data_type(param).0.to_string(),
        dims: map.dims.iter().map(|dim| dim.expression(names)).collect(),
        strides_bytes: map.strides.iter().map(bytes).collect(),
        box_dims: map.box_dims.clone(),
        swizzle: swizzle(map.swizzle).0.to_string(),
        l2_promotion: L2_PROMOTION.0.to_string(),
        oob_fill: OOB_FILL.0.to_string(),
    }
}

const fn kind_name(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::In => "in",
        ParamKind::Out => "out",
        ParamKind::InOut => "inout",
        ParamKind::Scalar => "scalar",
        ParamKind::TensorMap { written: false } => "tensor_map",
        ParamKind::TensorMap { written: true } => "tensor_map_out",
    }
}
