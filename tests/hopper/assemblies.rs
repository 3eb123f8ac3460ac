//! Tiles that consumers write together, and vectors that tensor copies load.

use warpwright::{
    prelude::*,
    run::{Device, RunError, Simulator},
    sim::{FindingKind, SimError},
    tiles::{RowVec, consumers, producer},
};

use crate::devices::everywhere;

/// X 128·rounds × 64, v rounds × 64, D 64 rows for each consumer, rounds.
type Args = (In<bf16>, In<f32>, Out<f32>, u32);

/// D = Σ Xᵀ·X + v over tiles X of 128 rows, which two consumers load together, and vectors v; each consumer computes all of it.
fn kernel() -> Kernel<Args> {
    let kernel = Kernel::<Args>::build("squares(x, v, d, rounds)", Target::SM_90A, |k, (x, v, d, rounds)| {
        k.block([384]);
        k.grid([1]);
        let (x, v) = (k.global(x, row_major(rounds * 128, 64)), k.global(v, row_major(rounds, 64)));
        let d = k.global(d, row_major(128, 64));
        let ring = k.ring::<(Sv<f32, 4>,), 2, 2>();
        let assembly = k.assembly::<bf16, 8, 4, 2>();
        k.specialize(
            producer(24, |p| p.run(&ring, rounds, |round, stage| stage.fill((v.tile(round, 0),)))),
            consumers::<2, _>(160, |c| {
                let sum = k.fold(rounds, k.zeros::<Rt<f32, 1, 4>>(), |round, sum| {
                    let rows: Rt<bf16, 1, 4> = x.tile(round * 8 + c.rank() * 4 + c.warp(), 0).load();
                    let own = c.contribute(&assembly, &rows);
                    let stage = c.receive(&ring);
                    let vector: RowVec<f32, 4> = stage.tiles().0.load();
                    c.release_loaded(&ring, stage);
                    let x = c.assembled(&assembly, own);
                    c.group().accumulate(sum).mma_atb(&x, &x).wait() + &vector
                });
                d.tile_of(c.group(), c.rank(), 0).store(&sum);
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// The rows of all warps are in the tile when it is read, and remain until all have read it.
#[test]
fn consumers_assemble_tiles() {
    let kernel = kernel();
    for rounds in [0, 1, 2, 7] {
        let x: Vec<f32> = (0..rounds * 128 * 64).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let v: Vec<f32> = (0..rounds * 64).map(|i| (i % 23) as f32).collect();
        everywhere(|device| {
            let elements: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
            let (on_device, vectors) = (device.upload(&elements).unwrap(), device.upload(&v).unwrap());
            let mut d = device.upload(&vec![f32::NAN; 128 * 64]).unwrap();
            device.launch(&kernel, (&on_device, &vectors, &mut d, rounds as u32)).unwrap();
            for (i, found) in device.download(&d).unwrap().into_iter().enumerate() {
                let (row, col) = (i / 64 % 64, i % 64);
                let products: f32 = x.chunks_exact(64).map(|x| x[row] * x[col]).sum();
                let expected = products + v.chunks_exact(64).map(|v| v[col]).sum::<f32>();
                assert!(
                    found == expected,
                    "{rounds} rounds, consumer {}, {row}, {col}: expected {expected}, found {found}",
                    i / 4096
                );
            }
        });
    }
}

/// Products in flight that read the previous tile, but not the one before: another warpgroup overwrites the tile.
#[test]
fn products_of_the_previous_tile_are_complete() {
    let run = |pending: u32| {
        let kernel = Kernel::<(In<bf16>, Out<f32>)>::build("squares(x, d)", Target::SM_90A, |k, (x, d)| {
            k.block([384]);
            k.grid([1]);
            let (x, d) = (k.global(x, row_major(128, 64)), k.global(d, row_major(128, 64)));
            let assembly = k.assembly::<bf16, 8, 4, 2>();
            k.specialize(
                producer(24, |_| ()),
                consumers::<2, _>(160, |c| {
                    let rows: Rt<bf16, 1, 4> = x.tile(c.rank() * 4 + c.warp(), 0).load();
                    let sum = c.group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
                    let sum = k.fold(5, sum, |_, sum| {
                        k.wgmma_wait_group(pending);
                        let own = c.contribute(&assembly, &rows);
                        let x = c.assembled(&assembly, own);
                        sum.mma_atb(&x, &x)
                    });
                    d.tile_of(c.group(), c.rank(), 0).store(&sum.wait());
                }),
            );
        });
        let (kernel, device) = (kernel.unwrap(), Simulator::new());
        let x = device.upload(&vec![bf16::from_f32(1.0); 128 * 64]).unwrap();
        let mut d = device.upload(&vec![f32::NAN; 128 * 64]).unwrap();
        device.launch(&kernel, (&x, &mut d))?;
        device.download(&d)
    };
    assert!(run(0).unwrap().iter().all(|&sum| sum == 5.0 * 128.0));
    let error = run(1).expect_err("a race");
    let RunError::Simulation(error) = error else { panic!("expected a race, found {error}") };
    let SimError::Fault(finding) = *error else { panic!("expected a race, found {error}") };
    assert_eq!(finding.kind, FindingKind::WgmmaInFlight, "{finding}");
}
