//! The output files of a picture and their formats.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Error;
use warpwright::draw::{Picture, Theme};

/// Where to write the picture
#[derive(clap::Args)]
pub(super) struct Output {
    /// Output file (.svg, .png, .typ or .txt); may be repeated. Without it, text is printed
    #[arg(short, long, value_name = "FILE.svg|.png|.typ|.txt")]
    output: Vec<PathBuf>,

    /// Use dark colors in PNG files (SVG files follow the reader's preference)
    #[arg(long)]
    dark: bool,

    /// Scale of PNG files, in pixels per unit
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    scale: u32,
}

impl Output {
    pub(super) fn write(&self, picture: &Picture) -> Result<(), Error> {
        if self.output.is_empty() {
            let text = picture.to_string();
            return crate::written(std::io::stdout().write_all(text.as_bytes()));
        }
        // Nothing is written if one of the files has an unknown extension.
        let files: Result<Vec<_>, _> =
            self.output.iter().map(|path| Ok((path, self.bytes(path, picture)?))).collect();
        for (path, bytes) in files? {
            fs::write(path, bytes).map_err(|error| Error::of(path.display(), error))?;
        }
        Ok(())
    }

    fn bytes(&self, path: &Path, picture: &Picture) -> Result<Vec<u8>, Error> {
        let theme = if self.dark { Theme::Dark } else { Theme::Light };
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(picture.svg().into_bytes()),
            Some("typ") => Ok(picture.typst().into_bytes()),
            Some("txt") => Ok(picture.to_string().into_bytes()),
            Some("png") => super::png::encode(picture, theme, self.scale).map_err(|error| match error {
                ::png::EncodingError::LimitsExceeded => {
                    let problem = "expected fewer pixels for a PNG; use a smaller --scale, or .svg";
                    Error::of(path.display(), problem)
                }
                other => Error::of(path.display(), other),
            }),
            _ => Err(Error::of(path.display(), "expected a file that ends in .svg, .png, .typ or .txt")),
        }
    }
}
