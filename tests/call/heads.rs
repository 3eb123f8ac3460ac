//! The order of heads in memory.

use warpwright::kernels::call::HeadOrder;

/// Returns the index of a row of a head, for this number of heads per batch and of rows per head.
pub(super) fn row_of(order: HeadOrder, [heads, rows]: [usize; 2], [batch, head, row]: [usize; 3]) -> usize {
    match order {
        HeadOrder::Positions => (batch * rows + row) * heads + head,
        HeadOrder::Heads => (batch * heads + head) * rows + row,
    }
}
