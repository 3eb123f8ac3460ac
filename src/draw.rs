//! Pictures of layouts, instructions, swizzles and bank conflicts.
//!
//! A [`Picture`] is a grid of colored [`Table`]s. It can be rendered as SVG ([`Picture::svg`], legible on light and dark pages), as Typst
//! ([`Picture::typst`]), and as plain text (its `Display` implementation). For other formats, [`Picture::scene`] returns the positions of
//! all cells and lines of text; the `warpwright draw` command uses it to render PNG files.
//!
//! ```
//! use warpwright::draw::{Highlight, Picture};
//! use warpwright::layout::Layout;
//!
//! let offsets = Picture::of_layout(&Layout::row_major((2, 4))?.into())?;
//! assert_eq!(
//!     offsets.to_string(),
//!     "(2,4):(4,1)\n\
//!      \x20   0  1  2  3\n\
//!      0   0  1  2  3\n\
//!      1   4  5  6  7\n"
//! );
//! let fragment = Layout::new(((4, 8), (2, 2)), ((32, 1), (16, 8)))?;
//! let owners = Picture::of_thread_values(&fragment, (16, 8), Highlight::Thread(5))?;
//! assert!(owners.svg().starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod banks;
mod copies;
mod error;
mod grid;
mod layouts;
mod orders;
mod products;
pub mod scene;
mod svg;
mod swizzles;
mod text;
mod theme;
mod thread_values;
mod typst;

pub use error::DrawError;
pub use grid::{Cell, Picture, Table, Tint};
pub use theme::{Paint, Rgb, Theme};
pub use thread_values::Highlight;
