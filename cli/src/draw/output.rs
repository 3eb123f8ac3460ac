//! Where a picture goes, and in which form.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Error;
use warpwright::draw::{Picture, Theme};

/// Where to write the picture.
#[derive(clap::Args)]
pub(super) struct Output {
    /// The file, by its ending SVG, PNG, Typst or text; may be given several times. Without it, text is printed.
    #[arg(short, long, value_name = "FILE.svg|.png|.typ|.txt")]
    output: Vec<PathBuf>,

    /// PNG for a dark page. (SVG follows the reader's choice.)
    #[arg(long)]
    dark: bool,

    /// Pixels to a dot of a PNG.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    scale: u32,
}

impl Output {
    pub(super) fn write(&self, picture: &Picture) -> Result<(), Error> {
        if self.output.is_empty() {
            let text = picture.to_string();
            return std::io::stdout()
                .write_all(text.as_bytes())
                .map_err(|error| Error::of("standard output", error));
        }
        // Nothing is written if one of the files has an unknown ending.
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
                    let problem = "too many pixels for a PNG: wanted a smaller --scale, or .svg";
                    Error::of(path.display(), problem)
                }
                other => Error::of(path.display(), other),
            }),
            _ => Err(Error::of(path.display(), "wanted a file that ends in .svg, .png, .typ or .txt")),
        }
    }
}
