//! Kernels compiled by nvcc, clang and Triton, with the results of an H200.
//!
//! `WARPWRIGHT_CORPUS` names a folder with more cases in the same format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::npy;
use serde_json::Value as Json;
use warpwright_sim::{Arg, Launch, Memory, Module, Sim, SimError};

/// The method of comparing outputs that the case specifies.
#[derive(Clone, Copy, Debug)]
enum Compare {
    Bits,
    Ulp(i64),
    Tolerance { relative: f64, absolute: f64 },
}

fn text(json: &Json) -> &str {
    json.as_str().expect("text")
}

fn int(json: &Json) -> i64 {
    json.as_i64()
        .or_else(|| json.as_u64().map(|v| v as i64))
        .or_else(|| json.as_bool().map(i64::from))
        .expect("an integer")
}

/// Returns a number; numbers that JSON lacks are written as text.
fn float(json: &Json) -> f64 {
    json.as_f64().or_else(|| json.as_str().and_then(|t| t.parse().ok())).expect("a number")
}

fn list(json: &Json) -> &[Json] {
    json.as_array().expect("a list")
}

/// Returns the items of a list that may be absent.
fn items<'j>(json: &'j Json, key: &str) -> &'j [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], |items| items)
}

fn compare_of(json: &Json) -> Compare {
    match json {
        Json::String(_) => Compare::Bits,
        other => match other.get("ulp") {
            Some(n) => Compare::Ulp(int(n)),
            None => Compare::Tolerance {
                relative: other.get("rtol").map_or(0.0, float),
                absolute: other.get("atol").map_or(0.0, float),
            },
        },
    }
}

/// Returns an element's value, its rank among the numbers of its format, and whether it is a NaN.
fn element(dtype: &str, bytes: &[u8]) -> (f64, i64, bool) {
    let bits = bytes.iter().rev().fold(0u64, |bits, b| bits << 8 | u64::from(*b));
    let rank = |bits: u64, width: u32| {
        let sign = 1u64 << (width - 1);
        if bits & sign != 0 { -((bits & (sign - 1)) as i64) } else { bits as i64 }
    };
    let value = match dtype {
        "f64" => f64::from_bits(bits),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        "f16" => f64::from(half::f16::from_bits(bits as u16)),
        "bf16" => f64::from(half::bf16::from_bits(bits as u16)),
        _ => return (bits as f64, bits as i64, false),
    };
    (value, rank(bits, 8 * bytes.len() as u32), value.is_nan())
}

fn width(dtype: &str) -> usize {
    match dtype {
        "u8" | "s8" | "i8" | "bool" => 1,
        "u16" | "s16" | "i16" | "f16" | "bf16" => 2,
        "u64" | "s64" | "i64" | "f64" => 8,
        _ => 4,
    }
}

/// Returns a description of the first element that differs.
fn difference(dtype: &str, how: Compare, got: &[u8], want: &[u8]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} bytes, not {}", got.len(), want.len()));
    }
    let size = width(dtype);
    let (mut first, mut count) = (None, 0);
    for (i, (got, want)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        let ((g, grank, gnan), (w, wrank, wnan)) = (element(dtype, got), element(dtype, want));
        let same = got == want
            || (gnan && wnan)
            || match how {
                Compare::Bits => false,
                Compare::Ulp(n) => !gnan && !wnan && (grank - wrank).abs() <= n,
                Compare::Tolerance { relative, absolute } => (g - w).abs() <= absolute + relative * w.abs(),
            };
        if !same {
            count += 1;
            first.get_or_insert_with(|| format!("[{i}] is {got:02x?} ({g:e}), not {want:02x?} ({w:e})"));
        }
    }
    first.map(|first| format!("{first}; {count} differ"))
}

fn scalar(dtype: &str, value: &Json) -> Vec<u8> {
    match dtype {
        "f32" => (float(value) as f32).to_le_bytes().to_vec(),
        "f64" => float(value).to_le_bytes().to_vec(),
        "f16" => half::f16::from_f64(float(value)).to_le_bytes().to_vec(),
        "bf16" => half::bf16::from_f64(float(value)).to_le_bytes().to_vec(),
        _ => int(value).to_le_bytes()[..width(dtype)].to_vec(),
    }
}

fn extents(json: &Json) -> [u32; 3] {
    std::array::from_fn(|i| list(json).get(i).map_or(1, |n| int(n) as u32))
}

struct Buffer<'j> {
    json: &'j Json,
    address: u64,
    bytes: usize,
}

/// Allocates a case's buffers.
fn buffers<'j>(folder: &Path, case: &'j Json, memory: &mut Memory) -> BTreeMap<String, Buffer<'j>> {
    let args = items(case, "args").iter();
    let extra = items(case, "extra_buffers").iter();
    let mut buffers = BTreeMap::new();
    for json in args.chain(extra) {
        if json.get("kind").is_some_and(|k| text(k) != "buffer") {
            continue;
        }
        let name = text(&json["name"]);
        let shape = list(&json["shape"]);
        let count: usize = shape.iter().map(|n| int(n) as usize).product();
        let bytes = count * width(text(&json["dtype"]));
        let address = memory.alloc(bytes);
        if json.get("init").is_some_and(|init| text(init) == "file") {
            let file = json.get("file").map_or_else(|| format!("in_{name}.npy"), |f| text(f).to_string());
            memory.write(address, &npy::read(&folder.join(file))).expect("in bounds");
        }
        buffers.insert(name.to_string(), Buffer { json, address, bytes });
    }
    buffers
}

