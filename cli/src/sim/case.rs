//! `case.json`: one launch of one kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::dtype::DType;
use crate::Error;

/// Keys that describe the expected outcome or the origin of the kernel, which are ignored.
const OTHER_KEYS: [&str; 16] = [
    "compare",
    "compiler",
    "expect_clean",
    "expect_error",
    "expect_files",
    "name",
    "needs",
    "note",
    "opcodes",
    "ptx_version",
    "source",
    "target",
    "theme",
    "thread_instructions_on_h200",
    "tolerance_why",
    "twin",
];

/// A launch.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    #[serde(default = "kernel_ptx")]
    pub(super) ptx: String,
    pub(super) entry: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    #[serde(default)]
    pub(super) dynamic_shared_bytes: u32,
    pub(super) cluster: Option<[u32; 3]>,
    /// One argument per parameter, in order.
    pub(super) args: Vec<Argument>,
    /// Buffers that are not arguments themselves.
    #[serde(default)]
    pub(super) extra_buffers: Vec<Buffer>,
    /// Variables of the module.
    #[serde(default)]
    pub(super) globals: Vec<Global>,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

fn kernel_ptx() -> String {
    "kernel.ptx".into()
}

/// A kernel argument.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Argument {
    Buffer(Buffer),
    Scalar {
        dtype: DType,
        value: Json,
        #[serde(default, rename = "name")]
        _name: IgnoredAny,
    },
    Struct {
        size: usize,
        fields: Vec<Field>,
        #[serde(default, rename = "name")]
        _name: IgnoredAny,
        #[serde(default, rename = "align")]
        _align: IgnoredAny,
    },
    TensorMap(Box<TensorMap>),
}

/// Device memory of exactly `shape` elements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<u64>,
    #[serde(default)]
    pub(super) init: Init,
    /// The file with the initial contents; the default is `in_NAME.npy`.
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) out: bool,
    #[serde(default, rename = "kind")]
    _kind: IgnoredAny,
    /// How to compare the outcome; ignored.
    #[serde(default, rename = "compare")]
    _compare: IgnoredAny,
}

/// The contents of a buffer before the launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Init {
    File,
    #[default]
    Zeros,
}

/// A field of a struct argument: a number, or the address of buffer `of`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    pub(super) offset: usize,
    pub(super) of: Option<String>,
    pub(super) dtype: Option<DType>,
    pub(super) value: Option<Json>,
    #[serde(default, rename = "kind")]
    _kind: IgnoredAny,
    #[serde(default, rename = "name")]
    _name: IgnoredAny,
}

/// A tensor map, in the terms of `cuTensorMapEncodeTiled`: `dims` and `box` start with the innermost dimension, and `strides_bytes` starts
/// with dimension 1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorMap {
    pub(super) of: String,
    /// The element type; the default is the type of the buffer.
    #[serde(alias = "data_type")]
    pub(super) dtype: Option<String>,
    pub(super) dims: Vec<u64>,
    #[serde(default)]
    pub(super) strides_bytes: Vec<u64>,
    #[serde(rename = "box")]
    pub(super) tile: Vec<u32>,
    #[serde(alias = "elem_strides")]
    pub(super) element_strides: Option<Vec<u32>>,
    #[serde(default)]
    pub(super) interleave: Json,
    #[serde(default)]
    pub(super) swizzle: Json,
    #[serde(default)]
    pub(super) oob_fill: Json,
    /// In im2col mode, the pixels that a copy moves; `box` is then the number of channels per pixel, followed by ones.
    pub(super) im2col: Option<PixelColumn>,
    /// A hint that does not affect the copied data.
    #[serde(default, rename = "l2_promotion")]
    _l2_promotion: IgnoredAny,
    #[serde(default, rename = "name")]
    _name: IgnoredAny,
}

/// The pixels that a copy moves, in the terms of `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PixelColumn {
    pub(super) lower_corner: Vec<i32>,
    pub(super) upper_corner: Vec<i32>,
    pub(super) pixels: u32,
}

/// A variable of the module. It is written before the launch if it has a file, and read after the launch if it is an output.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Global {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<u64>,
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) out: bool,
    /// How to compare the outcome; ignored.
    #[serde(default, rename = "compare")]
    _compare: IgnoredAny,
}

impl Case {
    /// Reads `case.json` in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("case.json");
        let bad = |problem: String| Error::of(path.display(), problem);
        let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
        let case: Case = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        case.check_keys().map_err(bad)?;
        case.check_names().map_err(bad)?;
        Ok(case)
    }

    /// Returns all buffers, whether or not they are arguments.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let named = self.args.iter().filter_map(|arg| match arg {
            Argument::Buffer(buffer) => Some(buffer),
            _ => None,
        });
        named.chain(&self.extra_buffers)
    }

    /// Rejects unknown keys, because the value of a mistyped key would silently be replaced with the default.
    fn check_keys(&self) -> Result<(), String> {
        match self.others.keys().find(|key| !OTHER_KEYS.contains(&key.as_str())) {
            Some(key) => Err(format!(
                "unknown key `{key}`; a case has `ptx`, `entry`, `grid`, `block`, `dynamic_shared_bytes`, `cluster`, `args`, \
                 `extra_buffers` and `globals`"
            )),
            None => Ok(()),
        }
    }

    /// Checks that names are unique, and that the names of outputs are valid file names.
    fn check_names(&self) -> Result<(), String> {
        let buffers = self.buffers().map(|b| (&b.name, b.out));
        let globals = self.globals.iter().map(|g| (&g.name, g.out));
        let mut seen = BTreeSet::new();
        for (name, out) in buffers.chain(globals) {
            if !seen.insert(name) {
                return Err(format!("expected distinct names, found `{name}` twice"));
            }
            if out && (name.is_empty() || name.contains(['/', '\\', '\0'])) {
                return Err(format!("expected a valid file name for an output, found `{name}`"));
            }
        }
        Ok(())
    }
}

/// Returns the size of an array in bytes; an error if it exceeds the supported maximum.
pub(super) fn size(name: &str, dtype: DType, shape: &[u64]) -> Result<usize, Error> {
    /// The maximum size of a buffer in bytes.
    const MOST: u64 = 1 << 33;
    let elements = shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
    let bytes = elements.and_then(|n| n.checked_mul(dtype.bytes() as u64)).filter(|&n| n <= MOST);
    bytes.map(|n| n as usize).ok_or_else(|| {
        Error::of(
            format_args!("`{name}`"),
            format_args!("expected at most {MOST} bytes, found the shape {shape:?}"),
        )
    })
}
