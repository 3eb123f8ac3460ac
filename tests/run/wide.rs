//! Matrices of more than 2^32 elements.

use pretty_assertions::assert_eq;
use warpwright::{
    kernels::transpose,
    prelude::*,
    sim::{Arg, Checks, Launch, Memory, Module, Sim},
};

/// Row 64 of 2^26 columns begins at element 2^32. Only the first 64 columns are transposed, and only the pages that are touched
/// take memory of the host.
#[test]
fn a_transpose_reaches_elements_beyond_2_to_the_32() {
    let (rows, cols) = (65_u32, 1_u32 << 26);
    let kernel = transpose::<u8>(Target::SM_80, 1).expect("it builds");
    let module = Module::parse(&kernel.ptx()).expect("it parses");
    let mut memory = Memory::new();
    let x = memory.try_alloc(rows as usize * cols as usize).expect("address space");
    let y = memory.alloc(64 * rows as usize);
    let value = |row: u32, col: u32| (7 * row + col) as u8;
    for row in 0..rows {
        let bytes: Vec<u8> = (0..64).map(|col| value(row, col)).collect();
        memory.write(x + u64::from(row) * u64::from(cols), &bytes).expect("inside");
    }
    let block = kernel.entry().block.expect("a shape");
    let shape = Launch {
        grid: [rows.div_ceil(64), 1, 1],
        block,
        dynamic_shared_bytes: kernel.entry().dynamic_shared_bytes,
        cluster: None,
    };
    let args = [Arg::from(x), Arg::from(y), Arg::from(rows), Arg::from(cols)];
    let sim = Sim::new().checks(Checks::empty());
    sim.launch(&module, kernel.name(), &shape, &args, &mut memory).expect("it runs");
    let mut found = vec![0; 64 * rows as usize];
    memory.read(y, &mut found).expect("inside");
    for col in 0..64 {
        let column: Vec<u8> = (0..rows).map(|row| value(row, col)).collect();
        assert_eq!(found[(col * rows) as usize..][..rows as usize], column, "column {col}");
    }
}
