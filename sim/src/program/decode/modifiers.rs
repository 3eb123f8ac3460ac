//! Reads an instruction's qualifiers from left to right.

use crate::program::decode::order::{Order, canonical};
use crate::program::types::Type;

/// A cursor over the qualifiers of an instruction.
pub(super) struct Modifiers<'m> {
    words: Vec<&'m str>,
    at: usize,
}

impl<'m> Modifiers<'m> {
    /// Returns a cursor over the qualifiers `words`, sorted in the manual's order.
    pub(super) fn new(order: Order, words: &'m [String]) -> Self {
        Self { words: canonical(order, words), at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'m str> {
        self.words.get(self.at).copied()
    }

    /// Consumes the next qualifier if it is `word`.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// Consumes the next qualifier if it is one of `words`.
    pub(super) fn eat_any(&mut self, words: &[&str]) -> bool {
        let found = self.peek().is_some_and(|word| words.contains(&word));
        self.at += usize::from(found);
        found
    }

    /// Consumes the next qualifier if `f` recognizes it.
    pub(super) fn take<T>(&mut self, f: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let value = f(self.peek()?)?;
        self.at += 1;
        Some(value)
    }

    /// Returns the last type that was consumed.
    pub(super) fn last_type(&self) -> Option<Type> {
        self.words.get(self.at.checked_sub(1)?).and_then(|word| Type::parse(word))
    }

    /// Consumes the next qualifier if it is a type.
    pub(super) fn ty(&mut self) -> Option<Type> {
        self.take(Type::parse)
    }

    pub(super) fn all(&self) -> &[&'m str] {
        &self.words
    }

    pub(super) fn next(&mut self) -> Option<&'m str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }
}
