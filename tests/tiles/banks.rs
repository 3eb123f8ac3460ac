//! Shared tiles of every element type in every swizzle: the elements that fragments of both layouts receive and store, by
//! coordinate, and the bank conflicts of every access, which the simulator counts.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{e4m3, e5m2, tf32},
    run::{Details, Device},
    tensor::TensorElement,
    tiles::{
        Aligned, Auto, Naive, Orthogonal, Padded, Plain, RegisterLayout, SharedSwizzle, Swizzle32, Swizzle64,
        Swizzle128, VectorLayout,
    },
};

use crate::cases::everywhere;

/// An element whose bits differ from those of the elements 1, 2, 4, …, 64 rows or columns away.
fn code<T: TensorElement>(row: u32, col: u32) -> T {
    let code = u64::from(row * 37 + col * 5 + row / 8 * col / 8);
    let spread = code.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    T::from_mem_bits(if T::SIZE == 1 { code & 0xff } else { spread >> (64 - 8 * T::SIZE) })
}

fn bits<T: TensorElement>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|element| element.to_mem_bits()).collect()
}

/// Bank conflicts: of the copy from global memory, the loads and the stores of fragments, and the copy to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conflicts {
    fill: u64,
    load: u64,
    store: u64,
    write: u64,
}

/// Fills a tile by two warps, each of which loads a rectangle of `RH`×`RW` subtiles in layout `L` and stores it again, and writes the
/// tile out. Checks all elements, and returns the conflicts.
fn through<T, const H: usize, const W: usize, S, L, const RH: usize, const RW: usize>(
    target: Target,
) -> Conflicts
where
    T: TensorElement,
    S: SharedSwizzle,
    L: RegisterLayout,
{
    let (rows, cols) = (St::<T, H, W, S>::ROWS, St::<T, H, W, S>::COLS);
    let fragment = Rt::<T, RH, RW, L>::fragment();
    let values = (fragment.registers() as usize * T::PER_WORD) as u32;
    let mut first_line = 0;
    let kernel = Kernel::<(In<T>, Out<T>, Out<T>)>::build("through(x, y, z)", target, |k, (x, y, z)| {
        let block = k.block([64]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(rows, cols)), k.global(y, row_major(rows, cols)));
        first_line = line!() + 1;
        let tile = k.shared_tile::<St<T, H, W, S>>().fill(x.tile(0, 0)).wait();
        let own: Rt<T, RH, RW, L> = tile.tile_of(block).load();
        let tile = tile.release().store_with(|tile| tile.tile_of(block).store(&own)).wait();
        y.tile(0, 0).store_shared(&tile);
        let owned = own.into_fragment();
        let all = k.slice(z, 64 * values);
        (0..values).for_each(|i| all.at(k.tid_x() * values + i).store(owned.get(i.into())));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let matrix: Vec<T> = (0..rows * cols).map(|i| code(i / cols, i % cols)).collect();
    let mut conflicts = None;
    let counted = std::cell::RefCell::new(&mut conflicts);
    let (y, z) = everywhere(|device| {
        let x = device.upload(&matrix).unwrap();
        let poison = T::from_mem_bits(0x5a5a_5a5a_5a5a_5a5a);
        let mut y = device.upload(&vec![poison; matrix.len()]).unwrap();
        let mut z = device.upload(&vec![poison; 64 * values as usize]).unwrap();
        let launched = device.launch(&kernel, (&x, &mut y, &mut z)).unwrap();
        if let Details::Simulated(report) = &launched.details {
            let of = |line: u32| {
                let lines = report
                    .lines
                    .iter()
                    .filter(|found| found.source.as_ref().is_some_and(|at| at.line == line));
                lines.map(|line| line.counts.bank_conflicts()).sum()
            };
            let [fill, load, store, write] = [0, 1, 2, 3].map(|line| of(first_line + line));
            **counted.borrow_mut() = Some(Conflicts { fill, load, store, write });
        }
        (bits(&device.download(&y).unwrap()), bits(&device.download(&z).unwrap()))
    });
    let name = || format!("{} {H}×{W}, {:?}, {target}", T::NAME, L::LAYOUT);
    assert_eq!(y, bits(&matrix), "written: {}", name());
    let mut expected = vec![0; z.len()];
    for (warp, lane) in (0..2).flat_map(|warp| (0..32).map(move |lane| (warp, lane))) {
        for element in fragment.elements(lane.into()).unwrap() {
            let value = element.register as usize * T::PER_WORD + element.slot as usize;
            let at = ((warp * 32 + lane) * values) as usize + value;
            let row = element.row() as u32 + warp * rows / 2;
            expected[at] = code::<T>(row, element.col() as u32).to_mem_bits();
        }
    }
    assert_eq!(z, expected, "loaded: {}", name());
    conflicts.expect("the simulator is one of the devices")
}

/// Checks the tiles of some swizzles, as `Row` and as `Col` fragments; `except` are those with conflicts.
macro_rules! every {
    ($($name:ident: $element:ty, $height:literal by $width:literal in [$($swizzle:ty),*],
       $row:literal by $row_width:literal, $col:literal by $col_width:literal, $known:expr;)*) => {$(
        #[test]
        fn $name() {
            let known: fn(&str, bool) -> Conflicts = $known;
            $(for target in [Target::SM_80, Target::SM_90] {
                let swizzle = stringify!($swizzle);
                let row = through::<$element, $height, $width, $swizzle, Row, $row, $row_width>(target);
                let col = through::<$element, $height, $width, $swizzle, Col, $col, $col_width>(target);
                assert_eq!(row, known(swizzle, false), "{} {} {swizzle}", stringify!($element), $width);
                assert_eq!(col, known(swizzle, true), "{} {} {swizzle} Col", stringify!($element), $width);
            })*
        }
    )*};
}

const NONE: Conflicts = Conflicts { fill: 0, load: 0, store: 0, write: 0 };

/// Single bytes of a column are in half as many banks as lanes: two passes instead of one.
fn bytes(width: u64) -> impl Fn(&str, bool) -> Conflicts {
    move |_, is_col| if is_col { Conflicts { load: 32 * width, store: 32 * width, ..NONE } } else { NONE }
}

/// Blocks copy rows shorter than 128 bytes from a padded tile: 128 bytes of several rows are not in all banks.
fn padded(swizzle: &str, conflicts: Conflicts) -> Conflicts {
    if swizzle == "Padded" { conflicts } else { NONE }
}

/// The padding of 64-bit elements suits fragments of layout `Row`.
fn doubles(width: u64, swizzle: &str, is_col: bool) -> Conflicts {
    let conflicts = Conflicts { load: 32 * width, store: 32 * width, ..NONE };
    if is_col { padded(swizzle, conflicts) } else { NONE }
}

every! {
    e4m3_tiles: e4m3, 4 by 4 in [Auto, Swizzle128, Swizzle64, Swizzle32, Padded], 2 by 4, 1 by 8, |s, col| bytes(8)(s, col);
    e4m3_narrow_tiles: e4m3, 4 by 1 in [Auto], 2 by 1, 1 by 2, |s, col| bytes(2)(s, col);
    e5m2_tiles: e5m2, 4 by 2 in [Auto], 2 by 2, 1 by 4, |s, col| bytes(4)(s, col);
    u8_tiles: u8, 4 by 4 in [Auto], 2 by 4, 1 by 8, |s, col| bytes(8)(s, col);
    i8_tiles: i8, 4 by 4 in [Swizzle32], 2 by 4, 1 by 8, |s, col| bytes(8)(s, col);
    bf16_tiles: bf16, 2 by 4 in [Auto, Swizzle128, Swizzle64, Swizzle32, Padded], 1 by 4, 1 by 4, |_, _| NONE;
    bf16_narrow_tiles: bf16, 2 by 1 in [Auto, Padded], 1 by 1, 1 by 1, |s, _| padded(s, Conflicts { write: 8, ..NONE });
    bf16_odd_tiles: bf16, 4 by 3 in [Auto, Padded], 2 by 3, 2 by 3, |s, _| padded(s, Conflicts { write: 48, ..NONE });
    f16_tiles: f16, 2 by 2 in [Auto, Swizzle32], 1 by 2, 1 by 2, |_, _| NONE;
    tf32_tiles: tf32, 2 by 4 in [Auto, Swizzle128, Swizzle64, Swizzle32, Padded], 1 by 4, 1 by 4, |_, _| NONE;
    tf32_narrow_tiles: tf32, 2 by 1 in [Auto], 1 by 1, 1 by 1, |_, _| NONE;
    f32_tiles: f32, 4 by 2 in [Auto, Swizzle64, Swizzle32], 2 by 2, 2 by 2, |_, _| NONE;
    f32_odd_tiles: f32, 2 by 3 in [Auto, Padded], 1 by 3, 1 by 3, |s, _| padded(s, Conflicts { write: 16, ..NONE });
    i32_tiles: i32, 2 by 2 in [Auto], 1 by 2, 1 by 2, |_, _| NONE;
    f64_tiles: f64, 2 by 2 in [Auto, Swizzle128, Swizzle64, Swizzle32, Padded], 1 by 2, 1 by 2, |s, col| doubles(2, s, col);
    f64_narrow_tiles: f64, 2 by 1 in [Auto, Padded], 1 by 1, 1 by 1, |s, col| doubles(1, s, col);
}

/// Without a swizzle, eight rows of a fragment are in the same banks.
#[test]
fn plain_tiles_have_conflicts() {
    let found = [
        through::<e4m3, 2, 4, Plain, Row, 1, 4>(Target::SM_90),
        through::<bf16, 2, 4, Plain, Row, 1, 4>(Target::SM_90),
        through::<bf16, 2, 4, Plain, Col, 1, 4>(Target::SM_90),
        through::<f32, 2, 2, Plain, Row, 1, 2>(Target::SM_90),
        through::<f64, 2, 1, Plain, Row, 1, 1>(Target::SM_90),
    ];
    assert_eq!(found.map(|found| found.load), [224, 224, 224, 32, 0]);
}

/// Returns the conflicts of loading and storing a shared vector in a layout, and of loading a row and a column of a tile.
fn vector<T: TensorElement, const N: usize, V: VectorLayout, S: SharedSwizzle>() -> [u64; 4] {
    let mut first_line = 0;
    let length = 16 * N as u32;
    let cols = St::<T, N, N, S>::COLS;
    let kernel = Kernel::<(In<T>, In<T>, Out<T>)>::build("vector(x, t, y)", Target::SM_80, |k, (x, t, y)| {
        k.block([32]);
        k.grid([1]);
        let x = k.global(x, warpwright::tiles::vector(length)).tile(0);
        let y = k.global(y, row_major(3, length));
        let vector = k.shared_tile::<Sv<T, N>>().fill(x).wait();
        let tile =
            k.shared_tile::<St<T, N, N, S>>().fill(k.global(t, row_major(length, cols)).tile(0, 0)).wait();
        first_line = line!() + 1;
        let own: Rv<T, N, V> = vector.load();
        let vector = k.shared_tile::<Sv<T, N>>().store(&own).wait();
        let row: Rv<T, N, V> = tile.row(5).load();
        let col: Rv<T, N, V> = tile.col(5).load();
        y.row(0).tile(0).store_shared(&vector);
        y.row(1).tile(0).store(&row);
        y.row(2).tile(0).store(&col);
    })
    .unwrap();
    let mut conflicts = [0; 4];
    let counted = std::cell::RefCell::new(&mut conflicts);
    let matrix: Vec<T> = (0..length * cols).map(|i| code(i / cols, i % cols)).collect();
    let x: Vec<T> = (0..length).map(|i| code(7, i)).collect();
    let y = everywhere(|device| {
        let (x, t) = (device.upload(&x).unwrap(), device.upload(&matrix).unwrap());
        let mut y = device.output::<T>(3 * length as usize).unwrap();
        let launched = device.launch(&kernel, (&x, &t, &mut y)).unwrap();
        if let Details::Simulated(report) = &launched.details {
            **counted.borrow_mut() = std::array::from_fn(|at| {
                let line = first_line + at as u32;
                let lines = report
                    .lines
                    .iter()
                    .filter(|found| found.source.as_ref().is_some_and(|at| at.line == line));
                lines.map(|line| line.counts.bank_conflicts()).sum()
            });
        }
        bits(&device.download(&y).unwrap())
    });
    let row = (0..length).map(|i| code::<T>(5, i));
    let col = (0..length).map(|i| code::<T>(i, 5));
    let expected: Vec<T> = x.iter().copied().chain(row).chain(col).collect();
    assert_eq!(y, bits(&expected), "{} {N} {}", T::NAME, V::NAME);
    conflicts
}

macro_rules! vectors {
    ($($element:ty, $length:literal, $layout:ty, $swizzle:ty, $conflicts:expr;)*) => {
        #[test]
        fn vectors() {
            let mut wrong = Vec::new();
            $(
                let found = vector::<$element, $length, $layout, $swizzle>();
                if found != $conflicts {
                    let name = concat!(stringify!($element), " ", $length, " ", stringify!($layout), " ", stringify!($swizzle));
                    wrong.push(format!("{name}: expected {:?}, found {found:?}", $conflicts));
                }
            )*
            assert!(wrong.is_empty(), "conflicts of loads, stores, rows, columns:\n{}", wrong.join("\n"));
        }
    };
}

// Conflicts remain where lanes own runs of elements of a column (`Naive`), which are in different rows, and of rows in blocks of 32 bytes;
// and for 64-bit vectors that lanes own more than once, whose owners alone store.
vectors! {
    e4m3, 8, Naive, Auto, [0, 0, 0, 60];
    e4m3, 2, Orthogonal, Auto, [0, 0, 0, 0];
    e4m3, 4, Aligned, Auto, [0, 0, 0, 0];
    bf16, 4, Naive, Auto, [0, 0, 0, 28];
    bf16, 4, Orthogonal, Auto, [0, 0, 0, 0];
    bf16, 4, Aligned, Auto, [0, 0, 0, 0];
    bf16, 4, Naive, Swizzle32, [0, 0, 6, 28];
    bf16, 4, Orthogonal, Swizzle32, [0, 0, 0, 0];
    bf16, 4, Aligned, Swizzle32, [0, 0, 0, 0];
    f32, 4, Naive, Auto, [0, 0, 0, 12];
    f32, 4, Orthogonal, Auto, [0, 0, 0, 0];
    f32, 4, Aligned, Auto, [0, 0, 0, 0];
    f32, 4, Orthogonal, Padded, [0, 0, 0, 8];
    f32, 4, Aligned, Padded, [0, 0, 0, 0];
    f64, 4, Naive, Auto, [0, 4, 0, 24];
    f64, 8, Naive, Auto, [0, 0, 0, 24];
    f64, 4, Orthogonal, Auto, [0, 0, 0, 0];
    f64, 4, Aligned, Auto, [0, 0, 0, 0];
}
