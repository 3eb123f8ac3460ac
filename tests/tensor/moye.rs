//! Results in MoYe's documentation, tests and figures, with 0-based indices.

use pretty_assertions::assert_eq;
use serde_json::Value;
use warpwright::{
    atoms::{CopyAtom, MmaOperand as Operand},
    layout::{Layout, Tuple, TvLayout},
    tensor::{Partition, TiledCopy, TiledMma, local_partition, local_partition_projected, local_tile},
};

use super::{
    atoms,
    json::{self, int, ints, layout, slicer, tiler, tuple},
};

fn cases(op: &str) -> Vec<Value> {
    let all = json::read("moye.json", "WARPWRIGHT_ORACLE_MOYE");
    let cases: Vec<_> = all["cases"].as_array().unwrap().iter().filter(|c| c["op"] == op).cloned().collect();
    assert!(!cases.is_empty(), "{op}");
    cases
}

fn atom_of(args: &Value) -> (&'static CopyAtom, u32) {
    let atom = &args["atom"];
    let copy = match atom.get("op_bits") {
        Some(bits) => atoms::copy(&format!("u{bits}")),
        None => atoms::copy(atom["name"].as_str().unwrap()),
    };
    (copy, int(&atom["value_bits"]) as u32)
}

fn copy_of(args: &Value) -> TiledCopy {
    let (atom, bits) = atom_of(args);
    TiledCopy::new(atom, bits, &layout(&args["thr_layout"]), &layout(&args["val_layout"])).unwrap()
}

fn mma_of(args: &Value) -> TiledMma {
    let atom = atoms::mma(args["mma"].as_str().unwrap());
    TiledMma::new(atom, &layout(&args["atom_layout"]), tiler(&args["permutation"])).unwrap()
}

fn operand(args: &Value) -> Operand {
    match args["operand"].as_str().unwrap() {
        "A" => Operand::A,
        "B" => Operand::B,
        _ => Operand::C,
    }
}

fn check(part: &Partition, expect: &Value, id: &Value) {
    assert_eq!(part.offset, int(&expect["offset"]), "{id}");
    assert_eq!(part.layout, layout(&expect["layout"]), "{id}");
    if let Some(elements) = expect.get("elements") {
        let shape = part.layout.shape();
        let found: Vec<_> = part.values().collect();
        let listed = elements.as_array().unwrap();
        if listed[0].is_array() {
            let rows = shape.modes()[0].size() as usize;
            for (row, expect) in listed.iter().enumerate() {
                let found: Vec<_> = found.iter().skip(row).step_by(rows).copied().collect();
                assert_eq!(found, ints(expect), "{id}");
            }
        } else {
            assert_eq!(found, ints(elements), "{id}");
        }
    }
}

#[test]
fn tiles() {
    for case in cases("tile") {
        let args = &case["args"];
        let part =
            local_tile(&layout(&args["layout"]), tiler(&args["tile"]), slicer(&args["coord"])).unwrap();
        check(&part, &case["expect"], &case["id"]);
    }
    for case in cases("tile_iterator") {
        let tiles = layout(&case["args"]["layout"]).zipped_divide(tiler(&case["args"]["tile"])).unwrap();
        let size = tiles.mode(0).unwrap().size();
        for (at, expect) in (0..).zip(case["expect"].as_array().unwrap()) {
            let found: Vec<_> = (0..size).map(|i| tiles.index(at * size + i)).collect();
            assert_eq!(found, ints(expect));
        }
    }
}

