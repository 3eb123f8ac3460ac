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
    latest: [u16; HASHES],
}

/// The number of hashes of mnemonics.
const HASHES: usize = 256;

/// Returns a hash of the length, the first 8 bytes and the last 8 bytes, which differ for most mnemonics of a kernel.
#[inline]
fn hash(text: &[u8]) -> usize {
    let number = |bytes: Option<&[u8; 8]>| match bytes {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    };
    let ends = number(text.first_chunk()) ^ number(text.last_chunk()).rotate_left(20) ^ text.len() as u64;
    // Fibonacci hashing: the highest bits of the product depend on all bits.
    (ends.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % HASHES
}

impl Mnemonics {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), latest: [0; HASHES] }
    }

    /// Returns the mnemonic with this text, if it has been added.
    #[inline]
    pub(super) fn find(&mut self, text: &[u8]) -> Option<Mnemonic> {
        let hash = hash(text);
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

    /// Returns all mnemonics, in the order they were added.
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
