//! The documented postconditions of each function, for all indices.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use warpwright::layout::{
    BasisVector, Coord, DYNAMIC_EXTENT, Layout, LayoutError, Tile, Tiler, Tuple, coord_of_index,
    domain_distribute,
};
use warpwright_proptest::layout::{compact, injective, layout, padded, shape, signed_layout, tiler};

fn values(layout: &Layout) -> Vec<i64> {
    layout.values().collect()
}

fn distinct(offsets: &[i64]) -> bool {
    offsets.iter().collect::<BTreeSet<_>>().len() == offsets.len()
}

fn pair(a: impl Into<Coord>, b: impl Into<Coord>) -> Coord {
    Tuple::Node(vec![a.into(), b.into()])
}

fn with_tiler(layout: impl Strategy<Value = Layout>) -> impl Strategy<Value = (Layout, Tiler)> {
    layout.prop_flat_map(|layout| {
        let tiler = prop_oneof![3 => tiler(&layout), 1 => two_modes().prop_map(Tiler::from)];
        (Just(layout), tiler)
    })
}

/// Two modes with strides of both signs, most of which divide, carry or leave gaps.
fn two_modes() -> impl Strategy<Value = Layout> {
    let stride = || select(vec![-8_i64, -4, -2, -1, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16]);
    (1..=4_i64, 1..=4_i64, stride(), stride())
        .prop_filter_map("a valid layout", |(m, n, d, e)| Layout::new((m, n), (d, e)).ok())
}

/// Two injective layouts that mostly share a prefix: `start` contiguous elements, cut at different positions.
fn two_alike() -> impl Strategy<Value = (Layout, Layout)> {
    let any = || prop_oneof![compact(), injective(), padded()];
    let cut = |first: i64, rest: i64, pad: i64| Layout::new((first, rest), (1, first + pad)).ok();
    let alike = (1..=8_i64, 1..=8_i64, 1..=8_i64, 0..=3_i64, 0..=3_i64)
        .prop_filter_map("valid layouts", move |(start, m, n, pad, more)| {
            Some((cut(start * m, n, pad)?, cut(start * n, m, more)?))
        });
    prop_oneof![(any(), any()), alike.clone(), alike.prop_map(|(a, b)| (a.transpose(), b.transpose()))]
}

/// The distance between copies of a layout that has no space between its modes.
fn copies_apart(block: &Layout) -> i64 {
    let modes = block.shape().leaves().zip(block.stride().leaves()).filter(|(extent, _)| **extent > 1);
    modes.map(|(extent, stride)| extent * stride).max().unwrap_or(1)
}

