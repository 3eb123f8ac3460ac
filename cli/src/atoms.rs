//! `warpwright atoms`.

mod json;
mod text;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use super::Error;
use warpwright::{
    atoms::{CopyAtom, MmaAtom, copy_atom, copy_atoms, mma_atom, mma_atoms},
    ptx::Target,
};

/// Lists every mma and copy atom, with who holds what.
///
/// Without names it lists the atoms, one a line. With names it prints the tables of those: which lane holds which element.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Atoms by their names, such as SM80_16x8x16_F32BF16BF16F32_TN or SM75_U32x4_LDSM_N.
    names: Vec<String>,
    /// Only what this target has: sm_75, sm_80, sm_89, sm_90a …
    #[arg(long)]
    target: Option<Target>,
    /// Only atoms with this text in their name, their mnemonic or their types.
    #[arg(long)]
    find: Option<String>,
    /// Only matrix instructions.
    #[arg(long, conflicts_with = "copy")]
    mma: bool,
    /// Only copies.
    #[arg(long)]
    copy: bool,
    /// One JSON object, `{"mma":[…],"copy":[…]}`, with every table.
    #[arg(long)]
    json: bool,
}

/// What was asked for.
struct Chosen {
    mma: Vec<&'static MmaAtom>,
    copy: Vec<&'static CopyAtom>,
}

impl Args {
    /// Carries the command out.
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
        match written.and_then(|()| out.flush()) {
            // Whoever reads may stop when it has seen enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::of("standard output", error))
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    fn chosen(&self) -> Result<Chosen, Error> {
        let mut chosen = Chosen { mma: Vec::new(), copy: Vec::new() };
        if self.names.is_empty() {
            chosen.mma.extend(mma_atoms());
            chosen.copy.extend(copy_atoms());
        }
        for name in &self.names {
            match (mma_atom(name), copy_atom(name)) {
                (Ok(atom), _) => chosen.mma.push(atom),
                (_, Ok(atom)) => chosen.copy.push(atom),
                (Err(why), _) => return Err(Error(why.to_string())),
            }
        }
        chosen.mma.retain(|atom| {
            !self.copy
                && self.target.is_none_or(|target| atom.is_on(target))
                && self.finds(&text::haystack(atom))
        });
        chosen.copy.retain(|atom| {
            let text = format!("{} {}", atom.name(), atom.mnemonic());
            !self.mma && self.target.is_none_or(|target| atom.is_on(target)) && self.finds(&text)
        });
        Ok(chosen)
    }

    fn finds(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.find.as_ref().is_none_or(|wanted| text.contains(&wanted.to_lowercase()))
    }
}
