//! The atoms as text.

use std::io::{self, Write};

use super::Chosen;
use crate::tile::{Memory, Registers, TileType};
use warpwright::{
    atoms::{CopyAtom, CopyKind, CopySide, MmaAtom, MmaOperand},
    layout::Swizzle,
};

/// The operands in the order of the types in an instruction: D, A, B, C.
const ORDER: [MmaOperand; 4] = [MmaOperand::D, MmaOperand::A, MmaOperand::B, MmaOperand::C];

fn types(atom: &MmaAtom) -> String {
    ORDER.map(|operand| atom.operand_type(operand).name()).join(".")
}

fn shape(atom: &MmaAtom) -> String {
    let (m, n, k) = atom.shape();
    format!("{m}x{n}x{k}")
}

/// Returns the text of a matrix atom in which `--find` searches.
pub(super) fn haystack(atom: &MmaAtom) -> String {
    format!("{} {} {} {}", atom.name(), atom.mnemonic(), shape(atom), types(atom))
}

/// Returns the text of a copy atom in which `--find` searches.
pub(super) fn copy_haystack(atom: &CopyAtom) -> String {
    format!("{} {}", atom.name(), instruction(atom))
}

/// Writes one line per atom.
pub(super) fn list(out: &mut impl Write, chosen: &Chosen) -> io::Result<()> {
    let width = |names: &mut dyn Iterator<Item = &str>| names.map(str::len).max().unwrap_or(0).max(4);
    if !chosen.mma.is_empty() {
        let name = width(&mut chosen.mma.iter().map(|atom| atom.name()));
        writeln!(out, "{:<name$}  {:<10}  {:<19}  {:<7}  PTX", "mma", "MxNxK", "D.A.B.C", "target")?;
        for atom in &chosen.mma {
            let (shape, types, target) = (shape(atom), types(atom), atom.target().to_string());
            writeln!(
                out,
                "{:<name$}  {shape:<10}  {types:<19}  {target:<7}  {}",
                atom.name(),
                atom.mnemonic()
            )?;
        }
    }
    if !chosen.copy.is_empty() {
        if !chosen.mma.is_empty() {
            writeln!(out)?;
        }
        let name = width(&mut chosen.copy.iter().map(|atom| atom.name()));
        writeln!(out, "{:<name$}  {:<7}  {:<7}  PTX", "copy", "threads", "target")?;
        for atom in &chosen.copy {
            let (threads, target) = (atom.thread_ids().size(), atom.target().to_string());
            writeln!(out, "{:<name$}  {threads:<7}  {target:<7}  {}", atom.name(), instruction(atom))?;
        }
    }
    let registers: Vec<_> = chosen.tile.iter().filter_map(TileType::registers).collect();
    if !registers.is_empty() {
        if !chosen.mma.is_empty() || !chosen.copy.is_empty() {
            writeln!(out)?;
        }
        let name = width(&mut registers.iter().map(|tile| tile.name.as_str()));
        writeln!(out, "{:<name$}  {:<8}  {:<9}  (lane, value) layout", "tile", "elements", "registers")?;
        for tile in registers {
            let Registers { name: own, map, size: (rows, cols), .. } = tile;
            let size = format!("{rows}x{cols}");
            writeln!(out, "{own:<name$}  {size:<8}  {:<9}  {}", map.registers(), map.layout())?;
        }
    }
    Ok(())
}

/// Returns the mnemonic, or a description of the instruction.
fn instruction(atom: &CopyAtom) -> String {
    match atom.kind() {
        CopyKind::Universal { bytes } => format!("ld and st of {bytes} bytes"),
        CopyKind::Transpose2x2 { .. } => "shfl.sync.bfly.b32".to_owned(),
        CopyKind::CpAsync { zero_fill: true, .. } => format!("{}, zero fill", atom.mnemonic()),
        _ => atom.mnemonic().to_owned(),
    }
}

/// Writes all properties of each atom, with its tables.
pub(super) fn tables(out: &mut impl Write, chosen: &Chosen) -> io::Result<()> {
    for (i, atom) in chosen.mma.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        mma(out, atom)?;
    }
    for (i, atom) in chosen.copy.iter().enumerate() {
        if i > 0 || !chosen.mma.is_empty() {
            writeln!(out)?;
        }
        copy(out, atom)?;
    }
    for (i, tile) in chosen.tile.iter().enumerate() {
        if i > 0 || !chosen.mma.is_empty() || !chosen.copy.is_empty() {
            writeln!(out)?;
        }
        match tile {
            TileType::Registers(tile) => registers(out, tile)?,
            TileType::Shared(tile) => memory(out, tile)?,
        }
    }
    Ok(())
}

