//! `warpwright draw`: pictures of layouts, instructions, tiles, swizzles, bank conflicts and schedules.

mod output;
mod png;

use std::process::ExitCode;
use std::str::FromStr;

use clap::Subcommand;

use super::Error;
use super::layout::{Value, evaluate};
use super::tile::{self, TileType};
use output::Output;
use warpwright::atoms::{copy_atom, mma_atom};
use warpwright::draw::{Cell, DrawError, Highlight, Picture, Table, Tint};
use warpwright::layout::{ComposedLayout, Layout, Tiler};
use warpwright::tensor::{TiledCopy, TiledMma};
use warpwright::tiles::{Footprint, Schedule};

/// Draws layouts, instructions, tiles, swizzles, bank conflicts and schedules
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The offset at each coordinate of a layout; or, with --tile, the owner of each element of a tile
    Layout {
        /// Expression in the syntax of `warpwright layout`
        expression: String,

        /// Interpret the layout as a map from (thread, value) to row + col·rows of a tile of this size: 16x8
        #[arg(long, value_name = "ROWSxCOLS")]
        tile: Option<TileSize>,

        #[command(flatten)]
        who: Who,

        #[command(flatten)]
        output: Output,
    },

    /// The operands of a matrix instruction, or of a tile of matrix instructions: A on the left, B on top, C in the corner
    Mma {
        /// Name of the atom, as listed by `warpwright atoms`
        name: String,

        /// Arrangement of atoms along M, N and K: (2,2,1), or a layout
        #[arg(long, value_name = "LAYOUT")]
        atoms: Option<String>,

        /// Tiler applied before the atom: (32,32,16), or layouts
        #[arg(long, value_name = "TILER")]
        permutation: Option<String>,

        #[command(flatten)]
        who: Who,

        #[command(flatten)]
        output: Output,
    },

    /// The source and the destination of a copy instruction, or of a tile of copy instructions
    Copy {
        /// Name of the atom, as listed by `warpwright atoms`
        name: String,

        /// Bits per element
        #[arg(long)]
        bits: Option<u32>,

        /// Arrangement of threads: (32,8), or a layout such as (2,3):(3,1)
        #[arg(long, value_name = "LAYOUT", requires = "values")]
        threads: Option<String>,

        /// Arrangement of the values of a thread: (4,1), or a layout
        #[arg(long, value_name = "LAYOUT", requires = "threads")]
        values: Option<String>,

        #[command(flatten)]
        who: Who,

        #[command(flatten)]
        output: Output,
    },

    /// The lane and value that own each element of a register tile or vector, or the byte offset of each element of a shared tile or vector
    Tile {
        /// Type as in Rust: 'Rt<bf16, 1, 1, Col>', 'RowVec<f32, 2>', 'Rv<f32, 4, Naive>', 'St<bf16, 4, 4, Swizzle64>', 'Sv<f32, 4>'
        r#type: String,

        #[command(flatten)]
        who: Who,

        #[command(flatten)]
        output: Output,
    },

    /// The position in shared memory to which a swizzle moves each chunk of a tile
    Swizzle {
        /// The swizzle, on bytes: S<3,4,3>
        expression: String,

        #[command(flatten)]
        output: Output,
    },

    /// The order in which resident blocks compute the tiles of a result: the tiles of a round have the same color
    Schedule {
        /// Number of rows and columns of tiles: 16x12
        #[arg(value_name = "ROWSxCOLS")]
        size: TileSize,

        /// Number of rows of tiles per group; the tiles of a group are computed column by column
        #[arg(long, value_name = "ROWS", default_value_t = 1)]
        group: u32,

        /// Number of resident blocks, one per multiprocessor
        #[arg(long, value_name = "N", default_value_t = 132)]
        blocks: u32,

        /// Number of rows and columns of tiles that a cluster computes simultaneously
        #[arg(long, value_name = "ROWSxCOLS", default_value = "1x1")]
        cluster: TileSize,

        #[command(flatten)]
        output: Output,
    },

    /// The banks of shared memory that one access of a warp touches, and its conflicts
    Banks {
        /// A layout that maps (thread, value) to elements, or a swizzled layout that maps (thread, value) to bytes
        expression: String,

        /// Bytes per element
        #[arg(long, default_value_t = 4)]
        bytes: i64,

        /// Elements that each thread moves per access
        #[arg(long, default_value_t = 1)]
        vector: i64,

        /// Index of the access to draw, from 0; accesses of warp 0 come first
        #[arg(long, default_value_t = 0)]
        access: usize,

        #[command(flatten)]
        who: Who,

        #[command(flatten)]
        output: Output,
    },
}

/// The threads to highlight
#[derive(clap::Args)]
struct Who {
    /// Color only this thread
    #[arg(long, value_name = "N", conflicts_with = "warp")]
    thread: Option<u32>,

    /// Color only this warp's threads
    #[arg(long, value_name = "N")]
    warp: Option<u32>,
}

