//! Matrices of more than 2^32 elements.

use pretty_assertions::assert_eq;
use warpwright::{
    kernels::transpose,
    prelude::*,
    sim::{Arg, Checks, Launch, Memory, Module, Sim},
    tensor::copy,
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

type Args = (In<u8>, Out<u8>, u32);

/// Runs a kernel that copies one element of x, of which only byte `at` is not 0, and returns the element.
fn copied(kernel: Result<Kernel<Args>, BuildError>, len: u64, at: u64, n: u32) -> u8 {
    let kernel = kernel.expect("it builds");
    let module = Module::parse(&kernel.ptx()).expect("it parses");
    let mut memory = Memory::new();
    let x = memory.try_alloc(len as usize).expect("address space");
    let y = memory.alloc(1);
    memory.write(x + at, &[42]).expect("inside");
    let sim = Sim::new().checks(Checks::empty());
    let args = [Arg::from(x), Arg::from(y), Arg::from(n)];
    sim.launch(&module, kernel.name(), &Launch::default(), &args, &mut memory).expect("it runs");
    let mut found = [0];
    memory.read(y, &mut found).expect("inside");
    found[0]
}

/// The row count is a parameter and the strides are constants: row 2^20 begins at element 2^32.
#[test]
fn tensors_with_constant_strides_reach_elements_beyond_2_to_the_32() {
    let kernel = Kernel::<Args>::build("row(x, y, m)", Target::SM_80, |k, (x, y, m)| {
        k.block([1]);
        k.grid([1]);
        let x = k.tensor(x, [m, 4096.into()], [4096.into(), 1.into()]).local_tile((1, 1), (m - 1, 5u32));
        let y = k.tensor(y, [1.into(), 1.into()], [1.into(), 1.into()]).local_tile((1, 1), (0u32, 0u32));
        let element = k.fragment_of_shape::<u8>(x.shape());
        copy(&element, &x);
        copy(&y, &element);
    });
    let rows = (1 << 20) + 1;
    assert_eq!(copied(kernel, u64::from(rows) * 4096, (1 << 32) + 5, rows), 42);
}

/// All extents and strides are constants: row 8 begins at element 2^32.
#[test]
fn matrices_of_constant_extents_reach_elements_beyond_2_to_the_32() {
    let kernel = Kernel::<Args>::build("row(x, y, row)", Target::SM_80, |k, (x, y, row)| {
        k.block([1]);
        k.grid([1]);
        let x = k.global(x, row_major(10u32, 16u32).with_row_stride(1u32 << 29));
        k.slice(y, 1u32).at(0u32).store(x.at(row, 3u32).load());
    });
    assert_eq!(copied(kernel, 10 << 29, (1 << 32) + 3, 8), 42);
}
