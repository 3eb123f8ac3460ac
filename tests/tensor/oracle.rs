//! Results of CuTe: tiled copies, tiled products, tiles, partitions and predicates.

use pretty_assertions::assert_eq;
use serde_json::Value;
use warpwright::{
    atoms::MmaOperand as Operand,
    layout::{IntTuple, Layout, Tuple, TvLayout},
    tensor::{Partition, TiledCopy, TiledMma, local_partition, local_tile, local_tile_projected},
};

use super::{
    atoms,
    json::{self, Lies, by_thread, int, ints, layout, lies, slicer, tiler, tuple},
};

fn oracle() -> Value {
    json::read("tiled.json", "WARPWRIGHT_ORACLE_TILED")
}

fn cases(section: &str) -> Vec<Value> {
    let cases = oracle()[section].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn offsets(part: &Partition, lies: &Lies) -> Vec<i64> {
    part.values().map(|offset| lies.swizzle.apply(offset)).collect()
}

fn tiled_mma(config: &Value, atom: &str) -> TiledMma {
    let atom = atoms::mma(config[atom].as_str().unwrap());
    TiledMma::new(atom, &layout(&config["atom_layout"]), tiler(&config["permutation"])).unwrap()
}

#[test]
fn tiled_copies() {
    for case in cases("tiled_copy") {
        let name = case["name"].as_str().unwrap();
        let config = &case["config"];
        let atom = atoms::copy(config["atom"].as_str().unwrap());
        let bits = atoms::bits(config["elem"].as_str().unwrap());
        let copy = TiledCopy::new(atom, bits, &layout(&config["thr"]), &layout(&config["val"])).unwrap();
        assert_eq!(copy.threads(), int(&case["threads"]), "{name}");
        assert_eq!(tiler(&case["tiler"]).to_string(), copy.tile().to_string(), "{name}");
        assert_eq!(copy.layout_tv(), &layout(&case["layout_tv"]), "{name}");
        same(copy.source().unwrap().layout(), &layout(&case["layout_src_tv"]), name);
        same(copy.destination().unwrap().layout(), &layout(&case["layout_dst_tv"]), name);
        tv(&TvLayout::new("tv", copy.tile().clone(), copy.layout_tv().clone()).unwrap(), &case["tv"], name);
        copy.source().unwrap().assert_bijective();
        partitions(&case, &copy, "src_tensor", "dst_tensor");
    }
}

fn partitions(case: &Value, copy: &TiledCopy, source: &str, destination: &str) {
    let name = case["name"].as_str().unwrap();
    let (source, destination) = (lies(&case[source]), lies(&case[destination]));
    for (thread, expect) in by_thread(&case["partition_S"]) {
        let part = copy.get_slice(thread).unwrap().partition_s(&source.layout).unwrap();
        let unwrapped =
            |shape: &IntTuple| shape.modes().iter().cloned().map(IntTuple::unwrap).collect::<IntTuple>();
        assert_eq!(unwrapped(part.layout.shape()), unwrapped(&tuple(&case["partition_S_shape"])), "{name}");
        assert_eq!(offsets(&part, &source), expect, "{name}: S of {thread}");
    }
    for (thread, expect) in by_thread(&case["partition_D"]) {
        let part = copy.get_slice(thread).unwrap().partition_d(&destination.layout).unwrap();
        assert_eq!(offsets(&part, &destination), expect, "{name}: D of {thread}");
    }
    if let Some(expect) = case.get("partition_S_layout") {
        let part = copy.get_slice(0).unwrap().partition_s(&source.layout).unwrap();
        assert_eq!(part.layout, layout(expect), "{name}");
    }
}

/// Asserts that two layouts are the same function.
fn same(found: &Layout, expect: &Layout, name: &str) {
    let values = |layout: &Layout| layout.values().collect::<Vec<_>>();
    assert_eq!(values(found), values(expect), "{name}: {found} for {expect}");
}

/// Operands that wgmma reads from shared memory have no table.
fn tv(map: &TvLayout, expect: &Value, name: &str) {
    if expect.is_null() {
        return;
    }
    for (thread, expect) in by_thread(expect) {
        let found: Vec<_> = (0..map.values()).map(|value| map.index(thread, value)).collect();
        assert_eq!(found, expect, "{name}: thread {thread}");
    }
}

#[test]
fn tiled_products() {
    for case in cases("tiled_mma") {
        let name = case["name"].as_str().unwrap();
        let mma = tiled_mma(&case["config"], "atom");
        assert_eq!(mma.threads(), int(&case["threads"]), "{name}");
        assert_eq!(mma.thr_layout_vmnk(), &layout(&case["thr_layout_vmnk"]), "{name}");
        assert_eq!(mma.tile().to_vec(), ints(&case["tile_mnk"]), "{name}");
        for (operand, x) in [(Operand::A, "A"), (Operand::B, "B"), (Operand::C, "C")] {
            let name = format!("{name}, {x}");
            let map = mma.map(operand).unwrap();
            map.assert_covering();
            // CuTe's C runs past its tile for threads beyond the first along K, which own the same elements as the first.
            let ks = mma.thr_layout_vmnk().shape().modes()[3].size();
            if operand != Operand::C || ks == 1 {
                same(map.layout(), &layout(&case[format!("layout{x}_tv")]), &name);
                tv(&map, &case[format!("{x}_tv")], &name);
            } else {
                let again = map.threads() / ks;
                assert_eq!(map.elements(again).unwrap(), map.elements(0).unwrap());
            }
            let copies = map.owners((0, 0)).unwrap().len();
            if let Some(replication) = case["replication"][x].as_i64() {
                assert_eq!(copies as i64, replication, "{name}");
            }

            let tensor = lies(&case[format!("{x}_tensor")]);
            let frg = mma.thrfrg(operand, &tensor.layout).unwrap();
            assert_eq!(frg, lies(&case[format!("thrfrg_{x}")]).layout, "{name}");
            for (thread, expect) in by_thread(&case[format!("partition_{x}")]) {
                let part = mma.get_slice(thread).unwrap().partition(operand, &tensor.layout).unwrap();
                assert_eq!(part.layout.shape(), &tuple(&case[format!("partition_{x}_shape")]), "{name}");
                assert_eq!(offsets(&part, &tensor), expect, "{name}: thread {thread}");
            }
            if let Some(expect) = case.get(format!("partition_{x}_layout")) {
                let part = mma.get_slice(0).unwrap().partition(operand, &tensor.layout).unwrap();
                assert_eq!(part.layout, layout(expect), "{name}");
            }
        }
    }
}

#[test]
fn copies_made_from_products() {
    for case in cases("s2r") {
        let name = case["name"].as_str().unwrap();
        let config = &case["config"];
        let mma = tiled_mma(config, "mma");
        let atom = atoms::copy(config["copy_atom"].as_str().unwrap());
        let bits = atoms::bits(config["elem"].as_str().unwrap());
        let (copy, operand) = match case["operand"].as_str().unwrap() {
            "A" => (TiledCopy::for_a(atom, bits, &mma), Operand::A),
            "B" => (TiledCopy::for_b(atom, bits, &mma), Operand::B),
            _ => (TiledCopy::for_c(atom, bits, &mma), Operand::C),
        };
        let copy = copy.unwrap();
        assert_eq!(copy.threads(), int(&case["threads"]), "{name}");
        assert_eq!(tiler(&case["tiler"]).to_string(), copy.tile().to_string(), "{name}");
        same(copy.layout_tv(), &layout(&case["layout_tv"]), name);
        partitions(&case, &copy, "tensor", "tensor");

        let thread = mma.get_slice(0).unwrap();
        let part = thread.partition(operand, &lies(&case["tensor"]).layout).unwrap();
        let fragment = match operand {
            Operand::C => thread.fragment_c(&part.layout),
            _ => thread.fragment_ab(&Layout::column_major(part.layout.shape().clone()).unwrap()),
        };
        let fragment = fragment.unwrap();
        assert_eq!(fragment, layout(&case["fragment"]), "{name}");
        let retiled = copy.retile(&fragment).unwrap();
        assert_eq!(retiled, layout(&case["retile"]), "{name}");
        assert_eq!(retiled.values().collect::<Vec<_>>(), ints(&case["retile_offsets"]), "{name}");
    }
}

#[test]
fn tiles_and_partitions() {
    for case in cases("local") {
        let input = &case["in"];
        let tensor = layout(&input["tensor"]);
        let part = match case["op"].as_str().unwrap() {
            "local_partition" => {
                local_partition(&tensor, &layout(&input["thr_layout"]), int(&input["index"]))
            }
            _ => match input.get("step") {
                None => local_tile(&tensor, tiler(&input["tiler"]), slicer(&input["coord"])),
                Some(step) => {
                    let kept: Vec<_> = step.as_array().unwrap().iter().map(Value::is_i64).collect();
                    local_tile_projected(&tensor, tiler(&input["tiler"]), slicer(&input["coord"]), &kept)
                }
            },
        };
        let part = part.unwrap();
        assert_eq!(part.layout, layout(&case["layout"]), "{input}");
        assert_eq!(part.offset, int(&case["base"]), "{input}");
        let expect = ints(&case["elements"]);
        assert_eq!(part.values().take(expect.len()).collect::<Vec<_>>(), expect, "{input}");
    }
}

#[test]
fn predicates() {
    for case in cases("predication") {
        let input = &case["in"];
        let size = ints(&input["tensor"]);
        let places = Layout::identity((size[0], size[1])).unwrap();
        let block = local_tile(&places, tiler(&input["tile"]), slicer(&input["block"])).unwrap();
        let thread = int(&input["thread"]);
        let part = match input["by"].as_str().unwrap() {
            "local_partition" => local_partition(&block.layout, &layout(&input["thr_layout"]), thread),
            "tiled_copy S" => {
                let (thr, val) = (layout(&input["thr"]), layout(&input["val"]));
                let copy = TiledCopy::new(atoms::copy("u128"), 32, &thr, &val).unwrap();
                copy.get_slice(thread).unwrap().partition_s(&block.layout)
            }
            _ => {
                let atom = atoms::mma("SM80_16x8x16_F16F16F16F16_TN");
                let mma = TiledMma::new(atom, &Layout::column_major((2, 2, 1)).unwrap(), ..).unwrap();
                mma.get_slice(thread).unwrap().partition_c(&block.layout)
            }
        };
        let part = part.unwrap();
        assert_eq!(part.layout.shape(), &tuple(&case["shape"]), "{input}");
        let (mut coords, mut predicates) = (Vec::new(), Vec::new());
        for value in part.values() {
            let at = [0, 1].map(|dimension| value.component(dimension) + block.offset.component(dimension));
            predicates.push(i64::from(at[0] < size[0] && at[1] < size[1]));
            coords.push(Tuple::from(at));
        }
        assert_eq!(
            coords,
            case["coord"].as_array().unwrap().iter().map(tuple).collect::<Vec<_>>(),
            "{input}"
        );
        assert_eq!(predicates, ints(&case["pred"]), "{input}");
    }
}
