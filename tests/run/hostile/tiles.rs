//! Hostile programs of tiles: matrices of random sizes, pitches and batches, whose views, tiles and vectors are at random places, constants
//! or numbers from memory. No element outside the matrices is written.

use proptest::prelude::*;
use warpwright::{
    prelude::*,
    ptx::ReadWrite,
    run::{Device, Simulator},
    tiles::{Gl, consumers, contiguous, producer},
};

use super::Number;

/// How a program narrows the matrix before it stores.
#[derive(Clone, Copy, Debug)]
enum View {
    Whole,
    Skip([Number; 2]),
    Sub([Number; 4]),
    Transposed,
}

/// The store of a program, at two coordinates.
#[derive(Clone, Copy, Debug)]
enum Store {
    Tile,
    TileAt,
    Add,
    Element,
    RowVector,
    Column,
    Stripes,
    /// By a tensor copy, from a warpgroup.
    Box,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Matrices, rows and columns.
    extents: [u32; 3],
    /// Elements after each row and after each matrix.
    gaps: [u32; 2],
    batch: Number,
    views: Vec<View>,
    store: Store,
    at: [Number; 2],
}

fn number() -> impl Strategy<Value = Number> {
    let values = prop_oneof![
        6 => 0..5_u64,
        1 => proptest::sample::select(vec![40, 1 << 24, 1 << 28, 1 << 31, u64::from(u32::MAX)]),
    ];
    (values, any::<bool>()).prop_map(|(value, register)| Number { value, register })
}

pub(super) fn programs() -> impl Strategy<Value = Program> {
    use Store::{Add, Box, Column, Element, RowVector, Stripes, Tile, TileAt};
    let view = prop_oneof![
        1 => Just(View::Whole),
        3 => prop::array::uniform2(number()).prop_map(View::Skip),
        3 => prop::array::uniform4(number()).prop_map(View::Sub),
        1 => Just(View::Transposed),
    ];
    let store = proptest::sample::select(vec![Tile, TileAt, Add, Element, RowVector, Column, Stripes, Box]);
    let sizes = ([1..4_u32, 0..70, 0..70], [0..9_u32, 0..9]);
    (sizes, number(), prop::collection::vec(view, 0..3), store, prop::array::uniform2(number())).prop_map(
        |((extents, gaps), batch, views, store, at)| {
            // Tensor copies require rows that are a multiple of 16 bytes apart.
            let [batches, rows, cols] = extents;
            let extents = if matches!(store, Box) { [batches, rows, cols / 4 * 4] } else { extents };
            let gaps = if matches!(store, Box) { gaps.map(|gap| gap / 4 * 4) } else { gaps };
            Program { extents, gaps, batch, views, store, at }
        },
    )
}

/// `(table, y, matrices, rows, columns, pitch, distance)`.
pub(super) type Args = (In<u32>, InOut<f32>, u32, u32, u32, u32, u32);

impl Program {
    fn numbers(&self) -> Vec<Number> {
        let of_views = self.views.iter().flat_map(|view| match view {
            View::Whole | View::Transposed => Vec::new(),
            View::Skip(numbers) => numbers.to_vec(),
            View::Sub(numbers) => numbers.to_vec(),
        });
        of_views.chain([self.batch]).chain(self.at).collect()
    }

    /// The numbers that the kernel loads.
    pub(super) fn table(&self) -> Vec<u32> {
        self.numbers().iter().map(|number| number.value as u32).collect()
    }

    /// The sizes that a launch passes.
    pub(super) fn sizes(&self) -> [u32; 5] {
        let ([batches, rows, cols], [gap, between]) = (self.extents, self.gaps);
        let pitch = cols + gap;
        [batches, rows, cols, pitch, rows * pitch + between]
    }

    /// The number of elements of the shortest buffer that contains all matrices.
    pub(super) fn len(&self) -> usize {
        let [batches, rows, cols, pitch, distance] = self.sizes().map(|size| size as usize);
        if rows == 0 || cols == 0 { 0 } else { (batches - 1) * distance + (rows - 1) * pitch + cols }
    }

    /// Returns whether element `index` of the buffer is in a matrix.
    pub(super) fn contains(&self, index: usize) -> bool {
        let [_, rows, cols, pitch, distance] = self.sizes().map(|size| size as usize);
        let within = index % distance.max(1);
        within / pitch.max(1) < rows && within % pitch.max(1) < cols
    }

