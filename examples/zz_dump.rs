//! Throwaway.
use std::fs;
use warpwright::{kernels::{Norm, NormBackward, NormFunction, RowTiling, Softmax}, prelude::*};
const T: Target = Target::SM_90A;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let out = &args[1];
    for spec in &args[2..] {
        // kernel:dtype:n[:stripes,resident,ahead,turns[,threads]]
        let f: Vec<&str> = spec.split(':').collect();
        let n: u32 = f[2].parse().unwrap();
        let bytes = if f[1] == "f32" { 4 } else { 2 };
        let alter = |mut t: RowTiling| {
            if let Some(a) = f.get(3) {
                let v: Vec<u32> = a.split(',').map(|x| x.parse().unwrap()).collect();
                t.stripes = v[0];
                let groups = (n + if t.unaligned { t.adjacent - 1 } else { 0 }).div_ceil(t.adjacent);
                t.threads = groups.div_ceil(v[0]).next_multiple_of(32);
                t.rows = 1; t.cluster = 1; t.streamed = false;
                t.resident = v[1]; t.ahead = v[2]; t.turns = v[3];
                if let Some(&th) = v.get(4) { t.threads = th; }
                if let Some(&a) = v.get(5) { t.adjacent = a; }
            }
            println!("{spec} {t:?}");
            t
        };
        let func = if f[0].contains("rms") { NormFunction::Rms } else { NormFunction::Layer };
        macro_rules! go { ($E:ty) => {{
            let text = match f[0] {
                "rms" => { let x = Norm::for_rows(func, T, bytes, &[n]); Norm { tiling: alter(x.tiling), ..x }.kernel::<$E,$E,$E>(T).unwrap().ptx().to_string() }
                "layer" => { let x = Norm::for_rows(func, T, bytes, &[n]); Norm { tiling: alter(x.tiling), ..x }.biased_kernel::<$E,$E,$E>(T).unwrap().ptx().to_string() }
                "layer_w32" => { let x = Norm::for_rows(func, T, bytes, &[n]); Norm { tiling: alter(x.tiling), ..x }.biased_kernel::<$E,f32,$E>(T).unwrap().ptx().to_string() }
                "add_rms" => { let x = Norm::for_residual_rows(func, T, bytes, &[n]); Norm { tiling: alter(x.tiling), ..x }.residual_kernel::<$E,$E,$E>(T).unwrap().ptx().to_string() }
                "add_layer" => { let x = Norm::for_residual_rows(func, T, bytes, &[n]); Norm { tiling: alter(x.tiling), ..x }.residual_biased_kernel::<$E,$E,$E>(T).unwrap().ptx().to_string() }
                "rms_b" | "layer_b" => { let x = NormBackward::for_rows(func, T, bytes, &[n]); NormBackward { tiling: alter(x.tiling), ..x }.kernel::<$E,$E>(T).unwrap().ptx().to_string() }
                "rms_b32" | "layer_b32" => { let x = NormBackward::for_rows(func, T, bytes, &[n]); NormBackward { tiling: alter(x.tiling), ..x }.kernel::<$E,f32>(T).unwrap().ptx().to_string() }
                "softmax" => { let x = Softmax::for_rows(T, bytes, &[n]); Softmax { tiling: alter(x.tiling), ..x }.kernel::<$E,$E>(T).unwrap().ptx().to_string() }
                _ => panic!(),
            };
            fs::write(format!("{out}/{}.ptx", spec.replace([':', ','], "_")), text).unwrap();
        }}}
        if f[1] == "f32" { go!(f32) } else { go!(bf16) }
    }
}
