use warpwright::prelude::*;
use warpwright::kernels::matmul;
fn main() {
    let d: u32 = std::env::args().nth(1).map_or(8, |s| s.parse().unwrap());
    match matmul::<bf16>(Target::SM_80, d) { Ok(k) => println!("{}", k.ptx()), Err(e) => println!("{e}") }
    let t = std::time::Instant::now();
    for _ in 0..100 { std::hint::black_box(matmul::<bf16>(Target::SM_80, d).unwrap()); }
    eprintln!("{:?} a build", t.elapsed() / 100);
}
