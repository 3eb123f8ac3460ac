//! Stages that are not released, or not to their ring: errors with the Rust lines of the stage and of the rings.

use warpwright::{
    prelude::*,
    ptx::BuildError,
    tiles::{Consumer, Received, Ring, consumers, producer},
};

type Tiles<'k> = (St<'k, bf16, 4, 4>,);
type Stages<'k> = Ring<'k, Tiles<'k>, 2, 1>;
type Work<'a> = &'a dyn for<'k> Fn(Consumer<'k, 1>, Val<'k, u32>, [&Stages<'k>; 2]);

/// The line of the first of two rings; the second is on the next line.
const RINGS: u32 = line!() + 8;

/// Builds a kernel with two rings of the same type, whose consumer does `work`; it must be rejected.
#[track_caller]
fn refused(work: Work<'_>) -> BuildError {
    let kernel = Kernel::<(In<bf16>, u32)>::build("rejected", Target::SM_90A, |k, (x, n)| {
        k.block([256]);
        let x = k.global(x, row_major(64, 64));
        let first: Stages<'_> = k.ring();
        let second: Stages<'_> = k.ring();
        k.specialize(
            producer(40, |p| {
                p.run(&first, n, |_, stage| stage.fill((x.tile(0, 0),)));
                p.run(&second, n, |_, stage| stage.fill((x.tile(0, 0),)));
            }),
            consumers::<1, _>(232, |c| work(c, n, [&first, &second])),
        );
    });
    kernel.expect_err("the kernel must be refused")
}

#[track_caller]
fn assert_at(error: &BuildError, line: u32) {
    assert_eq!((error.location().file(), error.location().line()), (file!(), line), "{error}");
}

#[test]
fn a_stage_is_released_to_its_ring() {
    let line = line!() + 3;
    let error = refused(&|c, _, [first, second]| {
        let stage = c.receive(first);
        c.release(second, stage);
    });
    assert_at(&error, line);
    let (file, second) = (file!(), RINGS + 1);
    let text = error.kind().to_string();
    let expected = format!("expected a release to the ring of the stage, which {file}:{RINGS}:");
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains(&format!(" creates, found the ring that {file}:{second}:")), "{text}");

    let line = line!() + 4;
    let error = refused(&|c, _, [first, second]| {
        let (a, b) = (c.receive(first), c.receive(second));
        c.release(first, a);
        c.release_loaded(first, b);
    });
    assert_at(&error, line);
}

const FORGOTTEN: &str = "expected a received stage to be released, found one that is dropped: its producer would wait for it forever";

#[test]
fn stages_that_are_not_released_are_rejected() {
    let line = line!() + 2;
    let error = refused(&|c, _, [first, _]| {
        let stage = c.receive(first);
        let _: Rt<'_, bf16, 1, 4> = stage.tiles().0.tile_of(c.group()).load();
    });
    assert_at(&error, line);
    assert_eq!(error.kind().to_string(), FORGOTTEN);

    // The loop replaces the stage that it carries.
    let line = line!() + 2;
    let error = refused(&|c, n, [first, _]| {
        let stage = c.receive(first);
        let last = c.group().kernel().fold(n, stage, |_, _| c.receive(first));
        c.release(first, last);
    });
    assert_at(&error, line);
    assert_eq!(error.kind().to_string(), FORGOTTEN);
}

/// Stages that a loop carries remain those of their rings.
#[test]
fn a_loop_does_not_exchange_stages() {
    let line = line!() + 3;
    let error = refused(&|c, n, [first, second]| {
        let stages = (c.receive(first), c.receive(second));
        let (a, b) = c.group().kernel().fold(n, stages, |_, (a, b)| (b, a));
        c.release(first, a);
        c.release(second, b);
    });
    assert_at(&error, line);
    let text = error.kind().to_string();
    let expected = "expected loop state to keep its form, found a stage of the ring that ";
    assert!(text.starts_with(expected), "{text}");
}

/// What the rejected kernels do wrong is all that is wrong with them.
#[test]
fn stages_that_a_loop_carries_are_released() {
    let kernel = Kernel::<(In<bf16>, u32)>::build("carried", Target::SM_90A, |k, (x, n)| {
        k.block([256]);
        let x = k.global(x, row_major(64, 64));
        let ring: Stages<'_> = k.ring();
        k.specialize(
            producer(40, |p| p.run(&ring, n + 1, |_, stage| stage.fill((x.tile(0, 0),)))),
            consumers::<1, _>(232, |c| {
                let last = k.fold(n, c.receive(&ring), |_, previous: Received<'_, Tiles<'_>>| {
                    let next = c.receive(&ring);
                    c.release(&ring, previous);
                    next
                });
                c.release(&ring, last);
            }),
        );
    });
    crate::assemble::kernel(&kernel.expect("it builds"));
}
