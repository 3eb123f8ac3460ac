//! Reads a recording: `index.json` and one `.npz` of operand and result registers per instruction.

use std::{fs, io, path::Path};

use serde_json::Value;

use crate::npz::Npz;

/// One operand of a recorded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) regs: usize,
}

impl Operand {
    /// Returns the number of 32-bit words of one register.
    pub(crate) fn words(&self) -> usize {
        if self.ty.contains("64") { 2 } else { 1 }
    }
}

/// One recorded instruction.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) ptx: String,
    pub(crate) lanes: usize,
    pub(crate) inputs: Vec<Operand>,
    pub(crate) outputs: Vec<Operand>,
    file: String,
    shared_inputs: Option<String>,
}

/// The registers of all cases of an entry: words in the order `[case][lane][operand register]`.
pub(crate) struct Cases {
    pub(crate) regs_in: Vec<u32>,
    pub(crate) regs_out: Vec<u32>,
    pub(crate) smem: Vec<u8>,
    pub(crate) count: usize,
}

pub(crate) fn index(folder: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join("index.json")).expect("index.json of the recording");
    let index: Value = serde_json::from_str(&text).expect("index.json is JSON");
    index["entries"].as_array().expect("entries").iter().map(entry).collect()
}

fn entry(json: &Value) -> Entry {
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let operands: Vec<Operand> = json["operands"]
        .as_array()
        .expect("operands")
        .iter()
        .map(|o| Operand {
            name: o["name"].as_str().expect("operand name").to_owned(),
            ty: o["type"].as_str().expect("operand type").to_owned(),
            regs: o["regs"].as_u64().expect("operand registers") as usize,
        })
        .collect();
    let ordered = |key: &str| -> Vec<Operand> {
        let names = json[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| operands.iter().find(|o| o.name == name).expect("known operand").clone()).collect()
    };
    Entry {
        name: text("name"),
        family: text("family"),
        ptx: text("ptx"),
        lanes: json["lanes"].as_u64().expect("lanes") as usize,
        inputs: ordered("in_order"),
        outputs: ordered("out_order"),
        file: text("file"),
        shared_inputs: json["inputs"].as_str().map(str::to_owned),
    }
}

impl Entry {
    pub(crate) fn load(&self, folder: &Path) -> io::Result<Cases> {
        let mut own = Npz::open(folder.join(&self.file))?;
        let regs_out = own.array::<u32>("regs_out")?.unwrap_or_default();
        let mut source = match &self.shared_inputs {
            Some(path) => Npz::open(folder.join(path))?,
            None => own,
        };
        let regs_in = source.array::<u32>("regs_in")?.unwrap_or_default();
        let smem = source.array::<u8>("smem")?.unwrap_or_default();
        let per_case = self.lanes * self.outputs.iter().map(|o| o.regs * o.words()).sum::<usize>();
        let count = regs_out.len().checked_div(per_case).unwrap_or(0);
        Ok(Cases { regs_in, regs_out, smem, count })
    }
}
