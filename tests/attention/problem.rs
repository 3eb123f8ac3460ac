//! Launches of kernels, and the comparison of their results with f64.

use super::{
    dropout::{DROPOUT, Dropout},
    reference::Reference,
};
use crate::{assemble, devices};
use warpwright::{
    kernels::{Attention, AttentionArgs, AttentionExtras, AttentionExtrasArgs},
    prelude::*,
    run::{AnyDevice, Buffer, Device},
    tensor::ConvertibleElement,
    tiles::{Convert, Product},
};
use warpwright_reference::{Expected, dot};

/// The type of Q, K, V and O.
pub(super) trait Half: ConvertibleElement + Product<Self, f32> + PartialEq {
    const NAN: Self;
    /// The relative error of a product of two rounded numbers.
    const ERROR: f64;
    fn of(x: f32) -> Self;
    fn number(self) -> f64;
    fn of_bits(bits: u16) -> Self;
    fn bits(self) -> u16;
}

macro_rules! halves {
    ($($t:ident $error:expr;)*) => {$(
        impl Half for $t {
            const NAN: Self = $t::NAN;
            const ERROR: f64 = $error;

            fn of(x: f32) -> Self {
                $t::from_f32(x)
            }

            fn number(self) -> f64 {
                self.to_f64()
            }

            fn of_bits(bits: u16) -> Self {
                $t::from_bits(bits)
            }

            fn bits(self) -> u16 {
                self.to_bits()
            }
        }
    )*};
}

halves! {
    bf16 1.0 / 128.0;
    f16  1.0 / 1024.0;
}

/// The targets whose kernels differ: `wgmma`, and `mma.sync`.
pub(super) const TARGETS: [Target; 2] = [Target::SM_90A, Target::SM_80];

/// The order of rows in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Batches, heads, rows.
    Heads,
    /// Batches, rows, heads.
    Rows,
}

/// The sizes of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batches: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) order: Order,
}

impl Sizes {
    /// One head of this many queries and keys.
    pub(super) fn one(queries: usize, keys: usize) -> Self {
        Self { batches: 1, heads: 1, kv_heads: 1, queries, keys, order: Order::Heads }
    }

    fn logarithms(self) -> usize {
        self.batches * self.heads * self.queries
    }

    pub(super) fn numbers(self) -> [u32; 5] {
        [self.batches, self.kv_heads, self.heads / self.kv_heads, self.queries, self.keys]
            .map(|size| size as u32)
    }
}

/// Rows of numbers for each batch and head, with gaps of NaN between rows.
pub(super) struct Rows {
    /// The strides between batches, between heads and between rows.
    strides: [usize; 3],
    pub(super) length: usize,
}

/// The elements after each row in memory: 16 bytes.
pub(super) const GAP: usize = 8;

impl Rows {
    pub(super) fn new(order: Order, shape: [usize; 4]) -> Self {
        Self::with_gap(order, shape, GAP)
    }

    /// Returns rows with this many elements after each row in memory.
    pub(super) fn with_gap(order: Order, [batches, heads, rows, size]: [usize; 4], gap: usize) -> Self {
        let pitch = size + gap;
        let strides = match order {
            Order::Heads => [heads * rows * pitch, rows * pitch, pitch],
            Order::Rows => [heads * rows * pitch, pitch, heads * pitch],
        };
        Self { strides, length: batches * heads * rows * pitch }
    }

    pub(super) fn at(&self, batch: usize, head: usize, row: usize) -> usize {
        let [per_batch, per_head, per_row] = self.strides;
        batch * per_batch + head * per_head + row * per_row
    }

    pub(super) fn numbers(&self) -> [u32; 3] {
        self.strides.map(|stride| stride as u32)
    }
}

/// Returns an element, given the matrix (`q`, `k` or `v`) and the batch, head, row and column.
pub(super) type Element<'a> = &'a dyn Fn(char, [usize; 4]) -> f32;

/// Numbers between −1.5 and 1.5, all different.
pub(super) fn mixed(which: char, [batch, head, row, col]: [usize; 4]) -> f32 {
    let index = ((batch * 7 + head) * 1009 + row) * 263 + col;
    let mix =
        (index as u32 ^ which as u32).wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(2_246_822_519);
    (mix >> 8) as f32 / (1 << 24) as f32 * 3.0 - 1.5
}

/// Builds a kernel and checks it with ptxas.
pub(super) fn built<T: Half>(attention: &Attention) -> Kernel<AttentionArgs<T>>
where
    f32: Convert<T>,
{
    let kernel = attention.kernel::<T>().unwrap_or_else(|error| panic!("{attention:?}: {error}"));
    assemble::kernel(&kernel);
    kernel
}