impl Who {
    /// Rejects a picture without highlighted cells if a highlight was requested.
    fn check(&self, picture: &Picture) -> Result<(), Error> {
        let colored = |cell: &Cell| matches!(cell.tint, Tint::Hue(_));
        let cells = |table: &Table| {
            (0..table.rows())
                .any(|row| (0..table.cols()).any(|col| table.cell(row, col).is_some_and(colored)))
        };
        let problem = match self.highlight() {
            Highlight::Thread(thread) => format!("--thread {thread}: expected a thread in the picture"),
            Highlight::Warp(warp) => format!("--warp {warp}: expected a warp in the picture"),
            Highlight::All => return Ok(()),
        };
        if picture.all_tables().any(cells) { Ok(()) } else { Err(Error(problem)) }
    }

    fn highlight(&self) -> Highlight {
        match (self.thread, self.warp) {
            (Some(thread), _) => Highlight::Thread(thread),
            (_, Some(warp)) => Highlight::Warp(warp),
            _ => Highlight::All,
        }
    }
}

impl What {
    fn who(&self) -> Option<&Who> {
        match self {
            What::Layout { who, .. }
            | What::Mma { who, .. }
            | What::Copy { who, .. }
            | What::Tile { who, .. }
            | What::Banks { who, .. } => Some(who),
            What::Swizzle { .. } | What::Schedule { .. } => None,
        }
    }
}

/// The number of rows and columns of a tile.
#[derive(Debug, Clone, Copy)]
struct TileSize(u32, u32);