fn registers(out: &mut impl Write, tile: &Registers) -> io::Result<()> {
    let Registers { name, element, map, size: (rows, cols) } = tile;
    writeln!(out, "{name}")?;
    writeln!(out, "  elements    {rows}x{cols} {}", element.name)?;
    let bits = (element.size * element.per_register() * 8).max(32);
    writeln!(
        out,
        "  registers   {} of {bits} bits per lane, {} elements in each",
        map.registers(),
        element.per_register()
    )?;
    writeln!(out, "  layout      {}", map.layout())?;
    writeln!(out, "\n{map}")
}

fn memory(out: &mut impl Write, tile: &Memory) -> io::Result<()> {
    let Memory { name, element, size: (rows, cols), bytes, total } = tile;
    writeln!(out, "{name}")?;
    writeln!(out, "  elements    {rows}x{cols} {}", element.name)?;
    writeln!(out, "  bytes       {total}, aligned to {}", bytes.swizzle().period().max(16))?;
    if bytes.swizzle() == Swizzle::NONE {
        return writeln!(out, "  layout      {} in bytes", bytes.layout());
    }
    writeln!(out, "  layout      {bytes} in bytes")
}

fn mma(out: &mut impl Write, atom: &MmaAtom) -> io::Result<()> {
    writeln!(out, "{}", atom.name())?;
    writeln!(out, "  instruction {}", atom.mnemonic())?;
    writeln!(out, "  needs       PTX {}, {}", atom.version(), atom.target())?;
    writeln!(out, "  shape       {}", shape(atom))?;
    writeln!(out, "  threads     {}", atom.thread_ids())?;
    for operand in ORDER {
        let (ty, registers) = (atom.operand_type(operand), atom.registers(operand));
        let class = atom.register_class(operand).decl();
        writeln!(out, "  {operand:?}           {ty} in {registers} {class}: {}", atom.layout(operand))?;
    }
    if let Some(sparsity) = atom.sparsity() {
        let (chunk, layout) = (sparsity.chunk(), sparsity.metadata_layout());
        writeln!(
            out,
            "  sparse      {} of {chunk} elements, selectors 0 … {}",
            chunk / 2,
            sparsity.selectors() - 1
        )?;
        writeln!(out, "  metadata    (thread, bit) {layout}, threads {}", sparsity.metadata_threads())?;
    }
    if let Some(scale) = atom.block_scale() {
        let (ty, block) = (scale.scale_type(), scale.block());
        writeln!(
            out,
            "  scales      {ty} for each {block} of k: A {}, B {}",
            scale.layout_a(),
            scale.layout_b()
        )?;
    }
    for operand in MmaOperand::ALL {
        let same = operand == MmaOperand::D && atom.layout_d() == atom.layout_c();
        match atom.fragment(operand) {
            Ok(_) if same => {}
            Ok(map) => writeln!(out, "\n{map}")?,
            Err(why) => writeln!(out, "\n{why}")?,
        }
    }
    Ok(())
}

fn copy(out: &mut impl Write, atom: &CopyAtom) -> io::Result<()> {
    writeln!(out, "{}", atom.name())?;
    writeln!(out, "  instruction {}", instruction(atom))?;
    writeln!(out, "  needs       PTX {}, {}", atom.version(), atom.target())?;
    writeln!(out, "  threads     {}", atom.thread_ids())?;
    writeln!(out, "  source      {}", atom.src())?;
    writeln!(out, "  destination {}", atom.dst())?;
    writeln!(out, "  reference   {}", atom.reference())?;
    let bits = atom.unit_bits();
    let threads = atom.thread_ids().size() as u32;
    for (title, side) in [("source", CopySide::Source), ("destination", CopySide::Destination)] {
        writeln!(out, "\n{title}, in units of {bits} bits")?;
        for thread in 0..threads {
            writeln!(out, "{thread:>4}: {}", ranges(&atom.units(side, thread)))?;
        }
    }
    Ok(())
}

/// Formats `0–7, 64, 65`.
fn ranges(units: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &unit in units {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == unit => *last = unit,
            _ => parts.push((unit, unit)),
        }
    }
    let part = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}
