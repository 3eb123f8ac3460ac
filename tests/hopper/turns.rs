//! Turns that would read stages of other turns.

use warpwright::{
    prelude::*,
    tiles::{Consumer, Persistent, Ring, Schedule, Turn, Turns, consumers, producer},
};

type Square<'k> = (St<'k, bf16, 4, 4>,);

/// What the consumer of a kernel uses.
struct Parts<'a, 'k> {
    k: Builder<'k>,
    n: Val<'k, u32>,
    tiles: Persistent<'k>,
    c: Consumer<'k, 1>,
    rings: &'a [Ring<'k, Square<'k>, 2, 1>; 2],
    turns: &'a Turns<'k, 1>,
}

impl<'k> Parts<'_, 'k> {
    #[track_caller]
    fn run_in_turn(&self, turn: Turn<'k>, ring: usize) {
        let zeros = self.k.zeros::<Rt<f32, 1, 4>>();
        let ring = &self.rings[ring];
        let _ = self.c.run_in_turn(self.turns, turn, ring, 4, zeros, |sum, (a,)| sum.mma_abt(a, a));
    }
}

/// Builds a kernel whose consumer does `work`, which must be rejected at `line`; returns the error.
#[track_caller]
fn refused(line: u32, work: &dyn Fn(&Parts<'_, '_>)) -> String {
    let kernel = Kernel::<(u32,)>::build("rejected", Target::SM_90A, |k, (n,)| {
        k.block([256]);
        let tiles = k.persistent(Schedule::linear(), n, 1);
        let (rings, turns) = ([(); 2].map(|()| k.ring()), k.turns());
        let consumer = |c| work(&Parts { k, n, tiles, c, rings: &rings, turns: &turns });
        k.specialize(producer(40, |_| ()), consumers::<1, _>(232, consumer));
    });
    let error = kernel.expect_err("the kernel must be refused");
    assert_eq!((error.location().file(), error.location().line()), (file!(), line), "{error}");
    error.kind().to_string()
}

const ONE_READER: &str =
    "a single call that reads a ring used with `turns`, because the index of the turn determines the stages";
const ONE_TURN: &str = "a single call that takes turns, because it passes the turn on";

#[track_caller]
fn assert_single(text: &str, what: &str, line: u32) {
    let expected = format!("expected {what}, found another after that of {}:{line}:", file!());
    assert!(text.starts_with(&expected), "{text}");
}

/// A second loop would begin with the stages of the first.
#[test]
fn two_loops_in_turns() {
    let line = line!() + 3;
    let text = refused(line + 1, &|parts| {
        let Parts { tiles, c, .. } = *parts;
        tiles.each_in_turn(c, |turn, _, _| parts.run_in_turn(turn, 0));
        tiles.each_in_turn(c, |turn, _, _| parts.run_in_turn(turn, 0));
    });
    assert_single(&text, ONE_READER, line);
}

#[test]
fn two_calls_in_a_turn() {
    for (ring, what) in [(0, ONE_READER), (1, ONE_TURN)] {
        let line = line!() + 4;
        let text = refused(line + 1, &|parts| {
            let Parts { tiles, c, .. } = *parts;
            tiles.each_in_turn(c, |turn, _, _| {
                parts.run_in_turn(turn, 0);
                parts.run_in_turn(turn, ring);
            });
        });
        assert_single(&text, what, line);
    }
}

#[test]
fn other_calls_before_and_after_turns() {
    let line = line!() + 3;
    let text = refused(line + 1, &|parts| {
        let Parts { tiles, c, rings, .. } = *parts;
        c.each(&rings[0], 1, (), |_, (), _| ());
        tiles.each_in_turn(c, |turn, _, _| parts.run_in_turn(turn, 0));
    });
    assert_single(&text, ONE_READER, line);
    let line = line!() + 3;
    let text = refused(line + 1, &|parts| {
        let Parts { tiles, c, rings, .. } = *parts;
        tiles.each_in_turn(c, |turn, _, _| parts.run_in_turn(turn, 0));
        c.release(&rings[0], c.receive(&rings[0]));
    });
    assert_single(&text, ONE_READER, line);
}

/// The iterations of another loop would repeat the turn, or begin again with the first one.
#[test]
fn turns_in_other_loops() {
    let expected = "expected a turn in a single emitted loop, which is over the tiles, found one in 2 loops";
    let text = refused(line!() + 2, &|parts| {
        let Parts { k, n, tiles, c, .. } = *parts;
        tiles.each_in_turn(c, |turn, _, _| k.for_(n, |_| parts.run_in_turn(turn, 0)));
    });
    assert_eq!(text, expected);
    let text = refused(line!() + 2, &|parts| {
        let Parts { k, n, tiles, c, .. } = *parts;
        k.for_(n, |_| tiles.each_in_turn(c, |turn, _, _| parts.run_in_turn(turn, 0)));
    });
    assert_eq!(text, expected);
}

/// The index of a turn determines its first stage only if all turns have the same number of stages.
#[test]
fn turns_have_the_same_number_of_stages() {
    let text = refused(line!() + 4, &|parts| {
        let Parts { k, tiles, c, rings: [ring, _], turns, .. } = *parts;
        tiles.each_in_turn(c, |turn, row, _| {
            let zeros = k.zeros::<Rt<'_, f32, 1, 4>>();
            let _ = c.run_in_turn(turns, turn, ring, row + 1, zeros, |sum, (a,)| sum.mma_abt(a, a));
        });
    });
    assert!(
        text.starts_with("expected a number of stages from outside of the loop over the tiles"),
        "{text}"
    );
}
