//! The same programs on a GPU, where an out-of-bounds access does not stop a kernel: canaries surround the buffers.

use super::{Matrix, kernel, matrix, matrix_kernel, model, step, table, tiles, views};
use crate::require;
use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DeviceRepr};
use proptest::prelude::*;
use std::{fmt::Debug, sync::Arc};
use warpwright::gpu::Gpu;

/// Canaries on either side of a buffer: more than the vectors and small tiles of the programs reach.
const CANARIES: usize = 4096;

/// A buffer between canaries.
struct Guarded<T> {
    stream: Arc<CudaStream>,
    all: CudaSlice<T>,
    canary: T,
}

impl<T: DeviceRepr + Copy + Debug + PartialEq> Guarded<T> {
    fn new(gpu: &Gpu, content: &[T], canary: T) -> Self {
        let canaries = [canary; CANARIES];
        let stream = gpu.stream();
        let all = stream.clone_htod(&[&canaries, content, &canaries].concat()).expect("copied");
        Self { stream, all, canary }
    }

    fn view(&mut self) -> CudaViewMut<'_, T> {
        let end = self.all.len() - CANARIES;
        self.all.slice_mut(CANARIES..end)
    }

    /// Checks the canaries, and returns the contents of the buffer.
    fn content(&self) -> Result<Vec<T>, TestCaseError> {
        let all = self.stream.clone_dtoh(&self.all).expect("copied");
        let (before, rest) = all.split_at(CANARIES);
        let (content, after) = rest.split_at(rest.len() - CANARIES);
        for (side, canaries) in [("before", before), ("after", after)] {
            let written = canaries.iter().position(|&value| value != self.canary);
            prop_assert_eq!(written, None, "the canary {} the buffer", side);
        }
        Ok(content.to_vec())
    }
}

fn run<S: Strategy>(cases: u32, programs: S, test: impl Fn(&Gpu, S::Value) -> Result<(), TestCaseError>) {
    let Some(gpu) = require::gpu() else { return };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner.run(&programs, |program| test(&gpu, program)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn slices_stay_inside() {
    let programs = (prop::collection::vec(step(), 1..12), 1..20_u32, any::<bool>());
    run(96, programs, |gpu, (steps, len, constant)| {
        let kernel = kernel(&steps, constant.then_some(len));
        let mut table = Guarded::new(gpu, &table(&steps), u64::MAX);
        let mut y = Guarded::new(gpu, &(0..len).collect::<Vec<_>>(), 0xdead_beef);
        let mut old = Guarded::new(gpu, &vec![0; steps.len()], 0xdead_beef);
        let loaded = gpu.load(&kernel).expect("loaded");
        loaded
            .launch(&gpu.stream(), (&table.view().as_view(), &mut y.view(), &mut old.view(), len))
            .expect("launched");
        let (want, want_old) = model(&steps, len as usize);
        prop_assert_eq!(y.content()?, want);
        prop_assert_eq!(old.content()?, want_old);
        Ok(())
    });
}

#[test]
fn matrices_stay_inside() {
    let kernel = matrix_kernel();
    run(256, matrix(), |gpu, matrix| {
        let loaded = gpu.load(&kernel).expect("loaded");
        let mut y = Guarded::new(gpu, &vec![0_u8; matrix.len], 0xa5);
        let Matrix { rows, cols, pitch, at, .. } = matrix;
        let launched = loaded.launch(&gpu.stream(), (&mut y.view(), rows, cols, pitch, at[0], at[1]));
        let content = y.content()?;
        match matrix.check(launched)? {
            Some(want) => prop_assert_eq!(content, want),
            None => prop_assert_eq!(content, vec![0; matrix.len]),
        }
        Ok(())
    });
}

#[test]
fn views_of_tensors_stay_inside() {
    run(400, views(), |gpu, views| {
        let Some(kernel) = views.kernel() else { return Ok(()) };
        let [m, n] = views.extents;
        let mut table = Guarded::new(gpu, &views.table(), u32::MAX);
        let mut y = Guarded::new(gpu, &vec![0_u32; (m * n) as usize], 0xdead_beef);
        let loaded = gpu.load(&kernel).expect("loaded");
        loaded.launch(&gpu.stream(), (&table.view().as_view(), &mut y.view(), m, n)).expect("launched");
        prop_assert!(y.content()?.iter().all(|&value| value == 0 || value == 7));
        Ok(())
    });
}

#[test]
fn tiles_stay_inside() {
    run(400, tiles::programs(), |gpu, program| {
        let Some(kernel) = program.kernel() else { return Ok(()) };
        let [b, m, n, pitch, distance] = program.sizes();
        let mut table = Guarded::new(gpu, &program.table(), u32::MAX);
        let mut y = Guarded::new(gpu, &vec![0.0_f32; program.len()], -3.0);
        let loaded = gpu.load(&kernel).expect("loaded");
        loaded
            .launch(&gpu.stream(), (&table.view().as_view(), &mut y.view(), b, m, n, pitch, distance))
            .expect("launched");
        for (index, value) in y.content()?.into_iter().enumerate() {
            prop_assert!(value == 0.0 || program.contains(index), "element {} is in a gap", index);
        }
        Ok(())
    });
}
