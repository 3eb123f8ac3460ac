//! Copies are planned independently of earlier copies between similar views, whose plans are kept.

use pretty_assertions::assert_eq;
use warpwright::{layout::Layout, prelude::*, run::Device, tensor::copy};

use crate::devices::all;

use super::support::{count, numbers};

/// The rows and columns of a tile.
const TILE: (i64, i64) = (2, 6);
/// The extent of rows and the distance between them, a multiple of all divisors.
const LENGTH: u32 = 24;

/// The column of tiles that is copied if it is not a constant.
const COLUMN: u32 = 1;

/// The properties of a view in which the views of a kernel differ: the column of its tile (`None` for a parameter), and known divisors of
/// the distance between rows and of the length of a row.
#[derive(Clone, Copy, Debug)]
struct Properties {
    column: Option<u32>,
    pitch: u32,
    length: u32,
}

impl Properties {
    fn all() -> impl Iterator<Item = Self> + Clone {
        let divisors = |column, pitch| [1, 2, 4].map(|length| Self { column, pitch, length });
        [None, Some(0), Some(1)]
            .into_iter()
            .flat_map(move |column| [1, 2, 4].into_iter().flat_map(move |pitch| divisors(column, pitch)))
    }
}

type Args = (In<f32>, u32, u32, In<f32>, u32, u32, u32, Out<f32>);

/// A kernel in which a thread copies a tile of each of two matrices to y, one after the other.
fn two_copies(properties: [Properties; 2]) -> Kernel<Args> {
    let built = Kernel::<Args>::build(
        "tiles(x0, p0, n0, x1, p1, n1, column, y)",
        Target::SM_80,
        |k, (x0, p0, n0, x1, p1, n1, column, y)| {
            k.block([1]);
            k.grid([1]);
            let y = k.tensor_with_layout(y, &Layout::row_major((2, TILE.0, TILE.1)).unwrap());
            for (i, (x, pitch, length)) in [(x0, p0, n0), (x1, p1, n1)].into_iter().enumerate() {
                let of = properties[i];
                let column = of.column.map_or(column, Val::from);
                let (pitch, length) = (pitch.multiple_of(of.pitch), length.multiple_of(of.length));
                let x = k
                    .tensor::<f32, _, 2>(x, [2.into(), length], [pitch, 1.into()])
                    .local_tile(TILE, (0, column));
                let held = k.fragment::<f32>(&Layout::row_major(TILE).unwrap());
                copy(&held, &x);
                copy(&y.slice((i as i64, .., ..)), &held);
            }
        },
    );
    built.unwrap()
}

/// The numbers of loads of 4, 2 and 1 elements.
fn loads(kernel: &Kernel<Args>) -> [usize; 3] {
    let of_vector = [".v4", ".v2", ""].map(|vector| count(kernel, &format!("ld.global.nc{vector}")));
    [of_vector[0], of_vector[1], of_vector[2] - of_vector[0] - of_vector[1]]
}

#[test]
fn earlier_copies_do_not_change_plans() {
    // Plans are kept by threads.
    let alone = |of| std::thread::spawn(move || loads(&two_copies([of, of])).map(|loads| loads / 2)).join();
    let alone: Vec<_> = Properties::all().map(|of| (of, alone(of).unwrap())).collect();
    // The properties determine the widths.
    let mut widths: Vec<_> = alone.iter().map(|(_, loads)| loads).collect();
    widths.sort();
    widths.dedup();
    assert!(widths.len() >= 3, "{widths:?}");
    for (first, of_first) in &alone {
        for (second, of_second) in &alone {
            let kernel = two_copies([*first, *second]);
            let expected: Vec<_> = of_first.iter().zip(of_second).map(|(a, b)| a + b).collect();
            assert_eq!(loads(&kernel).to_vec(), expected, "{first:?}, then {second:?}");
        }
    }
}

#[test]
fn tiles_of_similar_views_are_copied() {
    let x = numbers(2 * LENGTH as usize);
    for (first, second) in Properties::all().zip(Properties::all().skip(5)) {
        let kernel = two_copies([first, second]);
        let tile = |of: Properties| {
            let start = of.column.unwrap_or(COLUMN) as usize * TILE.1 as usize;
            let row = |row: usize| x[row * LENGTH as usize + start..][..TILE.1 as usize].to_vec();
            (0..TILE.0 as usize).flat_map(row).collect::<Vec<_>>()
        };
        for device in all() {
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(24).unwrap());
            device.launch(&kernel, (&from, LENGTH, LENGTH, &from, LENGTH, LENGTH, COLUMN, &mut to)).unwrap();
            assert_eq!(
                device.download(&to).unwrap(),
                [tile(first), tile(second)].concat(),
                "{first:?}, {second:?}"
            );
        }
    }
}

/// A kernel in which a thread copies two rows of six elements to y, one after the other; `None` is row `row` & 3.
fn two_rows(rows: [Option<u32>; 2]) -> Kernel<(In<f32>, u32, Out<f32>)> {
    let built =
        Kernel::<(In<f32>, u32, Out<f32>)>::build("rows(x, row, y)", Target::SM_80, |k, (x, row, y)| {
            k.block([1]);
            k.grid([1]);
            let x = k.tensor_with_layout(x, &Layout::row_major((4, 6)).unwrap());
            let y = k.tensor_with_layout(y, &Layout::row_major((2, 6)).unwrap());
            for (i, of) in rows.into_iter().enumerate() {
                let held = k.fragment_of_shape::<f32>(6);
                copy(&held, &x.slice((of.map_or(row & 3, Val::from), ..)));
                copy(&y.slice((i as i64, ..)), &held);
            }
        });
    built.unwrap()
}

/// Each row at a known offset contains an aligned group of four elements; rows at an unknown offset are aligned to only 8 bytes.
#[test]
fn alignments_distinguish_plans() {
    let x = numbers(24);
    for rows in [[Some(0), None], [None, Some(0)], [Some(2), None], [None, Some(1)]] {
        let kernel = two_rows(rows);
        for device in all() {
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(12).unwrap());
            device.launch(&kernel, (&from, 1, &mut to)).unwrap();
            let expected = rows.map(|row| x[6 * row.unwrap_or(1) as usize..][..6].to_vec()).concat();
            assert_eq!(device.download(&to).unwrap(), expected, "{rows:?}");
        }
        let known = rows.iter().flatten().count();
        assert_eq!(count(&kernel, "ld.global.nc.v4"), known, "{rows:?}");
    }
}
