//! Ready-to-use kernels written with tensors: their text and their results.

use pretty_assertions::assert_eq;
use warpwright::{
    kernels::{copy_elements, transpose},
    ptx::{BuildError, Kernel, Target},
    run::{Device, Simulator},
};

use crate::devices::all;

use super::support::{count, counts, numbers};

#[test]
fn copies_of_any_length() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = copy_elements::<f32>(Target::SM_80)?;
    assert_eq!(count(&kernel, "ld.global.nc.v4"), 4);
    assert_eq!(count(&kernel, "st.global.v4"), 4);
    for device in all() {
        for n in [1, 3, 4, 1023, 4096, 5003, 9000] {
            let x = numbers(n);
            let (from, mut to) = (device.upload(&x)?, device.output::<f32>(n)?);
            device.launch(&kernel, (&from, &mut to, n as u32))?;
            assert_eq!(device.download(&to)?, x);
        }
    }
    Ok(())
}

fn transposes(
    kernel: &Kernel<warpwright::kernels::TransposeArgs<f32>>,
    m: usize,
    n: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    for device in all() {
        let x = numbers(m * n);
        let (from, mut to) = (device.upload(&x)?, device.output::<f32>(m * n)?);
        device.launch(kernel, (&from, &mut to, m as u32, n as u32))?;
        let expect: Vec<f32> =
            (0..n).flat_map(|j| (0..m).map(move |i| (i, j))).map(|(i, j)| x[i * n + j]).collect();
        assert_eq!(device.download(&to)?, expect, "{m}×{n}");
    }
    Ok(())
}

#[test]
fn transposes_of_any_size() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = transpose::<f32>(Target::SM_80, 1)?;
    assert_eq!((count(&kernel, "ld.global"), count(&kernel, "st.global")), (9, 8));
    for (m, n) in [(1, 1), (64, 64), (70, 131), (127, 65), (128, 67), (3, 200), (200, 3)] {
        transposes(&kernel, m, n)?;
    }
    Ok(())
}

#[test]
fn transposes_by_wide_accesses() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = transpose::<f32>(Target::SM_80, 4)?;
    assert_eq!(count(&kernel, "cp.async.cg"), 4);
    assert_eq!(count(&kernel, "ld.shared"), 16);
    assert_eq!(count(&kernel, "st.global.v4"), 4);
    for (m, n) in [(4, 4), (64, 64), (128, 192), (72, 132)] {
        transposes(&kernel, m, n)?;
    }
    Ok(())
}

#[test]
fn halves_are_transposed() -> Result<(), BuildError> {
    let kernel = transpose::<half::bf16>(Target::SM_80, 1)?;
    for device in all() {
        let (m, n) = (70, 65);
        let x: Vec<_> = (0..m * n).map(|i| half::bf16::from_f32((i % 251) as f32)).collect();
        let (from, mut to) = (device.upload(&x).unwrap(), device.output::<half::bf16>(m * n).unwrap());
        device.launch(&kernel, (&from, &mut to, m as u32, n as u32)).unwrap();
        let found = device.download(&to).unwrap();
        assert!((0..n).all(|j| (0..m).all(|i| found[j * m + i] == x[i * n + j])));
    }
    Ok(())
}

#[test]
fn wide_transposes_have_no_conflicts_and_whole_sectors() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = transpose::<f32>(Target::SM_80, 4)?;
    let device = Simulator::new();
    let (m, n) = (128, 192);
    let (from, mut to) = (device.upload(&numbers(m * n))?, device.output::<f32>(m * n)?);
    let counts = counts(&device.launch(&kernel, (&from, &mut to, m as u32, n as u32))?);
    assert_eq!(counts.bank_conflicts(), 0);
    // 4 bytes in and 4 out for each element, in sectors of 32.
    assert_eq!(counts.global_sectors, (2 * 4 * m * n / 32) as u64);
    Ok(())
}
