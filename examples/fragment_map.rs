//! Which lane of a warp holds which element of a tile: prints a fragment map, and property-tests it.
//!
//! ```text
//! cargo run --example fragment_map
//! ```

use std::process::ExitCode;

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use warpwright::{
    atoms::{FragmentMap, mma_atom, strategies},
    prelude::*,
};

fn main() -> ExitCode {
    // A register tile of 16×16 bf16, as `ldmatrix` gives it and `mma` takes it.
    let tile = Rt::<bf16, 1, 1>::fragment();
    println!("{tile}");

    let owner = tile.owner(9, 6).expect("the tile has 16 rows and columns");
    println!("element (9, 6) is in lane {}, register {}, half {}", owner.lane, owner.register, owner.half);
    println!("lane 5 holds:");
    for e in tile.elements(5) {
        println!("  register {} half {}: element ({:2}, {:2})", e.register, e.half, e.row, e.col);
    }

    // It is operand A of `mma.m16n8k16`, and the column layout is the row layout of the transposed tile.
    let a =
        mma_atom("SM80_16x8x16_F32BF16BF16F32_TN").expect("there is one").fragment_a().expect("in registers");
    let col = Rt::<bf16, 1, 1, Col>::fragment();
    match check(&tile, &a, &col) {
        Ok(()) => println!(
            "\nproperties hold: a bijection, operand A of mma.m16n8k16, and its transpose in column layout"
        ),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The properties, over elements and lanes drawn at random.
fn check(tile: &FragmentMap, a: &FragmentMap, col: &FragmentMap) -> Result<(), String> {
    tile.check_bijective().map_err(|why| why.to_string())?;
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let elements = strategies::coordinate(tile);
    runner
        .run(&elements, |(row, c)| {
            let owner = tile.owner(row, c).map_err(|why| TestCaseError::fail(why.to_string()))?;
            prop_assert_eq!(a.owner(row, c), Ok(owner));
            prop_assert_eq!(col.owner(c, row), Ok(owner));
            Ok(())
        })
        .map_err(|why| why.to_string())?;
    let lanes = strategies::lane();
    runner
        .run(&lanes, |lane| {
            for e in tile.elements(lane) {
                let owner = tile.owner(e.row, e.col).map_err(|why| TestCaseError::fail(why.to_string()))?;
                prop_assert_eq!((owner.lane, owner.register, owner.half), (lane, e.register, e.half));
            }
            Ok(())
        })
        .map_err(|why| why.to_string())
}