/// A right operand of compositions.
fn right_side() -> impl Strategy<Value = Layout> {
    prop_oneof![layout(), compact(), signed_layout(), two_modes()]
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: u32::MAX, ..ProptestConfig::default() })]

    #[test]
    fn coalesce_keeps_the_function(layout in signed_layout()) {
        let simple = layout.coalesce();
        prop_assert_eq!(simple.size(), layout.size());
        prop_assert!(simple.depth() <= 1);
        prop_assert_eq!(values(&simple), values(&layout));
        // No adjacent modes can be merged.
        prop_assert_eq!(&simple.coalesce(), &simple);
        prop_assert!(simple.size() == 1 || simple.shape().leaves().all(|&extent| extent > 1));
    }

    #[test]
    fn coalesce_by_a_profile_keeps_its_modes(layout in signed_layout()) {
        let profile: Tuple<i64> = layout.shape().modes().iter().map(|_| 0).collect();
        let simple = layout.coalesce_by(&profile).expect("the same rank");
        prop_assert_eq!(simple.rank(), layout.rank());
        prop_assert!(simple.modes().zip(layout.modes()).all(|(ours, whole)| ours == whole.coalesce()));
        prop_assert_eq!(values(&simple), values(&layout));
    }

    #[test]
    fn filter_keeps_the_offsets(layout in signed_layout()) {
        let filtered = layout.filter();
        let offsets = |layout: &Layout| layout.values().collect::<BTreeSet<_>>();
        prop_assert_eq!(offsets(&filtered), offsets(&layout));
        prop_assert!(filtered.size() == 1 || filtered.stride().leaves().all(|&stride| stride != 0));
    }

    #[test]
    fn nullspace_has_offset_0(layout in signed_layout()) {
        let null = layout.nullspace();
        prop_assert!(null.values().all(|index| layout.index(index) == 0));
        prop_assert!(distinct(&values(&null)));
        let broadcast = layout.shape().leaves().zip(layout.stride().leaves()).filter(|(_, d)| **d == 0);
        prop_assert_eq!(null.size(), broadcast.map(|(extent, _)| extent).product::<i64>());
    }

    #[test]
    fn composition_composes_the_functions(left in prop_oneof![signed_layout(), compact()], right in right_side()) {
        match left.compose(&right) {
            Ok(result) => {
                prop_assert!(right.shape().compatible(result.shape()));
                for index in 0..right.size() {
                    prop_assert_eq!(result.index(index), left.index(right.index(index)));
                }
            }
            Err(error) => prop_assert!(matches!(error, LayoutError::Compose { .. }), "{error}"),
        }
    }

    #[test]
    fn two_steps_always_compose(left in signed_layout(), stride in -60..=60_i64) {
        // One step cannot carry: the only candidate is 2:A(stride), and it is correct.
        let result = left.compose(Layout::new(2, stride).expect("a layout")).expect("an answer");
        prop_assert_eq!(result, Layout::new(2, left.index(stride)).expect("a layout"));
    }

    #[test]
    fn prime_extents_are_linear_or_refused(left in layout(), extent in select(vec![3_i64, 5, 7]), stride in 1..=24_i64) {
        let linear = (0..extent).all(|i| left.index(i * stride) == i * left.index(stride));
        if let Ok(result) = left.compose(Layout::new(extent, stride).expect("a layout")) {
            prop_assert!(linear);
            prop_assert_eq!(result, Layout::new(extent, left.index(stride)).expect("a layout"));
        }
    }

    #[test]
    fn refined_shapes_always_compose(layout in signed_layout()) {
        // Indexing in the layout's own order, flat or nested, is the identity.
        let same = layout.with_shape(layout.shape()).expect("its own shape");
        prop_assert_eq!(values(&same), values(&layout));
        let line = layout.with_shape(layout.size()).expect("its own size");
        prop_assert_eq!(values(&line), values(&layout));
    }

    #[test]
    fn composition_by_mode_is_composition_of_modes((left, tiler) in with_tiler(signed_layout())) {
        let Tuple::Node(parts) = &tiler else { return Ok(()); };
        if let Ok(result) = left.compose(tiler.clone()) {
            prop_assert_eq!(result.rank(), parts.len());
            for ((ours, mode), part) in result.modes().zip(left.modes()).zip(parts) {
                prop_assert_eq!(Ok(ours), mode.compose(part));
            }
        }
    }

    #[test]
    fn complement_fills_the_gaps(layout in prop_oneof![injective(), layout(), signed_layout()], cotarget in 1..=600_i64) {
        match layout.complement(cotarget) {
            Ok(rest) => {
                let (starts, block) = (values(&rest), values(&layout.filter()));
                prop_assert!(starts.is_sorted() && distinct(&starts));
                let sums: Vec<i64> = starts.iter().flat_map(|a| block.iter().map(move |b| a + b)).collect();
                prop_assert!(distinct(&sums));
                prop_assert!(sums.len() as i64 >= cotarget);
            }
            Err(error) => prop_assert!(
                matches!(error, LayoutError::Complement { .. } | LayoutError::Uncovered { .. }),
                "{error}"
            ),
        }
    }

    #[test]
    fn complements_of_dividing_strides_have_no_gaps(layout in injective(), copies in 1..=3_i64) {
        let cotarget = layout.cosize() * copies;
        let rest = layout.complement(cotarget).expect("each stride is a multiple of the span below");
        let sums: BTreeSet<i64> = rest.values().flat_map(|a| layout.values().map(move |b| a + b)).collect();
        prop_assert!(sums.into_iter().eq(0..rest.size() * layout.size()));
        prop_assert!(rest.size() * layout.size() >= cotarget);
    }

    #[test]
    fn right_inverse_yields_consecutive_offsets(layout in prop_oneof![layout(), compact(), signed_layout()]) {
        let inverse = layout.right_inverse();
        for index in 0..inverse.size() {
            prop_assert_eq!(layout.index(inverse.index(index)), index);
        }
        if layout.is_bijective() {
            prop_assert_eq!(inverse.size(), layout.size());
        }
    }

    #[test]
    fn left_inverse_returns_the_index(layout in prop_oneof![layout(), injective()]) {
        match layout.left_inverse() {
            Ok(inverse) => {
                let injective = layout.is_injective();
                for index in 0..layout.size() {
                    let offset = layout.index(index);
                    let back = inverse.index(offset);
                    prop_assert_eq!(layout.index(back), offset);
                    prop_assert!(!injective || back == index);
                }
            }
            Err(error) => prop_assert!(matches!(error, LayoutError::LeftInverse { .. }), "{error}"),
        }
    }

    #[test]
    fn injective_layouts_of_dividing_strides_have_left_inverses(layout in injective()) {
        prop_assert!(layout.left_inverse().is_ok());
    }

    #[test]
    fn common_layouts_are_contiguous_in_both(a in prop_oneof![compact(), layout()], b in prop_oneof![compact(), layout()]) {
        let common = a.max_common_layout(&b);
        for index in 0..common.size() {
            let at = common.index(index);
            prop_assert_eq!((a.index(at), b.index(at)), (index, index));
        }
        prop_assert_eq!(common.size(), a.max_common_vector(&b));
        prop_assert_eq!(b.max_common_vector(&a), a.max_common_vector(&b));
        prop_assert_eq!(a.max_common_vector(&a), a.right_inverse().size());
    }

    #[test]
    fn common_vectors_have_maximum_length((a, b) in two_alike()) {
        // An injective layout has offset i at no more than one index.
        let places = |layout: &Layout| layout.values().enumerate().map(|(at, offset)| (offset, at)).collect::<BTreeMap<_, _>>();
        let (in_a, in_b) = (places(&a), places(&b));
        let run = (0_i64..).take_while(|offset| in_a.get(offset).is_some_and(|at| in_b.get(offset) == Some(at)));
        prop_assert_eq!(a.max_common_vector(&b), run.count() as i64, "{} {}", a, b);
    }

    #[test]
    fn right_inverses_have_maximum_length(layout in prop_oneof![compact(), injective(), padded()]) {
        let offsets: BTreeSet<i64> = layout.values().collect();
        let length = layout.right_inverse().size();
        // A longer one would include the next offset as well, and its first step there would be that of a mode.
        prop_assert!(
            !offsets.contains(&length) || !layout.coalesce().stride().leaves().any(|stride| *stride == length),
            "{length}"
        );
    }

    #[test]
    fn domain_distribute_is_ascending_and_divides(shape in shape(), count in 1..=64_i64) {
        let spread = domain_distribute(&shape, count).expect("positive extents");
        prop_assert_eq!(count % spread.size(), 0);
        prop_assert!(values(&spread).windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(Layout::row_major(&shape).expect("a layout").compose(&spread).is_ok());
    }

    #[test]
    fn logical_divide_tiles_everything((layout, tiler) in with_tiler(signed_layout())) {
        let Tuple::Leaf(tile) = &tiler else { return Ok(()); };
        let tile = match tile {
            Tile::Layout(tile) => tile.clone(),
            Tile::Extent(extent) => Layout::column_major(*extent).expect("a layout"),
            Tile::Keep => return Ok(()),
        };
        let Ok(divided) = layout.logical_divide(tiler.clone()) else { return Ok(()); };
        let rest = tile.complement(layout.coalesce().shape().clone()).expect("it divided");
        let mut hit = BTreeSet::new();
        for i in 0..tile.size() {
            prop_assert_eq!(divided.at(pair(i, 0)), Ok(layout.index(tile.index(i))));
            for j in 0..rest.size() {
                let index = tile.index(i) + rest.index(j);
                prop_assert_eq!(divided.at(pair(i, j)), Ok(layout.index(index)));
                hit.insert(index);
            }
        }
        prop_assert_eq!(divided.size(), tile.size() * rest.size());
        prop_assert!((0..layout.size()).all(|index| hit.contains(&index)));
    }

    #[test]
    fn tilers_that_divide_are_never_refused(layout in signed_layout(), pick in any::<prop::sample::Index>()) {
        let size = layout.size();
        let divisors: Vec<i64> = (1..=size).filter(|extent| size % extent == 0).collect();
        let extent = divisors[pick.index(divisors.len())];
        if let Err(error) = layout.compose(Layout::new(extent, 1).expect("a layout")) {
            // Only an extent that ends within a mode of the layout.
            prop_assert!(matches!(error, LayoutError::Compose { .. }), "{error}");
            let mut filled = 1;
            let ends = layout.coalesce().shape().leaves().map(|mode| { filled *= mode; filled }).collect::<Vec<_>>();
            prop_assert!(ends.iter().any(|end| *end < extent && extent % end != 0));
        }
    }

    #[test]
    fn divides_regroup_one_another((layout, tiler) in with_tiler(signed_layout())) {
        let Ok(logical) = layout.logical_divide(tiler.clone()) else { return Ok(()); };
        let zipped = layout.zipped_divide(tiler.clone()).expect("as logical");
        let tiled = layout.tiled_divide(tiler.clone()).expect("as logical");
        let flat = layout.flat_divide(tiler.clone()).expect("as logical");
        prop_assert_eq!(zipped.rank(), 2);
        prop_assert_eq!(values(&tiled), values(&zipped));
        prop_assert_eq!(values(&flat), values(&zipped));
        match &tiler {
            Tuple::Leaf(_) => prop_assert_eq!(zipped, logical),
            Tuple::Node(parts) => {
                let (tiles, rests) = (zipped.mode(0).expect("rank 2"), zipped.mode(1).expect("rank 2"));
                for index in 0..parts.len() {
                    let mode = logical.mode(index).expect("as many modes");
                    prop_assert_eq!(tiles.mode(index), mode.mode(0));
                    prop_assert_eq!(rests.mode(index), mode.mode(1));
                }
                for index in parts.len()..layout.rank() {
                    prop_assert_eq!(rests.mode(index), layout.mode(index));
                }
            }
        }
    }

    #[test]
    fn logical_product_lists_disjoint_copies(block in prop_oneof![injective(), layout(), padded()], tiler in prop_oneof![compact(), injective(), two_modes()]) {
        prop_assume!(block.size() * tiler.size() <= 4096);
        match block.logical_product(&tiler) {
            Ok(product) => {
                prop_assert_eq!(product.mode(0), Ok(block.clone()));
                let copies = product.mode(1).expect("rank 2");
                prop_assert!(tiler.shape().compatible(copies.shape()));
                let filtered = values(&block.filter());
                let all: Vec<i64> = copies.values().flat_map(|a| filtered.iter().map(move |b| a + b)).collect();
                if (block.is_injective() || distinct(&filtered)) && tiler.is_injective() {
                    prop_assert!(distinct(&all));
                }
                // The copies are in the tiler's order.
                let by_tiler = values(&tiler);
                let by_copies = values(&copies);
                for (a, b) in (1..by_tiler.len()).map(|i| (i - 1, i)) {
                    prop_assert_eq!(by_tiler[a] < by_tiler[b], by_copies[a] < by_copies[b]);
                }
            }
            Err(error) => {
                let known = matches!(
                    error,
                    LayoutError::Complement { .. } | LayoutError::NegativeStride { .. } | LayoutError::Compose { .. }
                );
                prop_assert!(known, "{error}");
            },
        }
    }

    #[test]
    fn copies_of_padded_blocks_follow_the_whole_block(block in padded(), tiler in prop_oneof![compact(), injective()]) {
        // There is no space for a copy between the modes, so every tiler lists copies after the whole layout.
        let product = block.logical_product(&tiler).expect("as often as one likes");
        let copies = product.mode(1).expect("rank 2");
        let all: Vec<i64> = copies.values().flat_map(|a| block.values().map(move |b| a + b)).collect();
        prop_assert!(distinct(&all));
        prop_assert!(copies.values().zip(tiler.values()).all(|(copy, at)| copy == at * copies_apart(&block)));
    }

    #[test]
    fn padded_blocks_fill_any_shape(block in padded(), copies in prop::collection::vec(1..=5_i64, 6)) {
        let target: Tuple<i64> = block.shape().modes().iter().zip(&copies).map(|(mode, n)| mode.size() * n).collect();
        prop_assume!(target.size() <= 16384);
        let filled = block.tile_to_shape(&target, None).expect("the block divides it");
        prop_assert_eq!(filled.shape().product_each(), target);
        prop_assert!(filled.is_injective());
        for index in 0..block.size() {
            let coord = coord_of_index(index, &block.shape().product_each());
            prop_assert_eq!(filled.at(&coord), Ok(block.index(index)));
        }
    }

    #[test]
    fn blocked_and_raked_products_pair_modes(block in compact(), tiler in compact()) {
        prop_assume!(block.size() * tiler.size() <= 4096);
        let rank = block.rank().max(tiler.rank());
        let product = block.append(rank).logical_product(tiler.append(rank)).expect("compact layouts multiply");
        let blocked = block.blocked_product(&tiler).expect("as logical");
        let raked = block.raked_product(&tiler).expect("as logical");
        prop_assert!(blocked.rank() == rank && raked.rank() == rank);
        prop_assert!(blocked.is_bijective() && raked.is_bijective());
        for index in (0..product.size()).step_by(7) {
            let inner = coord_of_index(index % block.size(), &block.append(rank).shape().product_each());
            let outer = coord_of_index(index / block.size(), &tiler.append(rank).shape().product_each());
            let wanted = product.index(index);
            let zip = |a: &Coord, b: &Coord| -> Coord {
                a.leaves().zip(b.leaves()).map(|(&a, &b)| pair(a, b)).collect()
            };
            prop_assert_eq!(blocked.at(zip(&inner, &outer)), Ok(wanted));
            prop_assert_eq!(raked.at(zip(&outer, &inner)), Ok(wanted));
        }
    }

    #[test]
    fn tile_to_shape_fills_its_target(block in compact(), copies in prop::collection::vec(1..=3_i64, 3)) {
        let target: Tuple<i64> = block.shape().modes().iter().zip(&copies).map(|(mode, n)| mode.size() * n).collect();
        prop_assume!(block.rank() <= 3 && target.size() <= 4096);
        let filled = block.tile_to_shape(&target, None).expect("the block divides it");
        prop_assert_eq!(filled.shape().product_each(), target.clone());
        prop_assert!(filled.is_bijective());
        for index in 0..block.size() {
            let coord = coord_of_index(index, &block.shape().product_each());
            prop_assert_eq!(filled.at(&coord), Ok(block.index(index)));
        }
    }

    #[test]
    fn unit_changes_are_inverted(layout in compact(), factor in 1..=8_i64) {
        // Extents of 1 may have the unit stride.
        let Ok(finer) = layout.downcast(factor) else { return Ok(()); };
        prop_assert_eq!(finer.size() , layout.size() * factor.pow(layout.stride().leaves().filter(|d| **d == 1).count() as u32));
        prop_assert_eq!(finer.upcast(factor), Ok(layout.clone()));
        prop_assert_eq!(layout.recast(32, 32), Ok(layout.clone()));
        prop_assert_eq!(layout.recast(8 * factor, 8), Ok(finer));
        let bytes = layout.scaled(factor).expect("small strides");
        prop_assert!(bytes.values().eq(layout.values().map(|offset| offset * factor)));
    }

    #[test]
    fn coordinates_of_offsets_have_these_offsets(layout in compact()) {
        for index in 0..layout.size() {
            let offset = layout.index(index);
            prop_assert_eq!(layout.at(layout.coord_of_offset(offset)), Ok(offset));
        }
    }

    #[test]
    fn coshapes_bound_coordinates(shape in shape()) {
        let identity = Layout::identity(&shape).expect("a shape");
        let extents: Vec<i64> = identity.coshape().leaves().copied().collect();
        let mut wanted: Vec<i64> = shape.leaves().copied().collect();
        // Trailing dimensions that are never stepped along are not represented.
        while wanted.len() > extents.len() && wanted.last() == Some(&1) {
            wanted.pop();
        }
        prop_assert_eq!(extents, wanted);
    }

    #[test]
    fn identities_have_the_coordinates_of_elements((layout, tiler) in with_tiler(signed_layout())) {
        let identity = Layout::identity(layout.shape()).expect("the same shape");
        for index in (0..layout.size()).step_by(3) {
            let coord = coord_of_index(index, layout.shape());
            prop_assert_eq!(identity.index(index).coord(coord.leaves().count()), coord.leaves().copied().collect());
        }
        // If both are tiled alike, the coordinate of an element evaluates to its offset.
        let (Ok(places), Ok(tiles)) = (identity.zipped_divide(tiler.clone()), layout.zipped_divide(tiler)) else {
            return Ok(());
        };
        let flat = layout.flatten();
        for (place, offset) in places.values().zip(tiles.values()) {
            let coord = match flat.depth() {
                0 => place.component(0).into(),
                _ => place.coord(flat.rank()),
            };
            prop_assert_eq!(flat.at(coord), Ok(offset));
        }
    }

    #[test]
    fn aligned_vectors_do_not_cross_edges(layout in prop_oneof![layout(), compact(), injective()]) {
        let length = layout.max_alignment();
        let offsets: BTreeSet<i64> = layout.values().collect();
        for offset in &offsets {
            let start = offset - offset.rem_euclid(length);
            prop_assert!((start..start + length).all(|offset| offsets.contains(&offset)), "{length}");
        }
        prop_assert_eq!(layout.right_inverse().size() % length, 0);
    }

    #[test]
    fn offsets_have_only_the_bits_of_the_layout(layout in prop_oneof![layout(), compact(), signed_layout()]) {
        let bits = layout.bits();
        prop_assert!(layout.values().all(|offset| offset & !bits == 0));
        if layout.shape().leaves().all(|extent| extent.count_ones() == 1) && layout.is_bijective() {
            prop_assert_eq!(bits, layout.size() - 1);
        }
    }

    /// A matrix with dynamic sizes and pitch, tiled by constants, has the same elements at the same offsets as one with known
    /// sizes.
    #[test]
    fn tiles_of_dynamic_matrices_match_static_ones(
        (m, k, more) in (1..=40_i64, 1..=40_i64, 0..=5_i64),
        (tile_m, tile_k) in (1..=16_i64, 1..=16_i64),
        column_major in any::<bool>(),
    ) {
        let (pitch, inner) = (BasisVector::along(1, 1), BasisVector::along(0, 1));
        let strides = if column_major { [inner, pitch] } else { [pitch, inner] };
        let matrix = Layout::with_stride((DYNAMIC_EXTENT, DYNAMIC_EXTENT), strides.into_iter().collect());
        let tiles = matrix.expect("a layout").zipped_divide((tile_m, tile_k)).expect("tiles");
        let rows = more + if column_major { m } else { k };
        let known = Layout::new((m, k), if column_major { (1, rows) } else { (rows, 1) }).expect("a layout");
        let known = known.zipped_divide((tile_m, tile_k)).expect("tiles");
        let bound = tiles.bind(&[1, rows]).expect("small");
        for index in 0..known.size() {
            let coord = coord_of_index(index, known.shape());
            prop_assert_eq!(tiles.at(&coord).expect("nests alike").bind(&[1, rows]), known.index(index));
            prop_assert_eq!(bound.at(&coord), Ok(known.index(index)));
        }
    }

    #[test]
    fn products_regroup_one_another(block in prop_oneof![injective(), compact()], tiler in compact()) {
        prop_assume!(block.size() * tiler.size() <= 4096);
        let tiler: Tiler = tiler.modes().take(block.rank()).map(Tiler::from).collect();
        let Ok(logical) = block.logical_product(tiler.clone()) else { return Ok(()); };
        let zipped = block.zipped_product(tiler.clone()).expect("as logical");
        prop_assert_eq!(zipped.rank(), 2);
        prop_assert_eq!(zipped.size(), logical.size());
        prop_assert_eq!(values(&block.tiled_product(tiler.clone()).expect("as logical")), values(&zipped));
        prop_assert_eq!(values(&block.flat_product(tiler.clone()).expect("as logical")), values(&zipped));
        let (blocks, copies) = (zipped.mode(0).expect("rank 2"), zipped.mode(1).expect("rank 2"));
        for index in 0..tiler.rank() {
            let mode = logical.mode(index).expect("as many modes");
            prop_assert_eq!(blocks.mode(index), mode.mode(0));
            prop_assert_eq!(copies.mode(index), mode.mode(1));
        }
    }

    #[test]
    fn upcast_layouts_contain_whole_elements(layout in compact(), factor in 1..=8_i64) {
        let Ok(coarse) = layout.upcast(factor) else { return Ok(()); };
        let modes = || layout.shape().leaves().zip(layout.stride().leaves());
        let whole = |(extent, stride): (&i64, &i64)| *stride >= factor || extent % (factor / stride) == 0;
        if modes().filter(|(extent, _)| **extent > 1).all(whole) && layout.size() >= factor {
            prop_assume!(modes().all(|(extent, stride)| *extent > 1 || *stride >= factor));
            prop_assert_eq!(coarse.size() * factor, layout.size());
            prop_assert!(coarse.is_bijective());
            // Each coarse element starts at the fine one with the same digits, times the factor by which the mode was shortened.
            for index in 0..coarse.size() {
                let coord = coord_of_index(index, coarse.flatten().shape());
                let fine: Coord = coord
                    .leaves()
                    .zip(coarse.shape().leaves().zip(layout.shape().leaves()))
                    .map(|(digit, (coarse, fine))| digit * (fine / coarse))
                    .collect();
                let fine = if layout.depth() == 0 { fine.unwrap() } else { fine };
                prop_assert_eq!(layout.flatten().at(fine).map(|offset| offset / factor), Ok(coarse.index(index)));
            }
        }
    }

    #[test]
    fn a_tile_may_begin_anywhere(layout in signed_layout(), (from, by) in (any::<prop::sample::Index>(), any::<prop::sample::Index>())) {
        let coord = |at: prop::sample::Index| coord_of_index(at.index(layout.size() as usize) as i64, layout.shape());
        let (from, by) = (coord(from), coord(by));
        let (same, offset) = layout.domain_offset(from.clone()).expect("nests alike");
        prop_assert_eq!(&same, &layout);
        let mut steps = by.leaves();
        let sum = from.map(|digit| digit + steps.next().copied().unwrap_or(0));
        prop_assert_eq!(layout.at(sum), same.at(by).map(|value| value + offset));
    }

    #[test]
    fn transposed_coordinates_have_the_same_offset(layout in signed_layout()) {
        let transposed = layout.transpose();
        for index in 0..layout.size() {
            let coord = coord_of_index(index, layout.shape());
            let turned: Coord = coord.modes().iter().rev().cloned().collect();
            prop_assert_eq!(transposed.at(turned), Ok(layout.index(index)));
        }
    }
}
