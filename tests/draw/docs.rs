//! The pictures in the documentation match what the crate draws.
//! `WARPWRIGHT_BLESS=1 cargo test --test draw` rewrites them.

use std::{collections::BTreeSet, env, fs, path::Path};

use warpwright::atoms::{copy_atom, mma_atom};
use warpwright::draw::{Highlight, Picture};
use warpwright::layout::{ComposedLayout, Swizzle};
use warpwright::tensor::TiledCopy;

use super::layouts::layout;

const TEXT: &str = include_str!("../../docs/layouts.md");

/// Every picture of docs/layouts.md, by file name.
fn pictures() -> Vec<(&'static str, Picture)> {
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

#[test]
fn pictures_of_the_documentation_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    let mut names = BTreeSet::new();
    for (name, picture) in pictures() {
        let path = folder.join(format!("{name}.svg"));
        if env::var_os("WARPWRIGHT_BLESS").is_some() {
            fs::write(&path, picture.svg()).expect("a file is written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let bless = "WARPWRIGHT_BLESS=1 cargo test --test draw rewrites it";
        assert!(found == picture.svg(), "docs/pictures/{name}.svg is stale: {bless}");
        assert!(TEXT.contains(&format!("(pictures/{name}.svg)")), "{name}.svg is not shown");
        names.insert(format!("{name}.svg"));
    }
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").file_name());
    let found: BTreeSet<_> = files.map(|name| name.into_string().expect("Unicode")).collect();
    assert_eq!(found, names, "files in docs/pictures that nothing draws");
    assert_eq!(TEXT.matches("(pictures/").count(), names.len(), "each is shown once");
}