impl FromStr for TileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = text
            .split_once(['x', '×'])
            .and_then(|(rows, cols)| Some((rows.parse().ok()?, cols.parse().ok()?)));
        match size {
            Some((rows, cols)) if rows > 0 && cols > 0 => Ok(TileSize(rows, cols)),
            _ => Err("expected rows and columns, such as 16x8".to_owned()),
        }
    }
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let (picture, output) = match &self.what {
            What::Layout { expression, tile, who, output } => {
                (layout(expression, *tile, who.highlight())?, output)
            }
            What::Mma { name, atoms, permutation, who, output } => {
                (mma(name, atoms.as_deref(), permutation.as_deref(), who.highlight())?, output)
            }
            What::Copy { name, bits, threads, values, who, output } => {
                let tile = threads.as_deref().zip(values.as_deref());
                (copy(name, *bits, tile, who.highlight())?, output)
            }
            What::Tile { r#type, who, output } => (tile(r#type, who.highlight())?, output),
            What::Swizzle { expression, output } => (swizzle(expression)?, output),
            What::Schedule { size, group, blocks, cluster, output } => {
                (schedule(*size, Schedule::grouped(*group), *blocks, *cluster)?, output)
            }
            What::Banks { expression, bytes, vector, access, who, output } => {
                let layout = byte_layout(expression, *bytes)?;
                let picture = Picture::of_banks(&layout, *bytes, *vector, *access, who.highlight());
                (picture.map_err(|error| Error::of(expression, error))?, output)
            }
        };
        if let Some(who) = self.what.who() {
            who.check(&picture)?;
        }
        output.write(&picture)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn read(expression: &str) -> Result<Value, Error> {
    evaluate(expression)
        .map_err(|mistake| Error(format!("{expression:?}, column {}: {}", mistake.column, mistake.problem)))
}

fn layout(expression: &str, tile: Option<TileSize>, highlight: Highlight) -> Result<Picture, Error> {
    let wrong = |error: DrawError| Error::of(expression, error);
    match (read(expression)?, tile) {
        (Value::Layout(layout) | Value::Slice(layout, _), Some(TileSize(rows, cols))) => {
            Picture::of_thread_values(&layout, (rows, cols), highlight).map_err(wrong)
        }
        (_, Some(_)) => Err(Error::of(expression, "--tile: expected a layout of offsets")),
        (_, None) if highlight != Highlight::All => Err(Error::of(
            expression,
            "--thread and --warp: expected --tile, which gives the size of the tile",
        )),
        (Value::Layout(layout) | Value::Slice(layout, _), None) => {
            Picture::of_layout(&layout.into()).map_err(wrong)
        }
        (Value::Composed(layout), None) => Picture::of_layout(&layout).map_err(wrong),
        (Value::Coordinates(layout) | Value::CoordinateSlice(layout, _), None) => {
            Picture::of_coordinates(&layout).map_err(wrong)
        }
        (other, None) => Err(Error::of(expression, format_args!("expected a layout, found {other}"))),
    }
}

fn mma(
    name: &str,
    atoms: Option<&str>,
    permutation: Option<&str>,
    highlight: Highlight,
) -> Result<Picture, Error> {
    let atom = mma_atom(name).map_err(|error| Error(error.to_string()))?;
    let wrong = |error: DrawError| Error::of(name, error);
    if atoms.is_none() && permutation.is_none() {
        return Picture::of_mma(atom, highlight).map_err(wrong);
    }
    let atoms = plain_layout(atoms.unwrap_or("1:0"))?;
    let permutation: Tiler = match permutation {
        None => Tiler::default(),
        Some(text) => read(text)?
            .tiler()
            .ok_or_else(|| Error::of(text, "expected a tuple of `_`, integers and layouts"))?,
    };
    let tiled = TiledMma::new(atom, &atoms, permutation).map_err(|error| wrong(error.into()))?;
    Picture::of_tiled_mma(&tiled, highlight).map_err(wrong)
}

fn copy(
    name: &str,
    bits: Option<u32>,
    tile: Option<(&str, &str)>,
    highlight: Highlight,
) -> Result<Picture, Error> {
    let atom = copy_atom(name).map_err(|error| Error(error.to_string()))?;
    let wrong = |error: DrawError| Error::of(name, error);
    let Some((threads, values)) = tile else {
        return Picture::of_copy(atom, bits, highlight).map_err(wrong);
    };
    let bits = bits.unwrap_or_else(|| atom.unit_bits().min(32));
    let tiled = TiledCopy::new(atom, bits, &plain_layout(threads)?, &plain_layout(values)?);
    let tiled = tiled.map_err(|error| wrong(error.into()))?;
    Picture::of_tiled_copy(&tiled, highlight).map_err(wrong)
}

/// Parses a layout, or the column-major layout of a shape.
fn plain_layout(expression: &str) -> Result<Layout, Error> {
    let value = read(expression)?;
    match (&value, value.int_tuple()) {
        (Value::Layout(layout), _) => Ok(layout.clone()),
        (_, Some(shape)) => Layout::column_major(shape).map_err(|error| Error::of(expression, error)),
        _ => Err(Error::of(expression, format_args!("expected a shape or a layout, found {value}"))),
    }
}

fn tile(text: &str, highlight: Highlight) -> Result<Picture, Error> {
    match tile::parse(text)? {
        TileType::Registers(tile) => {
            let picture = Picture::of_thread_values(tile.map.layout(), tile.size, highlight);
            let picture = picture.map_err(|error| Error::of(text, error))?;
            let (registers, per_register) = (tile.map.registers(), tile.element.per_register());
            let note = format!(
                "{registers} registers per lane, {per_register} values in each: T is the lane, V its value"
            );
            Ok(Picture { title: format!("{}: {}", tile.name, picture.title), notes: vec![note], ..picture })
        }
        TileType::Shared(_) if highlight != Highlight::All => {
            Err(Error::of(text, "--thread and --warp: expected a tile or vector in registers"))
        }
        TileType::Shared(tile) => {
            let picture = Picture::of_layout(&tile.bytes).map_err(|error| Error::of(text, error))?;
            let note = format!("offsets in bytes, {} in total; the bank is offset / 4 mod 32", tile.total);
            Ok(Picture { title: format!("{}: {}", tile.name, picture.title), notes: vec![note], ..picture })
        }
    }
}

fn swizzle(expression: &str) -> Result<Picture, Error> {
    match read(expression)? {
        Value::Swizzle(swizzle) => Picture::of_swizzle(swizzle).map_err(|error| Error::of(expression, error)),
        other => {
            Err(Error::of(expression, format_args!("expected a swizzle S<bits,base,shift>, found {other}")))
        }
    }
}

/// Draws a schedule, and notes the maximum number of tiles of A and B that a round reads.
fn schedule(
    TileSize(rows, cols): TileSize,
    schedule: Schedule,
    blocks: u32,
    TileSize(high, wide): TileSize,
) -> Result<Picture, Error> {
    let schedule = schedule.per_cluster(high, wide);
    let rounds = 0..schedule.rounds(blocks, [rows, cols]);
    let tiles = rounds.clone().map(|round| {
        let tiles = schedule.round(round, blocks, [rows, cols]);
        tiles.into_iter().map(|(row, col)| (row as usize, col as usize)).collect()
    });
    let title = format!("{rows}×{cols} tiles {schedule}");
    let picture = Picture::of_order(title.clone(), (rows as usize, cols as usize), tiles);
    let picture = picture.map_err(|error| Error::of(&title, error))?;
    let footprints = rounds.map(|round| schedule.footprint(round, blocks, [rows, cols]));
    let largest = footprints.max_by_key(|footprint| footprint.a_tiles + footprint.b_tiles);
    let note = |Footprint { tiles, a_tiles, b_tiles }| {
        format!(
            "{blocks} resident blocks: at most {a_tiles} tiles of A and {b_tiles} of B at each step, for {tiles} tiles"
        )
    };
    Ok(Picture { notes: largest.map(note).into_iter().collect(), ..picture })
}

/// Parses a layout in bytes.
fn byte_layout(expression: &str, bytes: i64) -> Result<ComposedLayout, Error> {
    match read(expression)? {
        Value::Layout(layout) => {
            layout.scaled(bytes).map(Into::into).map_err(|error| Error::of(expression, error))
        }
        Value::Composed(layout) => Ok(layout),
        other => {
            Err(Error::of(expression, format_args!("expected a layout of (thread, value), found {other}")))
        }
    }
}
