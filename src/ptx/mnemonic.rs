//! Mnemonics: their text, and the properties that the table assigns to them.

use std::{
    fmt::{self, Write},
    sync::{PoisonError, RwLock},
};

use arrayvec::ArrayVec;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{
    facts,
    table::{self, Form},
    text::{LineStart, Text},
    uniform::Rule,
};

/// The text of a mnemonic: a string, format arguments, or an array of parts, which are concatenated without `fmt`.
pub(crate) trait MnemonicText {
    fn push_to(&self, text: &mut Text);

    /// Returns the parts if they are static strings, whose addresses identify the mnemonic.
    fn parts(&self) -> Option<&[&'static str]> {
        None
    }

    /// Returns the mnemonic if its parts have been recorded. Their addresses are compared instead of their text.
    fn find(&self, _: &mut Mnemonics) -> Option<Mnemonic> {
        None
    }
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

impl<const N: usize> MnemonicText for [&'static str; N] {
    fn push_to(&self, text: &mut Text) {
        self.iter().for_each(|part| text.push_str(part));
    }

    fn parts(&self) -> Option<&[&'static str]> {
        (N <= MAX_PARTS).then_some(self)
    }

    fn find(&self, known: &mut Mnemonics) -> Option<Mnemonic> {
        known.find_parts(self)
    }
}

/// A mnemonic or a special register in a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mnemonic {
    /// Its number in the kernel.
    pub(super) number: u32,
    pub(super) properties: &'static Properties,
}

/// The mnemonics and special registers of a kernel. A kernel uses few distinct ones, most of them many times.
pub(crate) struct Mnemonics {
    /// All mnemonics and special registers, in the order of their numbers.
    all: Vec<(LineStart, Mnemonic)>,
    /// The numbers of mnemonics, by the hash of the text.
    latest: Latest,
    /// The static parts of mnemonics, with the number of each mnemonic.
    parts: Vec<(Parts, u32)>,
    /// The positions in `parts`, by the hash of the addresses.
    latest_parts: Latest,
}

/// The static parts of a mnemonic.
type Parts = ArrayVec<&'static str, MAX_PARTS>;

/// The maximum number of parts that are compared by address.
const MAX_PARTS: usize = 8;

/// The number of distinct hashes.
const HASHES: usize = 256;

/// Returns a hash of the length, the first 8 bytes and the last 8 bytes, which differ for most mnemonics of a kernel.
#[inline]
fn hash(text: &[u8]) -> usize {
    let number = |bytes: Option<&[u8; 8]>| match bytes {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    };
    spread(number(text.first_chunk()) ^ number(text.last_chunk()).rotate_left(20) ^ text.len() as u64)
}

/// Returns a hash of the addresses of parts.
#[inline(always)]
fn hash_of_parts(parts: &[&'static str]) -> usize {
    spread(parts.iter().fold(0, |sum: u64, part| sum.rotate_left(9) ^ part.as_ptr() as u64))
}

/// Reduces a number to a hash. Fibonacci hashing: the highest bits of the product depend on all bits.
#[inline]
fn spread(number: u64) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % HASHES
}

/// For each hash, the most recently found list position.
struct Latest([u16; HASHES]);

impl Latest {
    /// Returns the position of the element for which `is_here` holds, and records it.
    #[inline]
    fn position<T>(&mut self, hash: usize, list: &[T], is_here: impl Fn(&T) -> bool) -> Option<usize> {
        let latest = usize::from(self.0[hash]);
        if list.get(latest).is_some_and(&is_here) {
            return Some(latest);
        }
        let position = list.iter().position(is_here)?;
        self.0[hash] = position as u16;
        Some(position)
    }
}

impl Mnemonics {
    pub(super) fn new() -> Self {
        let latest = || Latest([0; HASHES]);
        Self { all: Vec::new(), latest: latest(), parts: Vec::new(), latest_parts: latest() }
    }

    /// Returns the mnemonic with this text if it has been added.
    #[inline]
    pub(super) fn find(&mut self, text: &[u8]) -> Option<Mnemonic> {
        let is_here = |(start, _): &(LineStart, Mnemonic)| start.mnemonic().as_bytes() == text;
        let position = self.latest.position(hash(text), &self.all, is_here)?;
        Some(self.all[position].1)
    }

    /// Returns the mnemonic that consists of these strings, if they have been recorded.
    #[inline]
    fn find_parts<const N: usize>(&mut self, parts: &[&'static str; N]) -> Option<Mnemonic> {
        let is_here = |(known, _): &(Parts, u32)| {
            let known: Option<&[&'static str; N]> = known.as_slice().try_into().ok();
            known.is_some_and(|known| (0..N).all(|part| std::ptr::eq(known[part], parts[part])))
        };
        let position = self.latest_parts.position(hash_of_parts(parts), &self.parts, is_here)?;
        Some(self.all[self.parts[position].1 as usize].1)
    }

    /// Records the static parts of a mnemonic.
    pub(super) fn add_parts(&mut self, parts: &[&'static str], mnemonic: Mnemonic) {
        self.parts.push((parts.iter().copied().collect(), mnemonic.number));
    }

    /// Adds a mnemonic.
    pub(super) fn add(&mut self, text: &str, properties: &'static Properties) -> Mnemonic {
        let mnemonic = Mnemonic { number: self.all.len() as u32, properties };
        self.all.push((LineStart::of(text), mnemonic));
        mnemonic
    }

    /// Returns the text that starts each line with this mnemonic.
    pub(super) fn line_start(&self, mnemonic: Mnemonic) -> &LineStart {
        &self.all[mnemonic.number as usize].0
    }

    /// Returns the text of a mnemonic.
    pub(super) fn text(&self, mnemonic: Mnemonic) -> &str {
        self.line_start(mnemonic).mnemonic()
    }

    /// Returns all mnemonics, in the order they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Mnemonic)> {
        self.all.iter().map(|(start, mnemonic)| (start.mnemonic(), *mnemonic))
    }
}

/// The properties of a mnemonic or a special register.
#[derive(Debug)]
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

/// Returns whether an instruction may load from shared memory into registers, unlike asynchronous copies and matrix products.
pub(super) fn loads_shared(mnemonic: &str) -> bool {
    let loads = |root| matches!(root, "ld" | "ldmatrix" | "atom" | "wmma" | "call");
    let elsewhere = [".global", ".param", ".local", ".const"].iter().any(|space| mnemonic.contains(space));
    mnemonic.split('.').next().is_some_and(loads) && !elsewhere
}

impl Properties {
    /// Returns the properties of a mnemonic in the table.
    pub(super) fn of(mnemonic: &str) -> Option<&'static Self> {
        // Kernels use few distinct mnemonics, so results are kept for the process, but only for mnemonics in the table, which bounds their
        // number.
        static FOUND: RwLock<FxHashMap<Box<str>, &Properties>> =
            RwLock::new(FxHashMap::with_hasher(FxBuildHasher));
        let found = FOUND.read().unwrap_or_else(PoisonError::into_inner).get(mnemonic).copied();
        found.or_else(|| {
            let properties = Box::leak(Box::new(Self {
                form: table::find(mnemonic)?,
                rule: Rule::of(mnemonic),
                pure: facts::is_pure(mnemonic),
                commutative: facts::is_commutative(mnemonic),
                moves: mnemonic.starts_with("mov."),
                loads_shared: loads_shared(mnemonic),
            }));
            FOUND.write().unwrap_or_else(PoisonError::into_inner).insert(mnemonic.into(), properties);
            Some(properties)
        })
    }
}
