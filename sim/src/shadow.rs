//! What the checkers remember: clocks, accesses, what is defined. Data only; the rules are in `check`.

pub(crate) mod byte_set;
pub(crate) mod clocks;
pub(crate) mod counted;
pub(crate) mod footprint;
pub(crate) mod global;
pub(crate) mod place;
pub(crate) mod products;
pub(crate) mod races;
pub(crate) mod record;
pub(crate) mod undefined;
pub(crate) mod uniform;
pub(crate) mod visits;
pub(crate) mod volatile;
pub(crate) mod written;
