//! The instruction table: the operands and requirements of every instruction form.
//!
//! The builder looks up every mnemonic that it emits, and rejects a mnemonic that matches no form. The matching form determines `.version`
//! and the supported targets. The tests expand every form, generate operands, and assemble the result with ptxas at the form's version and
//! target, so incorrect rows are detected.

mod pattern;
mod rows;

use std::{collections::HashMap, sync::OnceLock};

pub use pattern::Pattern;

use super::target::{Features, Version};

/// One form of an instruction: a row of the instruction table.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The mnemonic, in a notation based on that of the PTX ISA: `{.a|.b}` means at most one of the alternatives, and `(.a|.b)` means
    /// exactly one.
    pub mnemonic: &'static str,
    /// The operands in order, each written `name:class`.
    ///
    /// | notation       | operand                                                                            |
    /// | ---            | ---                                                                                |
    /// | `a:u32`        | a register of type `u32`, or an immediate if the type supports them; the name may be omitted |
    /// | `a:t`          | an operand of the mnemonic's last type; `t1`: of its first type; `w`: of a type twice as wide as the last type |
    /// | `!c:pred`      | a predicate that may be negated, `!%p1`                                            |
    /// | `{4}d:b32`     | four registers in braces; `{v}`: the number in the mnemonic (`.v2`: two), or one    |
    /// | `d:b32\|pred`  | two results, the second one a predicate, `%r1\|%p1`                               |
    /// | `[a]`          | an address in the mnemonic's state space, or a generic address; `[a:shared]`: an address in shared memory |
    /// | `{n/2}d:f32`   | half as many registers as the N of the mnemonic (`m64n8k16`: four); `{n/4}`: a quarter |
    /// | `[map,nd]`     | a tensor map with one coordinate per dimension of the mnemonic (`.2d`: two)        |
    /// | `{nd-2}o:b16`  | two registers fewer than the mnemonic has dimensions (`.3d`: one)                  |
    /// | `#4\|8\|16`    | one of these constants; `#n`: a small constant                                     |
    /// | `{#0,#0}`      | constants in braces                                                                |
    /// | `_`            | a discarded result                                                                 |
    /// | `label`        | a label; `call`: a function with its arguments and results                         |
    /// | `?a:u32`       | an optional operand; all later operands are also optional                          |
    ///
    /// For special registers, this field contains the register's type; for directives, it contains an example argument.
    pub operands: &'static str,
    /// The lowest `.version` that supports the form.
    pub version: Version,
    /// The target features that the form requires. The set is empty if every supported target supports the form.
    pub needs: Features,
    /// The section of the PTX ISA that describes the instruction.
    pub reference: &'static str,
    /// The Rust methods or operators that emit the form.
    pub rust: &'static str,
}

impl Form {
    /// Returns whether `mnemonic`, an instruction of this form, may access global memory: through a global or generic address, through a
    /// tensor map, or in a function that it calls.
    pub fn may_access_global(&self, mnemonic: &str) -> bool {
        let elsewhere =
            [".shared", ".param", ".local", ".const"].iter().any(|space| mnemonic.contains(space));
        let reaches_global = |address: &str| {
            let in_own_space = address.ends_with(":shared");
            let in_mnemonics_space = elsewhere && !mnemonic.contains(".global");
            !in_own_space && (!in_mnemonics_space || address.starts_with("map"))
        };
        let mut addresses = self.operands.split('[').skip(1).filter_map(|rest| rest.split(']').next());
        addresses.any(reaches_global) || self.operands == "call"
    }
}

/// Returns every form, in the order of the chapters of the PTX ISA.
pub fn forms() -> impl Iterator<Item = &'static Form> {
    rows::CHAPTERS.iter().flat_map(|(_, forms)| forms.iter())
}

/// Returns the title and the forms of each chapter, in the order of the PTX ISA.
pub fn chapters() -> &'static [(&'static str, &'static [Form])] {
    rows::CHAPTERS
}

/// Returns the first form that matches a mnemonic such as `mul.wide.u32`, or `None` if no form matches.
pub fn find(mnemonic: &str) -> Option<&'static Form> {
    static INDEX: OnceLock<HashMap<&'static str, Vec<(Pattern, &'static Form)>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for form in forms() {
            index.entry(root(form.mnemonic)).or_default().push((Pattern::new(form.mnemonic), form));
        }
        index
    });
    index.get(root(mnemonic))?.iter().find(|(pattern, _)| pattern.matches(mnemonic)).map(|(_, form)| *form)
}

/// Returns the start of a mnemonic, such as `ld`, `.reqntid` or `%lanemask`.
fn root(mnemonic: &str) -> &str {
    let rest = mnemonic.get(1..).unwrap_or_default();
    rest.find(['.', '{', '(', '_']).map_or(mnemonic, |end| &mnemonic[..=end])
}
