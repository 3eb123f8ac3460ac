//! `warpwright atoms`.

mod json;
mod near;
mod text;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use super::{
    Error,
    tile::{self, TileType},
};
use warpwright::{
    atoms::{CopyAtom, MmaAtom, copy_atom, copy_atoms, mma_atom, mma_atoms},
    ptx::Target,
};

/// Lists mma and copy atoms, tiles and vectors with their fragment layouts
///
/// Without names, lists the atoms and the tiles of one subtile, one per line. With names, prints which lane owns which element, for each
/// atom, tile or vector.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of atoms, such as SM80_16x8x16_F32BF16BF16F32_TN or SM75_U32x4_LDSM_N, or types of tiles, such as 'Rt<bf16, 1, 1>'
    names: Vec<String>,
    /// Only atoms that this target supports, and no tiles: sm_75, sm_80, sm_89, sm_90a …
    #[arg(long)]
    target: Option<Target>,
    /// Only atoms and tiles with this text in their name, mnemonic or types
    #[arg(long)]
    find: Option<String>,
    /// Only matrix instructions
    #[arg(long, conflicts_with_all = ["copy", "tile"])]
    mma: bool,
    /// Only copy instructions
    #[arg(long, conflicts_with = "tile")]
    copy: bool,
    /// Only tiles and vectors
    #[arg(long, conflicts_with = "target")]
    tile: bool,
    /// Print one JSON object, `{"mma":[…],"copy":[…],"tile":[…]}`, with all tables
    #[arg(long)]
    json: bool,
}

/// The selected atoms and tiles.
struct Chosen {
    mma: Vec<&'static MmaAtom>,
    copy: Vec<&'static CopyAtom>,
    tile: Vec<TileType>,
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let chosen = self.chosen()?;
        let mut out = BufWriter::new(io::stdout().lock());
        let written = if self.json {
            json::write(&mut out, &chosen)
        } else if self.names.is_empty() {
            text::list(&mut out, &chosen)
        } else {
            text::tables(&mut out, &chosen)
        };
        super::written(written.and_then(|()| out.flush()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn chosen(&self) -> Result<Chosen, Error> {
        let mut chosen = Chosen { mma: Vec::new(), copy: Vec::new(), tile: Vec::new() };
        if self.names.is_empty() {
            chosen.mma.extend(mma_atoms());
            chosen.copy.extend(copy_atoms());
            chosen.tile.extend(tile::basic());
        }
        for name in &self.names {
            match (mma_atom(name), copy_atom(name)) {
                (Ok(atom), _) => chosen.mma.push(atom),
                (_, Ok(atom)) => chosen.copy.push(atom),
                (Err(_), Err(_)) if TileType::is_meant_by(name) => chosen.tile.push(tile::parse(name)?),
                (Err(_), Err(_)) => return Err(near::unknown(name)),
            }
        }
        chosen.mma.retain(|atom| {
            !(self.copy || self.tile)
                && self.target.is_none_or(|target| atom.is_supported_on(target))
                && self.finds(&text::haystack(atom))
        });
        chosen.copy.retain(|atom| {
            !(self.mma || self.tile)
                && self.target.is_none_or(|target| atom.is_supported_on(target))
                && self.finds(&text::copy_haystack(atom))
        });
        let without = self.mma || self.copy || self.target.is_some();
        chosen.tile.retain(|tile| !without && self.finds(tile.name()));
        Ok(chosen)
    }

    fn finds(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.find.as_ref().is_none_or(|wanted| text.contains(&wanted.to_lowercase()))
    }
}
