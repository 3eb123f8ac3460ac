//! Mnemonics in the notation of the instruction table, such as `add{.rn|.rz}{.ftz}.f32`.

/// A mnemonic with alternatives: `{.a|.b}` means at most one of them, and `(.a|.b)` means exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Fixed(&'static str),
    Choice { of: Vec<&'static str>, optional: bool },
}

impl Pattern {
    /// Parses a mnemonic in this notation. Braces and parentheses must be balanced and must not be nested.
    pub fn new(text: &'static str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let open = rest.find(['{', '(']).unwrap_or(rest.len());
            if open > 0 {
                parts.push(Part::Fixed(&rest[..open]));
                rest = &rest[open..];
                continue;
            }
            let optional = rest.starts_with('{');
            let close = rest.find(if optional { '}' } else { ')' }).unwrap_or(rest.len() - 1);
            parts.push(Part::Choice { of: rest[1..close].split('|').collect(), optional });
            rest = &rest[close + 1..];
        }
        Self { parts }
    }

    /// Returns whether the pattern matches `mnemonic`.
    pub fn matches(&self, mnemonic: &str) -> bool {
        fn from(parts: &[Part], text: &str) -> bool {
            let Some((part, rest)) = parts.split_first() else { return text.is_empty() };
            match part {
                Part::Fixed(fixed) => text.strip_prefix(fixed).is_some_and(|text| from(rest, text)),
                Part::Choice { of, optional } => {
                    of.iter().any(|choice| text.strip_prefix(choice).is_some_and(|text| from(rest, text)))
                        || *optional && from(rest, text)
                }
            }
        }
        from(&self.parts, mnemonic)
    }

    /// Returns all mnemonics that the pattern matches.
    pub fn expand(&self) -> Vec<String> {
        let mut all = vec![String::new()];
        for part in &self.parts {
            let choices: Vec<&str> = match part {
                Part::Fixed(fixed) => vec![fixed],
                Part::Choice { of, optional } => of.iter().copied().chain(optional.then_some("")).collect(),
            };
            all =
                all.iter().flat_map(|head| choices.iter().map(move |tail| format!("{head}{tail}"))).collect();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansions_match_their_pattern() {
        let p = Pattern::new("add{.rn|.rz}{.ftz}.f32");
        let all = p.expand();
        assert_eq!(
            all,
            ["add.rn.ftz.f32", "add.rn.f32", "add.rz.ftz.f32", "add.rz.f32", "add.ftz.f32", "add.f32"]
        );
        assert!(all.iter().all(|m| p.matches(m)));
        assert!(!p.matches("add.rm.f32") && !p.matches("add.f32.rn") && !p.matches("add"));
        assert_eq!(Pattern::new("cvt.(u8|s8).f32").expand(), ["cvt.u8.f32", "cvt.s8.f32"]);
    }
}
