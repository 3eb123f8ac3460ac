//! Six threads copy a 4×9 array with a `TiledCopy`: its layouts, its tables, and the elements that each thread copies.
//!
//! ```text
//! cargo run --example tiled_copy
//! ```

use std::{error::Error, process::ExitCode};

use warpwright::{
    atoms::copy_atom,
    layout::Layout,
    prelude::*,
    run::{self, Device},
    tensor::{TiledCopy, copy_tiled},
};

type Args = (In<f64>, Out<f64>);

fn main() -> ExitCode {
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    let threads: Layout = "(2,3):(3,1)".parse()?;
    let values: Layout = "(2,3):(1,2)".parse()?;
    println!("threads {threads}, values {values}\n");

    let plain = TiledCopy::new(copy_atom("UniversalCopy<u64>")?, 64, &threads, &values)?;
    println!("{plain}\n\n{}\n", plain.source()?);
    let vector = TiledCopy::new(copy_atom("UniversalCopy<u128>")?, 64, &threads, &values)?;
    println!("Two values at once:\n{vector}\n");

    let array = Layout::column_major((4, 9))?;
    for (name, copy) in [("plain", &plain), ("vector", &vector)] {
        for thread in [1, 2] {
            println!("{name:<6} thread {thread}: {}", copy.get_slice(thread)?.partition_d(&array)?);
        }
    }

    let ldmatrix = copy_atom("SM75_U32x4_LDSM_N")?;
    let ldmatrix = TiledCopy::new(ldmatrix, 16, &"(16,2):(1,16)".parse()?, &"(2,4):(1,2)".parse()?)?;
    println!("\nldmatrix.x4: threads and values are those of the destination.\n");
    println!("{}\n\n{}\n", ldmatrix.source()?, ldmatrix.destination()?);

    let device = run::open_default();
    println!("device {}\n", device.describe());
    let one = run(&device, &copies(&plain, &[1])?)?;
    show("Thread 1 has copied:", &one);
    check(&one, |col| (3..6).contains(&col), 2)?;
    let two = run(&device, &copies(&plain, &[1, 2])?)?;
    show("Then thread 2, through registers:", &two);
    check(&two, |col| (3..9).contains(&col), 2)?;
    let all = run(&device, &copies(&vector, &[0, 1, 2, 3, 4, 5])?)?;
    show("All six, two values at once:", &all);
    check(&all, |_| true, 4)
}

/// Builds a kernel in which only the given threads copy; all but the first of them copy through a fragment.
fn copies(copy: &TiledCopy, threads: &[u32]) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("tiled_copy(src, dst)", Target::SM_75, |k, (src, dst)| {
        k.block([32]);
        k.grid([1]);
        let array = k.layout("(4,9):(1,4)");
        let (src, dst) = (k.tensor_with_layout(src, &array), k.tensor_with_layout(dst, &array));
        let me = k.tid_x();
        for (turn, &thread) in threads.iter().enumerate() {
            k.if_(me.eq(thread), || {
                let part = copy.thread(thread.into());
                let (from, to) = (part.partition_s(&src), part.partition_d(&dst));
                if turn == 0 {
                    copy_tiled(copy, &to, &from);
                } else {
                    let held = k.fragment_of_shape::<f64>(to.shape());
                    copy_tiled(copy, &held, &from);
                    copy_tiled(copy, &to, &held);
                }
            });
        }
    })
}

/// Runs a kernel that copies elements of 0.1, 0.2, … 3.6 to an array of zeros, and returns the array.
fn run<D: Device>(device: &D, kernel: &Kernel<Args>) -> Result<Vec<f64>, Box<dyn Error>> {
    let src: Vec<f64> = (1..=36).map(|i| f64::from(i) / 10.0).collect();
    let (src, mut dst) = (device.upload(&src)?, device.zeros::<f64>(36)?);
    device.launch(kernel, (&src, &mut dst))?;
    Ok(device.download(&dst)?)
}

fn show(title: &str, array: &[f64]) {
    println!("{title}");
    for row in 0..4 {
        let line: Vec<String> = (0..9).map(|col| format!("{:.1}", array[row + 4 * col])).collect();
        println!("  {}", line.join(" "));
    }
}

/// Checks that exactly the first `rows` rows of the expected columns were copied.
fn check(array: &[f64], wanted: impl Fn(usize) -> bool, rows: usize) -> Result<(), Box<dyn Error>> {
    for (at, &found) in array.iter().enumerate() {
        let copied = at % 4 < rows && wanted(at / 4);
        let expect = if copied { (at + 1) as f64 / 10.0 } else { 0.0 };
        if found != expect {
            return Err(format!("element ({}, {}) is {found}, not {expect}", at % 4, at / 4).into());
        }
    }
    Ok(())
}
