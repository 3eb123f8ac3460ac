//! Single instructions with the results of an H200, run as PTX text: parsing, operands, data movement and arithmetic.
//!
//! `WARPWRIGHT_TRUTH` names a folder with more recordings in the same format; `WARPWRIGHT_TRUTH_ONLY` selects recordings by a part of
//! their names.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use warpwright_sim::{Arg, Checks, Launch, Memory, Module, Sim};

use super::support::{bytes, words};
use crate::npz::Npz;

/// The value in the results of a lane that did not execute the instruction.
const SKIPPED: u32 = 0xdead_beef;

struct Operand {
    name: String,
    ty: String,
    regs: usize,
    output: bool,
    input: bool,
}

impl Operand {
    fn new(json: &Json) -> Self {
        let dir = json["dir"].as_str().expect("dir");
        Self {
            name: json["name"].as_str().expect("name").into(),
            ty: json["type"].as_str().expect("type").into(),
            regs: json["regs"].as_u64().expect("regs") as usize,
            output: dir != "in",
            input: dir != "out",
        }
    }

    /// Returns the register class that the type requires.
    fn class(&self) -> &'static str {
        match &*self.ty {
            "pred" => "pred",
            "f64" => "f64",
            "f32" => "f32",
            "u64" | "s64" | "b64" | "desc" | "goff" => "b64",
            "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => "b16",
            _ => "b32",
        }
    }

    /// Returns the number of words of one register in the recording.
    fn words(&self) -> usize {
        if self.ty.contains("64") || self.ty == "desc" { 2 } else { 1 }
    }
}

struct Recording {
    regs_in: Vec<u32>,
    regs_out: Vec<u32>,
    smem: Vec<u8>,
    smem_out: Vec<u8>,
}

fn array<T: npyz::Deserialize>(archive: &mut Npz, key: &str) -> Vec<T> {
    archive.array(key).expect("a readable archive").unwrap_or_default()
}

impl Recording {
    fn load(folder: &Path, entry: &Json) -> Self {
        let open =
            |key: &str| entry[key].as_str().map(|file| Npz::open(folder.join(file)).expect("a recording"));
        let mut own = open("file").expect("a file");
        let (regs_out, smem_out) = (array(&mut own, "regs_out"), array(&mut own, "smem_out"));
        let mut inputs = open("inputs").unwrap_or(own);
        Self { regs_in: array(&mut inputs, "regs_in"), regs_out, smem: array(&mut inputs, "smem"), smem_out }
    }
}