/// Q, K and V, and the matrices of a device.
pub(super) struct Matrices<T> {
    pub(super) rows: [Rows; 4],
    pub(super) factors: [Vec<T>; 3],
    /// The factors in f64.
    in_f64: [Vec<f64>; 3],
    /// The columns of Q, K and V.
    columns: [usize; 3],
}

impl<T: Half> Matrices<T> {
    pub(super) fn new(attention: &Attention, sizes: Sizes, element: Element<'_>) -> Self {
        let Sizes { batches, heads, kv_heads, queries, keys, order } = sizes;
        let [d, e] = [attention.head_size, attention.value_size].map(|size| size as usize);
        let shapes = [(heads, queries, d), (kv_heads, keys, d), (kv_heads, keys, e), (heads, queries, e)];
        let rows = shapes.map(|(heads, rows, size)| Rows::new(order, [batches, heads, rows, size]));
        let factors = [0, 1, 2].map(|which| {
            let (heads, count, size) = shapes[which];
            let mut elements = vec![T::NAN; rows[which].length];
            for (batch, head, row) in each([batches, heads, count]) {
                for col in 0..size {
                    elements[rows[which].at(batch, head, row) + col] =
                        T::of(element(['q', 'k', 'v'][which], [batch, head, row, col]));
                }
            }
            elements
        });
        let in_f64 = factors.each_ref().map(|factor| factor.iter().map(|x| x.number()).collect());
        Self { rows, factors, in_f64, columns: [d, d, e] }
    }

    pub(super) fn strides(&self) -> [[u32; 3]; 4] {
        self.rows.each_ref().map(Rows::numbers)
    }

    /// Returns a row of Q, K or V of a batch and head.
    pub(super) fn row(&self, which: usize, [batch, head, row]: [usize; 3]) -> &[f64] {
        &self.in_f64[which][self.rows[which].at(batch, head, row)..][..self.columns[which]]
    }
}

/// The buffers of a launch: Q, K, V, O and the logarithms.
pub(super) struct On<T: Half> {
    pub(super) factors: [Buffer<T>; 3],
    pub(super) o: Buffer<T>,
    pub(super) lse: Buffer<f32>,
}

/// The results of a launch.
pub(super) struct Found {
    pub(super) o: Vec<u16>,
    pub(super) lse: Vec<f32>,
}

/// Launches on every device; the results must be the same.
pub(super) fn everywhere<T: Half>(
    matrices: &Matrices<T>,
    logarithms: usize,
    launch: &dyn Fn(&AnyDevice, &mut On<T>),
) -> Found {
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let upload = |elements: &Vec<T>| device.upload(elements).expect("room");
        let mut on = On {
            factors: matrices.factors.each_ref().map(upload),
            o: upload(&vec![T::NAN; matrices.rows[3].length]),
            lse: device.upload(&vec![f32::NAN; logarithms]).expect("room"),
        };
        launch(device, &mut on);
        let o = device.download(&on.o).expect("copied").into_iter().map(T::bits).collect::<Vec<_>>();
        let lse = device.download(&on.lse).expect("copied").into_iter().map(f32::to_bits).collect::<Vec<_>>();
        Some((o, lse))
    });
    let (o, lse) = found.expect("the simulator has every capability");
    Found { o, lse: lse.into_iter().map(f32::from_bits).collect() }
}

/// Runs a kernel on every device, and compares its results with f64. Those of all devices must be the same; elements between rows remain NaN.
pub(super) fn check<T: Half>(
    attention: &Attention,
    kernel: &Kernel<AttentionArgs<T>>,
    sizes: Sizes,
    element: Element<'_>,
) {
    let (matrices, scale) = (Matrices::new(attention, sizes, element), scale(attention));
    let found = everywhere(&matrices, sizes.logarithms(), &|device, on| {
        let On { factors: [q, k, v], o, lse } = on;
        let launched =
            device.launch(kernel, (&*q, &*k, &*v, o, lse, sizes.numbers(), matrices.strides(), scale));
        launched.unwrap_or_else(|error| panic!("{attention:?}, {sizes:?}: {error}"));
    });
    compare(attention, sizes, &matrices, &found, &Added::default());
}

/// The extensions of attention that a kernel computes, with their data.
#[derive(Clone, Debug, Default)]
pub(super) struct Added {
    pub(super) soft_cap: Option<f32>,
    /// The slope of each head, if any.
    pub(super) slopes: Vec<f32>,
    pub(super) sinks: Vec<f32>,
    pub(super) dropout: Option<Dropout>,
}

