//! The pictures in the documentation match what the crate draws.
//! `WARPWRIGHT_BLESS=1 cargo test --test draw` rewrites them.

use std::{collections::BTreeSet, env, fs, path::Path};

use warpwright::atoms::{copy_atom, mma_atom};
use warpwright::draw::{Highlight, Picture};
use warpwright::layout::{ComposedLayout, Swizzle, TvLayout};
use warpwright::prelude::*;
use warpwright::tensor::TiledCopy;

use super::layouts::layout;

/// The documents with pictures.
const LAYOUTS: &str = include_str!("../../docs/layouts.md");
const TILES: &str = include_str!("../../docs/tiles.md");

/// Every picture of docs/layouts.md, by file name.
fn of_layouts() -> Vec<(&'static str, Picture)> {
    let offsets = |text: &str| Picture::of_layout(&layout(text).into()).expect("a picture");
    let banks = |swizzle| {
        let rows = ComposedLayout::new(swizzle, 0, layout("(8,8):(128,2)"));
        Picture::of_banks(&rows, 2, 8, 0, Highlight::All).expect("a picture")
    };
    let copy = copy_atom("UniversalCopy<u32>").expect("an atom");
    let copy = TiledCopy::new(copy, 32, &layout("(2,3):(3,1)"), &layout("(2,3):(1,2)")).expect("it tiles");
    let map = copy.source().expect("a map");
    let mma = mma_atom("SM80_16x8x8_F32F16F16F32_TN").expect("an atom");
    vec![
        ("columns", offsets("(4,8):(1,4)")),
        ("rows", offsets("(4,8):(8,1)")),
        ("blocks", offsets("((2,2),(2,4)):((1,4),(2,8))")),
        ("tiles", offsets("((2,4),(2,2)):((8,1),(16,4))")),
        ("blocked", offsets("((2,2),(4,2)):((4,8),(1,16))")),
        ("raked", offsets("((2,2),(2,4)):((8,4),(16,1))")),
        (
            "thread_values",
            Picture::of_thread_values(map.layout(), (4, 9), Highlight::All).expect("a picture"),
        ),
        ("mma", Picture::of_mma(mma, Highlight::Thread(5)).expect("a picture")),
        ("swizzle", Picture::of_swizzle(Swizzle::BYTES_128).expect("a picture")),
        ("banks", banks(Swizzle::NONE)),
        ("banks_swizzled", banks(Swizzle::BYTES_128)),
    ]
}

/// Every picture of docs/tiles.md, by file name: fragments of tiles and vectors, with the elements of one lane.
fn of_tiles() -> Vec<(&'static str, Picture)> {
    let fragment = |map: TvLayout, size, title: &str| {
        let picture = Picture::of_thread_values(map.layout(), size, Highlight::Thread(5)).expect("a picture");
        Picture { title: title.to_owned(), ..picture }
    };
    let bytes =
        St::<bf16, 1, 2>::shared_layout().map(|layout| layout.bytes::<bf16>().expect("offsets are small"));
    let shared = Picture::of_layout(&bytes.expect("a layout")).expect("a picture");
    vec![
        ("rt_row", fragment(Rt::<bf16, 1, 1, Row>::fragment(), (16, 16), "Rt<bf16, 1, 1, Row>")),
        ("rt_col", fragment(Rt::<bf16, 1, 1, Col>::fragment(), (16, 16), "Rt<bf16, 1, 1, Col>")),
        ("rt_bytes", fragment(Rt::<e4m3, 1, 1, Row>::fragment(), (16, 32), "Rt<e4m3, 1, 1, Row>")),
        ("rv_orthogonal", fragment(ColVec::<f32, 1>::fragment(), (16, 1), "ColVec<f32, 1>")),
        ("rv_aligned", fragment(RowVec::<f32, 1>::fragment(), (1, 16), "RowVec<f32, 1>")),
        ("st_bytes", Picture { title: "St<bf16, 1, 2>: byte of each element".into(), ..shared }),
    ]
}

#[test]
fn pictures_of_the_documentation_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    let mut names = BTreeSet::new();
    let of = |text: &'static str| move |(name, picture): (&'static str, Picture)| (text, name, picture);
    let pictures = of_layouts().into_iter().map(of(LAYOUTS)).chain(of_tiles().into_iter().map(of(TILES)));
    for (text, name, picture) in pictures {
        let path = folder.join(format!("{name}.svg"));
        if env::var_os("WARPWRIGHT_BLESS").is_some() {
            fs::write(&path, picture.svg()).expect("a file is written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let bless = "WARPWRIGHT_BLESS=1 cargo test --test draw rewrites it";
        assert!(found == picture.svg(), "docs/pictures/{name}.svg is stale: {bless}");
        assert!(text.contains(&format!("(pictures/{name}.svg)")), "{name}.svg is not shown");
        names.insert(format!("{name}.svg"));
    }
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").file_name());
    let found: BTreeSet<_> = files.map(|name| name.into_string().expect("Unicode")).collect();
    assert_eq!(found, names, "files in docs/pictures that nothing draws");
    let shown = [LAYOUTS, TILES].map(|text| text.matches("(pictures/").count());
    assert_eq!(shown.iter().sum::<usize>(), names.len(), "each is shown once");
}
