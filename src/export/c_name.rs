//! Names that are valid in C and C++.

/// Words that are not valid as field names: keywords of C23 and C++23, and predefined macros.
const RESERVED: &[&str] = &[
    "NULL",
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_BitInt",
    "_Bool",
    "_Complex",
    "_Decimal128",
    "_Decimal32",
    "_Decimal64",
    "_Generic",
    "_Imaginary",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Returns whether `name` is a C identifier.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the field names of parameters: the parameter names, with `_` appended to reserved and duplicate names.
pub(super) fn fields(names: &[String]) -> Vec<String> {
    let mut fields: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut field = name.clone();
        while RESERVED.binary_search(&field.as_str()).is_ok() || fields.contains(&field) {
            field.push('_');
        }
        fields.push(field);
    }
    fields
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
    }

    #[test]
    fn fields_are_distinct_and_not_reserved() {
        let names = ["x", "int", "int_", "x", "class", "NULL", "_Bool"].map(String::from);
        assert_eq!(fields(&names), ["x", "int_", "int__", "x_", "class_", "NULL_", "_Bool_"]);
    }

    #[test]
    fn identifiers() {
        assert!(is_identifier("matmul_2") && is_identifier("_"));
        for bad in ["", "2d", "a-b", "a/b", "../a", "ä"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
