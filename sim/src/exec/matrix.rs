//! `ldmatrix`, `stmatrix` and `movmatrix`: 8×8 matrices of 16-bit elements (PTX ISA, "ldmatrix").
//!
//! Row i of a matrix consists of 16 bytes at the address that lane i (plus 8 per earlier matrix) provides. Lane l owns element (l/4, 2(l
//! mod 4)) and the next element of the row. With `.trans`, it owns element (2(l mod 4), l/4) and the next element of the column.

use crate::exec::memory::{addresses, aligned};
use crate::exec::shared::offsets;
use crate::lanes::{FULL, Lanes32};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{MatrixAccess, R, Space};
use crate::program::spaces::SHARED_WINDOW;
use crate::report::fault::Outcome;

/// Returns the eight checked row addresses of each matrix. Lanes beyond the last row are ignored, unless their addresses must also be
/// valid.
fn rows(cluster: &mut Cluster<'_>, warp: &Warp, access: &MatrixAccess, what: &str) -> Outcome<[u64; 32]> {
    let given = addresses(warp, access.addr);
    let used = if access.all_lanes { 32 } else { 8 * access.regs.len() };
    let mut all = [given[0]; 32];
    all[..used].copy_from_slice(&given[..used]);
    if access.space == Space::Generic {
        for address in &mut all {
            *address = address.wrapping_sub(SHARED_WINDOW);
        }
    }
    offsets(cluster, &mut all);
    aligned(&all, 16, what, Space::Shared)?;
    cluster.cta().shared.within(&all, 16, what)?;
    Ok(all)
}

pub(crate) fn load<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &MatrixAccess,
) -> Outcome<()> {
    let what = match access.all_lanes {
        true => "a row of ldmatrix (on sm_75, of any lane)",
        false => "a row of ldmatrix",
    };
    let all = rows(cluster, warp, access, what)?;
    if CHECKED {
        let used = u32::MAX >> (32 - 8 * access.regs.len());
        let place = |words: &Lanes32| if access.transposed { transpose(words) } else { *words };
        cluster.before_row_load(&mut warp.shadow.undefined, &access.regs, &all, used, place)?;
    }
    let shared = &cluster.cta().shared;
    for (i, &reg) in access.regs.iter().enumerate() {
        let rows = &all[8 * i..8 * i + 8];
        let mut words = [0; 32];
        for (row, &address) in rows.iter().enumerate() {
            let start = (address >> 2) as usize;
            words[4 * row..4 * row + 4].copy_from_slice(&shared.words[start..start + 4]);
        }
        let out = if access.transposed { transpose(&words) } else { words };
        warp.regs.put_r(reg, FULL, &out);
    }
    Ok(())
}

pub(crate) fn store<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &MatrixAccess,
) -> Outcome<()> {
    let all = rows(cluster, warp, access, "a row of stmatrix")?;
    let mut rows = [[0; 4]; 32];
    for (i, &reg) in access.regs.iter().enumerate() {
        let given = warp.regs.r(reg);
        let words = if access.transposed { transpose(given) } else { *given };
        for (row, words) in rows[8 * i..8 * i + 8].iter_mut().zip(words.chunks_exact(4)) {
            row.copy_from_slice(words);
        }
    }
    let used = 8 * access.regs.len();
    if CHECKED {
        let new = |row: usize, i: usize| (rows[row][i / 4] >> (8 * (i % 4))) as u8;
        cluster.before_row_store(&all, u32::MAX >> (32 - used), &new)?;
    }
    let shared = &mut cluster.cta().shared;
    for (&address, row) in all[..used].iter().zip(&rows) {
        let start = (address >> 2) as usize;
        shared.words[start..start + 4].copy_from_slice(row);
        shared.written.mark(address, 16);
    }
    if CHECKED {
        let place = |words: &Lanes32| if access.transposed { transpose(words) } else { *words };
        cluster.after_row_store(&warp.shadow.undefined, &access.regs, &all, place);
    }
    Ok(())
}

/// Returns the transpose of an 8×8 matrix of which each lane owns one word (two adjacent elements of a row).
fn transpose(words: &Lanes32) -> Lanes32 {
    let element = |row: usize, column: usize| words[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

/// Executes `movmatrix.sync.aligned.m8n8.trans.b16`.
pub(crate) fn movmatrix(warp: &mut Warp, d: R, a: R) {
    let out = transpose(warp.regs.r(a));
    warp.regs.put_r(d, FULL, &out);
}
