//! The text of a table.

use std::{fmt, str::FromStr};

use super::{GemmEntry, GemmTable};
use crate::{
    kernels::{
        gemm::{Gemm, GemmTile, MatrixOrder},
        table::{self, Conditions, TableError, expected, listed, number},
    },
    ptx::{Element, Target, bf16, e4m3, e5m2, f16, tf32},
    tiles::Schedule,
};

/// The line between the fields of a table and its entries.
const COLUMNS: &str = "T D A B m n k tile cluster parts group µs";

/// The operand types of [`Gemm`], their sizes in bytes, and their result types.
const TYPES: [(&str, u32, &[&str]); 7] = [
    (bf16::NAME, bf16::SIZE, OF_FLOATS),
    (f16::NAME, f16::SIZE, OF_FLOATS),
    (tf32::NAME, tf32::SIZE, OF_FLOATS),
    (e4m3::NAME, e4m3::SIZE, OF_FLOATS),
    (e5m2::NAME, e5m2::SIZE, OF_FLOATS),
    (i8::NAME, i8::SIZE, OF_INTEGERS),
    (u8::NAME, u8::SIZE, OF_INTEGERS),
];
const OF_FLOATS: &[&str] = &[bf16::NAME, f16::NAME, f32::NAME, e4m3::NAME, e5m2::NAME];
const OF_INTEGERS: &[&str] = &[i32::NAME, f32::NAME, bf16::NAME, f16::NAME, i8::NAME, u8::NAME];

/// The 8-bit result types.
const BYTES: [&str; 4] = [e4m3::NAME, e5m2::NAME, i8::NAME, u8::NAME];

impl fmt::Display for GemmTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, driver, date, command, entries } = self;
        table::write_head(f, (gpu, driver, date, command), COLUMNS)?;
        entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for GemmEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operand, result, size: [m, n, k], gemm, micros } = self;
        let Gemm { a, b, tile, cluster: [rows, cols], schedule, parts, .. } = gemm;
        let (a, b, group) = (a.name(), b.name(), schedule.group());
        write!(f, "{operand} {result} {a} {b} {m} {n} {k} {tile} {rows}x{cols} {parts} {group} {micros:.1}")
    }
}

impl FromStr for GemmTable {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let (Conditions { gpu, driver, date, command }, entries) = table::parse(
            text,
            COLUMNS,
            |text, gpu| GemmEntry::parse(text, Gemm::target_of(gpu.capability)),
            |a: &GemmEntry, b| a.problem() == b.problem(),
        )?;
        Ok(Self { gpu, driver, date, command, entries })
    }
}

impl GemmEntry {
    /// Parses an entry of a table for `target`.
    fn parse(text: &str, target: Target) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [operand, result, a, b, m, n, k, tile, cluster, parts, group, micros] = fields[..] else {
            return Err(format!("expected 12 fields, found {}", fields.len()));
        };
        let types = TYPES.iter().find(|(name, ..)| *name == operand);
        let &(_, bytes, results) = types.ok_or_else(|| {
            expected(&format!("operands of {}", listed(TYPES.map(|(name, ..)| name))), operand)
        })?;
        if !results.contains(&result) {
            return Err(expected(&format!("a result of {}", listed(results.iter().copied())), result));
        }
        let micros = table::micros(micros)?;
        let cluster = match cluster.split_once('x') {
            Some((rows, cols)) => [number(rows)?, number(cols)?],
            None => return Err(expected("a cluster such as 2x1", cluster)),
        };
        let gemm = Gemm {
            target,
            a: order(a)?,
            b: order(b)?,
            cluster,
            schedule: Schedule::grouped(number(group)?),
            parts: number(parts)?,
            ..Gemm::new(tile_of(tile)?)
        };
        gemm.check(bytes)?;
        if gemm.tile == GemmTile::T128x176 && BYTES.contains(&result) {
            return Err(expected("a result of 16 or 32 bits for tiles of 128x176", result));
        }
        let size = [number(m)?, number(n)?, number(k)?];
        Ok(Self { operand: operand.into(), result: result.into(), size, gemm, micros })
    }
}

fn order(text: &str) -> Result<MatrixOrder, String> {
    let order = MatrixOrder::ALL.into_iter().find(|order| order.name() == text);
    order.ok_or_else(|| expected("row or col", text))
}

fn tile_of(text: &str) -> Result<GemmTile, String> {
    let tile = GemmTile::ALL.into_iter().find(|tile| tile.to_string() == text);
    tile.ok_or_else(|| expected("a tile such as 128x192", text))
}
