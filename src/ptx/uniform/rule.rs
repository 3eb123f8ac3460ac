//! The uniformity of each instruction's result, and the threads that must reach it together.

use super::Uniformity;

/// The rules for the uniformity of an instruction's results, and for the threads that must reach it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(super) result: ResultRule,
    pub(super) together: Together,
}

/// The rule for the uniformity of the results, which are the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultRule {
    /// The instruction has no result register.
    Absent,
    /// May differ between threads: loads from writable memory, atomics, matrix fragments, clocks.
    Varies,
    /// A kernel parameter.
    Grid,
    /// As uniform as the operands, or more for some operations on the thread index.
    Operands(Operation),
    /// A value from another lane. If `from_lane` is true, an operand is the index of that lane (`idx`); otherwise, the index is relative to
    /// this lane.
    Shuffle { from_lane: bool },
    /// The same in all lanes of the mask. `counts_lanes` states whether it depends on the number of lanes even if all have the same value.
    Warp { counts_lanes: bool },
    /// The index of an elected lane, the same in all lanes of the mask, and whether this lane was elected.
    Elect,
    /// The same in all threads that participate in the barrier.
    Barrier,
}

/// The operations distinguished when tracking the thread index within an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Any,
    Copy,
    /// A conversion, which may saturate or round. Its narrowest integer has `narrowest` bits. If `signed` is given, the bits of an integer
    /// from bit `signed` up become copies of the bit below them.
    Convert {
        signed: Option<u32>,
        narrowest: Option<u32>,
    },
    ShiftRight,
    /// A right shift that fills with copies of the sign bit.
    SignedShiftRight,
    ShiftLeft,
    And,
    OrXor,
    Add,
    Sub,
    /// A product. If `signed` is given, the bits of the factors from bit `signed` up become copies of the bit below them first.
    Multiply {
        signed: Option<u32>,
    },
    Divide,
    Remainder,
    /// The extraction of a field from an integer of `width` bits.
    ExtractBits {
        width: u32,
    },
    /// `a < b`, or `a >= b`.
    Less,
    /// `a <= b`, or `a > b`.
    LessOrEqual,
}

impl Operation {
    /// Returns whether its operands commute.
    pub(super) fn commutes(self) -> bool {
        matches!(self, Self::And | Self::OrXor | Self::Add | Self::Multiply { .. })
    }
}

/// The threads that must reach an instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    Any,
    /// The lanes of the mask, which is the last operand. Only a constant mask of all lanes is checked; it requires the whole warp.
    Mask,
    /// The warp.
    Warp,
    /// The warpgroup: `wgmma`, `setmaxnreg`.
    WarpGroup,
    /// The block, or only the warp if an operand specifies a number of threads that differs from the block's.
    Barrier,
    /// The cluster.
    Cluster,
}

impl Rule {
    /// Separates the results from the other operands.
    pub(crate) fn results_and_sources<T>(self, operands: &[T]) -> (Option<&T>, &[T]) {
        match operands.split_first() {
            Some((results, sources)) if self.result != ResultRule::Absent => (Some(results), sources),
            _ => (None, operands),
        }
    }

    /// Returns the rule of the instruction with this mnemonic.
    pub(crate) fn of(mnemonic: &str) -> Self {
        let mut parts = mnemonic.split('.');
        let root = parts.next().unwrap_or_default();
        let second = parts.next().unwrap_or_default();
        Self { result: result(root, second, mnemonic), together: together(root, second, mnemonic) }
    }
}

