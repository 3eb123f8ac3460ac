//! `warpwright atoms`.

mod json;
mod near;
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

/// Lists mma and copy atoms with their fragment layouts
///
/// Without names, lists the atoms, one per line. With names, prints which lane owns which element, for each atom.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of atoms, such as SM80_16x8x16_F32BF16BF16F32_TN or SM75_U32x4_LDSM_N
    names: Vec<String>,
    /// Only atoms that this target supports: sm_75, sm_80, sm_89, sm_90a …
    #[arg(long)]
    target: Option<Target>,
    /// Only atoms with this text in their name, mnemonic or types
    #[arg(long)]
    find: Option<String>,
    /// Only matrix instructions
    #[arg(long, conflicts_with = "copy")]
    mma: bool,
    /// Only copy instructions
    #[arg(long)]
    copy: bool,
    /// Print one JSON object, `{"mma":[…],"copy":[…]}`, with all tables
    #[arg(long)]
    json: bool,
}

/// The selected atoms.
struct Chosen {
    mma: Vec<&'static MmaAtom>,
    copy: Vec<&'static CopyAtom>,
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
        match written.and_then(|()| out.flush()) {
            // The reader may close the pipe early.
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
                (Err(_), Err(_)) => return Err(near::unknown(name)),
            }
        }
        chosen.mma.retain(|atom| {
            !self.copy
                && self.target.is_none_or(|target| atom.is_on(target))
                && self.finds(&text::haystack(atom))
        });
        chosen.copy.retain(|atom| {
            !self.mma
                && self.target.is_none_or(|target| atom.is_on(target))
                && self.finds(&text::copy_haystack(atom))
        });
        Ok(chosen)
    }

    fn finds(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.find.as_ref().is_none_or(|wanted| text.contains(&wanted.to_lowercase()))
    }
}
