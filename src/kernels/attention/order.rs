//! The order of tiles that require different numbers of steps because of a causal mask.

use crate::tiles::Schedule;

/// The maximum number of tiles for which orders are compared; with more tiles, the order repeats.
const COMPARED: u32 = 1 << 15;

/// Returns the order in which `blocks` resident blocks finish the tiles of `heads` heads soonest. The tile in column `c` of each head has
/// cost `costs[c]`, and a group contains at most `together` heads.
pub(super) fn balanced(heads: u32, costs: &[u32], blocks: u32, together: u32) -> Schedule {
    let compared = heads.min(COMPARED / u32::try_from(costs.len()).unwrap_or(u32::MAX).max(1)).max(1);
    let most = together.min(compared).max(1);
    // Larger groups differ little from each other.
    let groups = (1..=most).filter(|group| *group <= 32 || group.is_power_of_two() || *group == most);
    let orders = groups.flat_map(|group| {
        let schedule = Schedule::grouped(group);
        [schedule, schedule.back_and_forth()]
    });
    orders.min_by_key(|&schedule| busiest(schedule, compared, costs, blocks)).unwrap_or(Schedule::linear())
}

/// Returns the total tile cost of the busiest block.
fn busiest(schedule: Schedule, heads: u32, costs: &[u32], blocks: u32) -> u64 {
    let columns = costs.len() as u32;
    let blocks = blocks.clamp(1, (heads * columns).max(1));
    let mut work = vec![0; blocks as usize];
    for number in 0..heads * columns {
        let (_, column) = schedule.tile(number, heads, columns);
        work[schedule.block(number, blocks) as usize] += u64::from(costs[column as usize]);
    }
    work.into_iter().max().unwrap_or(0)
}