#[test]
fn parallelized() {
    for case in cases("parallelize") {
        let args = &case["args"];
        let tensor = layout(&args["layout"]);
        let part = match args.get("thread") {
            Some(thread) => local_partition(&tensor, &layout(&args["thread_layout"]), int(thread)),
            None => {
                let tile = tuple(&args["tile"]);
                let threads = Layout::column_major(tile.clone()).unwrap();
                local_partition(&tensor, &threads, threads.at(tuple(&args["coord"])).unwrap())
            }
        };
        check(&part.unwrap(), &case["expect"], &case["id"]);
    }
    for case in cases("parallelize_projected") {
        let args = &case["args"];
        let kept: Vec<_> = args["projection"].as_array().unwrap().iter().map(Value::is_i64).collect();
        let (tensor, threads) = (layout(&args["layout"]), layout(&args["thread_layout"]));
        // The projection's places are the tensor's modes: the kept thread mode goes to mode 0, one thread to mode 1.
        let row = threads.mode(kept.iter().position(|kept| *kept).unwrap()).unwrap();
        let by_row = Layout::concat([row.clone()]);
        let part = local_partition(&tensor, &by_row, int(&args["thread"])).unwrap();
        let projected = local_partition_projected(&tensor, &threads, int(&args["thread"]), &kept).unwrap();
        assert_eq!(part, projected);
        assert_eq!(part.offset, int(&case["expect"]["offset"]));
        assert_eq!(part.values().collect::<Vec<_>>(), ints(&case["expect"]["elements"]));
    }
}

#[test]
fn tiled_copies() {
    for case in cases("make_tiled_copy") {
        let copy = copy_of(&case["args"]);
        let expect = &case["expect"];
        if expect.get("tiler_mn").is_some() {
            assert_eq!(copy.tile(), &tuple(&expect["tiler_mn"]));
            assert_eq!(copy.layout_tv(), &layout(&expect["layout_tv"]));
            assert_eq!(copy.threads(), int(&expect["threads"]));
        }
    }
    for (op, source) in [("partition_S", true), ("partition_D", false)] {
        for case in cases(op) {
            let args = &case["args"];
            let (copy, tensor) = (copy_of(args), layout(&args["tensor"]));
            let thread = copy.get_slice(int(&args["thread"])).unwrap();
            let part = if source { thread.partition_s(&tensor) } else { thread.partition_d(&tensor) };
            check(&part.unwrap(), &case["expect"], &case["id"]);
        }
    }
    for case in cases("first_access") {
        let (args, expect) = (&case["args"], &case["expect"]);
        let (copy, tensor) = (copy_of(args), layout(&args["tensor"]));
        for (thread, elements) in
            ints(&expect["threads"]).into_iter().zip(expect["elements"].as_array().unwrap())
        {
            let part = copy.get_slice(thread).unwrap().partition_s(&tensor).unwrap();
            let elements = ints(elements);
            assert_eq!(part.values().take(elements.len()).collect::<Vec<_>>(), elements);
        }
    }
    for case in cases("roundtrip") {
        let args = &case["args"];
        let (copy, tensor) = (copy_of(args), layout(&args["tensor"]));
        let mut seen = vec![0; tensor.size() as usize];
        for thread in 0..copy.threads() {
            for offset in copy.get_slice(thread).unwrap().partition_d(&tensor).unwrap().values() {
                seen[offset as usize] += 1;
            }
        }
        assert_eq!(seen, vec![1; int(&case["expect"]["elements"]) as usize]);
    }
}

#[test]
fn tables_of_figures() {
    for case in cases("tv_table") {
        let args = &case["args"];
        let map = if args.get("mma").is_some() {
            mma_of(args).map(operand(args))
        } else {
            match args["side"].as_str().unwrap() {
                "S" => copy_of(args).source(),
                _ => copy_of(args).destination(),
            }
        };
        let map = map.unwrap();
        for (row, line) in (0..).zip(case["expect"].as_array().unwrap()) {
            for (col, expect) in (0..).zip(line.as_array().unwrap()) {
                let owners = map.owners((row, col)).unwrap();
                let expect = ints(expect);
                assert!(
                    owners.iter().any(|owner| [owner.thread, owner.value] == expect[..2]),
                    "{} ({row}, {col}): {owners:?}",
                    case["id"]
                );
            }
        }
    }
    for case in cases("layout_TV") {
        let args = &case["args"];
        let expect = layout(&case["expect"]);
        let found = match args.get("mma") {
            Some(_) => mma_of(args).map(operand(args)).unwrap(),
            None => copy_of(args).source().unwrap(),
        };
        let values = |layout: &Layout| layout.values().collect::<Vec<_>>();
        assert_eq!(values(found.layout()), values(&expect), "{}: {}", case["id"], found.layout());
    }
}

