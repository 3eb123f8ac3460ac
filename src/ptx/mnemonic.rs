//! Mnemonics: their text, and the properties that the table gives them.

use std::{
    fmt::{self, Write},
    sync::{PoisonError, RwLock},
};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{
    facts,
    table::{self, Form},
    text::Text,
    uniform::Rule,
};

/// The text of a mnemonic: a string, format arguments, or an array of parts, which are concatenated without `fmt`.
pub(crate) trait MnemonicText {
    fn push_to(&self, text: &mut Text);
}

impl MnemonicText for fmt::Arguments<'_> {
    fn push_to(&self, text: &mut Text) {
        match self.as_str() {
            Some(whole) => text.push_str(whole),
            None => {
                let _ = text.write_fmt(*self);
            }
        }
    }
}

impl MnemonicText for &str {
    fn push_to(&self, text: &mut Text) {
        text.push_str(self);
    }
}

impl<const N: usize> MnemonicText for [&str; N] {
    fn push_to(&self, text: &mut Text) {
        self.iter().for_each(|part| text.push_str(part));
    }
}

/// A mnemonic or a special register in a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mnemonic {
    /// Its number in the kernel.
    pub(super) number: u32,
    pub(super) properties: Properties,
}

/// The mnemonics and special registers of a kernel. A kernel uses few different ones, most of them often.
pub(crate) struct Mnemonics {
    /// In the order of their numbers.
    all: Vec<(Box<str>, Mnemonic)>,
    /// For each hash, the number of the mnemonic that was found most recently.
    latest: [u16; 64],
}

impl Mnemonics {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), latest: [0; 64] }
    }

    /// Returns the mnemonic with this text, if it has been added.
    #[inline]
    pub(super) fn find(&mut self, text: &[u8]) -> Option<Mnemonic> {
        let at = |position: usize| text.get(position).map_or(0, |&byte| usize::from(byte));
        let length = text.len();
        let hash = (length + 5 * at(0) + 3 * at(length / 2) + at(length.wrapping_sub(1))) % self.latest.len();
        let is_here = |(known, _): &(Box<str>, Mnemonic)| known.as_bytes() == text;
        match self.all.get(usize::from(self.latest[hash])).filter(|known| is_here(known)) {
            Some((_, mnemonic)) => Some(*mnemonic),
            None => {
                let position = self.all.iter().position(is_here)?;
                self.latest[hash] = position as u16;
                Some(self.all[position].1)
            }
        }
    }

    /// Adds a mnemonic.
    pub(super) fn add(&mut self, text: &str, properties: Properties) -> Mnemonic {
        let mnemonic = Mnemonic { number: self.all.len() as u32, properties };
        self.all.push((text.into(), mnemonic));
        mnemonic
    }

    /// Returns the text of a mnemonic.
    pub(super) fn text(&self, mnemonic: Mnemonic) -> &str {
        &self.all[mnemonic.number as usize].0
    }

    /// Returns all mnemonics, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Mnemonic)> {
        self.all.iter().map(|(text, mnemonic)| (&**text, *mnemonic))
    }
}

/// The properties of a mnemonic or a special register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Properties {
    pub(super) form: &'static Form,
    pub(super) rule: Rule,
    /// Whether its result depends only on its operands.
    pub(super) pure: bool,
    /// Whether its first two operands commute.
    pub(super) commutative: bool,
    /// Whether it is a `mov`.
    pub(super) moves: bool,
    /// Whether it may load from shared memory into registers.
    pub(super) loads_shared: bool,
}

/// Returns whether an instruction may load from shared memory into registers, unlike asynchronous copies and products.
pub(super) fn loads_shared(mnemonic: &str) -> bool {
    let loads = |root| matches!(root, "ld" | "ldmatrix" | "atom" | "wmma" | "call");
    let elsewhere = [".global", ".param", ".local", ".const"].iter().any(|space| mnemonic.contains(space));
    mnemonic.split('.').next().is_some_and(loads) && !elsewhere
}

impl Properties {
    /// Returns the properties of a mnemonic in the table.
    pub(super) fn of(mnemonic: &str) -> Option<Self> {
        // Kernels use few distinct mnemonics, so results are cached, but only for mnemonics in the table, which bounds the cache.
        static FOUND: RwLock<FxHashMap<Box<str>, Properties>> =
            RwLock::new(FxHashMap::with_hasher(FxBuildHasher));
        let found = FOUND.read().unwrap_or_else(PoisonError::into_inner).get(mnemonic).copied();
        found.or_else(|| {
            let properties = Self {
                form: table::find(mnemonic)?,
                rule: Rule::of(mnemonic),
                pure: facts::is_pure(mnemonic),
                commutative: facts::is_commutative(mnemonic),
                moves: mnemonic.starts_with("mov."),
                loads_shared: loads_shared(mnemonic),
            };
            FOUND.write().unwrap_or_else(PoisonError::into_inner).insert(mnemonic.into(), properties);
            Some(properties)
        })
    }
}
