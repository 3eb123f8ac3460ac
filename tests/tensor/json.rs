//! Layouts, tilers and coordinates in the form of the recorded results.

use serde_json::Value;
use warpwright::layout::{IntTuple, Layout, Slicer, Slot, Swizzle, Tiler, Tuple};

pub(super) fn read(file: &str, full: &str) -> Value {
    let kept = format!("{}/data/tensor/{file}", env!("CARGO_MANIFEST_DIR"));
    let path = std::env::var(full).unwrap_or(kept);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(super) fn int(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

pub(super) fn ints(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(int).collect()
}

pub(super) fn tuple(value: &Value) -> IntTuple {
    match value {
        Value::Array(modes) => modes.iter().map(tuple).collect(),
        leaf => Tuple::Leaf(int(leaf)),
    }
}

pub(super) fn layout(value: &Value) -> Layout {
    Layout::new(tuple(&value["shape"]), tuple(&value["stride"])).unwrap()
}

/// A layout, with or without a swizzle.
pub(super) struct Lies {
    pub(super) layout: Layout,
    pub(super) swizzle: Swizzle,
}

pub(super) fn lies(value: &Value) -> Lies {
    match value.get("swizzle") {
        None => Lies { layout: layout(value), swizzle: Swizzle::NONE },
        Some(swizzle) => {
            let bits = ints(swizzle);
            assert_eq!(value["offset"], 0);
            let swizzle = Swizzle::new(bits[0] as u32, bits[1] as u32, bits[2] as i32).unwrap();
            Lies { layout: layout(&value["layout"]), swizzle }
        }
    }
}

pub(super) fn tiler(value: &Value) -> Tiler {
    match value {
        Value::Null => Tiler::from(..),
        Value::String(_) => Tiler::from(..),
        Value::Array(modes) => modes.iter().map(tiler).collect(),
        Value::Object(object) => match object.get("tile") {
            Some(tile) => tiler(tile),
            None => layout(value).into(),
        },
        leaf => int(leaf).into(),
    }
}

pub(super) fn slicer(value: &Value) -> Slicer {
    match value {
        Value::Array(modes) => modes.iter().map(slicer).collect(),
        Value::String(_) | Value::Null => Tuple::Leaf(Slot::Keep),
        leaf => Tuple::Leaf(Slot::At(int(leaf))),
    }
}

/// `[thread] → values`, of all threads or of some by number.
pub(super) fn by_thread(value: &Value) -> Vec<(i64, Vec<i64>)> {
    match value {
        Value::Array(threads) => (0..).zip(threads.iter().map(ints)).collect(),
        Value::Object(threads) => {
            threads.iter().map(|(thread, values)| (thread.parse().unwrap(), ints(values))).collect()
        }
        _ => Vec::new(),
    }
}
