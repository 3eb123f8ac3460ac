//! The instruction table: every instruction form with what it takes and needs, once.
//!
//! The emitters write mnemonics and the table is asked about them: a mnemonic that matches no form is refused, and
//! the form that it matches decides `.version` and whether the target has it. The tests expand every form, give it
//! operands and hand it to ptxas at its own version and target, so a wrong row cannot stand.

mod pattern;
mod rows;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{OnceLock, RwLock},
};

pub use pattern::Pattern;

use super::target::{Features, Version};

/// One form of an instruction: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Mnemonic in the manual's notation: `{.a|.b}` is one of these or none, `(.a|.b)` one of these.
    pub mnemonic: &'static str,
    /// Operands in order, each `name:class`.
    ///
    /// | notation       | operand                                                                            |
    /// | ---            | ---                                                                                |
    /// | `a:u32`        | a register of that type, or an immediate where the type has them; the name may lack |
    /// | `a:t`          | of the mnemonic's last type; `t1`: of its first type; `w`: twice as wide as the last |
    /// | `!c:pred`      | a predicate that may be negated, `!%p1`                                            |
    /// | `{4}d:b32`     | four of them in braces; `{v}`: as many as the mnemonic says, `.v2`, or a single one |
    /// | `d:b32\|pred`  | two results, the second one a predicate, `%r1\|%p1`                               |
    /// | `[a]`          | an address in the mnemonic's state space, or a generic one; `[a:shared]`: in that space |
    /// | `#4\|8\|16`    | one of these constants; `#n`: a small constant                                     |
    /// | `{#0,#0}`      | constants in braces                                                                |
    /// | `label`        | a label; `call`: a function, with what it takes and gives                          |
    /// | `?a:u32`       | may be left out, with all that follow                                              |
    ///
    /// Rows of special registers have the register's type here, rows of directives an argument.
    pub operands: &'static str,
    /// Lowest `.version`.
    pub version: Version,
    /// What the target must have beyond sm_75.
    pub needs: Features,
    /// Where the PTX ISA describes it.
    pub reference: &'static str,
    /// The Rust method or operator that emits it.
    pub rust: &'static str,
}

/// Every form, in the order of the manual's chapters.
pub fn forms() -> impl Iterator<Item = &'static Form> {
    rows::CHAPTERS.iter().flat_map(|(_, forms)| forms.iter())
}

/// The manual's chapters and their forms.
pub fn chapters() -> &'static [(&'static str, &'static [Form])] {
    rows::CHAPTERS
}

/// The form that a mnemonic such as `mul.wide.u32` is of.
pub fn find(mnemonic: &str) -> Option<&'static Form> {
    // Kernels use few mnemonics, and the same ones: what was found once need not be searched for again. Only mnemonics
    // that exist are kept, so that there is an end to them.
    static FOUND: RwLock<BTreeMap<Box<str>, &'static Form>> = RwLock::new(BTreeMap::new());
    if let Some(form) = FOUND.read().ok().and_then(|found| found.get(mnemonic).copied()) {
        return Some(form);
    }
    let form = search(mnemonic)?;
    if let Ok(mut found) = FOUND.write() {
        found.insert(mnemonic.into(), form);
    }
    Some(form)
}

fn search(mnemonic: &str) -> Option<&'static Form> {
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

/// What a mnemonic begins with: `ld`, `.reqntid`, `%lanemask`.
fn root(mnemonic: &str) -> &str {
    let rest = mnemonic.get(1..).unwrap_or_default();
    rest.find(['.', '{', '(', '_']).map_or(mnemonic, |end| &mnemonic[..=end])
}
