//! The checks and the shape of a launch, before it reaches a device.

use crate::ptx::{BUFFER_ALIGN, Dim, Entry};

use super::{
    error::RunError,
    tensor_map::{BufferBox, buffer_box},
};

/// The maximum number of blocks along x, y and z (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

/// The properties of an argument that a launch checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Integer(i128),
    /// A floating-point number.
    Float,
    /// A tensor map that the application has encoded.
    #[cfg(feature = "cuda")]
    UncheckedMap,
    Buffer {
        address: u64,
        elements: u64,
    },
}

impl Seen {
    /// Returns a buffer whose address is not yet known.
    pub(super) fn buffer(elements: usize) -> Self {
        Self::Buffer { address: 0, elements: elements as u64 }
    }

    /// Returns a buffer with its address set to `address`, and other arguments unchanged.
    pub(super) fn at(self, address: u64) -> Self {
        match self {
            Self::Buffer { elements, .. } => Self::Buffer { address, elements },
            number => number,
        }
    }
}

/// The shape of a launch, and the tensor maps that it creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared_bytes: u32,
    pub(super) programmatic: bool,
    /// The tensor maps, which are passed after the kernel's own arguments.
    pub(super) maps: Vec<BufferBox>,
}

impl Plan {
    /// Returns whether the grid is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// Checks the arguments and determines the shape of a launch on a device with `multiprocessors` multiprocessors; `grid` replaces the result
/// of the kernel's grid rule and must not exceed it.
pub(super) fn plan(
    entry: &Entry,
    args: &[Seen],
    grid: Option<[u32; 3]>,
    multiprocessors: u32,
) -> Result<Plan, RunError> {
    let evaluate = |rule| evaluate(rule, args, multiprocessors);
    check_assumptions(entry, args)?;
    check_limits(entry, args)?;
    check_alignment(entry, args)?;
    check_extents(entry, args)?;
    check_overlap(entry, args)?;
    let kernel = || entry.name.clone();
    let block = entry.block.ok_or_else(|| RunError::NoBlockShape { kernel: kernel() })?;
    let rule = match entry.grid.as_ref().map(evaluate) {
        None => None,
        Some([Some(x), Some(y), Some(z)]) => Some([x, y, z]),
        Some(_) => return Err(RunError::GridOverflow { kernel: kernel() }),
    };
    let blocks = match (grid, rule) {
        (Some(grid), _) => grid.map(u64::from),
        (None, Some(rule)) => rule,
        (None, None) => return Err(RunError::NoGridRule { kernel: kernel() }),
    };
    for axis in 0..3 {
        let (found, max) = (blocks[axis], MAX_GRID[axis]);
        if found > max {
            return Err(RunError::GridTooLarge { kernel: kernel(), axis: ['x', 'y', 'z'][axis], found, max });
        }
    }
    let grid = blocks.map(|n| n as u32);
    // Accesses that the grid rule keeps in bounds are not predicated.
    if let Some(rule) = rule
        && (0..3).any(|axis| blocks[axis] > rule[axis])
    {
        return Err(RunError::GridBeyondRule { kernel: kernel(), grid, rule });
    }
    if let Some(cluster) = entry.cluster
        && (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis].max(1)))
    {
        return Err(RunError::PartialCluster { kernel: kernel(), grid, cluster });
    }
    let maps = if grid.contains(&0) { Vec::new() } else { maps(entry, args)? };
    let Entry { dynamic_shared_bytes, programmatic, .. } = *entry;
    Ok(Plan { grid, block, dynamic_shared_bytes, programmatic, maps })
}

/// Evaluates the kernel's grid rule along each axis. An entry is `None` if the result along its axis does not fit in 64 bits.
fn evaluate(rule: &[Dim; 3], args: &[Seen], multiprocessors: u32) -> [Option<u64>; 3] {
    std::array::from_fn(|axis| rule[axis].evaluate_on(multiprocessors, &|i| integer(args, i)))
}

/// Returns the tensors and boxes of the maps that the kernel requires.
fn maps(entry: &Entry, args: &[Seen]) -> Result<Vec<BufferBox>, RunError> {
    let boxes = entry.maps.iter().enumerate().map(|(index, map)| {
        let address = match args.get(map.parameter) {
            Some(Seen::Buffer { address, .. }) => *address,
            _ => 0,
        };
        buffer_box(entry, index, address, &|i| integer(args, i))
    });
    boxes.collect()
}

