//! Pictures as PNG, with a built-in bitmap font.

use embedded_graphics::mono_font::iso_8859_1::{FONT_7X13, FONT_7X13_BOLD};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, Drawable, OriginDimensions, Pixel, Point, Primitive, Size};
use embedded_graphics::primitives::{PrimitiveStyle, PrimitiveStyleBuilder, Rectangle, StrokeAlignment};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};

use warpwright::draw::{
    Paint, Picture, Theme,
    scene::{self, Anchor, Scene},
};

/// The maximum number of pixels of a file.
const MOST_PIXELS: u64 = 1 << 29;

/// Renders a PNG file for a light or a dark page, at `scale` pixels per unit (at least 1).
///
/// # Errors
/// Returns [`::png::EncodingError::LimitsExceeded`] for more than 2²⁹ pixels, which would take minutes and gigabytes.
pub(crate) fn encode(picture: &Picture, theme: Theme, scale: u32) -> Result<Vec<u8>, ::png::EncodingError> {
    let scene = picture.scene();
    let scale = scale.max(1);
    let long = |dots: i32| u64::from(dots.unsigned_abs()) * u64::from(scale);
    if long(scene.size.0).saturating_mul(long(scene.size.1)) > MOST_PIXELS {
        return Err(::png::EncodingError::LimitsExceeded);
    }
    let mut canvas = Canvas::new(scene.size, color(Paint::Page, theme));
    let drawn = draw(&scene, theme, &mut canvas);
    match drawn {
        Ok(()) => canvas.encode(scale),
        Err(never) => match never {},
    }
}

fn draw(scene: &Scene, theme: Theme, canvas: &mut Canvas) -> Result<(), std::convert::Infallible> {
    let line = color(Paint::Line, theme);
    for rect in &scene.boxes {
        // Adjacent cells share a line.
        let area = area(rect.at, (rect.size.0 + 1, rect.size.1 + 1));
        area.into_styled(PrimitiveStyle::with_fill(line)).draw(canvas)?;
        let inside = self::area((rect.at.0 + 1, rect.at.1 + 1), (rect.size.0 - 1, rect.size.1 - 1));
        inside.into_styled(PrimitiveStyle::with_fill(color(rect.paint, theme))).draw(canvas)?;
    }
    let frame = PrimitiveStyleBuilder::new()
        .stroke_color(color(Paint::Alarm, theme))
        .stroke_width(2)
        .stroke_alignment(StrokeAlignment::Inside)
        .build();
    for rect in scene.boxes.iter().filter(|rect| rect.alarm) {
        area(rect.at, (rect.size.0 + 1, rect.size.1 + 1)).into_styled(frame).draw(canvas)?;
    }
    scene.texts.iter().try_for_each(|text| write(text, theme, canvas))
}

fn write(text: &scene::Text, theme: Theme, canvas: &mut Canvas) -> Result<(), std::convert::Infallible> {
    let font: &MonoFont<'_> = if text.bold { &FONT_7X13_BOLD } else { &FONT_7X13 };
    let alignment = match text.anchor {
        Anchor::Start => Alignment::Left,
        Anchor::Middle => Alignment::Center,
        Anchor::End => Alignment::Right,
    };
    let layout = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Top).build();
    let style = MonoTextStyle::new(font, color(text.paint, theme));
    let latin = latin(&text.text);
    Text::with_text_style(&latin, Point::new(text.at.0, text.at.1), style, layout).draw(canvas).map(drop)
}

/// Replaces characters that the font, which contains only Latin letters, cannot display.
fn latin(text: &str) -> String {
    text.replace('∘', "o").replace('→', "->").replace('…', "...").replace('–', "-")
}

fn area(at: (i32, i32), size: (i32, i32)) -> Rectangle {
    Rectangle::new(Point::new(at.0, at.1), Size::new(size.0.unsigned_abs(), size.1.unsigned_abs()))
}

fn color(paint: Paint, theme: Theme) -> Rgb888 {
    let [r, g, b] = paint.rgb(theme);
    Rgb888::new(r, g, b)
}

/// The pixels, row by row.
struct Canvas {
    width: usize,
    pixels: Vec<Rgb888>,
}

impl Canvas {
    fn new((width, height): (i32, i32), page: Rgb888) -> Self {
        let (width, height) = (width.unsigned_abs() as usize, height.unsigned_abs() as usize);
        Canvas { width, pixels: vec![page; width * height] }
    }

    fn encode(&self, scale: u32) -> Result<Vec<u8>, ::png::EncodingError> {
        let size = self.size();
        let mut bytes = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut bytes, size.width * scale, size.height * scale);
        encoder.set_color(::png::ColorType::Rgb);
        encoder.set_depth(::png::BitDepth::Eight);
        let mut data = Vec::with_capacity(self.pixels.len() * 3 * (scale * scale) as usize);
        for row in self.pixels.chunks(self.width.max(1)) {
            let wide: Vec<u8> = row
                .iter()
                .flat_map(|pixel| std::iter::repeat_n([pixel.r(), pixel.g(), pixel.b()], scale as usize))
                .flatten()
                .collect();
            (0..scale).for_each(|_| data.extend_from_slice(&wide));
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&data)?;
        writer.finish()?;
        Ok(bytes)
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width as u32, (self.pixels.len() / self.width.max(1)) as u32)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(at, color) in pixels {
            if let (Ok(x), Ok(y)) = (usize::try_from(at.x), usize::try_from(at.y))
                && x < self.width
                && let Some(pixel) = self.pixels.get_mut(x + y * self.width)
            {
                *pixel = color;
            }
        }
        Ok(())
    }
}
