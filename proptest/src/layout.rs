//! Generators of shapes, layouts, tilers, slices and swizzles.
//!
//! Sizes are at most [`MAX_ELEMENTS`], so that tests can enumerate all indices.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use warpwright::layout::{
    Coord, IntTuple, Layout, Shape, Slicer, Slot, Swizzle, Tiler, Tuple, TvLayout, coord_of_index,
};

/// The maximum size (number of coordinates) of a generated layout.
pub const MAX_ELEMENTS: i64 = 512;

/// Generates a nested shape with extents from 1 to 8, a depth of at most 3, and a size of at most [`MAX_ELEMENTS`].
pub fn shape() -> impl Strategy<Value = Shape> {
    nested(prop_oneof![3 => 2..=8_i64, 1 => Just(1_i64)])
}

fn nested(extent: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Shape> {
    extent
        .prop_map(Tuple::Leaf)
        .prop_recursive(3, 6, 3, |mode| vec(mode, 1..=3).prop_map(Tuple::Node))
        .prop_filter("a size that tests can enumerate", |shape: &Shape| shape.size() <= MAX_ELEMENTS)
}

/// Generates a layout with strides from −40 to 40, including broadcast modes.
pub fn signed_layout() -> impl Strategy<Value = Layout> {
    with_strides(prop_oneof![1 => Just(0_i64), 2 => 1..=4_i64, 2 => -40..=40_i64])
}

/// Generates a layout with strides from 0 to 64.
pub fn layout() -> impl Strategy<Value = Layout> {
    with_strides(
        prop_oneof![1 => Just(0_i64), 2 => 1..=4_i64, 2 => select(vec![6_i64, 8, 12, 16, 24, 32, 40, 64])],
    )
}

fn with_strides(stride: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Layout> {
    (shape(), vec(stride, 1..=12)).prop_filter_map("a valid layout", |(shape, strides)| {
        let mut strides = strides.into_iter().cycle();
        let stride = shape.map(|_| strides.next().unwrap_or(0));
        Layout::new(shape, stride).ok()
    })
}

/// Generates a compact layout with modes in any order, which is a bijection onto `0..size`.
pub fn compact() -> impl Strategy<Value = Layout> {
    ordered(Just(1_i64))
}

/// Generates an injective layout with modes in any order and possible gaps between them.
pub fn injective() -> impl Strategy<Value = Layout> {
    ordered(prop_oneof![3 => Just(1_i64), 1 => 2..=4_i64])
}

/// Generates an injective layout with padding: a stride may exceed the span of the modes with smaller strides, but by less than this span.
/// Strides are therefore not always multiples of the span.
pub fn padded() -> impl Strategy<Value = Layout> {
    (shape(), vec((any::<u16>(), any::<u16>()), 12)).prop_filter_map("a valid layout", |(shape, keys)| {
        let extents: Vec<i64> = shape.leaves().copied().collect();
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|&mode| keys.get(mode).map(|key| key.0));
        let (mut span, mut strides) = (1, vec![0; extents.len()]);
        for mode in order {
            strides[mode] = span;
            if extents[mode] > 1 {
                strides[mode] += i64::from(keys.get(mode)?.1) % span;
                span = strides[mode] * extents[mode];
            }
        }
        let mut strides = strides.into_iter();
        let stride = shape.map(|_| strides.next().unwrap_or(0));
        Layout::new(shape, stride).ok()
    })
}

/// Generates a layout whose modes have increasing strides in a random order. Each stride is multiplied by a factor from `gap`.
fn ordered(gap: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Layout> {
    (shape(), vec((any::<u16>(), gap), 12)).prop_filter_map("a valid layout", |(shape, keys)| {
        let extents: Vec<i64> = shape.leaves().copied().collect();
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|&mode| keys.get(mode).map(|key| key.0));
        let (mut next, mut strides) = (1, vec![0; extents.len()]);
        for mode in order {
            next *= keys.get(mode)?.1;
            strides[mode] = next;
            next *= extents[mode];
        }
        let mut strides = strides.into_iter();
        let stride = shape.map(|_| strides.next().unwrap_or(0));
        Layout::new(shape, stride).ok()
    })
}

/// Generates a coordinate within `shape`, with the same nesting.
pub fn coordinate(shape: &Shape) -> impl Strategy<Value = Coord> + use<> {
    let shape = shape.clone();
    (0..shape.size()).prop_map(move |index| coord_of_index(index, &shape))
}

/// Generates a slicing coordinate for `shape` that keeps some modes, at any depth, and fixes the others.
pub fn slicer(shape: &Shape) -> impl Strategy<Value = Slicer> + use<> {
    let shape = shape.clone();
    (0..shape.size(), vec(0..3_u8, 1..=6)).prop_map(move |(index, choices)| {
        let mut choices = choices.into_iter().cycle();
        slice_of(&shape, &coord_of_index(index, &shape), &mut || choices.next().unwrap_or(0))
    })
}

fn slice_of(shape: &Shape, coord: &Coord, choose: &mut impl FnMut() -> u8) -> Slicer {
    match (choose(), shape, coord) {
        (0, _, _) => Tuple::Leaf(Slot::Keep),
        (_, Tuple::Node(modes), Tuple::Node(coords)) => {
            modes.iter().zip(coords).map(|(mode, coord)| slice_of(mode, coord, choose)).collect()
        }
        _ => coord.map(|&index| Slot::At(index)),
    }
}

/// Generates a tiler for `layout`. The tiler consists of extents or strided layouts, and applies to the whole layout or mode by mode. Most
/// generated tilers divide the layout evenly.
pub fn tiler(layout: &Layout) -> impl Strategy<Value = Tiler> + use<> {
    let whole = tile(layout.size());
    let modes: Vec<_> = layout.modes().map(|mode| tile(mode.size()).boxed()).collect();
    let count = 1..=modes.len();
    let by_mode = (modes, count).prop_map(|(mut tiles, count)| {
        tiles.truncate(count);
        Tuple::Node(tiles)
    });
    prop_oneof![whole, by_mode]
}

fn tile(size: i64) -> impl Strategy<Value = Tiler> {
    let divisors: Vec<i64> = (1..=size).filter(|extent| size % extent == 0).collect();
    (select(divisors), 1..=4_i64, any::<bool>()).prop_map(move |(extent, stride, strided)| {
        let rest = size / extent;
        let stride = if rest % stride == 0 { stride } else { rest };
        match Layout::new(extent, stride) {
            Ok(layout) if strided => layout.into(),
            _ => extent.into(),
        }
    })
}

/// Generates a swizzle that XORs at most 3 bits and has a period of at most 4096.
pub fn swizzle() -> impl Strategy<Value = Swizzle> {
    (0..=3_u32, 0..=5_u32, -4..=4_i32).prop_filter_map("bits that do not overlap", |(bits, base, shift)| {
        Swizzle::new(bits, base, shift).ok()
    })
}

/// Generates a (thread, value) layout in which every element of a tile of rank 1 to 3 has exactly one owner. The extents of the tile are
/// products of factors 2 and 3, which are distributed over threads and values in random order.
pub fn tv_layout() -> impl Strategy<Value = TvLayout> {
    let factors = vec(vec(2..=3_i64, 0..=2), 1..=3);
    let digits = factors.prop_flat_map(|factors| {
        let shape: Shape = factors.iter().map(|mode| mode.iter().product::<i64>()).collect();
        let (mut stride, mut digits) = (1, Vec::new());
        for extent in factors.into_iter().flatten() {
            digits.push((extent, stride));
            stride *= extent;
        }
        let threads = 0..=digits.len();
        (Just(shape), Just(digits).prop_shuffle(), threads)
    });
    digits.prop_filter_map("a size that tests can enumerate", |(shape, mut digits, threads)| {
        let values = digits.split_off(threads);
        let layout = Layout::concat([flat(digits)?, flat(values)?]);
        let tile = TvLayout::new("dealt", shape, layout).ok()?;
        (tile.shape().size() <= MAX_ELEMENTS).then_some(tile)
    })
}

/// Returns the layout with these extents and strides, or `1:0` if there are none.
fn flat(modes: Vec<(i64, i64)>) -> Option<Layout> {
    let modes = if modes.is_empty() { vec![(1, 0)] } else { modes };
    let (shape, stride): (Vec<i64>, Vec<i64>) = modes.into_iter().unzip();
    Layout::new(shape.into_iter().collect::<Shape>(), stride.into_iter().collect::<IntTuple>()).ok()
}

/// Generates a permutation of `0..rank`, for use as the order in [`Layout::ordered`].
pub fn order(rank: usize) -> impl Strategy<Value = IntTuple> {
    Just((0_i64..).take(rank).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|order| order.into_iter().collect())
}
