//! Handles that are used outside of the branch, loop or role in which they were created, or after they were given back: each is an error
//! with the Rust line that caused it.

use std::cell::Cell;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildError, Global, Params, Ptr, Read},
    tensor::copy,
    tiles::{Consumer, Filled, Filling, Pipeline, Producer, Stage, consumers, producer},
};

const ENDED: &str = "expected a tile, stage, product or role of the enclosing code, found one from a branch, loop or role that has ended";
const NESTED: &str = "expected a stage or product to be filled, waited for or given back where it was created, found this in a nested \
                      branch or loop";
const CARRIED: &str =
    "expected the tile, stage or product that the loop carries, found the one from before the loop";
const LOOP: &str = "expected a tile, stage or product to be given back or waited for once, found this in a loop that begins after it was \
                    created: let the loop carry it";

/// Builds a kernel that must be rejected at `line`; returns the error.
#[track_caller]
fn refused<A: Params>(line: u32, write: &dyn for<'k> Fn(Builder<'k>, A::Handles<'k>)) -> String {
    let error: BuildError = Kernel::<A>::build("rejected", Target::SM_90A, |k, args| write(k, args))
        .expect_err("the kernel must be refused");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line), "{error}");
    error.kind().to_string()
}

/// Whether a text says that a handle was given back at a line of this file.
#[track_caller]
fn assert_given_back(text: &str, line: u32) {
    let start =
        "expected a tile, stage or product that has not been given back, found one that was given back at ";
    assert!(text.starts_with(start) && text.contains(&format!("{}:{line}:", file!())), "{text}");
}

type Args = (In<f32>, u32);
type Tile<'k> = St<'k, f32, 4, 4>;

/// A block of 128 threads, a tile, and its contents in global memory.
fn tile<'k>(k: Builder<'k>, x: Ptr<'k, f32, Global, Read>) -> (Tile<'k>, GlTile<'k, f32, Read>) {
    k.block([128]);
    k.grid([1]);
    (k.shared_tile(), k.global(x, row_major(64, 64)).tile(0, 0))
}

#[test]
fn copies_of_a_branch_are_not_waited_for_after_it() {
    let text = refused::<Args>(line!() + 4, &|k, (x, n)| {
        let ((tile, x), mut pending) = (tile(k, x), None);
        k.if_(n.gt(5), || pending = Some(tile.fill(x)));
        let pending = pending.expect("filled");
        let _ = pending.wait();
    });
    assert_eq!(text, ENDED);
}

#[test]
fn a_tile_that_a_branch_waits_for_is_not_read_after_it() {
    let text = refused::<Args>(line!() + 5, &|k, (x, n)| {
        let ((tile, x), mut filled) = (tile(k, x), None);
        let pending = tile.fill(x);
        k.if_(n.gt(5), || filled = Some(pending.wait()));
        let filled = filled.expect("waited");
        let _: Rt<'_, f32, 4, 4> = filled.load();
    });
    assert_eq!(text, ENDED);
}

#[test]
fn a_tile_that_a_branch_releases_is_not_filled_after_it() {
    let text = refused::<Args>(line!() + 6, &|k, (x, n)| {
        let ((tile, x), mut released) = (tile(k, x), None);
        let again = x.clone();
        let filled = tile.fill(x).wait();
        k.if_(n.gt(5), || released = Some(filled.release()));
        let released = released.expect("released");
        let _ = released.fill(again).wait();
    });
    assert_eq!(text, ENDED);
}

/// The second iteration would read the tile while it is being filled again.
#[test]
fn a_loop_does_not_release_a_tile_that_it_does_not_carry() {
    let text = refused::<Args>(line!() + 3, &|k, (x, n)| {
        let ((tile, x), mut filled) = (tile(k, x), None);
        filled.replace(tile.fill(x).wait());
        k.for_(n, |_| drop(filled.take().map(|filled| filled.release())));
    });
    assert_eq!(text, LOOP);
}

#[test]
fn pending_data_keeps_its_kind_of_copies() {
    let text = refused::<Args>(line!() + 4, &|k, (x, n)| {
        let (tile, x) = tile(k, x);
        let zeros = k.zeros::<Rt<'_, f32, 1, 4>>();
        let stored = tile.store_with(|tile| tile.tile_of(k.this_block()).store(&zeros));
        let stored = k.fold(n, stored, |_, stored| stored.wait().release().fill(x.clone()));
        let _ = stored.wait();
    });
    assert_eq!(
        text,
        "expected loop state to keep its form, found asynchronous copies by all threads of the block after an iteration"
    );
}

