//! The widths of accesses that docs/tiles.md states, counted in the PTX, and that whole tiles have no predicates.

use std::{collections::BTreeSet, fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Read, Write},
    tensor::TensorElement,
    tiles::{GlLayout, Naive, RegisterLayout},
};

/// The bytes of a load or store: those of its type times the length of its vector.
fn bytes(mnemonic: &str) -> u32 {
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let number = |part: &&str| part[1..].parse::<u32>().ok();
    let bits = number(parts.last().unwrap()).unwrap_or_else(|| panic!("the type of {mnemonic}"));
    let length = parts.iter().filter(|part| part.starts_with('v')).find_map(number).unwrap_or(1);
    bits / 8 * length
}

/// The accesses to global memory in a kernel's text, which must have no predicates: the widths of loads and stores, and the sizes of
/// asynchronous copies.
fn accesses<A>(kernel: &Kernel<A>) -> BTreeSet<u32> {
    let text = kernel.ptx();
    let is_access =
        |word: &&str| ["ld.global", "st.global", "cp.async.c"].iter().any(|start| word.starts_with(start));
    let accesses = text.lines().filter_map(|line| Some((line, line.split_whitespace().find(is_access)?)));
    let widths = accesses.map(|(line, mnemonic)| {
        assert!(!line.trim_start().starts_with('@'), "an access to a whole tile has a predicate: {line}");
        let size = line.trim_end_matches(';').rsplit(", ").next().and_then(|size| size.parse().ok());
        if mnemonic.starts_with("cp.") { size.expect("the size of a copy") } else { bytes(mnemonic) }
    });
    widths.collect()
}

/// The work of a kernel on two matrices.
type Work<'f, T> = dyn for<'k> Fn(Builder<'k>, &Gl<'k, T, Read>, &Gl<'k, T, Write>) + 'f;

/// A kernel that works on matrices of tiles of this size, whose number of rows is known only at launch.
fn kernel<T: TensorElement>(
    [rows, cols]: [u32; 2],
    layout: for<'k> fn(Val<'k, u32>, u32) -> GlLayout<'k>,
    work: &Work<'_, T>,
) -> Kernel<(In<T>, Out<T>, u32)> {
    let kernel = Kernel::<(In<T>, Out<T>, u32)>::build("whole(x, y, m)", Target::SM_89, |k, (x, y, m)| {
        k.block([32]);
        let m = m.multiple_of(rows);
        k.grid([m.tiles(rows)]);
        work(k, &k.global(x, layout(m, cols)), &k.global(y, layout(m, cols)));
    });
    kernel.unwrap_or_else(|error| panic!("{}: {error}", T::NAME))
}

/// The widths of the accesses of register tiles in a matrix of a layout.
fn register_tiles<T: TensorElement, L: RegisterLayout>(
    layout: for<'k> fn(Val<'k, u32>, u32) -> GlLayout<'k>,
) -> u32 {
    let size = [Rt::<T, 2, 2, L>::ROWS, Rt::<T, 2, 2, L>::COLS];
    let kernel = kernel::<T>(size, layout, &|k, x, y| {
        let tile: Rt<T, 2, 2, L> = x.tile(k.ctaid_x(), 0).load();
        y.tile(k.ctaid_x(), 0).store(&tile);
    });
    let widths: Vec<u32> = accesses(&kernel).into_iter().collect();
    assert_eq!(widths.len(), 1, "one width of {} {:?}: {widths:?}", T::NAME, L::LAYOUT);
    widths[0]
}

/// The table of docs/tiles.md: for 8, 16, 32 and 64 bits, the bytes of an access of `Row` and `Col` tiles in row-major matrices.
fn documented() -> Vec<[u32; 2]> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| row-major matrix |")).skip(2);
    let number = |cell: &str| cell.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        [number(cells[1]), number(cells[2])]
    };
    rows.take_while(|line| line.starts_with('|')).map(row).collect()
}

#[test]
fn register_tiles_are_accessed_as_documented() {
    fn found<T: TensorElement>() -> [u32; 2] {
        let by_rows = [
            register_tiles::<T, Row>(|m, n| row_major(m, n)),
            register_tiles::<T, Col>(|m, n| row_major(m, n)),
        ];
        let by_cols = [
            register_tiles::<T, Col>(|m, n| col_major(m, n)),
            register_tiles::<T, Row>(|m, n| col_major(m, n)),
        ];
        assert_eq!(by_rows, by_cols, "the columns are exchanged for {}", T::NAME);
        by_rows
    }
    let documented = documented();
    assert_eq!(documented.len(), 4, "a row for each size of an element");
    assert_eq!([found::<e4m3>(), found::<i8>(), found::<u8>()], [documented[0]; 3]);
    assert_eq!([found::<bf16>(), found::<f16>(), found::<i16>()], [documented[1]; 3]);
    assert_eq!([found::<f32>(), found::<tf32>(), found::<i32>()], [documented[2]; 3]);
    assert_eq!([found::<f64>(), found::<i64>(), found::<u64>()], [documented[3]; 3]);
}

#[test]
fn shared_tiles_are_filled_and_stored_16_bytes_at_a_time() {
    fn check<T: TensorElement>() {
        let size = [St::<T, 2, 2>::ROWS, St::<T, 2, 2>::COLS];
        let kernel = kernel::<T>(size, |m, n| row_major(m, n), &|k, x, y| {
            let tile = k.shared_tile::<St<T, 2, 2>>().fill(x.tile(k.ctaid_x(), 0)).wait();
            y.tile(k.ctaid_x(), 0).store_shared(&tile);
        });
        assert_eq!(accesses(&kernel), BTreeSet::from([16]), "{}", T::NAME);
    }
    check::<e4m3>();
    check::<i8>();
    check::<bf16>();
    check::<f16>();
    check::<f32>();
    check::<tf32>();
    check::<i32>();
    check::<f64>();
    check::<u64>();
}

#[test]
fn naive_vectors_are_accessed_as_documented() {
    fn found<T: TensorElement>() -> BTreeSet<u32> {
        let kernel =
            Kernel::<(In<T>, Out<T>, u32)>::build("whole(x, y, n)", Target::SM_89, |k, (x, y, n)| {
                k.block([32]);
                let n = n.multiple_of(512);
                k.grid([n.tiles(512)]);
                let (x, y) = (k.global(x, vector(n)), k.global(y, vector(n)));
                let v: Rv<T, 32, Naive> = x.tile(k.ctaid_x()).load();
                y.tile(k.ctaid_x()).store(&v);
            });
        accesses(&kernel.unwrap())
    }
    let eight = BTreeSet::from([8]);
    assert_eq!([found::<e4m3>(), found::<i8>()], [eight.clone(), eight]);
    let sixteen =
        [found::<bf16>(), found::<f16>(), found::<f32>(), found::<i32>(), found::<f64>(), found::<u64>()];
    assert!(sixteen.iter().all(|widths| *widths == BTreeSet::from([16])), "{sixteen:?}");
}
