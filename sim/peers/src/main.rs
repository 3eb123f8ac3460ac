//! Compares results and speed of warpwright's simulator and of `ptoxide`, another PTX interpreter on crates.io, on the same PTX.

use std::time::{Duration, Instant};

use ptoxide::{Argument, Context, LaunchParams};
use warpwright_sim::{Arg, Checks, Launch, Memory, Module, Sim};

const PTX: &str = include_str!("product.ptx");
/// The number of rows and of columns.
const N: u32 = 256;
/// The number of runs, of which the fastest counts.
const RUNS: u32 = 3;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let number = |i: u32| ((i.wrapping_mul(2_654_435_761) >> 16) % 64) as f32 / 8.0 - 4.0;
    let a: Vec<f32> = (0..N * N).map(number).collect();
    let b: Vec<f32> = (0..N * N).map(|i| number(i + 7)).collect();

    let (expected, _, time) = ours(&a, &b, Checks::empty())?;
    let (checked, instructions, checked_time) = ours(&a, &b, Checks::all())?;
    let (theirs, their_time) = theirs(&a, &b)?;
    let same = |found: &[f32]| found.iter().map(|x| x.to_bits()).eq(expected.iter().map(|x| x.to_bits()));
    assert!(same(&checked) && same(&theirs), "the results differ");

    println!(
        "f32 product, {N}×{N}×{N}, {instructions} thread-instructions; all results are equal to the bit"
    );
    for (name, time) in
        [("warpwright, no checks", time), ("warpwright, all checks", checked_time), ("ptoxide", their_time)]
    {
        let rate = instructions as f64 / time.as_secs_f64();
        println!(
            "{name:<24}{:>9.1} ms{:>10.1} million thread-instructions/s",
            1e3 * time.as_secs_f64(),
            rate / 1e6
        );
    }
    Ok(())
}

/// Returns the product, its number of thread instructions (counted by checked runs), and the time of the fastest run.
fn ours(a: &[f32], b: &[f32], checks: Checks) -> Result<(Vec<f32>, u64, Duration), Error> {
    let module = Module::parse(PTX)?;
    let sim = Sim::new().checks(checks);
    let launch = Launch { grid: [N / 16, N / 16, 1], block: [16, 16, 1], ..Launch::default() };
    let mut memory = Memory::new();
    let mut upload = |values: &[f32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let address = memory.alloc(bytes.len());
        memory.write(address, &bytes).map(|()| address)
    };
    let (a, b) = (upload(a)?, upload(b)?);
    let mut bytes = vec![0; 4 * (N * N) as usize];
    let c = memory.alloc(bytes.len());
    let args = [a.into(), b.into(), c.into(), Arg::from(N)];
    let (mut fastest, mut instructions) = (Duration::MAX, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        let report = sim.launch(&module, "product", &launch, &args, &mut memory)?;
        fastest = fastest.min(start.elapsed());
        report.assert_clean();
        instructions = report.counts.thread_instructions;
    }
    memory.read(c, &mut bytes)?;
    let product = bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect();
    Ok((product, instructions, fastest))
}

/// Returns the product computed by `ptoxide`, and the time of the fastest run.
fn theirs(a: &[f32], b: &[f32]) -> Result<(Vec<f32>, Duration), Error> {
    let mut context = Context::new_with_module(PTX).map_err(|error| format!("{error:?}"))?;
    let mut product = vec![0.0; (N * N) as usize];
    let [a_there, b_there, c_there] = [(); 3].map(|()| context.alloc(product.len()));
    context.write(a_there, a);
    context.write(b_there, b);
    let args = [Argument::ptr(a_there), Argument::ptr(b_there), Argument::ptr(c_there), Argument::U32(N)];
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let launch = LaunchParams::func_id(0).grid2d(N / 16, N / 16).block2d(16, 16);
        context.run(launch, &args).map_err(|error| format!("{error:?}"))?;
        fastest = fastest.min(start.elapsed());
    }
    context.read(c_there, &mut product);
    Ok((product, fastest))
}
