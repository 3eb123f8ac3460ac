//! The colors of pictures. Hues and the text on them have the same colors on light and dark pages; the other colors differ.

/// A color, as its red, green and blue components.
pub type Rgb = [u8; 3];

/// The color scheme of the page on which a picture is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Dark text on white.
    #[default]
    Light,
    /// Light text on a nearly black page.
    Dark,
}

/// A part of a picture that has its own color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paint {
    /// The page background.
    Page,
    /// Titles.
    Ink,
    /// Labels and notes.
    Faint,
    /// Lines between cells.
    Line,
    /// A plain cell.
    Plain,
    /// A dimmed cell.
    Dim,
    /// Text of a dimmed cell.
    DimInk,
    /// Text of a plain or colored cell.
    CellInk,
    /// A cell with one of eight hues, 0 to 7.
    Hue(u8),
    /// The frame of a marked cell.
    Alarm,
}

/// Eight hues of equal lightness, on which dark text is easy to read.
const HUES: [Rgb; 8] = [
    [0xaf, 0xd0, 0xf5],
    [0xf9, 0xd5, 0x9b],
    [0xb9, 0xe3, 0xae],
    [0xf5, 0xb5, 0xb8],
    [0xd3, 0xc3, 0xf2],
    [0xa5, 0xe3, 0xdc],
    [0xf1, 0xea, 0x8d],
    [0xe9, 0xc0, 0xe2],
];

impl Paint {
    /// Returns all paints.
    pub(super) fn all() -> impl Iterator<Item = Paint> {
        let fixed = [
            Paint::Page,
            Paint::Ink,
            Paint::Faint,
            Paint::Line,
            Paint::Plain,
            Paint::Dim,
            Paint::DimInk,
            Paint::CellInk,
            Paint::Alarm,
        ];
        fixed.into_iter().chain((0..8).map(Paint::Hue))
    }

    /// Returns the color of this part in a theme. Hues above 7 wrap around.
    pub fn rgb(self, theme: Theme) -> Rgb {
        let on = |light, dark| if theme == Theme::Light { light } else { dark };
        match self {
            Paint::Page => on([0xff; 3], [0x0d, 0x11, 0x17]),
            Paint::Ink => on([0x1f, 0x23, 0x28], [0xf0, 0xf3, 0xf6]),
            Paint::Faint => on([0x59, 0x63, 0x6e], [0xa5, 0xae, 0xb8]),
            Paint::Line => on([0x8b, 0x94, 0x9e], [0x30, 0x36, 0x3d]),
            Paint::Plain => on([0xff; 3], [0xd0, 0xd7, 0xde]),
            Paint::Dim => on([0xf3, 0xf4, 0xf6], [0x1c, 0x21, 0x28]),
            Paint::DimInk => on([0x8c, 0x95, 0x9f], [0x76, 0x80, 0x8b]),
            Paint::CellInk => [0x14, 0x18, 0x1d],
            Paint::Hue(hue) => HUES[usize::from(hue % 8)],
            Paint::Alarm => on([0xd1, 0x24, 0x2f], [0xff, 0x5d, 0x55]),
        }
    }

    /// Returns a short name for style sheets.
    pub(super) fn class(self) -> String {
        match self {
            Paint::Page => "page".into(),
            Paint::Ink => "ink".into(),
            Paint::Faint => "faint".into(),
            Paint::Line => "line".into(),
            Paint::Plain => "plain".into(),
            Paint::Dim => "dim".into(),
            Paint::DimInk => "dimink".into(),
            Paint::CellInk => "cellink".into(),
            Paint::Hue(hue) => format!("h{}", hue % 8),
            Paint::Alarm => "alarm".into(),
        }
    }
}

/// Returns the color in CSS and Typst notation.
pub(super) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