/// Returns the value of an integer parameter. Negative values, which a kernel may reinterpret as unsigned, count as `u64::MAX`.
fn integer(args: &[Seen], index: usize) -> u64 {
    match args.get(index) {
        Some(Seen::Integer(n)) => u64::try_from(*n).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

fn check_assumptions(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for assumption in &entry.assumptions {
        let Some(Seen::Integer(found)) = args.get(assumption.parameter) else { continue };
        if found % i128::from(assumption.divisor.max(1)) != 0 {
            return Err(RunError::Indivisible {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, assumption.parameter),
                expected: assumption.divisor,
                found: *found,
            });
        }
    }
    Ok(())
}

fn check_limits(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for limit in &entry.limits {
        let Some(Seen::Integer(found)) = args.get(limit.parameter) else { continue };
        if *found > limit.max.into() {
            return Err(RunError::TooLarge {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, limit.parameter),
                max: limit.max,
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
                expected: BUFFER_ALIGN,
                found: *address,
            });
        }
    }
    Ok(())
}

fn check_extents(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    for extent in &entry.extents {
        let Some(Seen::Buffer { elements: found, .. }) = args.get(extent.parameter) else { continue };
        let names = || (entry.name.clone(), parameter_name(entry, extent.parameter));
        let Some(bytes) = extent.bytes(&|i| integer(args, i)) else {
            let (kernel, parameter) = names();
            return Err(RunError::ExtentOverflow { kernel, parameter });
        };
        if let Some(found) = extent.exceeds(&|i| integer(args, i)) {
            let (kernel, parameter) = names();
            return Err(RunError::TooManyCoordinates { kernel, parameter, expected: extent.most, found });
        }
        let expected = bytes.div_ceil(element_bytes(entry, extent.parameter));
        if *found < expected {
            let (kernel, parameter) = names();
            return Err(RunError::TooShort { kernel, parameter, expected, found: *found });
        }
    }
    Ok(())
}

/// Rejects a written buffer that overlaps another one, because loads from a read-only buffer are cached as if no thread wrote to it. Rust's
/// borrowing rules prevent such overlaps, except for buffers created by `unsafe` code.
fn check_overlap(entry: &Entry, args: &[Seen]) -> Result<(), RunError> {
    let bytes = |index: usize| match args[index] {
        Seen::Buffer { address, elements } => {
            let bytes = u128::from(elements) * u128::from(element_bytes(entry, index));
            Some(u128::from(address)..u128::from(address) + bytes)
        }
        _ => None,
    };
    let written = |index: usize| entry.params.get(index).is_some_and(|p| p.kind.is_written());
    for second in 0..args.len() {
        let Some(b) = bytes(second) else { continue };
        for first in 0..second {
            let Some(a) = bytes(first) else { continue };
            if (written(first) || written(second)) && a.start.max(b.start) < a.end.min(b.end) {
                return Err(RunError::Overlap {
                    kernel: entry.name.clone(),
                    first: parameter_name(entry, first),
                    second: parameter_name(entry, second),
                });
            }
        }
    }
    Ok(())
}

fn element_bytes(entry: &Entry, parameter: usize) -> u64 {
    entry.params.get(parameter).map_or(1, |param| param.element_bytes.max(1).into())
}

pub(super) fn parameter_name(entry: &Entry, index: usize) -> String {
    entry.params.get(index).map_or_else(|| format!("p{index}"), |p| p.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::{In, InOut, Kernel, Out, Target};

    fn overlap(buffers: [(u64, u64); 4]) -> Option<String> {
        type Args = (In<f32>, In<u8>, Out<u16>, InOut<f64>);
        let kernel = Kernel::<Args>::build("kernel(a, b, c, d)", Target::SM_80, |_, _| {});
        let seen = buffers.map(|(address, elements)| Seen::Buffer { address, elements });
        check_overlap(kernel.expect("it builds").entry(), &seen).err().map(|error| error.to_string())
    }

    #[test]
    fn written_buffers_share_no_bytes() {
        // Inputs may overlap. Adjacent and empty buffers do not count as overlapping.
        assert_eq!(overlap([(0, 16), (32, 32), (64, 8), (80, 2)]), None);
        assert_eq!(overlap([(0, 16), (32, 32), (64, 8), (70, 0)]), None);
        let expected = |first, second| {
            Some(format!(
                "kernel `kernel`: parameters `{first}` and `{second}`: expected buffers that do not overlap, found shared bytes"
            ))
        };
        assert_eq!(overlap([(0, 17), (32, 32), (64, 8), (80, 2)]), expected('a', 'c'));
        assert_eq!(overlap([(0, 16), (32, 33), (64, 8), (80, 2)]), expected('b', 'c'));
        assert_eq!(overlap([(0, 16), (32, 32), (64, 9), (80, 2)]), expected('c', 'd'));
        assert_eq!(overlap([(u64::MAX - 3, 1), (0, 1), (64, 9), (96, 2)]), None);
    }
}