    /// The kernel, unless it is rejected: tensor copies reject some views.
    pub(super) fn kernel(&self) -> Option<Kernel<Args>> {
        let threads = if matches!(self.store, Store::Box) { 256 } else { 32 };
        let signature = "tiles(t, y, b, m, n, p, d)";
        let built =
            Kernel::<Args>::build(signature, Target::SM_90A, |k, (table, y, b, m, n, pitch, distance)| {
                k.block([threads]);
                k.grid([b.tiles(u32::MAX)]);
                let numbers = self.numbers();
                let (table, mut next) = (k.slice(table, numbers.len()), numbers.iter().zip(0_u32..));
                let mut number = || {
                    let (number, at) = next.next().expect("counted");
                    if number.register { table.at(at).load() } else { Val::from(number.value as u32) }
                };
                let layout = contiguous([b, m, n]).with_strides([distance, pitch, 1.into()]);
                let mut cut = Vec::new();
                for view in &self.views {
                    cut.push(match view {
                        View::Whole | View::Transposed => Vec::new(),
                        View::Skip(_) => vec![number(), number()],
                        View::Sub(_) => vec![number(), number(), number(), number()],
                    });
                }
                let mut matrix = k.global(y, layout).batch(number());
                for (view, at) in self.views.iter().zip(cut) {
                    matrix = match (view, at.as_slice()) {
                        (View::Transposed, _) => matrix.transposed(),
                        (View::Skip(_), &[row, col]) => matrix.skip(row, col),
                        (View::Sub(_), &[row, col, rows, cols]) => {
                            matrix.sub_matrix((row, col), (rows, cols))
                        }
                        _ => matrix,
                    };
                }
                self.store.emit(k, &matrix, [number(), number()]);
            });
        match built {
            Ok(kernel) => Some(kernel),
            Err(error) if matches!(self.store, Store::Box) => {
                assert!(error.to_string().contains("tensor copy"), "{error}");
                None
            }
            Err(error) => panic!("{self:?}: {error}"),
        }
    }
}

impl Store {
    /// Stores ones.
    fn emit<'k>(self, k: Builder<'k>, y: &Gl<'k, f32, ReadWrite>, [row, col]: [Val<'k, u32>; 2]) {
        let ones = || k.filled::<Rt<f32, 1, 2>>(1.0);
        let stripes = || k.stripes(k.lane().rank(), 32, 4, 1);
        match self {
            Self::Tile => y.tile(row, col).store(&ones()),
            Self::TileAt => y.tile_at(row, col).store(&ones()),
            Self::Add => y.tile(row, col).add(&ones()),
            Self::Element => y.at(row, col).when(k.lane().rank().eq(0)).store(1.0),
            Self::RowVector => y.row(row).tile(col).store(&k.filled::<RowVec<f32, 2>>(1.0)),
            Self::Column => y.col(col).tile_at(row).store(&k.filled::<ColVec<f32, 1>>(1.0)),
            Self::Stripes => stripes().store(&y.row(row), col, &stripes().filled(1.0_f32)),
            Self::Box => {
                let outbox = k.outbox::<f32, 2, 1, 1>();
                let ones = || [k.filled::<Rt<f32, 1, 2>>(1.0)];
                let consumer = consumers::<1, _>(232, |c| c.store(&outbox, ones(), |_| y.tile(row, col)));
                k.specialize(producer(40, |_| {}), consumer);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tiles_stay_inside(program in programs()) {
        let Some(kernel) = program.kernel() else { return Ok(()) };
        prop_assert_eq!(kernel.entry().unsafe_accesses, 0);
        let device = Simulator::new();
        let table = device.upload(&program.table()).unwrap();
        let mut y = device.upload(&vec![0.0_f32; program.len()]).unwrap();
        let [b, m, n, pitch, distance] = program.sizes();
        let launched = device.launch(&kernel, (&table, &mut y, b, m, n, pitch, distance));
        prop_assert!(launched.is_ok(), "{}", launched.unwrap_err());
        for (index, value) in device.download(&y).unwrap().into_iter().enumerate() {
            prop_assert!(value == 0.0 || program.contains(index), "element {} is in a gap", index);
        }
    }
}
