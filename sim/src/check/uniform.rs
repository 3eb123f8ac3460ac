//! The check of values that a pragma declares to be uniform.

use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Together, Uniform};
use crate::report::fault::{Fault, Outcome, Where};
use crate::report::{Checks, FindingKind};

/// Checks a pragma that the lanes of `mask` execute. The i-th executions by all threads are compared with each other.
pub(crate) fn check_uniform(cluster: &mut Cluster<'_>, warp: &Warp, op: &Uniform, mask: u32) -> Outcome<()> {
    if !cluster.machine.checks.contains(Checks::UNIFORM) {
        return Ok(());
    }
    let (block, rank) = (cluster.machine.threads(), cluster.at as u64);
    let group = |thread: u32| match op.together {
        Together::Threads(n) => {
            let first = thread / n * n;
            (rank << 32 | u64::from(first), n.min(block - first))
        }
        Together::Block => (rank, block),
        Together::Cluster => (0, block * cluster.machine.cluster_size()),
    };
    let mut found = None;
    for lane in lanes(mask) {
        let (group, size) = group(warp.index * 32 + lane as u32);
        let (at, value) = (Where { warp: cluster.warp, lane, pc: cluster.pc }, warp.regs.lane(op.reg, lane));
        let other = cluster.shadow.uniform.note(at, group, size, value);
        found = found.or(other.map(|other| (lane, value, other)));
    }
    let Some((lane, value, (first, of))) = found else { return Ok(()) };
    if !cluster.is_news(FindingKind::NotUniform, Some(of.pc)) {
        return Ok(());
    }
    let threads = match op.together {
        Together::Threads(32) => "the warp".to_string(),
        Together::Threads(n) => format!("each {n} consecutive threads of the block"),
        Together::Block => "the block".to_string(),
        Together::Cluster => "the cluster".to_string(),
    };
    let message = format!(
        "not uniform: a value that is stated to be the same in all threads of {threads} is {value:#x} in one and {first:#x} in another"
    );
    cluster.note(Fault::at(FindingKind::NotUniform, lane, message).with(Some(of)))
}
