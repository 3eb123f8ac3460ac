//! Pictures as SVG.

use std::collections::BTreeMap;
use std::fmt::Write;

use ::svg::node::element::{Group, Path, Rectangle, Style, Text as TextElement};
use ::svg::{Document, Node};

use super::grid::Picture;
use super::scene::{Anchor, LINE, Rect, Text};
use super::theme::{Paint, Theme, hex};

/// The distance from the top of a line to the baseline.
const BASELINE: i32 = 10;

impl Picture {
    /// Renders an SVG document with its own background. Its colors follow the reader's preferred color scheme (`prefers-color-scheme`).
    #[must_use]
    pub fn svg(&self) -> String {
        let scene = self.scene();
        let (width, height) = scene.size;
        let mut document = Document::new()
            .set("width", width)
            .set("height", height)
            .set("viewBox", (0, 0, width, height))
            .set("font-family", "ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace")
            .set("font-size", "11.5");
        document.append(Style::new(style()));
        let page =
            Rectangle::new().set("width", "100%").set("height", "100%").set("class", Paint::Page.class());
        document.append(page);
        boxes(&scene.boxes, &mut document);
        texts(&scene.texts, &mut document);
        document.to_string() + "\n"
    }
}

/// Returns the style sheet: a rule for the class of each paint, for light and for dark pages.
fn style() -> String {
    let rules = |theme: Theme| {
        let mut rules = String::new();
        for paint in Paint::all() {
            // Rules that are the same on both pages are written only once.
            let same = paint.rgb(Theme::Light) == paint.rgb(Theme::Dark);
            if theme == Theme::Light || !same {
                let _ = write!(rules, ".{}{{fill:{}}}", paint.class(), hex(paint.rgb(theme)));
            }
        }
        let (line, alarm) = (hex(Paint::Line.rgb(theme)), hex(Paint::Alarm.rgb(theme)));
        let _ = write!(rules, ".cells{{stroke:{line}}}.alarms{{stroke:{alarm};stroke-width:2;fill:none}}");
        rules
    };
    format!("{}@media(prefers-color-scheme:dark){{{}}}", rules(Theme::Light), rules(Theme::Dark))
}

/// Renders one path for the cells of each color, and then one path that frames the marked cells.
fn boxes(boxes: &[Rect], document: &mut Document) {
    let mut outlines: BTreeMap<Paint, String> = BTreeMap::new();
    let mut alarms = String::new();
    for rect in boxes {
        let ((x, y), (w, h)) = (rect.at, rect.size);
        let _ = write!(outlines.entry(rect.paint).or_default(), "M{x} {y}h{w}v{h}h-{w}z");
        if rect.alarm {
            let _ = write!(alarms, "M{} {}h{}v{}h-{}z", x + 1, y + 1, w - 2, h - 2, w - 2);
        }
    }
    let mut cells = Group::new().set("class", "cells");
    for (paint, outline) in outlines {
        cells.append(Path::new().set("class", paint.class()).set("d", outline));
    }
    document.append(cells);
    if !alarms.is_empty() {
        document.append(Path::new().set("class", "alarms").set("d", alarms));
    }
}

/// Renders the lines of text, in one group for each color and anchor.
fn texts(texts: &[Text], document: &mut Document) {
    let mut groups: BTreeMap<(Paint, Anchor, bool), Group> = BTreeMap::new();
    for text in texts.iter().filter(|text| !text.text.is_empty()) {
        let element = TextElement::new(text.text.as_str()).set("x", text.at.0).set("y", text.at.1 + BASELINE);
        groups.entry((text.paint, text.anchor, text.bold)).or_default().append(element);
    }
    for ((paint, anchor, bold), group) in groups {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let group = group.set("class", paint.class()).set("text-anchor", anchor);
        document.append(if bold { group.set("font-weight", "bold") } else { group });
    }
}

const _: () = assert!(BASELINE < LINE);
