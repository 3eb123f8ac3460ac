//! Architecture rules, checked on the source: the dependencies of modules, where `unsafe` is allowed, that no file
//! is too long, and that no committed file contains machine-specific paths.
//!
//! Each rule is a function from text to complaints, so that each is also shown a planted violation and a clean twin.

mod architecture {
    mod arrows;
    mod files;
    mod places;
    mod sizes;
    mod tokens;
    mod unsafe_code;
}
