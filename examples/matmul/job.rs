//! Reads the inputs, builds and runs the kernel, checks and writes the result.

use std::{
    fmt::Display,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use warpwright::{
    kernels::{MatmulArgs, matmul, pitch_divisor},
    prelude::*,
    run::{self, AnyDevice, Details, Device, DeviceChoice, Launched, Simulator},
};

use super::{
    check::{Factors, Verdict, check},
    npy::{self, Matrix},
    options::{Failure, Options},
    progress,
};

/// The example's built-in matrices.
const A: &[u8] = include_bytes!("../data/a_203x139_f16.npy");
const B: &[u8] = include_bytes!("../data/b_139x91_f32.npy");

/// Runs the job that the command line describes, and reports on `out`. No file is written before all inputs are validated.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (a, b) = read(options).map_err(Failure::Input)?;
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let (device, target) = device(options)?;
    let start = Instant::now();
    let kernel =
        matmul::<bf16>(target, pitch_divisor(n, k)).map_err(|why| Failure::Input(why.to_string()))?;
    let ptx = kernel.ptx();
    let build_time = start.elapsed();
    let ptx_path = ptx_path(options);
    for path in options.out.iter().chain([&ptx_path]) {
        check_writable(path)?;
    }
    check_distinct(options, &ptx_path)?;

    let entry = kernel.entry();
    let mut say = |what: &str, text: &dyn Display| {
        writeln!(out, "{what:<9} {text}").map_err(|why| Failure::Wrong(format!("cannot print: {why}")))
    };
    say("device", &device.describe())?;
    say("problem", &format!("D = A·B, A {m}×{k}, B {k}×{n}, bf16 in, f32 sums"))?;
    let (version, name) = (entry.version, &entry.name);
    say("kernel", &format!("{name}, PTX {version} for {target}, {} instructions", entry.instructions))?;
    let (registers, shared) = (entry.register_count(), entry.shared_bytes());
    say("uses", &format!("{registers} virtual registers, {shared} bytes of shared memory"))?;
    write(&ptx_path, |path| fs::write(path, &ptx))?;
    say("ptx", &ptx_path.display())?;
    say("build", &format!("{build_time:.2?}"))?;

    let a = to_bf16(&a.values);
    let b = to_bf16(&b.values);
    let (d, launched) =
        multiply(&device, &kernel, [m, n, k], &a, &b).map_err(|why| Failure::Wrong(why.to_string()))?;
    say("run", &run_line(&launched))?;

    let factors = Factors { a: &a, b: &b, m: m as usize, n: n as usize, k: k as usize };
    verdict(&check(&factors, &d), d.len(), &mut say)?;
    if let Some(path) = &options.out {
        let matrix = Matrix { rows: m, cols: n, values: d };
        write(path, |path| npy::write(path, &matrix))?;
        say("written", &path.display())?;
    }
    Ok(())
}

/// Reads the two factors and checks their sizes.
fn read(options: &Options) -> Result<(Matrix, Matrix), String> {
    let (a, b) = match (&options.a, &options.b) {
        (Some(a), Some(b)) => (npy::read(a)?, npy::read(b)?),
        _ => (npy::parse("A", A)?, npy::parse("B", B)?),
    };
    if a.cols != b.rows {
        let (m, k, l, n) = (a.rows, a.cols, b.rows, b.cols);
        return Err(format!("expected as many columns of A as rows of B, found A {m}×{k} and B {l}×{n}"));
    }
    Ok((a, b))
}

/// Returns the device and its target. A GPU that is too old for the kernel is ignored unless it was requested.
fn device(options: &Options) -> Result<(AnyDevice, Target), Failure> {
    let target = options.target.unwrap_or(Target::SM_80);
    let mut device = run::open(options.device).map_err(|why| Failure::Input(why.to_string()))?;
    if !runs(target, &device) && options.device == DeviceChoice::Auto && options.target.is_none() {
        let why = format!("{} cannot run {target}", device.name());
        device = AnyDevice::Sim(Simulator::new().with_reason(&why));
    }
    if !runs(target, &device) {
        let (name, (major, minor)) = (device.name(), device.capability());
        return Err(Failure::Input(format!("--target {target}: {name} (sm_{major}{minor}) cannot run it")));
    }
    Ok(match device {
        AnyDevice::Sim(simulator) => (AnyDevice::Sim(simulator.on_progress(progress::line())), target),
        other => (other, target),
    })
}

