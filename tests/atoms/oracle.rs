//! The atoms compared with CuTe's output (CUTLASS 4.7.0).

use std::collections::HashMap;

use pretty_assertions::assert_eq;
use serde_json::Value;
use warpwright::{
    atoms::{CopySide, MmaAtom, MmaOperand, Source, copy_atom, mma_atom},
    layout::Layout,
};

const MMA: &str = include_str!("../data/atoms/mma.json");
const COPY: &str = include_str!("../data/atoms/copy.json");

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_else(|| panic!("`{key}` is no text in {of}"))
}

fn layout(text: &str) -> Layout {
    text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// Asserts that the top-level extents and all offsets are equal.
#[track_caller]
fn assert_same(ours: &Layout, text: &str, what: &str) {
    let theirs = layout(text);
    let sizes = |layout: &Layout| layout.shape().modes().iter().map(|mode| mode.size()).collect::<Vec<_>>();
    assert_eq!(sizes(ours), sizes(&theirs), "{what}: {ours} and {theirs}");
    assert!(*ours == theirs || ours.values().eq(theirs.values()), "{what}: {ours} and {theirs}");
}

/// Returns the (row, column) of every value of every thread.
fn table(layout: &Layout, rows: u32) -> Value {
    let [threads, values] = layout.shape().modes() else { panic!("{layout} is not of rank 2") };
    let (threads, values, rows) = (threads.size(), values.size(), i64::from(rows));
    let offset = |thread, value| layout.index(thread + value * threads);
    let cell = |offset: i64| serde_json::json!([offset % rows, offset / rows]);
    let row = |thread| (0..values).map(|value| cell(offset(thread, value))).collect::<Value>();
    (0..threads).map(row).collect()
}

#[test]
fn mma_atoms_match_cute() {
    let oracle: Value = serde_json::from_str(MMA).expect("JSON");
    let layouts: HashMap<&str, &str> = oracle["layouts"]
        .as_object()
        .expect("layouts")
        .iter()
        .map(|(id, v)| (&**id, v.as_str().unwrap()))
        .collect();
    let (mut operands, mut tables) = (0, 0);
    for theirs in oracle["atoms"].as_array().expect("atoms") {
        let name = text(theirs, "name");
        let ours = mma_atom(name).expect("the table has it");
        let (m, n, k) = ours.shape();
        assert_eq!(serde_json::json!([m, n, k]), theirs["mnk"], "{name}");
        assert_eq!(ours.cute_mnemonic(), text(theirs, "ptx"), "{name}");
        assert_same(ours.thread_ids(), layouts[text(theirs, "threads")], name);
        let order = [MmaOperand::D, MmaOperand::A, MmaOperand::B, MmaOperand::C];
        let types = order.map(|operand| ours.operand_type(operand).name());
        assert_eq!(serde_json::json!(types), theirs["types"], "{name}");
        if let Some(registers) = theirs.get("regs") {
            assert_eq!(&serde_json::json!(order.map(|operand| ours.registers(operand))), registers, "{name}");
        }
        for (operand, key) in [(MmaOperand::A, "A"), (MmaOperand::B, "B"), (MmaOperand::C, "C")] {
            let (id, (rows, _)) = (text(theirs, key), ours.operand_size(operand));
            assert_same(ours.layout(operand), layouts[id], &format!("{name} {key}"));
            operands += 1;
            let known = oracle["tables"].get(format!("{id}/{rows}"));
            if let Some(known) = known.filter(|_| ours.source(operand) == Source::Registers) {
                assert_eq!(&table(ours.layout(operand), rows), known, "{name} {key}");
                tables += 1;
            }
        }
        extras(ours, theirs, &layouts);
    }
    assert_eq!((operands, tables), (1434, 335));
}

/// Compares the layouts of scales and metadata.
fn extras(ours: &MmaAtom, theirs: &Value, layouts: &HashMap<&str, &str>) {
    for key in ["SFA", "SFB"] {
        let Some(id) = theirs.get(key).and_then(Value::as_str) else { continue };
        let scale = ours.block_scale().expect("CuTe has scales");
        let layout = if key == "SFA" { scale.layout_a() } else { scale.layout_b() };
        assert_same(&layout, layouts[id], &format!("{} {key}", ours.name()));
    }
    if let Some(id) = theirs.get("E").and_then(Value::as_str) {
        // CuTe counts the elements of A that the metadata describe: one per bit, or two per bit for 4-bit elements.
        let sparsity = ours.sparsity().expect("CuTe has metadata");
        let theirs = layout(layouts[id]);
        let per_bit = 2 * sparsity.unit() / sparsity.bits_per_unit();
        let held: Vec<i64> = sparsity
            .metadata_layout()
            .values()
            .map(|place| place % 16 + place / 16 * i64::from(per_bit) * 16)
            .collect();
        let threads = theirs.shape().modes()[0].size();
        let firsts = (0..32)
            .flat_map(|bit| (0..threads).map(move |thread| thread + bit * i64::from(per_bit) * threads));
        assert_eq!(held, firsts.map(|index| theirs.index(index)).collect::<Vec<_>>(), "{} E", ours.name());
    }
}

#[test]
fn copy_atoms_match_cute() {
    let oracle: Value = serde_json::from_str(COPY).expect("JSON");
    let atoms = oracle["atoms"].as_array().expect("atoms");
    for theirs in atoms {
        let name = text(theirs, "name");
        let ours = copy_atom(name).expect("the table has it");
        assert_eq!(ours.cute_mnemonic(), text(theirs, "ptx"), "{name}");
        assert_same(ours.thread_ids(), text(theirs, "threads"), name);
        assert_same(ours.src(), text(theirs, "src"), name);
        assert_same(ours.dst(), text(theirs, "dst"), name);
        assert_same(ours.reference(), text(theirs, "ref"), name);
        assert_eq!(u64::from(ours.unit_bits()), theirs["unit_bits"].as_u64().expect("a number"), "{name}");
        let sides = [CopySide::Source, CopySide::Destination, CopySide::Reference];
        let threads = ours.thread_ids().size() as u32;
        for (side, units) in sides.into_iter().zip(theirs["units"].as_array().expect("three sides")) {
            let held: Vec<_> = (0..threads).map(|thread| ours.units(side, thread)).collect();
            assert_eq!(&serde_json::json!(held), units, "{name} {side:?}");
        }
        for (element, values) in theirs["values"].as_object().expect("value layouts") {
            let bits = element[1..].parse().expect("a type such as f16");
            for (side, value) in sides.into_iter().zip(values.as_array().expect("three sides")) {
                let layout = ours.value_layout(side, bits).expect("whole elements");
                assert_same(
                    &layout,
                    value.as_str().expect("a layout"),
                    &format!("{name} {side:?} {element}"),
                );
            }
        }
    }
    assert_eq!(atoms.len(), 17);
}
