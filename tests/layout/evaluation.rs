//! Coordinates, slices, modes.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::layout::{
    Coord, IntTuple, Layout, Shape, Slicer, Slot, Tuple, coord_of_index, coord_to_coord, index_of_coord,
};
use warpwright_proptest::layout::{
    compact, coordinate, injective, layout, order, shape, signed_layout, slicer,
};

/// The offset by definition: each leaf of a full coordinate times its stride.
fn dot(coord: &Coord, layout: &Layout) -> i64 {
    coord.leaves().zip(layout.stride().leaves()).map(|(c, d)| c * d).sum()
}

fn with_coordinate() -> impl Strategy<Value = (Layout, Coord)> {
    signed_layout().prop_flat_map(|layout| (Just(layout.clone()), coordinate(layout.shape())))
}

#[test]
fn one_element_by_every_kind_of_coordinate() {
    let layout = Layout::new((3, (2, 2)), (2, (16, 8))).expect("a layout");
    assert_eq!((layout.rank(), layout.depth(), layout.size(), layout.cosize()), (2, 2, 12, 29));
    assert_eq!(layout.at(4), Ok(18));
    assert_eq!(layout.at((1, 1)), Ok(18));
    assert_eq!(layout.at((1, (1, 0))), Ok(18));
    assert_eq!(layout.index(4), 18);
}

#[test]
fn compact_layouts_put_0_on_extents_of_1() {
    let text = |layout: Result<Layout, _>| layout.expect("a layout").to_string();
    assert_eq!(text(Layout::column_major((3, 1, (4, 5)))), "(3,1,(4,5)):(1,0,(3,12))");
    assert_eq!(text(Layout::row_major((3, (4, 1), 5))), "(3,(4,1),5):(20,(5,0),1)");
    assert_eq!(text(Layout::ordered((2, 3, 4, 5), (0, 2, 3, 1))), "(2,3,4,5):(1,10,30,2)");
    assert_eq!(text(Layout::ordered(((2, 3), 4), (1, 0))), "((2,3),4):((4,8),1)");
    assert_eq!(text(Layout::ordered((2, 2), (0, 0))), "(2,2):(1,2)");
}

#[test]
fn odd_shapes_do_not_panic() {
    assert_eq!(coord_of_index(5, &IntTuple::from((0, 3))).to_string(), "(0,0)");
    assert_eq!(coord_of_index(i64::MIN, &IntTuple::from((-1, 3))).to_string(), "(0,0)");
    let empty = Layout::column_major(()).expect("no modes");
    assert_eq!((empty.to_string(), empty.size(), empty.index(0)), ("():()".into(), 1, 0));
    assert_eq!(empty.coalesce().to_string(), "1:0");
    assert_eq!(empty.compose(&empty), Ok(empty.clone()));
    assert_eq!(Layout::column_major(4).expect("a layout").slice(2), Ok(empty));
    assert!(Layout::new((2, 1), (1, i64::MIN)).is_err());
}