/// Returns a kernel that loads the operands of its lane, executes the instruction, and stores the results.
///
/// Its parameters are the operands, the results, and the shared images before and after.
fn kernel(entry: &Json, operands: &[Operand], words_in: usize, words_out: usize) -> String {
    let lanes = entry["lanes"].as_u64().expect("lanes");
    let smem = entry["smem_bytes"].as_u64().unwrap_or(0);
    let order = |key: &str| -> Vec<&Operand> {
        let names = entry[key].as_array().expect("an order").iter().filter_map(Json::as_str);
        names.map(|name| operands.iter().find(|o| o.name == name).expect("an operand")).collect()
    };
    let mut body = String::new();
    let mut line = |text: String| writeln!(body, "{text}").expect("memory");
    line(".reg .b32 %w<4>; .reg .b64 %q<16>; .reg .pred %skip; .reg .pred %more;".into());
    for operand in operands {
        line(format!(".reg .{} {}<{}>;", operand.class(), operand.name, operand.regs));
    }
    if smem > 0 {
        line(format!(".shared .align 1024 .b8 image[{smem}];"));
    }
    line("ld.param.u64 %q0, [pin]; ld.param.u64 %q1, [pout]; ld.param.u64 %q2, [psmem]; ld.param.u64 %q3, [psmem_out];".into());
    line(
        "mov.u32 %w0, %ctaid.x; mov.u32 %w1, %ntid.x; mov.u32 %w2, %tid.x; mad.lo.u32 %w0, %w0, %w1, %w2;"
            .into(),
    );
    if lanes == 1 {
        line("ld.param.u32 %w1, [count]; setp.ge.u32 %more, %w0, %w1; @%more ret;".into());
    }
    line(format!(
        "mad.wide.u32 %q0, %w0, {}, %q0; mad.wide.u32 %q1, %w0, {}, %q1;",
        4 * words_in,
        4 * words_out
    ));
    if smem > 0 {
        // The image of this case, copied in by all lanes.
        line(format!(
            "mov.u32 %w0, %ctaid.x; mad.wide.u32 %q2, %w0, {smem}, %q2; mad.wide.u32 %q3, %w0, {smem}, %q3;"
        ));
        line("mov.u32 %w1, %ntid.x; shl.b32 %w1, %w1, 2; shl.b32 %w0, %w2, 2;".into());
        line(format!("IN: setp.ge.u32 %more, %w0, {smem}; @%more bra INDONE;"));
        line("cvt.u64.u32 %q4, %w0; add.u64 %q5, %q2, %q4; ld.global.u32 %w3, [%q5];".into());
        line("mov.u64 %q6, image; add.u64 %q6, %q6, %q4; st.shared.u32 [%q6], %w3; add.u32 %w0, %w0, %w1; bra IN;".into());
        line("INDONE: bar.sync 0;".into());
    }
    let mut at = 0;
    for operand in order("in_order") {
        for i in 0..operand.regs {
            let reg = format!("{}{i}", operand.name);
            match operand.class() {
                "pred" => line(format!("ld.global.u32 %w0, [%q0+{at}]; setp.ne.u32 {reg}, %w0, 0;")),
                "b16" => line(format!("ld.global.b16 {reg}, [%q0+{at}];")),
                "b64" | "f64" if operand.words() == 2 => {
                    line(format!(
                        "ld.global.u32 %w0, [%q0+{at}]; ld.global.u32 %w1, [%q0+{}]; mov.b64 {reg}, {{%w0, %w1}};",
                        at + 4
                    ));
                }
                "b64" => line(format!("ld.global.u32 %w0, [%q0+{at}]; cvt.u64.u32 {reg}, %w0;")),
                class => line(format!("ld.global.{class} {reg}, [%q0+{at}];")),
            }
            match &*operand.ty {
                "saddr" => line(format!("mov.u32 %w0, image; add.u32 {reg}, {reg}, %w0;")),
                "goff" => line(format!("add.u64 {reg}, {reg}, %q2;")),
                "desc" => {
                    line(format!("mov.u64 %q4, image; shr.u64 %q4, %q4, 4; add.u64 {reg}, {reg}, %q4;"));
                }
                _ => {}
            }
            at += 4 * operand.words();
        }
    }
    if entry["guard"].is_string() {
        line("@!g0 bra SKIP;".into());
    }
    match entry["around"].as_array() {
        None => line(entry["ptx"].as_str().expect("ptx").into()),
        Some(lines) => {
            for text in lines.iter().filter_map(Json::as_str) {
                line(if text.starts_with('(') {
                    entry["ptx"].as_str().expect("ptx").into()
                } else {
                    text.into()
                });
            }
        }
    }
    let mut at = 0;
    for operand in order("out_order") {
        for i in 0..operand.regs {
            let reg = format!("{}{i}", operand.name);
            match operand.class() {
                "pred" => line(format!("selp.u32 %w0, 1, 0, {reg}; st.global.u32 [%q1+{at}], %w0;")),
                "b16" => line(format!("cvt.u32.u16 %w0, {reg}; st.global.u32 [%q1+{at}], %w0;")),
                "b64" | "f64" => {
                    line(format!(
                        "mov.b64 {{%w0, %w1}}, {reg}; st.global.u32 [%q1+{at}], %w0; st.global.u32 [%q1+{}], %w1;",
                        at + 4
                    ));
                }
                class => line(format!("st.global.{class} [%q1+{at}], {reg};")),
            }
            at += 4 * operand.words();
        }
    }
    line("SKIP:".into());
    if smem > 0 {
        line("bar.sync 0; mov.u32 %w1, %ntid.x; shl.b32 %w1, %w1, 2; shl.b32 %w0, %w2, 2;".into());
        line(format!("OUT: setp.ge.u32 %more, %w0, {smem}; @%more bra OUTDONE;"));
        line(
            "cvt.u64.u32 %q4, %w0; add.u64 %q5, %q3, %q4; mov.u64 %q6, image; add.u64 %q6, %q6, %q4;".into(),
        );
        line(
            "ld.shared.u32 %w3, [%q6]; st.global.u32 [%q5], %w3; add.u32 %w0, %w0, %w1; bra OUT; OUTDONE:"
                .into(),
        );
    }
    let target = entry["target"].as_str().expect("target");
    let params =
        ".param .u64 pin, .param .u64 pout, .param .u64 psmem, .param .u64 psmem_out, .param .u32 count";
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k({params})\n{{\n{body}ret;\n}}\n"
    )
}

