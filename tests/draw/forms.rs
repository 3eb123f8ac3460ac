//! The output formats of a picture.

use pretty_assertions::assert_eq;
use warpwright::draw::{Cell, Highlight, Picture, Table, Tint};

use super::layouts::layout;

fn small() -> Picture {
    let cell = |row: usize, col: usize| match (row, col) {
        (0, 0) => Cell { lines: vec!["a<b".into(), "\"&\"".into()], tint: Tint::Hue(9), alarm: true },
        (0, 1) => Cell::new("x", Tint::Dim),
        (1, 1) => Cell::new("y\\", Tint::Plain),
        _ => Cell::default(),
    };
    let table = Table::new("one", (2, 2), cell).expect("small").with_axes("m", "n");
    Picture { title: "Title".into(), tables: vec![vec![None, Some(table)]], notes: vec!["note".into()] }
}

#[test]
fn text() {
    let expected = "\
Title
one
m\\n         0        1
  0   a<b\"&\"!        ·
  1                 y\\

note
";
    let found: String = small().to_string().lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(found, expected);
}

/// The text between tags, in document order.
fn texts(svg: &str) -> Vec<String> {
    use svg::parser::Event;
    let events = svg::read(svg).expect("an SVG document");
    let mut open = 0;
    let mut texts = Vec::new();
    for event in events {
        match event {
            Event::Tag(_, svg::node::element::tag::Type::Start, _) => open += 1,
            Event::Tag(_, svg::node::element::tag::Type::End, _) => open -= 1,
            Event::Text(text) if !text.contains('{') => texts.push(text.trim().to_owned()),
            Event::Error(error) => panic!("{error}"),
            _ => {}
        }
    }
    assert_eq!(open, 0, "every tag is closed");
    texts.retain(|text| !text.is_empty());
    texts.sort();
    texts
}

#[test]
fn svg_has_every_text_once() {
    let mut expected =
        ["Title", "one", "m\\n", "0", "1", "0", "1", "a&lt;b", "&quot;&amp;&quot;", "x", "y\\", "note"];
    expected.sort_unstable();
    let found: Vec<String> = texts(&small().svg()).iter().map(|text| text.replace('"', "&quot;")).collect();
    assert_eq!(found, expected);
}

#[test]
fn svg_follows_the_page() {
    let svg = small().svg();
    let (light, dark) = svg.split_once("@media(prefers-color-scheme:dark)").expect("rules for both");
    assert!(light.contains(".page{fill:#ffffff}") && dark.contains(".page{fill:#0d1117}"));
    // Each class that is used has a color.
    for class in ["page", "ink", "faint", "plain", "dim", "dimink", "cellink", "h1"] {
        assert!(
            svg.contains(&format!("class=\"{class}\"")) && light.contains(&format!(".{class}{{fill:")),
            "{class}"
        );
    }
    assert!(svg.contains("class=\"alarms\""));
}

#[test]
fn typst_quotes_its_texts() {
    let typst = small().typst();
    assert!(typst.contains("\"a<b\" + linebreak() + \"\\\"&\\\"\"") && typst.contains("\"y\\\\\""));
    assert_eq!(typst.matches("table.cell(fill").count(), 4);
    let strings = typst.replace("\\\\", "").replace("\\\"", "");
    assert_eq!(strings.matches('"').count() % 2, 0, "every string is closed");
    let open = |symbol| strings.matches(symbol).count();
    assert_eq!((open('('), open('[')), (open(')'), open(']')));
}

/// The output depends only on the picture.
#[test]
fn the_same_picture_gives_the_same_file() {
    let picture = || {
        let map = layout("((4,8),(2,2)):((32,1),(16,8))");
        Picture::of_thread_values(&map, (16, 8), Highlight::Warp(0)).expect("a picture")
    };
    assert_eq!(picture().svg(), picture().svg());
    assert_eq!(texts(&picture().svg()).len(), 16 * 8 * 2 + 16 + 8 + 1);
}
