//! Which lane of a warp holds which element of a tile: prints a fragment map, and checks its properties.
//!
//! ```text
//! cargo run --example fragment_map
//! ```

use std::process::ExitCode;

use warpwright::{
    atoms::{FragmentMap, mma_atom},
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

/// The properties, over all elements and lanes.
fn check(tile: &FragmentMap, a: &FragmentMap, col: &FragmentMap) -> Result<(), String> {
    tile.check_bijective().map_err(|why| why.to_string())?;
    for (row, c) in (0..tile.rows()).flat_map(|row| (0..tile.cols()).map(move |c| (row, c))) {
        let owner = tile.owner(row, c);
        if owner.is_err() || a.owner(row, c) != owner || col.owner(c, row) != owner {
            return Err(format!("element ({row}, {c}): the owners differ"));
        }
    }
    for (lane, e) in (0..32).flat_map(|lane| tile.elements(lane).map(move |e| (lane, e))) {
        let owner = tile.owner(e.row, e.col).map_err(|why| why.to_string())?;
        if (owner.lane, owner.register, owner.half) != (lane, e.register, e.half) {
            return Err(format!("lane {lane}: it does not own element ({}, {})", e.row, e.col));
        }
    }
    Ok(())
}