proptest! {
    #[test]
    fn coordinates_and_indices_have_the_same_offset((layout, coord) in with_coordinate()) {
        let index = index_of_coord(&coord, layout.shape()).expect("nests alike");
        prop_assert_eq!(coord_of_index(index, layout.shape()), coord.clone());
        let offset = dot(&coord, &layout);
        prop_assert_eq!(layout.at(&coord), Ok(offset));
        prop_assert_eq!(layout.at(index), Ok(offset));
        prop_assert_eq!(layout.index(index), offset);
        // One integer per top-level mode.
        let flat = coord_to_coord(&coord, layout.shape(), &layout.shape().product_each()).expect("same size");
        prop_assert_eq!(flat.depth(), 1);
        prop_assert_eq!(layout.clone().append(1).at(if layout.depth() == 0 { coord } else { flat }), Ok(offset));
    }

    #[test]
    fn coordinates_run_colexicographically(shape in shape()) {
        let reversed = |index| {
            let mut leaves: Vec<i64> = coord_of_index(index, &shape).leaves().copied().collect();
            leaves.reverse();
            leaves
        };
        for index in 1..shape.size() {
            prop_assert!(reversed(index - 1) < reversed(index));
        }
    }

    #[test]
    fn cosize_spans_all_offsets(layout in signed_layout()) {
        let (least, most) = (layout.values().min(), layout.values().max());
        prop_assert_eq!(most.zip(least).map(|(most, least)| most - least + 1), Some(layout.cosize()));
    }

    #[test]
    fn a_slice_is_the_rest_of_the_layout(
        (layout, at) in signed_layout()
            .prop_flat_map(|layout| (Just(layout.clone()), slicer(layout.shape()))),
    ) {
        let (slice, offset) = layout.slice_and_offset(at.clone()).expect("nests alike");
        let matching = (0..layout.size()).filter(|&index| {
            matches(&coord_of_index(index, layout.shape()), &at)
        });
        let wanted: Vec<i64> = matching.map(|index| layout.index(index)).collect();
        let found: Vec<i64> = slice.values().map(|value| value + offset).collect();
        prop_assert_eq!(found, wanted);
        let fixed = layout.dice(at.clone()).expect("nests alike");
        prop_assert_eq!(fixed.size() * slice.size(), layout.size());
        prop_assert_eq!(layout.slice(at), Ok(slice));
    }

    #[test]
    fn ordered_layouts_are_bijections(
        (shape, order) in shape()
            .prop_filter("a tuple", |shape| shape.depth() > 0)
            .prop_flat_map(|shape| (Just(shape.clone()), order(shape.rank()))),
    ) {
        let layout = Layout::ordered(&shape, &order).expect("a layout");
        prop_assert!(layout.is_bijective());
        // A later mode in the order starts where the earlier ones end.
        for (mode, key) in layout.modes().zip(order.leaves()) {
            let before = shape.modes().iter().zip(order.leaves()).filter(|(_, other)| *other < key);
            let start: i64 = before.map(|(extent, _)| extent.size()).product();
            let first = mode.values().nth(1);
            prop_assert!(first.is_none() || first == Some(start));
        }
        prop_assert!(Layout::column_major(&shape).expect("a layout").values().eq(0..shape.size()));
        prop_assert!(Layout::row_major(&shape).expect("a layout").is_bijective());
    }

    #[test]
    fn similar_layouts_keep_the_order_of_strides(layout in layout(), compact in compact(), apart in injective()) {
        let like = layout.like();
        prop_assert_eq!(like.shape(), layout.shape());
        for (mode, stride) in layout.stride().leaves().enumerate() {
            let ours = like.stride().leaves().nth(mode);
            let extent = layout.shape().leaves().nth(mode);
            prop_assert_eq!(*stride == 0 || extent == Some(&1), ours == Some(&0));
        }
        let modes = layout.shape().leaves().zip(layout.stride().leaves().zip(like.stride().leaves()));
        let mut strides: Vec<_> = modes.filter(|(extent, _)| **extent > 1).map(|(_, strides)| strides).collect();
        strides.sort();
        prop_assert!(strides.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{like}");
        // A compact layout is like itself, except for strides of extent-1 modes.
        prop_assert!(compact.like().values().eq(compact.values()));
        let fragment = apart.fragment_like().expect("a layout");
        prop_assert!(fragment.is_bijective() && fragment.size() == apart.size());
    }

    #[test]
    fn modes_are_flattened_and_grouped(layout in signed_layout()) {
        prop_assert_eq!(layout.flatten().unflatten(layout.shape()), Ok(layout.clone()));
        prop_assert!(layout.flatten().values().eq(layout.values()));
        if layout.depth() > 0 {
            prop_assert_eq!(&Layout::concat(layout.modes()), &layout);
            prop_assert_eq!(&layout.transpose().transpose(), &layout);
            let all: Vec<usize> = (0..layout.rank()).collect();
            prop_assert_eq!(layout.select(&all), Ok(layout.clone()));
            prop_assert_eq!(layout.take(0, layout.rank()), Ok(layout.clone()));
            let grouped = layout.group(0, layout.rank()).expect("a range");
            prop_assert_eq!(grouped.mode(0), Ok(layout.clone()));
        }
        let rank = layout.rank() + 2;
        prop_assert_eq!(layout.append(rank).rank(), rank);
        prop_assert!(layout.append(rank).values().eq(layout.values()));
        prop_assert!(layout.prepend(rank).values().eq(layout.values()));
    }
}

fn matches(coord: &Coord, at: &Slicer) -> bool {
    match (coord, at) {
        (_, Tuple::Leaf(Slot::Keep)) => true,
        (Tuple::Leaf(index), Tuple::Leaf(Slot::At(fixed))) => index == fixed,
        (Tuple::Node(coords), Tuple::Node(slots)) => {
            coords.iter().zip(slots).all(|(coord, slot)| matches(coord, slot))
        }
        _ => false,
    }
}

#[test]
fn compatible_shapes_share_coordinates() {
    let shape = |text: &str| text.parse::<Shape>().expect("a shape");
    assert!(shape("8").compatible(&shape("(2,4)")));
    assert!(shape("(2,4)").compatible(&shape("((2,1),(2,2))")));
    assert!(!shape("(2,4)").compatible(&shape("8")));
    assert!(!shape("(4,2)").compatible(&shape("((2,1),(2,2))")));
    assert_eq!(IntTuple::from(((2, 3), 4)).product_each().to_string(), "(6,4)");
}
