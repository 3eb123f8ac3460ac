//! The banks of shared memory that a warp's access touches, and the conflicts between lanes.

use std::collections::{BTreeMap, BTreeSet};

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint, check_size};
use super::layouts::{hue, name};
use super::thread_values::Highlight;
use crate::layout::{ComposedLayout, bank_conflicts, warp_accesses};

/// The number of banks of shared memory (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u64 = 32;
/// The number of bytes per word of a bank.
const WORD: u64 = 4;
/// The number of lanes per warp.
const WARP: usize = 32;

impl Picture {
    /// Draws the words of shared memory that one access of a warp touches, and the resulting bank conflicts.
    ///
    /// `layout` maps (thread, value) to byte offsets. In each access, a lane loads or stores `vector` consecutive values of `element_bytes`
    /// bytes each. `access` is the index of the access to draw; the accesses of warp 0 come first.
    ///
    /// The picture has one table for each 128-byte phase. Each row of a table contains one word of each bank and is labeled with the byte
    /// offset of its first word; rows that the access does not touch are omitted. A cell shows the first thread (the first highlighted
    /// thread, if any) that accesses its word, followed by `+` and the number of other threads that access the word. All threads that
    /// access a word are served at the same time. A word is framed if its bank must serve several words of the phase in turn.
    ///
    /// # Errors
    /// Returns the same errors as [`warp_accesses`] and [`bank_conflicts`], [`DrawError::Access`] if `access` is past the last access, or
    /// [`DrawError::TooLarge`] if the layout has more than 65,536 values in total.
    pub fn of_banks(
        layout: &ComposedLayout,
        element_bytes: i64,
        vector: i64,
        access: usize,
        highlight: Highlight,
    ) -> Result<Picture, DrawError> {
        if let [threads, values] = layout.shape().modes() {
            check_size(&name(layout), threads.size(), values.size())?;
        }
        let accesses = warp_accesses(layout, element_bytes, vector)?;
        let count = accesses.len();
        let addresses = accesses.get(access).ok_or(DrawError::Access { access, count })?;
        let width =
            element_bytes.checked_mul(vector).and_then(|width| u64::try_from(width).ok()).unwrap_or(0);
        let cost = bank_conflicts(addresses.iter().copied(), width)?;

        let warps = layout.shape().modes()[0].size().max(1) as usize;
        let per_warp = count / warps.div_ceil(WARP).max(1);
        let first = (access / per_warp.max(1) * WARP) as u32;
        let lanes_per_phase = ((BANKS * WORD / width) as usize).min(WARP);
        let mut rows = Vec::new();
        for (phase, (lanes, passes)) in addresses.chunks(lanes_per_phase).zip(&cost.passes).enumerate() {
            let lane = first + (phase * lanes_per_phase) as u32;
            let last = lane + lanes.len() as u32 - 1;
            let title = format!("phase {phase}, threads {lane} to {last}: {passes} {}", pass(*passes));
            rows.push(vec![Some(phase_table(title, lanes, lane, width, highlight)?)]);
        }
        Ok(Picture {
            title: format!("{}: access {access} of {count}, {width} bytes per lane", name(layout)),
            tables: rows,
            notes: vec![format!(
                "conflict degree {}, {} {} in total",
                cost.degree(),
                cost.wavefronts(),
                pass(cost.wavefronts())
            )],
        })
    }
}

fn pass(count: u32) -> &'static str {
    if count == 1 { "pass" } else { "passes" }
}

fn phase_table(
    title: String,
    lanes: &[u64],
    first: u32,
    width: u64,
    highlight: Highlight,
) -> Result<Table, DrawError> {
    let mut accessed: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (lane, address) in (first..).zip(lanes) {
        for word in address / WORD..=(address + width - 1) / WORD {
            accessed.entry(word).or_default().push(lane);
        }
    }
    let mut words_of_bank: BTreeMap<u64, usize> = BTreeMap::new();
    accessed.keys().for_each(|word| *words_of_bank.entry(word % BANKS).or_default() += 1);
    let rows: Vec<u64> =
        accessed.keys().map(|word| word / BANKS).collect::<BTreeSet<_>>().into_iter().collect();
    let table = Table::new(title, (rows.len(), BANKS as usize), |row, bank| {
        let bank = bank as u64;
        let Some(lanes) = accessed.get(&(rows[row] * BANKS + bank)) else { return Cell::default() };
        let shown = lanes.iter().copied().find(|lane| highlight.contains(*lane)).unwrap_or(lanes[0]);
        let mut lines = vec![format!("T{shown}")];
        if lanes.len() > 1 {
            lines.push(format!("+{}", lanes.len() - 1));
        }
        let tint = if highlight.contains(shown) { hue(shown.into()) } else { Tint::Dim };
        Cell { lines, tint, alarm: words_of_bank.get(&bank).is_some_and(|words| *words > 1) }
    })?;
    Ok(table
        .with_axes("byte", "bank")
        .with_row_labels(rows.iter().map(|row| (row * BANKS * WORD).to_string())))
}