fn runs(target: Target, device: &AnyDevice) -> bool {
    let (major, minor) = device.capability();
    target.runs_on(major as u16, minor as u16)
}

fn to_bf16(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&x| bf16::from_f32(x)).collect()
}

fn multiply(
    device: &AnyDevice,
    kernel: &Kernel<MatmulArgs<bf16>>,
    [m, n, k]: [u32; 3],
    a: &[bf16],
    b: &[bf16],
) -> Result<(Vec<f32>, Launched), run::RunError> {
    let a = device.upload(a)?;
    let b = device.upload(b)?;
    let mut d = device.output::<f32>(m as usize * n as usize)?;
    let launched = device.launch(kernel, (&a, &b, &mut d, m, n, k))?;
    Ok((device.download(&d)?, launched))
}

fn run_line(launched: &Launched) -> String {
    let [x, y, _] = launched.grid;
    let Launched { time, load_time, .. } = launched;
    let compiled = match &launched.details {
        Details::Nothing => return "nothing to do".to_string(),
        #[cfg(feature = "cuda")]
        Details::Compiled(made) => {
            format!(", {} registers, {} bytes spilled", made.registers, made.local_bytes)
        }
        _ => String::new(),
    };
    format!("{time:.2?} on {x}×{y} blocks, loaded in {load_time:.2?}{compiled}")
}

fn verdict(
    verdict: &Verdict,
    elements: usize,
    say: &mut dyn FnMut(&str, &dyn Display) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(bad) = verdict.first_wrong {
        let (row, col, found, expected, bound) = (bad.row, bad.col, bad.found, bad.expected, bad.bound);
        let wrong = verdict.wrong;
        return Err(Failure::Wrong(format!(
            "{wrong} of {elements} elements are wrong, the first at row {row}, column {col}: found {found:e}, expected \
             {expected:e} within {bound:.1e}"
        )));
    }
    if let Some(worst) = verdict.worst.filter(|worst| !worst.is_special()) {
        let (row, col, error, bound) = (worst.row, worst.col, worst.error(), worst.bound);
        say(
            "error",
            &format!(
                "{error:.1e} (allowed: {bound:.1e}) at row {row}, column {col}, the largest error relative to its bound"
            ),
        )?;
    }
    say("verified", &format!("{elements} elements against f64"))
}

/// Returns the path of the PTX: as given on the command line, otherwise next to the program.
fn ptx_path(options: &Options) -> PathBuf {
    let beside = || std::env::current_exe().unwrap_or_else(|_| PathBuf::from("matmul")).with_extension("ptx");
    options.ptx.clone().unwrap_or_else(beside)
}

/// Checks that a file can be written, without modifying it.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let problem = if !parent.is_dir() {
        format!("missing folder {}", parent.display())
    } else if path.is_dir() {
        "it is a folder".to_string()
    } else if fs::metadata(path).is_ok_and(|file| file.permissions().readonly()) {
        "it is read-only".to_string()
    } else {
        return Ok(());
    };
    Err(Failure::Input(format!("{} cannot be written: {problem}", path.display())))
}

/// Checks that an output file is not also used for another purpose.
fn check_distinct(options: &Options, ptx: &Path) -> Result<(), Failure> {
    let inputs = [("--a", &options.a), ("--b", &options.b)];
    let read = inputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?)));
    let out = options.out.as_deref().map(|path| ("--out", path));
    let written = out.into_iter().chain([("--ptx", ptx)]);
    let named: Vec<(&str, &Path)> = read.chain(written).collect();
    for (at, (name, path)) in
        named.iter().enumerate().filter(|(_, (name, _))| ["--out", "--ptx"].contains(name))
    {
        if let Some((other, _)) = named[..at].iter().find(|(_, other)| place(other) == place(path)) {
            return Err(Failure::Input(format!("{} is named for both {other} and {name}", path.display())));
        }
    }
    Ok(())
}

/// Returns the canonical path of a file in an existing folder; the file need not exist.
fn place(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize()
        .or_else(|_| Ok::<_, io::Error>(parent.canonicalize()?.join(path.file_name().unwrap_or_default())))
        .ok()
}

fn write(path: &Path, how: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Failure> {
    how(path).map_err(|why| Failure::Input(format!("{} cannot be written: {why}", path.display())))
}
