//! The softmax of rows that fit in a warp's registers, as shown in the documentation.

use std::{fs, path::Path};

use warpwright::{prelude::*, run::Device};

use crate::cases::everywhere;

type Args = (In<bf16>, Out<bf16>, u32, u32);

fn softmax<const W: usize>(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("softmax(x, y, m, n)", target, |k, (x, y, m, n)| {
        k.block([128]);
        k.grid([m.tiles(64)]);
        let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(m, n)));
        let row = k.ctaid_x() * 4 + k.warp();

        let mut t: Rt<f32, 1, W> = x.tile(row, 0).load_or(f32::NEG_INFINITY);
        t -= &t.row_max();
        t = (t * std::f32::consts::LOG2_E).exp2();
        t *= &t.row_sum().recip();
        y.tile(row, 0).store(&t);
    })
}

#[test]
fn rows_of_every_length() {
    let kernel = softmax::<4>(Target::SM_80).unwrap();
    crate::assemble::kernel(&kernel);
    for (m, n) in [(64, 64), (70, 64), (1, 1), (65, 33), (128, 63)] {
        let x: Vec<bf16> =
            (0..m * n).map(|i| bf16::from_f32(((i * 37 + 11) % 101) as f32 / 25.0 - 2.0)).collect();
        let y = everywhere(|device| {
            let x = device.upload(&x).unwrap();
            let mut y = device.output::<bf16>(m * n).unwrap();
            device.launch(&kernel, (&x, &mut y, m as u32, n as u32)).unwrap();
            device.download(&y).unwrap()
        });
        for row in 0..m {
            let exp: Vec<f64> = x[row * n..][..n].iter().map(|&x| f64::from(x).exp()).collect();
            let sum: f64 = exp.iter().sum();
            for col in 0..n {
                let (found, expected) = (f64::from(y[row * n + col]), exp[col] / sum);
                assert!(
                    (found - expected).abs() <= expected / 128.0,
                    "({row}, {col}) of {m}×{n}: {found}, expected {expected}"
                );
            }
        }
    }
}

/// docs/tiles.md states the registers per thread that ptxas assigns.
#[test]
fn registers_per_thread() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap();
    let stated = |name: &str| -> u32 {
        let after = text.split(&format!("`{name}` ")).find(|part| part.starts_with(char::is_numeric));
        let number =
            after.and_then(|after| after.split([' ', ',']).next()).and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| panic!("docs/tiles.md states the registers of `{name}`"))
    };
    let kernels =
        [("softmax::<4>", softmax::<4>(Target::SM_80)), ("softmax::<16>", softmax::<16>(Target::SM_80))];
    for (name, kernel) in kernels {
        let Some(found) = crate::assemble::registers(&kernel.unwrap()) else { return };
        assert!(found <= stated(name), "{name}: {found} registers, {} are documented", stated(name));
    }
}
