//! Transliteration to ASCII: ptxas rejects any other character, even in comments.

/// Returns `text` in ASCII. Mathematical notation keeps its meaning (`A·Bᵀ` becomes `A*B^T`); control characters and characters without an
/// equivalent become `?`.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut raised = false;
    for c in text.chars() {
        let superscript = SUPERSCRIPTS.iter().find(|(from, _)| *from == c);
        match superscript {
            // One `^` per run: `2⁻¹⁰` is `2^-10`.
            Some((_, to)) => {
                if !raised {
                    out.push('^');
                }
                out.push(*to);
            }
            None if c.is_ascii_control() => out.push('?'),
            None if c.is_ascii() => out.push(c),
            None => {
                let replacement = REPLACEMENTS.iter().find(|(from, _)| from.contains(c));
                out.push_str(replacement.map_or("?", |(_, to)| to));
            }
        }
        raised = superscript.is_some();
    }
    out
}

#[rustfmt::skip]
const SUPERSCRIPTS: &[(char, char)] = &[
    ('⁰', '0'), ('¹', '1'), ('²', '2'), ('³', '3'), ('⁴', '4'), ('⁵', '5'), ('⁶', '6'), ('⁷', '7'), ('⁸', '8'), ('⁹', '9'),
    ('⁺', '+'), ('⁻', '-'), ('ⁱ', 'i'), ('ⁿ', 'n'), ('ᵀ', 'T'), ('ᴴ', 'H'),
];

/// The characters on the left of each row become the text on its right.
#[rustfmt::skip]
const REPLACEMENTS: &[(&str, &str)] = &[
    ("·⋅∙⊙", "*"), ("×", "x"), ("÷⁄", "/"), ("–−‐‑", "-"),  ("—", "--"),   ("±", "+/-"),
    ("≤", "<="),    ("≥", ">="),    ("≠", "!="),    ("≈≅", "~="),  ("≡", "=="),
    ("→↦", "->"),   ("←", "<-"),    ("⇒", "=>"),    ("∘", "o"),    ("√", "sqrt"),
    ("∑Σ", "sum"),  ("∏Π", "prod"), ("∈", "in"),    ("∞", "inf"),  ("⊕", "xor"),
    ("∧", "&"),     ("∨", "|"),     ("¬", "!"),     ("⌈⌉", "|"),   ("⌊⌋", "|"),
    ("“”„«»‘’‚′", "'"), ("…", "..."),   ("µμ", "u"),   ("°", " deg"),
    ("α", "alpha"), ("β", "beta"),  ("γ", "gamma"), ("δΔ", "delta"), ("ε", "eps"),
    ("λ", "lambda"), ("σ", "sigma"), ("τ", "tau"),  ("φ", "phi"),  ("π", "pi"),
    ("\u{a0}\u{2009}\u{202f}", " "), ("ß", "ss"),
];

#[cfg(test)]
mod tests {
    use super::ascii;

    #[test]
    fn notation_keeps_its_meaning() {
        for (text, expected) in [
            ("A·Bᵀ", "A*B^T"),
            ("y = x·2⁻¹⁰ + x²: m×n", "y = x*2^-10 + x^2: mxn"),
            ("n ≤ 2³² − 1 → “ok”…", "n <= 2^32 - 1 -> 'ok'..."),
            ("α·A·B + β·C", "alpha*A*B + beta*C"),
            ("plain, 100%", "plain, 100%"),
            ("日\u{7}\n", "???"),
        ] {
            assert_eq!(ascii(text), expected);
        }
    }
}
