//! D = A·Bᵀ on Hopper's tensor cores.
use half::bf16;
use warpwright::{
    kernels::gemm,
    run::{Device, Simulator},
    tiles::Schedule,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arg: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (m, n, k) = if let [m, n, k] = arg[..] { (m, n, k) } else { (256, 512, 256) };
    let clustered = std::env::args().any(|a| a == "cluster");
    let kernel = if clustered {
        gemm::<16, 8, 2, 12, 3, 2, 4, 1>(2, Schedule::grouped(4))?
    } else {
        gemm::<16, 8, 2, 12, 3, 2, 4, 1>(1, Schedule::grouped(8))?
    };
    let kernel = if std::env::args().any(|a| a == "turns") {
        warpwright::kernels::gemm_in_turns::<12, 4, 4, 3>(
            if clustered { 2 } else { 1 },
            Schedule::grouped(4),
        )?
    } else {
        kernel
    };
    if std::env::args().any(|a| a == "ptx") {
        print!("{}", kernel.ptx());
        return Ok(());
    }
    let device = Simulator::new().multiprocessors(2);
    let value = |i: usize| bf16::from_f32(((i * 7919) % 13) as f32 - 6.0);
    let a: Vec<bf16> = (0..m * k).map(value).collect();
    let b: Vec<bf16> = (0..n * k).map(|i| value(i + 5)).collect();
    let (da, db) = (device.upload(&a)?, device.upload(&b)?);
    let mut dd = device.output::<bf16>(m * n)?;
    let t = std::time::Instant::now();
    device.launch(&kernel, (&da, &db, &mut dd, m as u32, n as u32, k as u32))?;
    println!("{:?}", t.elapsed());
    let d = device.download(&dd)?;
    let mut wrong = 0;
    for i in 0..m {
        for j in 0..n {
            let want: f32 = (0..k).map(|l| a[i * k + l].to_f32() * b[j * k + l].to_f32()).sum();
            if d[i * n + j] != bf16::from_f32(want) {
                wrong += 1;
                if wrong < 5 {
                    println!("({i}, {j}): expected {want}, found {}", d[i * n + j]);
                }
            }
        }
    }
    println!("{wrong} wrong of {}", m * n);
    Ok(())
}