fn arguments(case: &Json, buffers: &BTreeMap<String, Buffer<'_>>) -> Result<Vec<Arg>, String> {
    let address = |json: &Json| buffers[text(&json["of"])].address;
    let mut args = vec![];
    for json in items(case, "args") {
        args.push(match text(&json["kind"]) {
            "buffer" => Arg::from(buffers[text(&json["name"])].address),
            "scalar" => Arg::bytes(scalar(text(&json["dtype"]), &json["value"])),
            "struct" => {
                let mut bytes = vec![0; int(&json["size"]) as usize];
                for field in list(&json["fields"]) {
                    let at = int(&field["offset"]) as usize;
                    let value = match field.get("of") {
                        Some(_) => address(field).to_le_bytes().to_vec(),
                        None => scalar(text(&field["dtype"]), &field["value"]),
                    };
                    bytes[at..at + value.len()].copy_from_slice(&value);
                }
                Arg::bytes(bytes)
            }
            other => return Err(format!("arguments of kind {other} are not supported")),
        });
    }
    Ok(args)
}

/// Runs one case; the error describes the failure.
fn check(folder: &Path) -> Result<(), String> {
    let json = std::fs::read_to_string(folder.join("case.json")).expect("case.json");
    let case: Json = serde_json::from_str(&json).expect("JSON");
    let ptx = std::fs::read_to_string(folder.join("kernel.ptx")).expect("kernel.ptx");
    let module = Module::parse(&ptx).map_err(|e| e.to_string())?;
    let mut memory = Memory::new();
    let buffers = buffers(folder, &case, &mut memory);
    let args = arguments(&case, &buffers)?;
    let globals = items(&case, "globals");
    for global in globals {
        if let Some(file) = global.get("file") {
            let address = memory.symbol(&module, text(&global["name"])).map_err(|e| e.to_string())?;
            memory.write(address, &npy::read(&folder.join(text(file)))).map_err(|e| e.to_string())?;
        }
    }
    let launch = Launch {
        grid: extents(&case["grid"]),
        block: extents(&case["block"]),
        dynamic_shared_bytes: case.get("dynamic_shared_bytes").map_or(0, |n| int(n) as u32),
        cluster: case.get("cluster").map(extents),
    };
    let entry = text(&case["entry"]);
    let outcome = Sim::new().launch(&module, entry, &launch, &args, &mut memory);
    if let Some(expected) = case.get("expect_error") {
        return expected_error(expected, outcome.map(|_| ()));
    }
    let report = outcome.map_err(|e| e.to_string())?;
    if !report.findings.is_empty() {
        return Err(format!("{} findings: {}", report.findings.len(), report.findings[0]));
    }
    let default = case.get("compare").map_or(Compare::Bits, compare_of);
    let files = &case["expect_files"];
    let outputs =
        buffers.iter().map(|(name, b)| (name.clone(), b.json, b.address, b.bytes)).collect::<Vec<_>>();
    for (name, json, address, bytes) in outputs {
        let Some(file) = files.get(&name) else { continue };
        compare(folder, &name, json, text(file), default, &memory, address, bytes)?;
    }
    for global in globals.iter().filter(|g| g.get("out").is_some_and(|out| out.as_bool() == Some(true))) {
        let name = text(&global["name"]);
        let address = memory.symbol(&module, name).map_err(|e| e.to_string())?;
        let file = text(&files[name]);
        let bytes = npy::read(&folder.join(file)).len();
        compare(folder, name, global, file, default, &memory, address, bytes)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "one output and its expectation")]
fn compare(
    folder: &Path,
    name: &str,
    json: &Json,
    file: &str,
    default: Compare,
    memory: &Memory,
    address: u64,
    bytes: usize,
) -> Result<(), String> {
    let mut got = vec![0; bytes];
    memory.read(address, &mut got).map_err(|e| e.to_string())?;
    let want = npy::read(&folder.join(file));
    let how = json.get("compare").map_or(default, compare_of);
    let dtype = json.get("dtype").map_or("u8", text);
    match difference(dtype, how, &got, &want) {
        None => Ok(()),
        Some(difference) => Err(format!("{name}{difference}")),
    }
}

fn expected_error(expected: &Json, outcome: Result<(), SimError>) -> Result<(), String> {
    let mut kinds = vec![text(&expected["kind"])];
    kinds.extend(items(expected, "also_accept").iter().map(text));
    let lines: Vec<u32> = items(expected, "ptx_lines").iter().map(|n| int(n) as u32).collect();
    match outcome {
        Ok(()) => Err(format!("expected {kinds:?}, found nothing")),
        Err(SimError::Fault(finding)) if kinds.contains(&finding.kind.name()) => {
            if lines.is_empty() || lines.contains(&finding.site.line) {
                return Ok(());
            }
            Err(format!("found {} at line {}, not at {lines:?}", finding.kind, finding.site.line))
        }
        Err(other) => Err(format!("expected {kinds:?}, found: {other}")),
    }
}

fn folder() -> PathBuf {
    match std::env::var_os("WARPWRIGHT_CORPUS") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus"),
    }
}

#[test]
fn every_case_agrees_with_the_device() {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("case.json").exists())
        .collect();
    folders.sort();
    assert!(!folders.is_empty());
    let mut failures = vec![];
    for path in &folders {
        let start = std::time::Instant::now();
        if let Err(error) = check(path) {
            failures.push(format!("{}: {error}", path.file_name().unwrap_or_default().display()));
        }
        if start.elapsed().as_secs_f32() > 1.0 {
            println!("{}: {:?}", path.display(), start.elapsed());
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases fail:\n{}",
        failures.len(),
        folders.len(),
        failures.join("\n")
    );
}
