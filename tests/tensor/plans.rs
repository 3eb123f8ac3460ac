//! Copies are planned independently of earlier copies between similar views, whose plans are kept.

use pretty_assertions::assert_eq;
use warpwright::{layout::Layout, prelude::*, run::Device, tensor::copy};

use crate::devices::all;

use super::support::{count, numbers};

/// The rows and columns of a tile.
const TILE: (i64, i64) = (2, 6);
/// The extent of rows and the distance between them, a multiple of all divisors.
const LENGTH: u32 = 24;

/// The properties of a view in which the views of a kernel differ: the column of its tile, and known divisors of the distance between
/// rows and of the length of a row.
#[derive(Clone, Copy, Debug)]
struct Properties {
    column: i64,
    pitch: u32,
    length: u32,
}

impl Properties {
    fn all() -> impl Iterator<Item = Self> + Clone {
        let divisors = |column, pitch| [1, 2, 4].map(|length| Self { column, pitch, length });
        [0, 1]
            .into_iter()
            .flat_map(move |column| [1, 2, 4].into_iter().flat_map(move |pitch| divisors(column, pitch)))
    }
}

type Args = (In<f32>, u32, u32, In<f32>, u32, u32, Out<f32>);

/// A kernel in which a thread copies a tile of each of two matrices to y, one after the other.
fn two_copies(properties: [Properties; 2]) -> Kernel<Args> {
    let built = Kernel::<Args>::build(
        "tiles(x0, p0, n0, x1, p1, n1, y)",
        Target::SM_80,
        |k, (x0, p0, n0, x1, p1, n1, y)| {
            k.block([1]);
            k.grid([1]);
            let y = k.tensor_with_layout(y, &Layout::row_major((2, TILE.0, TILE.1)).unwrap());
            for (i, (x, pitch, length)) in [(x0, p0, n0), (x1, p1, n1)].into_iter().enumerate() {
                let of = properties[i];
                let (pitch, length) = (pitch.multiple_of(of.pitch), length.multiple_of(of.length));
                let x = k
                    .tensor::<f32, _, 2>(x, [2.into(), length], [pitch, 1.into()])
                    .local_tile(TILE, (0, of.column));
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
    let alone: Vec<_> =
        Properties::all().map(|of| (of, loads(&two_copies([of, of])).map(|loads| loads / 2))).collect();
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
            let start = of.column as usize * TILE.1 as usize;
            let row = |row: usize| x[row * LENGTH as usize + start..][..TILE.1 as usize].to_vec();
            (0..TILE.0 as usize).flat_map(row).collect::<Vec<_>>()
        };
        for device in all() {
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(24).unwrap());
            device.launch(&kernel, (&from, LENGTH, LENGTH, &from, LENGTH, LENGTH, &mut to)).unwrap();
            assert_eq!(
                device.download(&to).unwrap(),
                [tile(first), tile(second)].concat(),
                "{first:?}, {second:?}"
            );
        }
    }
}