/// Returns the results of lanes that skip the instruction.
fn skipped(operands: &[Operand], order: &Json) -> Vec<u32> {
    let names = order.as_array().expect("an order").iter().filter_map(Json::as_str);
    names
        .flat_map(|name| {
            let operand = operands.iter().find(|o| o.name == name).expect("an operand");
            let value = match operand.class() {
                "pred" => 0,
                "b16" => SKIPPED & 0xffff,
                _ => SKIPPED,
            };
            vec![value; operand.regs * operand.words()]
        })
        .collect()
}

fn check(folder: &Path, entry: &Json) -> Result<(), String> {
    let operands: Vec<Operand> =
        entry["operands"].as_array().expect("operands").iter().map(Operand::new).collect();
    let recording = Recording::load(folder, entry);
    let lanes = entry["lanes"].as_u64().expect("lanes") as usize;
    let cases = entry["cases"].as_u64().expect("cases") as usize;
    let words_in = operands.iter().filter(|o| o.input).map(|o| o.regs * o.words()).sum();
    let words_out = operands.iter().filter(|o| o.output).map(|o| o.regs * o.words()).sum::<usize>();
    let text = kernel(entry, &operands, words_in, words_out);
    let module = Module::parse(&text).map_err(|e| e.to_string())?;
    let mut memory = Memory::new();
    let upload = |bytes: &[u8], memory: &mut Memory| {
        let address = memory.alloc(bytes.len());
        memory.write(address, bytes).expect("in bounds");
        Arg::from(address)
    };
    let results: Vec<u32> = skipped(&operands, &entry["out_order"]).repeat(lanes * cases);
    let prefilled = recording.smem.is_empty() && !recording.smem_out.is_empty();
    let image = if prefilled { vec![0xcd; recording.smem_out.len()] } else { recording.smem.clone() };
    let args = [
        upload(&bytes(&recording.regs_in), &mut memory),
        upload(&bytes(&results), &mut memory),
        upload(&image, &mut memory),
        upload(&vec![0; image.len()], &mut memory),
        Arg::from(cases as u32),
    ];
    let launch = if lanes == 1 {
        Launch { grid: [cases.div_ceil(128) as u32, 1, 1], block: [128, 1, 1], ..Launch::default() }
    } else {
        Launch { grid: [cases as u32, 1, 1], block: [lanes as u32, 1, 1], ..Launch::default() }
    };
    // Recordings include shuffles from inactive lanes.
    let sim = Sim::new().checks(Checks::all() - Checks::SHUFFLES);
    sim.launch(&module, "k", &launch, &args, &mut memory).map_err(|e| e.to_string())?;
    let mut got = vec![0; 4 * recording.regs_out.len()];
    let regions: Vec<u64> = (2..=4).map(|n| n << 36).collect();
    memory.read(regions[0], &mut got).map_err(|e| e.to_string())?;
    let (got, want) = (words(&got), &recording.regs_out);
    let differing = got.iter().zip(want).filter(|(g, w)| g != w).count();
    if let Some(at) = got.iter().zip(want).position(|(g, w)| g != w) {
        let row = at / words_out;
        let inputs = &recording.regs_in[row * words_in..(row + 1) * words_in];
        return Err(format!(
            "{differing} of {} words differ, first in case {} lane {} word {}: {:#x}, not {:#x}, from {:x?}",
            want.len(),
            row / lanes,
            row % lanes,
            at % words_out,
            got[at],
            want[at],
            &inputs[..inputs.len().min(8)]
        ));
    }
    let mut image = vec![0; recording.smem_out.len()];
    memory.read(regions[2], &mut image).map_err(|e| e.to_string())?;
    match image.iter().zip(&recording.smem_out).position(|(g, w)| g != w) {
        Some(at) => Err(format!("shared byte {at} is {:#x}, not {:#x}", image[at], recording.smem_out[at])),
        None => Ok(()),
    }
}

fn folder() -> PathBuf {
    match std::env::var_os("WARPWRIGHT_TRUTH") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/truth"),
    }
}

#[test]
fn every_recorded_instruction_returns_the_recorded_bits() {
    let folder = folder();
    let only = std::env::var("WARPWRIGHT_TRUTH_ONLY").unwrap_or_default();
    let text = std::fs::read_to_string(folder.join("index.json")).expect("the index");
    let index: Json = serde_json::from_str(&text).expect("JSON");
    let entries = index["entries"].as_array().expect("entries");
    let chosen: Vec<&Json> =
        entries.iter().filter(|e| e["name"].as_str().expect("a name").contains(&only)).collect();
    let failures: Vec<String> = chosen
        .iter()
        .filter_map(|entry| check(&folder, entry).err().map(|error| format!("{}: {error}", entry["name"])))
        .collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), chosen.len(), failures.join("\n"));
}
