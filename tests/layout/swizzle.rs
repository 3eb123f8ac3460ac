//! Swizzles and composed layouts, compared with CuTe's tables.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::Value;
use warpwright::layout::{ComposedLayout, Layout, Swizzle};
use warpwright_proptest::layout::{signed_layout, slicer, swizzle};

/// CUTLASS 4.7.0: `Swizzle<B,M,S>` over 0..4096 as a checksum and samples, and `wgmma` shared tiles.
const ORACLE: &str = include_str!("../data/layout/swizzle.json");

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().expect("integers").iter().map(|n| n.as_i64().expect("an integer")).collect()
}

fn swizzle_of(parameters: &[i64]) -> Swizzle {
    let [bits, base, shift] = parameters else { panic!("three parameters") };
    Swizzle::new(*bits as u32, *base as u32, *shift as i32).expect("a swizzle")
}

#[test]
fn swizzles_match_cute() {
    let oracle: Value = serde_json::from_str(ORACLE).expect("JSON");
    let tables = oracle["swizzle"].as_object().expect("tables");
    assert_eq!(tables.len(), 19);
    for (name, table) in tables {
        let parameters: Vec<i64> = name.split(',').map(|n| n.parse().expect("an integer")).collect();
        let swizzle = swizzle_of(&parameters);
        let found: Vec<i64> = (0..1024).map(|offset| swizzle.apply(offset)).collect();
        assert_eq!(found, integers(table), "{swizzle}");
    }
}

#[test]
fn wgmma_tiles_match_cute() {
    let oracle: Value = serde_json::from_str(ORACLE).expect("JSON");
    let tiles = oracle["tiles"].as_array().expect("tiles");
    assert!(tiles.len() >= 8);
    for tile in tiles {
        let elements: Layout = tile["layout"].as_str().expect("a layout").parse().expect("a layout");
        let bytes = elements.scaled(tile["bytes"].as_i64().expect("bytes")).expect("small");
        let composed = ComposedLayout::new(swizzle_of(&integers(&tile["swizzle"])), 0, bytes);
        for sample in tile["samples"].as_array().expect("samples") {
            let sample = integers(sample);
            assert_eq!(composed.at((sample[0], sample[1])), Ok(sample[2]), "{composed}");
        }
    }
}

#[test]
fn swizzles_change_units() {
    let bytes: ComposedLayout = "Sw<3,4,3> o 256 o (8,64):(128,2)".parse().expect("a layout");
    let halves = bytes.upcast(2).expect("whole elements");
    assert_eq!(halves.to_string(), "Sw<3,3,3> o 128 o (8,64):(64,1)");
    assert!(bytes.values().eq(halves.values().map(|element| 2 * element)));
    assert_eq!(halves.recast(16, 8).map(|finer| finer.size()), Ok(1024));
    assert!(halves.downcast(2).expect("bytes").values().all(|byte| byte / 2 < 1 << 13));
    let refused = |text: &str, factor| {
        text.parse::<ComposedLayout>().expect("a layout").upcast(factor).unwrap_err().to_string()
    };
    assert_eq!(
        refused("Sw<3,1,3> o 0 o (8,64):(128,4)", 4),
        "Sw<3,1,3>: expected a change of unit by a power of 2 of at most 2, found 4"
    );
    assert_eq!(
        refused("Sw<3,4,3> o 2 o (8,64):(128,4)", 4),
        "upcast of Sw<3,4,3> o 2 o (8,64):(128,4) by 4: expected an offset that is a multiple of the factor, found 2"
    );
}

#[test]
fn named_swizzles() {
    let named = [Swizzle::NONE, Swizzle::BYTES_32, Swizzle::BYTES_64, Swizzle::BYTES_128];
    assert_eq!(named.map(Swizzle::period), [1, 256, 512, 1024]);
    for (bits, swizzle) in (0_u32..).zip(named) {
        assert_eq!(Swizzle::new(bits, 4, 3), Ok(swizzle));
    }
    let refused = Swizzle::new(3, 4, 2).unwrap_err().to_string();
    assert_eq!(refused, "expected |shift| ≥ bits and bits + base + |shift| ≤ 62, found swizzle<3,4,2>");
    assert!(Swizzle::new(1, 0, i32::MIN).is_err());
}