#[test]
fn tiled_products() {
    for case in cases("tile_size") {
        assert_eq!(mma_of(&case["args"]).tile().to_vec(), ints(&case["expect"]));
    }
    let parts = [("partition_A", Operand::A), ("partition_B", Operand::B), ("partition_C", Operand::C)];
    for (op, operand) in parts {
        for case in cases(op) {
            let args = &case["args"];
            let mma = mma_of(args);
            let thread = mma.get_slice(int(&args["thread"])).unwrap();
            check(
                &thread.partition(operand, &layout(&args["tensor"])).unwrap(),
                &case["expect"],
                &case["id"],
            );
        }
    }
    let mma =
        TiledMma::new(atoms::mma("UniversalFMA"), &Layout::column_major((16, 16)).unwrap(), ..).unwrap();
    assert_eq!(mma.thr_layout_vmnk().to_string(), "(1,16,16,1):(0,1,16,0)");
    assert_eq!((mma.tile(), mma.threads()), ([16, 16, 1], 256));
}

#[test]
fn fragments() {
    let mma = TiledMma::new(atoms::mma("UniversalFMA"), &Layout::column_major((1, 1)).unwrap(), ..).unwrap();
    let thread = mma.get_slice(0).unwrap();
    for op in ["make_fragment_A", "make_fragment_B", "make_fragment_C"] {
        for case in cases(op) {
            let part = layout(&case["args"]["layout"]);
            let found = if op.ends_with('C') { thread.fragment_c(&part) } else { thread.fragment_ab(&part) };
            assert_eq!(found.unwrap(), layout(&case["expect"]), "{}", case["id"]);
        }
    }
    for case in cases("retile_D") {
        let args = &case["args"];
        let (atom, bits) = atom_of(args);
        let copy = match operand(args) {
            Operand::A => TiledCopy::for_a(atom, bits, &mma_of(args)),
            Operand::B => TiledCopy::for_b(atom, bits, &mma_of(args)),
            _ => TiledCopy::for_c(atom, bits, &mma_of(args)),
        };
        let found = copy.unwrap().retile(&layout(&args["fragment"])).unwrap();
        let expect = layout(&case["expect"]);
        assert_eq!(found.values().collect::<Vec<_>>(), expect.values().collect::<Vec<_>>(), "{found}");
    }
}

#[test]
fn texts() {
    let (thr, val) = (Layout::new((2, 3), (3, 1)).unwrap(), Layout::new((2, 3), (1, 2)).unwrap());
    let copy = TiledCopy::new(atoms::copy("u64"), 64, &thr, &val).unwrap();
    assert_eq!(
        copy.to_string(),
        "TiledCopy\n  Tiler_MN:       (4,9)\n  TiledLayout_TV: ((3,2),(2,3)):((12,2),(1,4))\nCopyAtom\n  \
         Thread ID:    1:0\n  ValLayoutSrc: (1,1):(0,1)\n  ValLayoutDst: (1,1):(0,1)\n  ValLayoutRef: (1,1):(0,1)\n  \
         ValueType:    64b"
    );
    let table = copy.source().unwrap().to_string();
    let rows: Vec<_> = table.lines().skip(2).collect();
    assert_eq!(rows[0], "  0 T0V0 T0V2 T0V4 T1V0 T1V2 T1V4 T2V0 T2V2 T2V4");
    assert_eq!(rows[3], "  3 T3V1 T3V3 T3V5 T4V1 T4V3 T4V5 T5V1 T5V3 T5V5");

    let ldmatrix = TiledCopy::new(
        atoms::copy("LDSM_U32x4_N"),
        16,
        &Layout::column_major((16, 2)).unwrap(),
        &Layout::column_major((2, 4)).unwrap(),
    );
    let ldmatrix = ldmatrix.unwrap();
    let first = |tv: TvLayout| tv.to_string().lines().nth(2).unwrap().to_owned();
    let words = |line: String| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        words(first(ldmatrix.source().unwrap())),
        ["T0V0", "T8V0", "T16V0", "T24V0", "T4V0", "T12V0", "T20V0", "T28V0"]
    );
    assert_eq!(
        words(first(ldmatrix.destination().unwrap())),
        ["T0V0", "T0V2", "T0V4", "T0V6", "T16V0", "T16V2", "T16V4", "T16V6"]
    );
    assert_eq!(ldmatrix.tile(), &Tuple::from((32, 8)));
}