fn result(root: &str, second: &str, mnemonic: &str) -> ResultRule {
    use {Operation::*, ResultRule::*};
    match root {
        "wgmma" if second == "mma_async" => Varies,
        "st" | "red" | "bra" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "barrier" | "membar"
        | "fence" | "prefetch" | "stmatrix" | "cp" | "call" | "wgmma" | "setmaxnreg" | "griddepcontrol"
        | "discard" | "applypriority" | "tensormap" => Absent,
        "mbarrier" if matches!(second, "init" | "inval" | "expect_tx" | "complete_tx") => Absent,
        // Arrivals at barriers of other blocks return no state.
        "mbarrier" if mnemonic.contains(".shared::cluster") => Absent,
        "bar" if second == "red" => Barrier,
        "bar" => Absent,
        "ld" => match second {
            "param" => Grid,
            "const" => Operands(Any),
            "global" if mnemonic.contains(".nc") => Operands(Any),
            _ => Varies,
        },
        // The carry flag is not an operand.
        "addc" | "subc" | "madc" => Varies,
        // For an address in the block's own shared memory, the rank differs between blocks.
        "getctarank" => Varies,
        "atom" | "ldmatrix" | "movmatrix" | "mma" | "activemask" | "mbarrier" => Varies,
        "shfl" => Shuffle { from_lane: mnemonic.contains(".idx") },
        "vote" | "redux" => Warp {
            counts_lanes: [".ballot", ".add", ".xor"].iter().any(|counted| mnemonic.contains(counted)),
        },
        "match" if second == "all" => Warp { counts_lanes: true },
        "elect" => Elect,
        "mov" => Operands(Copy),
        "cvt" => Operands(Convert {
            signed: fewest_bits(mnemonic, &['s']),
            narrowest: fewest_bits(mnemonic, &['s', 'u']),
        }),
        "shr" if second.starts_with('s') => Operands(SignedShiftRight),
        "shr" => Operands(ShiftRight),
        "shl" => Operands(ShiftLeft),
        "and" => Operands(And),
        "or" | "xor" => Operands(OrXor),
        "add" if !mnemonic.contains(".sat") && !mnemonic.contains(".cc") => Operands(Add),
        "sub" if !mnemonic.contains(".sat") && !mnemonic.contains(".cc") => Operands(Sub),
        "mul" if second == "lo" => Operands(Multiply { signed: None }),
        "mul" if second == "wide" => Operands(Multiply { signed: fewest_bits(mnemonic, &['s']) }),
        // Signed quotients are rounded toward zero, so the division is not equivalent to a shift.
        "div" if !mnemonic.contains(".s") => Operands(Divide),
        "rem" if !mnemonic.contains(".s") => Operands(Remainder),
        "bfe" => Operands(ExtractBits { width: fewest_bits(mnemonic, &['s', 'u']).unwrap_or(32) }),
        "setp" if matches!(second, "lt" | "ge" | "lo" | "hs") => Operands(Less),
        "setp" if matches!(second, "le" | "gt" | "ls" | "hi") => Operands(LessOrEqual),
        _ => Operands(Any),
    }
}

/// Returns the number of bits of the narrowest integer type in a mnemonic whose name begins with one of `signs`.
fn fewest_bits(mnemonic: &str, signs: &[char]) -> Option<u32> {
    mnemonic.split('.').filter_map(|part| part.strip_prefix(signs)?.parse().ok()).min()
}

fn together(root: &str, second: &str, mnemonic: &str) -> Together {
    match root {
        "bar" => match second {
            "warp" => Together::Mask,
            "arrive" => Together::Warp,
            _ => Together::Barrier,
        },
        "barrier" if second == "cluster" && mnemonic.contains(".aligned") => Together::Cluster,
        "shfl" | "vote" | "redux" | "match" | "elect" => Together::Mask,
        "wgmma" | "setmaxnreg" => Together::WarpGroup,
        // `barrier.sync`, `barrier.arrive` and `barrier.cluster` count individual threads.
        _ if mnemonic.contains(".aligned") => Together::Warp,
        _ => Together::Any,
    }
}

/// Returns the uniformity of a special register or of the address of a variable (PTX ISA, "Special Registers").
pub(super) fn special(name: &str) -> Uniformity {
    let register = name.split('.').next().unwrap_or_default();
    match register {
        "%ntid"
        | "%nctaid"
        | "%nclusterid"
        | "%cluster_nctaid"
        | "%cluster_nctarank"
        | "%nsmid"
        | "%nwarpid"
        | "%gridid"
        | "%is_explicit_cluster"
        | "%total_smem_size"
        | "%dynamic_smem_size" => Uniformity::Grid,
        "%clusterid" => Uniformity::Cluster,
        "%ctaid" | "%cluster_ctaid" | "%cluster_ctarank" => Uniformity::Block,
        _ if register.starts_with('%') => Uniformity::NONE,
        // The address of a variable.
        _ => Uniformity::Grid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::table;

    /// Instructions without a result must be known as such; otherwise, their first operand would be treated as a result.
    #[test]
    fn rules_and_table_have_the_same_results() {
        for form in table::forms() {
            let (name, operands) = (form.mnemonic, form.operands);
            if name.starts_with(['%', '.']) {
                continue;
            }
            let first = operands.split_whitespace().next().unwrap_or_default();
            let first = first.split_once('}').map_or(first, |(_, rest)| rest);
            let plain: String = name.replace(['{', '(', ')', '}'], "");
            let has_result = first.starts_with("d:");
            assert_eq!(Rule::of(&plain).result != ResultRule::Absent, has_result, "{name} {operands}");
        }
    }
}