#[test]
fn a_tile_keeps_its_owner() {
    let text = refused::<Args>(line!() + 4, &|k, (_, n)| {
        k.block([128]);
        let of_block = k.shared_tile::<St<'_, f32, 1, 1>>();
        let of_warp = k.shared_tile_of::<St<'_, f32, 1, 1>>(k.warp());
        let _ = k.fold(n, (of_block, of_warp), |_, (of_block, of_warp)| (of_warp, of_block));
    });
    assert_eq!(
        text,
        "expected loop state to keep its form, found memory of all lanes of the warp after an iteration"
    );
}

/// A view of global memory that a loop carries may be used after the loop.
#[test]
fn carried_views_outlive_their_loop() {
    Kernel::<(InOut<f32>, u32)>::build("carried(x, n)", Target::SM_90A, |k, (x, n)| {
        k.block([32]);
        k.grid([1]);
        let x = k.tensor(x, [n, 32.into()], [32.into(), 1.into()]);
        let x = k.fold(n, x, |_, x| x);
        let row = x.slice((0, ..));
        let held = k.fragment_of_shape::<f32>(row.shape());
        copy(&held, &row);
    })
    .expect("it builds");
}

type Products = (In<bf16>, Out<f32>, u32);
type Ring<'k> = warpwright::tiles::Ring<'k, (St<'k, bf16, 4, 4>,), 2, 1>;

/// A kernel with a producer and a consumer.
fn specialized<'k>(
    k: Builder<'k>,
    x: Ptr<'k, bf16, Global, Read>,
    fill: impl FnOnce(Producer<'k>, &Ring<'k>, Gl<'k, bf16, Read>),
    read: impl FnOnce(Consumer<'k, 1>, &Ring<'k>),
) {
    k.block([256]);
    k.grid([1]);
    let x = k.global(x, row_major(64, 64));
    let ring = k.ring::<(St<'_, bf16, 4, 4>,), 2, 1>();
    k.specialize(producer(40, |p| fill(p, &ring, x)), consumers::<1, _>(232, |c| read(c, &ring)));
}

#[test]
fn stages_are_filled_unconditionally() {
    let text = refused::<Products>(line!() + 7, &|k, (x, _, n)| {
        specialized(
            k,
            x,
            |p, ring, x| {
                p.fill(ring, |stage| {
                    let mut filled = None;
                    k.if_(n.gt(5), || filled = Some(stage.fill((x.tile(0, 0),))));
                    filled.expect("filled")
                });
            },
            |c, ring| c.each(ring, 1, (), |_, (), _| ()),
        );
    });
    assert_eq!(text, NESTED);
    let text = refused::<Args>(line!() + 8, &|k, (x, n)| {
        k.block([128]);
        let x = k.global(x, row_major(64, 64));
        k.pipeline::<(St<'_, f32, 4, 4>,), 2>().run(
            1,
            (),
            |i, stage| {
                let mut filled = None;
                k.if_(n.gt(5), || filled = Some(stage.fill((x.tile(0, i),))));
                filled.expect("filled")
            },
            |(), _| (),
        );
    });
    assert_eq!(text, NESTED);
}

#[test]
fn a_received_stage_is_released_once() {
    let text = refused::<Products>(line!() + 7, &|k, (x, _, n)| {
        specialized(
            k,
            x,
            |p, ring, x| p.run(ring, 1, |_, stage| stage.fill((x.tile(0, 0),))),
            |c, ring| {
                let stage = Cell::new(Some(c.receive(ring)));
                k.for_(n, |_| c.release(ring, stage.take().expect("received")));
            },
        );
    });
    assert_eq!(text, NESTED);
}

#[test]
fn operands_are_not_read_after_the_release_of_their_stage() {
    let text = refused::<Products>(line!() + 10, &|k, (x, _, _)| {
        specialized(
            k,
            x,
            |p, ring, x| p.run(ring, 1, |_, stage| stage.fill((x.tile(0, 0),))),
            |c, ring| {
                let stage = c.receive(ring);
                let operand = stage.tiles().0.as_matrix();
                c.release(ring, stage);
                let _ =
                    c.group().accumulate_from_zero::<Rt<'_, f32, 1, 4>>().mma_abt(operand, operand).wait();
            },
        );
    });
    assert_given_back(&text, line!() - 6);
}

/// A block of 128 threads and a filled tile.
fn filled<'k>(k: Builder<'k>, x: Ptr<'k, bf16, Global, Read>) -> Filled<St<'k, bf16, 4, 4>> {
    k.block([128]);
    k.grid([1]);
    k.shared_tile::<St<'_, bf16, 4, 4>>().fill(k.global(x, row_major(64, 64)).tile(0, 0)).wait()
}

#[test]
fn products_are_waited_for_where_they_are_started() {
    let text = refused::<Products>(line!() + 4, &|k, (x, _, n)| {
        let (tile, mut sum) = (filled(k, x), None);
        let products = k.warp_group().accumulate(k.zeros::<Rt<'_, f32, 1, 4>>()).mma_abt(&tile, &tile);
        let mut products = Some(products);
        k.if_(n.gt(5), || sum = products.take().map(|products| products.wait()));
        drop(sum);
    });
    assert_eq!(text, NESTED);
}

/// If the branch is not executed, nothing writes the accumulator.
#[test]
fn accumulators_are_written_where_they_are_created() {
    let text = refused::<Products>(line!() + 4, &|k, (x, _, n)| {
        let (tile, mut sum) = (filled(k, x), None);
        let zero = k.warp_group().accumulate_from_zero::<Rt<'_, f32, 1, 4>>();
        let mut zero = Some(zero);
        k.if_(n.gt(5), || sum = zero.take().map(|zero| zero.mma_abt(&tile, &tile).wait()));
        drop(sum);
    });
    assert_eq!(text, NESTED);
}

/// In the second iteration, the operand would be that of another stage.
#[test]
fn operands_from_before_a_loop_that_carries_their_stage_are_not_read() {
    let text = refused::<Products>(line!() + 10, &|k, (x, _, n)| {
        specialized(
            k,
            x,
            |p, ring, x| p.run(ring, 1, |_, stage| stage.fill((x.tile(0, 0),))),
            |c, ring| {
                let stage = c.receive(ring);
                let operand = stage.tiles().0.as_matrix();
                let stage = k.fold(n, stage, |_, stage| {
                    let zero = c.group().accumulate_from_zero::<Rt<'_, f32, 1, 4>>();
                    let _ = zero.mma_abt(operand, operand).wait();
                    c.release(ring, stage);
                    c.receive(ring)
                });
                c.release(ring, stage);
            },
        );
    });
    assert_eq!(text, CARRIED);
}

#[test]
fn a_stage_is_not_released_in_a_branch() {
    let text = refused::<Products>(line!() + 7, &|k, (x, _, n)| {
        specialized(
            k,
            x,
            |p, ring, x| p.run(ring, 1, |_, stage| stage.fill((x.tile(0, 0),))),
            |c, ring| {
                let stage = c.receive(ring);
                k.if_(n.gt(5), || c.release(ring, stage));
            },
        );
    });
    assert_eq!(text, NESTED);
}

/// The memory of a tile that a branch releases is not reused after it either.
#[test]
fn memory_that_a_branch_releases_is_not_reused() {
    let text = refused::<Args>(line!() + 4, &|k, (x, n)| {
        let ((tile, x), mut released) = (tile(k, x), None);
        let filled = tile.fill(x).wait();
        k.if_(n.gt(5), || released = Some(filled.release()));
        let _ = released.expect("released").reuse::<St<'_, f32, 2, 2>>();
    });
    assert_eq!(text, ENDED);
}

type Tiles<'k> = (St<'k, f32, 4, 4>,);

/// Fills stages from `x`; returns the filled first stage of the pipeline `inner` in the place of the stage of the caller.
fn exchanging<'k>(
    inner: Pipeline<'k, Tiles<'k>, 2>,
    x: GlTile<'k, f32, Read>,
) -> impl Fn(Val<'k, u32>, Stage<'k, Tiles<'k>>) -> Filling<'k, Tiles<'k>> {
    let inner = Cell::new(Some(inner));
    move |_, stage| {
        let Some(inner) = inner.take() else { return stage.fill((x.clone(),)) };
        let (outer, kept) = (Cell::new(Some(stage)), Cell::new(None));
        let fill = |_, stage: Stage<'k, Tiles<'k>>| match outer.take() {
            Some(outer) => {
                kept.set(Some(stage.fill((x.clone(),))));
                outer.fill((x.clone(),))
            }
            None => stage.fill((x.clone(),)),
        };
        inner.run(1, (), fill, |(), _| ());
        kept.take().expect("filled")
    }
}

#[test]
fn a_pipeline_fills_the_stage_that_it_passes() {
    let text = refused::<Args>(line!() - 7, &|k, (x, _)| {
        k.block([128]);
        let x = k.global(x, row_major(64, 64)).tile(0, 0);
        let [outer, inner] = [(); 2].map(|()| k.pipeline());
        outer.run(1, (), exchanging(inner, x), |(), _| ());
    });
    assert_eq!(text, "expected the filled stage that was passed to the closure, found another");
}

/// Tiles filled before a loop and read in it, carried and swapped, filled in a loop, reused, and filled by several copies.
#[test]
fn correct_kernels_are_accepted() {
    let kernel =
        Kernel::<(In<f32>, Out<f32>, u32)>::build("accepted(x, y, n)", Target::SM_90A, |k, (x, y, n)| {
            let block = k.block([128]);
            k.grid([1]);
            let x = k.global(x, row_major(64, 64));
            let y = k.global(y, row_major(64, 64));
            let [first, second] =
                [(); 2].map(|()| k.shared_tile::<St<'_, f32, 4, 4>>().fill(x.tile(0, 0)).wait());
            k.for_(n, |_| {
                let part: Rt<'_, f32, 1, 4> = first.tile_of(block).load();
                y.tile_of(block, 0, 0).store(&part);
            });
            let [first, second] = k.fold(n, [first, second], |_, [first, second]| {
                let refilled = first.release().fill(x.tile(0, 0));
                let _: Rt<'_, f32, 1, 4> = second.tile_of(block).load();
                [second, refilled.wait()]
            });
            let second = second.map(|element| element + 1.0).wait();
            y.tile(0, 0).store_shared(&second);
            drop(first);
            let memory = k.shared_tile::<St<'_, f32, 4, 4>>().fill(x.tile(0, 0)).wait().release();
            let memory = memory.reuse::<St<'_, f32, 4, 4>>();
            k.for_(n, |_| y.tile(0, 0).store_shared(&memory.fill(x.tile(0, 0)).wait()));
            let tile = k.shared_tile::<St<'_, f32, 4, 4>>();
            let (to, from) = (tile.tensor(), x.tensor().local_tile((64, 64), (0, 0)));
            let row = |first: u32| {
                copy(
                    &to.slice((k.tid_x() / 2 % 32 + first, ..)),
                    &from.slice((k.tid_x() / 2 % 32 + first, ..)),
                )
            };
            let _ = row(0).wait_own();
            y.tile(0, 0).store_shared(&tile.written(row(32)).wait());
        });
    kernel.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn roles_are_not_used_in_other_roles() {
    let text = refused::<Products>(line!() + 8, &|k, (x, _, _)| {
        let escaped = Cell::new(None);
        specialized(
            k,
            x,
            |p, _, x| escaped.set(Some((p, x))),
            |_, ring| {
                let (p, x) = escaped.take().expect("stored");
                p.fill(ring, |stage| stage.fill((x.tile(0, 0),)));
            },
        );
    });
    assert_eq!(text, ENDED);
    let text = refused::<Products>(line!() + 6, &|k, (x, _, _)| {
        specialized(
            k,
            x,
            |_, _, _| (),
            |_, _| {
                k.specialize(producer(40, |_| ()), consumers::<1, _>(232, |_| ()));
            },
        );
    });
    assert_eq!(text, "expected roles outside of other roles, found nested ones");
}

#[test]
fn contributions_belong_to_their_assembly() {
    let text = refused::<Products>(line!() + 2, &|k, (x, ..)| {
        assembled(k, x, |c, [a, b], rows| {
            let _ = c.assembled(b, c.contribute(a, rows));
        });
    });
    assert_eq!(text, "expected a contribution to the assembly, found one to another assembly");
    let text = refused::<Products>(line!() + 4, &|k, (x, ..)| {
        assembled(k, x, |c, [a, _], rows| {
            let tile = c.assembled(a, c.contribute(a, rows));
            let again = c.contribute(a, rows);
            let _ = c.group().accumulate_from_zero::<Rt<'_, f32, 1, 4>>().mma_atb(&tile, &tile).wait();
            let _ = c.assembled(a, again);
        });
    });
    assert_given_back(&text, line!() - 5);
    let text = refused::<Products>(line!() + 3, &|k, (x, ..)| {
        assembled(k, x, |c, [a, _], rows| {
            let first = c.contribute(a, rows);
            let second = c.contribute(a, rows);
            let _ = (c.assembled(a, first), c.assembled(a, second));
        });
    });
    assert_eq!(text, "expected a contribution after the previous tile has been assembled, found one before");
}

type Assembly<'k> = warpwright::tiles::Assembly<'k, bf16, 8, 4, 2>;

/// A kernel with two assemblies; `work` receives the rows that a warp contributes.
fn assembled<'k>(
    k: Builder<'k>,
    x: Ptr<'k, bf16, Global, Read>,
    work: impl FnOnce(Consumer<'k, 2>, [&Assembly<'k>; 2], &Rt<'k, bf16, 1, 4>),
) {
    k.block([384]);
    k.grid([1]);
    let x = k.global(x, row_major(128, 64));
    let [a, b] = [(); 2].map(|()| k.assembly::<bf16, 8, 4, 2>());
    let consume = |c: Consumer<'k, 2>| work(c, [&a, &b], &x.tile(c.rank() * 4 + c.warp(), 0).load());
    k.specialize(producer(40, |_| {}), consumers::<2, _>(232, consume));
}
