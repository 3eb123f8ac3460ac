//! Prints the fragment of a register tile (which lane of a warp owns which element) and checks its properties.
//!
//! ```text
//! cargo run --example fragment_map
//! ```

use std::process::ExitCode;

use warpwright::{atoms::mma_atom, layout::TvLayout, prelude::*};

fn main() -> ExitCode {
    // A register tile of 16×16 bf16, as loaded by `ldmatrix` and used by `mma`.
    let tile = Rt::<bf16, 1, 1>::fragment();
    println!("{tile}");

    let owner = tile.owner((9, 6)).expect("the tile has 16 rows and columns");
    println!("element (9, 6) is in lane {}, register {}, slot {}", owner.thread, owner.register, owner.slot);
    println!("elements of lane 5:");
    for e in tile.elements(5).expect("a warp has 32 lanes") {
        println!("  register {} slot {}: element ({:2}, {:2})", e.register, e.slot, e.row(), e.col());
    }
    let row = tile.along(1).expect("each step moves along one axis");
    let bits: Vec<u32> = row.thread_bits.iter().map(|bit| bit.bit).collect();
    println!("a row's elements: values {} of each lane, and lanes that differ in bits {bits:?}", row.values);

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

/// Checks the properties for all elements and lanes.
fn check(tile: &TvLayout, a: &TvLayout, col: &TvLayout) -> Result<(), String> {
    tile.check_bijective().map_err(|why| why.to_string())?;
    for (row, c) in (0..tile.rows()).flat_map(|row| (0..tile.cols()).map(move |c| (row, c))) {
        let owner = tile.owner((row, c));
        if owner.is_err() || a.owner((row, c)) != owner || col.owner((c, row)) != owner {
            return Err(format!("element ({row}, {c}): the owners differ"));
        }
    }
    for lane in 0..tile.threads() {
        for e in tile.elements(lane).map_err(|why| why.to_string())? {
            let owner = tile.owner(e.coord.clone()).map_err(|why| why.to_string())?;
            if (owner.thread, owner.register, owner.slot) != (lane, e.register, e.slot) {
                return Err(format!("lane {lane}: it does not own element {}", e.coord));
            }
        }
    }
    Ok(())
}
