//! Errors name the mode, extent and stride.

use pretty_assertions::assert_eq;
use warpwright::layout::{IntTuple, Layout, LayoutError, Tiler, domain_distribute};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn rejected<T: std::fmt::Debug>(result: Result<T, LayoutError>) -> String {
    result.expect_err("an error").to_string()
}

#[test]
fn construction() {
    assert_eq!(
        rejected(Layout::new((4, (2, 2)), (1, (2, (4, 8))))),
        "mode 1.1: expected a stride nested like shape 2, found (4,8)"
    );
    assert_eq!(
        rejected(Layout::new((4, (2, 0)), (1, (2, 4)))),
        "mode 1.1: expected an extent of at least 1, found 0"
    );
    assert_eq!(
        rejected(Layout::new(((3, (2, 0)), 4), ((1, (2, 4)), 8))),
        "mode 0.1.1: expected an extent of at least 1, found 0"
    );
    assert_eq!(
        rejected(Layout::column_major((1_i64 << 40, 1_i64 << 40))),
        "the size of shape (1099511627776,1099511627776): expected at most 64 bits, found more"
    );
    assert_eq!(
        rejected(Layout::new(3, i64::MAX)),
        "the largest offset of 3:9223372036854775807: expected at most 64 bits, found more"
    );
    assert_eq!(
        rejected(Layout::ordered(((2, 2), 4), ((0, 1, 2), 3))),
        "mode 0: expected an order nested within shape (2,2), found (0,1,2)"
    );
}

#[test]
fn coordinates() {
    let layout = layout("(4,(2,2)):(2,(1,8))");
    assert_eq!(
        rejected(layout.at((1, 2, 3))),
        "mode (whole): expected a coordinate nested within shape (4,(2,2)), found (1,2,3)"
    );
    assert_eq!(
        rejected(layout.slice(((.., 1), ..))),
        "mode 0: expected a coordinate nested within shape 4, found (0,1)"
    );
    assert_eq!(rejected(layout.mode(2)), "expected a non-empty range of modes within rank 2, found 2..3");
    assert_eq!(rejected(layout.group(1, 1)), "expected a non-empty range of modes within rank 2, found 1..1");
    assert_eq!(
        rejected(layout.unflatten(&IntTuple::from((0, 0)))),
        "unflatten: expected 2 modes, found 3 in (4,(2,2))"
    );
}

#[test]
fn composition() {
    let compose = |left: &str, right: &str| rejected(layout(left).compose(layout(right)));
    assert_eq!(
        compose("(6,6,9):(54,9,1)", "(2,8):(1,4)"),
        "(6,6,9):(54,9,1) ∘ (2,8):(1,4): mode 1 of the right side, 8:4: stride 4 in mode 0 of the left side must \
         divide its extent 6 or be a multiple of it"
    );
    assert_eq!(
        compose("(12,2):(2,1)", "6:3"),
        "(12,2):(2,1) ∘ 6:3: mode (whole) of the right side, 6:3: extent 6 must be a multiple of 4, the steps that fill \
         extent 12 of mode 0 of the left side"
    );
    assert_eq!(
        compose("(8,10):(30,3)", "(4,6):(4,4)"),
        "(8,10):(30,3) ∘ (4,6):(4,4): mode 1 of the right side, 6:4: together with the modes before it, it reaches 8 in mode 0 of \
         the left side, past its extent 8"
    );
    assert_eq!(
        compose("(8,10):(30,3)", "(4,4):(1,-8)"),
        "(8,10):(30,3) ∘ (4,4):(1,-8): mode 1 of the right side, 4:-8: expected strides of one sign, found opposite \
         signs, which borrow across the left side's modes"
    );
    assert_eq!(
        compose("2:4611686018427387904", "3:2"),
        "2:4611686018427387904 ∘ 3:2: mode (whole) of the right side, 3:2: expected a composed stride of at most 64 bits, found \
         more"
    );
}

