//! Format strings: Rust's placeholders and their translation to C's `printf`.

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Hole { text: String, spec: Spec },
}

/// The contents of a placeholder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spec {
    /// `+`, `0` and the width, which `printf` spells the same way.
    pub(super) flags: String,
    /// The number of digits after the decimal point.
    pub(super) precision: Option<String>,
    /// `x`, `X`, `e`, `E`, or empty.
    pub(super) conversion: String,
}

impl Spec {
    pub(super) fn is_hexadecimal(&self) -> bool {
        matches!(self.conversion.as_str(), "x" | "X")
    }
}

/// Splits a format at its placeholders. The error is the malformed placeholder or the unpaired brace.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(brace) = rest.find(['{', '}']) {
        text.push_str(&rest[..brace]);
        let tail = &rest[brace..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            text.push_str(&tail[..1]);
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|_| tail.starts_with('{')).ok_or_else(|| tail[..1].to_string())?;
        let hole = &tail[..=end];
        let spec = spec(&tail[1..end]).ok_or_else(|| hole.to_string())?;
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(Piece::Hole { text: hole.to_string(), spec });
        rest = &tail[end + 1..];
    }
    text.push_str(rest);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Parses `[:[+][0][width][.precision][x|X|e|E]]`.
fn spec(inner: &str) -> Option<Spec> {
    if inner.is_empty() {
        return Some(Spec::default());
    }
    let mut rest = inner.strip_prefix(':')?;
    let mut flags = String::new();
    if let Some(tail) = rest.strip_prefix('+') {
        flags.push('+');
        rest = tail;
    }
    let (width, tail) = digits(rest);
    flags.push_str(width);
    let (precision, tail) = match tail.strip_prefix('.') {
        None => (None, tail),
        Some(tail) => {
            let (precision, tail) = digits(tail);
            (Some(precision).filter(|p| !p.is_empty()).map(|p| Some(p.to_string()))?, tail)
        }
    };
    let known = ["", "x", "X", "e", "E"].contains(&tail);
    known.then(|| Spec { flags, precision, conversion: tail.to_string() })
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn hole(text: &str, flags: &str, precision: Option<&str>, conversion: &str) -> Piece {
        let spec =
            Spec { flags: flags.into(), precision: precision.map(Into::into), conversion: conversion.into() };
        Piece::Hole { text: text.into(), spec }
    }

    #[test]
    fn holes_and_escapes() {
        let text = |t: &str| Piece::Text(t.into());
        assert_eq!(
            pieces("a {{{}}} {:+08.3e}b"),
            Ok(vec![
                text("a {"),
                hole("{}", "", None, ""),
                text("} "),
                hole("{:+08.3e}", "+08", Some("3"), "e"),
                text("b"),
            ])
        );
        assert_eq!(pieces(""), Ok(vec![text("")]));
    }

    #[test]
    fn invalid_holes_are_rejected() {
        for (format, culprit) in [
            ("{", "{"),
            ("}", "}"),
            ("{x}", "{x}"),
            ("{:?}", "{:?}"),
            ("{:.}", "{:.}"),
            ("{0}", "{0}"),
            ("a{:x ", "{"),
        ] {
            assert_eq!(pieces(format), Err(culprit.to_string()), "{format}");
        }
    }
}