proptest! {
    #[test]
    fn a_swizzle_is_its_own_inverse_and_permutes_each_period(swizzle in swizzle(), block in 0..4_i64) {
        let period = swizzle.period();
        let start = block * period;
        let mut seen: Vec<i64> = (start..start + period).map(|offset| swizzle.apply(offset)).collect();
        for (offset, swizzled) in (start..).zip(&seen) {
            prop_assert_eq!(swizzle.apply(*swizzled), offset);
            // Runs of 2^base stay whole.
            prop_assert_eq!((offset ^ swizzled) & ((1 << swizzle.base()) - 1), 0);
        }
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(start..start + period));
    }

    #[test]
    fn a_swizzle_is_an_exclusive_or_of_bits(swizzle in swizzle(), offset in 0..1_i64 << 40) {
        let bit = |value: i64, at: i64| (value >> at) & 1;
        let (base, shift) = (i64::from(swizzle.base()), i64::from(swizzle.shift()));
        let mut wanted = offset;
        for i in 0..i64::from(swizzle.bits()) {
            let (to, from) = if shift >= 0 { (base + i, base + shift + i) } else { (base - shift + i, base + i) };
            wanted ^= bit(offset, from) << to;
        }
        prop_assert_eq!(swizzle.apply(offset), wanted);
    }

    #[test]
    fn slices_of_composed_layouts_keep_the_function(
        (layout, at) in signed_layout().prop_flat_map(|layout| (Just(layout.clone()), slicer(layout.shape()))),
        swizzle in swizzle(),
        offset in 0..2048_i64,
    ) {
        let composed = ComposedLayout::new(swizzle, offset, layout.clone());
        let (rest, start) = layout.slice_and_offset(at.clone()).expect("nests alike");
        let slice = composed.slice(at).expect("nests alike");
        prop_assert_eq!(slice.size(), rest.size());
        let wanted: Vec<i64> = rest.values().map(|value| swizzle.apply(offset + start + value)).collect();
        prop_assert_eq!(slice.values().collect::<Vec<_>>(), wanted);
        let flat = composed.try_map(|layout| Ok(layout.coalesce())).expect("no change");
        prop_assert!(flat.values().eq(composed.values()));
    }

    #[test]
    fn elements_at_constant_offsets_share_a_swizzled_register(
        swizzle in swizzle(),
        bits in 0..1_i64 << 13,
        (register, offset) in (0..1_i64 << 13, -5000..5000_i64),
    ) {
        let register = register & bits;
        let clear = offset - (offset.rem_euclid(swizzle.period()) & bits);
        let split = swizzle.split_offset(bits, clear).expect("no bit in common");
        prop_assert_eq!(swizzle.apply(register + clear), (swizzle.apply(register) ^ split.xor) + split.add);
        // Refused only where a sum may carry.
        prop_assert_eq!(swizzle.split_offset(bits, offset).is_none(), offset.rem_euclid(swizzle.period()) & bits != 0);
    }

    /// A tile that threads share, each thread's part behind an offset in a register.
    #[test]
    fn partitions_of_swizzled_tiles_split(swizzle in swizzle(), (rows, chunks) in (0..=4_u32, 0..=3_u32)) {
        let (rows, chunks) = (1 << rows, 1 << chunks);
        let tile = Layout::new((rows, chunks), (16 * chunks, 16)).expect("a layout");
        let threads = tile.mode(0).expect("rows");
        for thread in threads.values() {
            for offset in tile.mode(1).expect("chunks").values() {
                let split = swizzle.split_offset(threads.bits(), offset).expect("rows and chunks have bits of their own");
                let wanted = swizzle.apply(thread + offset);
                prop_assert_eq!((swizzle.apply(thread) ^ split.xor) + split.add, wanted);
            }
        }
    }
}
