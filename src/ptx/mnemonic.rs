//! Mnemonics: their text, and the properties that the table gives them.

use std::{
    fmt::{self, Write},
    sync::{PoisonError, RwLock},
};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{
    facts,
    table::{self, Form},
    uniform::Rule,
};

/// The text of a mnemonic: format arguments, or an array of parts, which are concatenated without the machinery of `fmt`.
pub(crate) trait MnemonicText {
    fn push_to(&self, text: &mut String);
}

impl MnemonicText for fmt::Arguments<'_> {
    fn push_to(&self, text: &mut String) {
        match self.as_str() {
            Some(whole) => text.push_str(whole),
            None => {
                let _ = text.write_fmt(*self);
            }
        }
    }
}

impl<const N: usize> MnemonicText for [&str; N] {
    fn push_to(&self, text: &mut String) {
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
}

impl Properties {
    /// Returns the properties of a mnemonic in the table.
    pub(super) fn of(mnemonic: &str) -> Option<Self> {
        // Kernels use few distinct mnemonics, so results are kept. Only existing mnemonics are, which bounds the size.
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
            };
            FOUND.write().unwrap_or_else(PoisonError::into_inner).insert(mnemonic.into(), properties);
            Some(properties)
        })
    }
}
