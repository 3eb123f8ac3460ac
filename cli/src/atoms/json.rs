//! The atoms as JSON.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use serde_json::json;

use super::Chosen;
use crate::tile::TileType;
use warpwright::{
    atoms::{CopyAtom, CopySide, MmaAtom, MmaOperand, Source},
    layout::Layout,
};

/// JSON tables, by layout and number of rows. Tables are long and are shared by many atoms.
type Tables = HashMap<(Layout, u32), String>;

/// Writes `{"mma":[…],"copy":[…],"tile":[…]}`, one atom or tile per line.
///
/// Mnemonics are spelled as in CuTe, which defines the names of the atoms.
pub(super) fn write(out: &mut impl Write, chosen: &Chosen) -> io::Result<()> {
    let mut tables = Tables::new();
    out.write_all(b"{\"mma\":[\n")?;
    for (i, atom) in chosen.mma.iter().enumerate() {
        separate(out, i)?;
        mma(out, atom, &mut tables)?;
    }
    out.write_all(b"],\n\"copy\":[\n")?;
    for (i, atom) in chosen.copy.iter().enumerate() {
        separate(out, i)?;
        copy(out, atom)?;
    }
    out.write_all(b"],\n\"tile\":[\n")?;
    for (i, tile) in chosen.tile.iter().enumerate() {
        separate(out, i)?;
        self::tile(out, tile, &mut tables)?;
    }
    out.write_all(b"]}\n")
}

fn tile(out: &mut impl Write, tile: &TileType, tables: &mut Tables) -> io::Result<()> {
    match tile {
        TileType::Registers(tile) => {
            let (name, element, (rows, cols)) = (json!(tile.name), json!(tile.element.name), tile.size);
            let (registers, per_register) = (tile.map.registers(), tile.element.per_register());
            let layout = tile.map.layout();
            let table = tables.entry((layout.clone(), rows)).or_insert_with(|| table(layout, rows));
            write!(
                out,
                "{{\"name\":{name},\"element\":{element},\"rows\":{rows},\"cols\":{cols},\"registers\":{registers},\
                 \"per_register\":{per_register},\"table\":{table}}}"
            )
        }
        TileType::Shared(tile) => {
            let (rows, cols) = tile.size;
            let entry = json!({
                "name": tile.name,
                "element": tile.element.name,
                "rows": rows,
                "cols": cols,
                "bytes": tile.total,
                "layout": tile.bytes.to_string(),
            });
            write!(out, "{entry}")
        }
    }
}

fn separate(out: &mut impl Write, place: usize) -> io::Result<()> {
    if place > 0 { out.write_all(b",\n") } else { Ok(()) }
}

fn mma(out: &mut impl Write, atom: &MmaAtom, tables: &mut Tables) -> io::Result<()> {
    let (m, n, k) = atom.shape();
    let ty = |operand| json!(atom.operand_type(operand).name());
    let (name, ptx, target) =
        (json!(atom.name()), json!(atom.cute_mnemonic()), json!(atom.target().to_string()));
    write!(
        out,
        "{{\"name\":{name},\"ptx\":{ptx},\"target\":{target},\"M\":{m},\"N\":{n},\"K\":{k},\"types\":{{"
    )?;
    for (i, operand) in [MmaOperand::D, MmaOperand::A, MmaOperand::B, MmaOperand::C].into_iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}\"{operand:?}\":{}", ty(operand))?;
    }
    out.write_all(b"}")?;
    for operand in MmaOperand::ALL {
        let repeats = operand == MmaOperand::D && atom.layout_d() == atom.layout_c();
        if repeats || atom.source(operand) == Source::Shared {
            continue;
        }
        let (rows, _) = atom.operand_size(operand);
        let layout = atom.layout(operand);
        let table = tables.entry((layout.clone(), rows)).or_insert_with(|| table(layout, rows));
        write!(out, ",\"{operand:?}\":{table}")?;
    }
    out.write_all(b"}")
}

/// Returns `[[[row,column],…per value],…per thread]`.
fn table(layout: &Layout, rows: u32) -> String {
    let [threads, values] = layout.shape().modes() else { return "[]".to_owned() };
    let (threads, values, rows) = (threads.size(), values.size(), i64::from(rows));
    let mut text = String::from("[");
    for thread in 0..threads {
        text.push_str(if thread == 0 { "[" } else { ",[" });
        for value in 0..values {
            let offset = layout.index(thread + value * threads);
            let comma = if value == 0 { "" } else { "," };
            let _ = write!(text, "{comma}[{},{}]", offset % rows, offset / rows);
        }
        text.push(']');
    }
    text.push(']');
    text
}

fn copy(out: &mut impl Write, atom: &CopyAtom) -> io::Result<()> {
    let side = |side| -> Vec<Vec<u32>> {
        let threads = atom.thread_ids().size() as u32;
        (0..threads).map(|thread| atom.units(side, thread)).collect()
    };
    let atom = json!({
        "name": atom.name(),
        "ptx": atom.cute_mnemonic(),
        "target": atom.target().to_string(),
        "unit_bits": atom.unit_bits(),
        "src": side(CopySide::Source),
        "dst": side(CopySide::Destination),
        "ref": side(CopySide::Reference),
    });
    write!(out, "{atom}")
}
