//! Architecture rules that are checked on the source: the dependencies of modules, the location of `unsafe` code, the maximum length of
//! files, and the absence of machine-specific paths.
//!
//! Each rule is a function from text to complaints, so that each is also tested with a planted violation and a correct counterpart.

mod architecture {
    mod arrows;
    mod files;
    mod machine_paths;
    mod sizes;
    mod tokens;
    mod unsafe_code;
}
