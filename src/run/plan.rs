//! What a launch must check and work out before any device sees it.

use crate::ptx::{BUFFER_ALIGN, Dim, Entry};

use super::error::RunError;

/// Most blocks along x, y and z (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

/// What the checks see of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Integer(i128),
    /// A number that is no integer.
    Float,
    Buffer {
        address: u64,
        elements: u64,
    },
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared_bytes: u32,
}

impl Plan {
    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// Checks the arguments and works out the shape; `grid` stands in for the kernel's own rule.
pub(super) fn plan(entry: &Entry, args: &[Seen], grid: Option<[u32; 3]>) -> Result<Plan, RunError> {
    check_promises(entry, args)?;
    check_alignment(entry, args)?;
    check_extents(entry, args)?;
    let kernel = || entry.name.clone();
    let block = entry.block.ok_or_else(|| RunError::NoBlockShape { kernel: kernel() })?;
    let blocks = match (grid, &entry.grid) {
        (Some(grid), _) => grid.map(u64::from),
        (None, Some(rule)) => evaluate(rule, args),
        (None, None) => return Err(RunError::NoGridRule { kernel: kernel() }),
    };
    for axis in 0..3 {
        let (found, most) = (blocks[axis], MAX_GRID[axis]);
        if found > most {
            return Err(RunError::GridTooLarge {
                kernel: kernel(),
                axis: ['x', 'y', 'z'][axis],
                found,
                most,
            });
        }
    }
    let grid = blocks.map(|n| n as u32);
    if let Some(cluster) = entry.cluster
        && (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis].max(1)))
    {
        return Err(RunError::PartialCluster { kernel: kernel(), grid, cluster });
    }
    Ok(Plan { grid, block, dynamic_shared_bytes: entry.dynamic_shared_bytes })
}

fn evaluate(rule: &[Dim; 3], args: &[Seen]) -> [u64; 3] {
    std::array::from_fn(|axis| rule[axis].evaluate(&|i| integer(args, i)))
}

/// The value of an integer parameter; 0 for any other.
fn integer(args: &[Seen], index: usize) -> u64 {
    match args.get(index) {
        Some(Seen::Integer(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

fn check_promises(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for promise in &entry.promises {
        let Some(Seen::Integer(found)) = args.get(promise.parameter) else { continue };
        if found % i128::from(promise.divisor.max(1)) != 0 {
            return Err(RunError::Indivisible {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, promise.parameter),
                wanted: promise.divisor,
                found: *found,
            });
        }
    }
    Ok(())
}

fn check_alignment(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for (i, arg) in args.iter().enumerate() {
        if let Seen::Buffer { address, .. } = arg
            && address % u64::from(BUFFER_ALIGN) != 0
        {
            return Err(RunError::Misaligned {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, i),
                wanted: BUFFER_ALIGN,
                found: *address,
            });
        }
    }
    Ok(())
}

fn check_extents(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for extent in &entry.extents {
        let Some(Seen::Buffer { elements: found, .. }) = args.get(extent.parameter) else { continue };
        let wanted = extent.elements(&|i| integer(args, i));
        if *found < wanted {
            return Err(RunError::TooShort {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, extent.parameter),
                wanted,
                found: *found,
            });
        }
    }
    Ok(())
}

pub(super) fn parameter_name(entry: &Entry, index: usize) -> String {
    entry.params.get(index).map_or_else(|| format!("p{index}"), |p| p.name.clone())
}