#[test]
fn tilers() {
    let matrix = layout("(8,6):(1,8)");
    let too_many: Tiler = (2, 2, 2).into();
    assert_eq!(
        rejected(matrix.logical_divide(too_many)),
        "logical_divide: expected 2 modes, found 3 in (2,2,2)"
    );
    assert_eq!(
        rejected(matrix.zipped_divide((.., 2))),
        "zipped_divide: expected a mode of rank 2 for `_` at mode 0, found 8:1"
    );
    assert_eq!(
        rejected(layout("8:1").tiled_divide((2, 2))),
        "tiled_divide: expected 1 mode, found 2 in (2,2)"
    );
    assert_eq!(
        rejected(layout("8:1").flat_product((2, 2))),
        "flat_product: expected 1 mode, found 2 in (2,2)"
    );
    assert_eq!(
        rejected(layout("8:1").logical_divide(layout("(2,2):(2,5)"))),
        "complement of (2,2):(2,5): mode 1 (extent 2): stride 5 must be a multiple of 4, the span of the modes with smaller strides"
    );
    assert_eq!(
        rejected(matrix.logical_divide((layout("4:-1"),))),
        "mode 0: tiler 4:-1: mode (whole) (extent 4): expected a stride of at least 0, found -1"
    );
    assert_eq!(
        rejected(layout("2:10").logical_product(layout("(2,2):(4,-6)"))),
        "tiler (2,2):(4,-6): mode 1 (extent 2): expected a stride of at least 0, found -6"
    );
    assert_eq!(rejected(matrix.compose((0, 1))), "mode 0: expected an extent of at least 1, found 0");
    let nested = layout("(4,(8,6)):(1,(7,32))");
    assert_eq!(
        rejected(nested.compose(Tiler::from((4, layout("4:6"))))),
        "mode 1: (8,6):(7,32) ∘ 4:6: mode (whole) of the right side, 4:6: stride 6 in mode 0 of the left side must divide its \
         extent 8 or be a multiple of it"
    );
    assert_eq!(
        rejected(nested.logical_divide(Tiler::from((2, (4, 0))))),
        "mode 1.1: expected an extent of at least 1, found 0"
    );
    assert_eq!(
        rejected(Layout::new(((3, (2, 0)), 4), ((1, (2, 4)), 8))),
        "mode 0.1.1: expected an extent of at least 1, found 0"
    );
    assert_eq!(
        rejected(nested.logical_divide(Tiler::from((2, (4, layout("2:-1")))))),
        "mode 1.1: tiler 2:-1: mode (whole) (extent 2): expected a stride of at least 0, found -1"
    );
}

#[test]
fn inverses_and_units() {
    assert_eq!(
        rejected(layout("(2,8):(20,10)").left_inverse()),
        "left_inverse of (2,8):(20,10): mode 0 (extent 2): stride 20 overlaps a smaller stride"
    );
    assert_eq!(
        rejected(layout("(4,2):(10,12)").left_inverse()),
        "left_inverse of (4,2):(10,12): mode 1 (extent 2): stride 12 must be a multiple of the next smaller stride"
    );
    assert_eq!(
        rejected(layout("4:-1").left_inverse()),
        "left_inverse of 4:-1: mode (whole) (extent 4): stride -1 is negative"
    );
    assert_eq!(
        rejected(layout("(4,(2,3)):(1,(4,6))").upcast(4)),
        "upcast of (4,(2,3)):(1,(4,6)) by 4: mode 1.1 (extent 3): stride 6 must divide 4 or be a multiple of it"
    );
    assert_eq!(
        rejected(layout("(4,(3,2)):(8,(0,2))").downcast(2)),
        "downcast of (4,(3,2)):(8,(0,2)) by 2: expected a mode of stride 1, found mode 1.1 (extent 2, stride 2) \
         as the smallest"
    );
    assert_eq!(rejected(layout("4:2").upcast(0)), "upcast factor: expected at least 1, found 0");
    assert_eq!(rejected(layout("4:2").recast(0, 16)), "recast, old bits: expected at least 1, found 0");
    assert_eq!(
        rejected(layout("(2,2):(1,2)").tile_to_shape((4, 4), Some(&IntTuple::from((1, 0, 2))))),
        "mode (whole): expected an order nested within shape (4,4), found (1,0,2)"
    );
    assert_eq!(
        rejected(layout("(4,2):(3,32)").complement(64)),
        "complement of (4,2):(3,32) in 64: expected 64 offsets covered, found 48, below mode 1 (extent 2, stride 32)"
    );
    assert_eq!(
        rejected(layout("(3,2):(1,3)").tile_to_shape((8, 4), None)),
        "mode 0: expected an extent that divides 8, found 3"
    );
    assert_eq!(
        rejected(layout("(3,2):(1,3)").tile_to_shape(6, None)),
        "tile_to_shape: expected 2 modes, found 1 in 6"
    );
    assert!(domain_distribute(&IntTuple::from(4), 0).is_err());
}
