//! The rules of the house, checked on the source itself: which room may use which, where `unsafe` may stand, that no file
//! is too long, and that nothing committed names a place on somebody's machine.
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