/// Checks a kernel with extensions, as [`check`] does.
pub(super) fn check_with<T: Half>(attention: &Attention, added: &Added, sizes: Sizes, element: Element<'_>)
where
    f32: Convert<T>,
{
    check_tile::<T>(attention, added, sizes, element, true);
}

/// Checks a kernel with extensions, of which registers may be spilled unless it has the tile that is the default for them.
pub(super) fn check_tile<T: Half>(
    attention: &Attention,
    added: &Added,
    sizes: Sizes,
    element: Element<'_>,
    is_default: bool,
) where
    f32: Convert<T>,
{
    let Added { soft_cap, slopes, sinks, dropout } = added;
    let extras = AttentionExtras {
        soft_cap: *soft_cap,
        slopes: !slopes.is_empty(),
        sinks: !sinks.is_empty(),
        dropout: dropout.is_some(),
    };
    let Dropout { p, seed, offset } = dropout.unwrap_or(DROPOUT);
    let kernel: Kernel<AttentionExtrasArgs<T>> =
        attention.kernel_with_extras(extras).unwrap_or_else(|error| panic!("{attention:?}: {error}"));
    if is_default {
        assemble::kernel(&kernel);
    }
    let (matrices, scale) = (Matrices::new(attention, sizes, element), scale(attention));
    let found = everywhere(&matrices, sizes.logarithms(), &|device, on| {
        let On { factors: [q, k, v], o, lse } = on;
        let [slopes, sinks] = [slopes, sinks].map(|numbers| device.upload(numbers).expect("room"));
        let (numbers, strides) = (sizes.numbers(), matrices.strides());
        let random = [seed, offset];
        let arguments = (&*q, &*k, &*v, o, lse, numbers, strides, scale, &slopes, &sinks, p, random);
        let launched = device.launch(&kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{attention:?}, {sizes:?}: {error}"));
    });
    compare(attention, sizes, &matrices, &found, added);
}

pub(super) fn scale(attention: &Attention) -> f32 {
    1.0 / (attention.head_size as f32).sqrt()
}

fn compare<T: Half>(
    attention: &Attention,
    sizes: Sizes,
    matrices: &Matrices<T>,
    found: &Found,
    added: &Added,
) {
    let Sizes { batches, heads, kv_heads, queries, keys, .. } = sizes;
    for (batch, head) in (0..batches).flat_map(|batch| (0..heads).map(move |head| (batch, head))) {
        let kv_head = head / (heads / kv_heads);
        let score = |query, key| {
            let (q, k) = (matrices.row(0, [batch, head, query]), matrices.row(1, [batch, kv_head, key]));
            dot(q, k) * f64::from(scale(attention))
        };
        let reference = Reference {
            mask: attention.mask,
            queries,
            keys,
            score: &score,
            value: &|key| matrices.row(2, [batch, kv_head, key]),
            columns: attention.value_size as usize,
            soft_cap: added.soft_cap.map(f64::from),
            slope: added.slopes.get(head).copied().unwrap_or(0.0).into(),
            sink: added.sinks.get(head).copied().map(f64::from),
            dropout: added.dropout.map(|dropout| dropout.of_head(batch * heads + head)),
        };
        for query in 0..queries {
            let what =
                format!("{attention:?}, {added:?}, {sizes:?}: batch {batch}, head {head}, query {query}");
            let row = &found.o[matrices.rows[3].at(batch, head, query)..];
            let lse = found.lse[(batch * heads + head) * queries + query];
            compare_row::<T>(&what, &reference.row(query), row, lse);
        }
    }
}

/// Compares a row of O, the elements after it, and its logarithm.
pub(super) fn compare_row<T: Half>(what: &str, expected: &Expected, row: &[u16], lse: f32) {
    let Expected { o, lse: expected_lse } = expected;
    let number = |bits: u16| T::of_bits(bits).number();
    for (col, (&bits, &[expected, size])) in row.iter().zip(o).enumerate() {
        let (found, allowed) = (number(bits), size * T::ERROR + 1e-6);
        let agrees =
            found == expected || (found - expected).abs() <= allowed || found.is_nan() && expected.is_nan();
        assert!(agrees, "{what}, column {col}: expected {expected}, found {found}");
    }
    let behind = &row[o.len()..][..GAP];
    assert!(behind.iter().all(|&bits| bits == T::NAN.bits()), "{what}: wrote past the row");
    let found = f64::from(lse);
    let agrees = found == *expected_lse || (found - expected_lse).abs() <= 1e-5 * (1.0 + expected_lse.abs());
    assert!(
        agrees || found.is_nan() && expected_lse.is_nan(),
        "{what}: expected logarithm {expected_lse}, found {found}"
    );
}

/// All coordinates below these.
pub(super) fn each([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}
