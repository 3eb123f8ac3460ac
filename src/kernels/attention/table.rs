//! Tables of the fastest attention kernel for each problem, as measured on a GPU.

use std::{fmt, str::FromStr, sync::LazyLock};

use super::{
    Attention, AttentionMask, AttentionOverlap, AttentionProblem, AttentionTile, ProductOrder,
    ScaledAttention,
};
use crate::{
    kernels::{
        gemm::{Gemm, GpuKind},
        table::{self, Conditions, TableError, expected, listed, number},
    },
    ptx::{Element, bf16, e4m3, f16},
    tiles::Schedule,
};

/// The fastest attention kernel for each problem, as measured by `warpwright tune attention`, with the measurement conditions.
///
/// In text form, a table consists of lines with the measurement conditions, a line with the column names, and one line for each entry. In
/// the example below, `T` is the element type, `d` is the head size of Q and K, and `e` is the head size of V. The numbers of heads are
/// totals over all batches. `group` and `order` specify the schedule; `products` and `rounding` specify the overlap. Parsing fails if the
/// tile of an entry is not supported, or if two entries have the same element type and problem.
///
/// ```
/// use warpwright::kernels::AttentionTable;
///
/// let table: AttentionTable = "\
/// gpu: NVIDIA H200
/// capability: 9.0
/// multiprocessors: 132
/// driver: CUDA 13.0
/// date: 2026-11-26
/// command: warpwright tune attention --sizes 4096,128 --masks causal
/// T d e mask heads kv_heads queries keys tile group order products rounding µs
/// bf16 128 128 causal 128 128 4096 4096 128x128 12 forth free late 885.6
/// ".parse()?;
/// assert_eq!(table.entries[0].tile.queries, 128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "autotuner")]
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionTable {
    /// The kind of GPU on which the kernels were measured.
    pub gpu: GpuKind,
    /// The latest CUDA version that the driver supports, such as `CUDA 13.0`.
    pub driver: String,
    /// The date of the measurement, such as `2026-11-26`.
    pub date: String,
    /// The command line of the measurement.
    pub command: String,
    /// The fastest kernel for each problem.
    pub entries: Vec<AttentionEntry>,
}

/// The fastest kernel for a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionEntry {
    /// The element type of Q, K and V: `bf16` or `f16` for [`Attention`], or `e4m3` for [`ScaledAttention`].
    pub element: String,
    /// The problem. Lookups ignore its [`target`](AttentionProblem::target).
    pub problem: AttentionProblem,
    /// The tile of the kernel.
    pub tile: AttentionTile,
    /// The order in which tiles are processed.
    pub schedule: Schedule,
    /// The overlap of matrix products with the computation of softmax weights. Only [`ScaledAttention`] uses this field.
    pub overlap: AttentionOverlap,
    /// The median time of a launch in microseconds.
    pub micros: f64,
}

/// The line between the conditions of the measurement and the entries.
const COLUMNS: &str = "T d e mask heads kv_heads queries keys tile group order products rounding µs";
const TYPES: [&str; 3] = [bf16::NAME, f16::NAME, e4m3::NAME];
const PRODUCTS: [(&str, ProductOrder); 3] =
    [("free", ProductOrder::Free), ("in-turn", ProductOrder::InTurn), ("staggered", ProductOrder::Staggered)];

/// One table for each run of `tune`.
static BUILTIN: LazyLock<[AttentionTable; 2]> = LazyLock::new(|| {
    [include_str!("tables/h200.txt"), include_str!("tables/h200_llama.txt")]
        .map(|text| text.parse().expect("the crate's tests parse the tables"))
});

impl AttentionTable {
    /// Returns the built-in tables, which `call::attention` and `call::scaled_attention` search after the tables of the kernel cache.
    pub fn builtin() -> &'static [Self] {
        &*BUILTIN
    }

    /// Returns the table's kernel for a problem with elements of type `T` (`bf16` or `f16`), or `None` if the table does not contain the
    /// problem for this type.
    pub fn get<T: Element>(&self, problem: &AttentionProblem) -> Option<Attention> {
        let AttentionEntry { tile, schedule, .. } = *self.entry(T::NAME, problem)?;
        Some(Attention { tile, schedule, ..Attention::for_problem(problem) })
    }

    /// Returns the table's kernels for a problem with `e4m3` elements, or `None` if the table does not contain the problem.
    pub fn get_scaled(&self, problem: &AttentionProblem) -> Option<ScaledAttention> {
        let AttentionEntry { tile, schedule, overlap, .. } = *self.entry(e4m3::NAME, problem)?;
        Some(ScaledAttention { tile, schedule, overlap, ..ScaledAttention::for_problem(problem) })
    }

    fn entry(&self, element: &str, problem: &AttentionProblem) -> Option<&AttentionEntry> {
        self.entries.iter().find(|entry| entry.is_for(element, problem))
    }
}

impl AttentionEntry {
    /// Returns whether this is the entry for a problem, on any target, with elements of type `element`.
    fn is_for(&self, element: &str, problem: &AttentionProblem) -> bool {
        self.element == element
            && self.problem == AttentionProblem { target: self.problem.target, ..*problem }
    }

    /// Parses an entry of a table that was measured on `gpu`.
    fn parse(text: &str, gpu: &GpuKind) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [
            element,
            d,
            e,
            mask,
            heads,
            kv_heads,
            queries,
            keys,
            tile,
            group,
            order,
            products,
            rounding,
            micros,
        ] = fields[..]
        else {
            return Err(format!("expected 14 fields, found {}", fields.len()));
        };
        if !TYPES.contains(&element) {
            return Err(expected(&format!("elements of {}", listed(TYPES)), element));
        }
        let is_scaled = element == e4m3::NAME;
        let problem = AttentionProblem {
            target: Gemm::target_of(gpu.capability),
            head_size: number(d)?,
            value_size: number(e)?,
            mask: parse_mask(mask)?,
            heads: number(heads)?,
            kv_heads: number(kv_heads)?,
            queries: number(queries)?,
            keys: number(keys)?,
            multiprocessors: gpu.multiprocessors,
        };
        let AttentionProblem { target, head_size, value_size, .. } = problem;
        let tiles: Vec<_> = if is_scaled {
            ScaledAttention::tiles(head_size).collect()
        } else {
            AttentionTile::all(target, head_size, value_size).collect()
        };
        let names = || listed_tiles(&tiles);
        let tile = tiles.iter().find(|of| named(of) == tile).ok_or_else(|| expected(&names(), tile))?;
        let schedule = Schedule::grouped(number(group)?);
        let schedule = match order {
            "forth" => schedule,
            "back" => schedule.back_and_forth(),
            _ => return Err(expected("an order of forth or back", order)),
        };
        let products = PRODUCTS.iter().find(|(name, _)| *name == products).map(|(_, order)| *order);
        let overlap = match (products, rounding) {
            (Some(order), "early") => AttentionOverlap { order, rounds_early: true },
            (Some(order), "late") => AttentionOverlap { order, rounds_early: false },
            _ => {
                let what = format!("{} and early or late", listed(PRODUCTS.map(|(name, _)| name)));
                return Err(expected(&what, &format!("{} {rounding}", fields[11])));
            }
        };
        if !is_scaled && overlap != AttentionOverlap::default() {
            return Err(expected("free and late for 16-bit elements", &format!("{} {rounding}", fields[11])));
        }
        let micros = table::micros(micros)?;
        Ok(Self { element: element.into(), problem, tile: *tile, schedule, overlap, micros })
    }
}

impl fmt::Display for AttentionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, driver, date, command, entries } = self;
        table::write_head(f, (gpu, driver, date, command), COLUMNS)?;
        entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for AttentionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, problem, tile, schedule, overlap, micros } = self;
        let AttentionProblem { head_size, value_size, mask, heads, kv_heads, queries, keys, .. } = problem;
        let (mask, tile, group) = (mask.name(), named(tile), schedule.group());
        let order = if *schedule == Schedule::grouped(group) { "forth" } else { "back" };
        let [free, in_turn, staggered] = PRODUCTS.map(|(name, _)| name);
        let products = match overlap.order {
            ProductOrder::Free => free,
            ProductOrder::InTurn => in_turn,
            ProductOrder::Staggered => staggered,
        };
        let rounding = if overlap.rounds_early { "early" } else { "late" };
        write!(f, "{element} {head_size} {value_size} {mask} {heads} {kv_heads} {queries} {keys} ")?;
        write!(f, "{tile} {group} {order} {products} {rounding} {micros:.1}")
    }
}

impl FromStr for AttentionTable {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let (Conditions { gpu, driver, date, command }, entries) =
            table::parse(text, COLUMNS, AttentionEntry::parse, |a: &AttentionEntry, b| {
                a.is_for(&b.element, &b.problem)
            })?;
        Ok(Self { gpu, driver, date, command, entries })
    }
}

fn named(AttentionTile { queries, keys }: &AttentionTile) -> String {
    format!("{queries}x{keys}")
}

/// Returns the expected tiles for an error message.
fn listed_tiles(tiles: &[AttentionTile]) -> String {
    let names: Vec<_> = tiles.iter().map(named).collect();
    if names.is_empty() {
        "a head size that has tiles".into()
    } else {
        format!("a tile of {}", names.join(", "))
    }
}

fn parse_mask(text: &str) -> Result<AttentionMask, String> {
    let simple = [AttentionMask::Full, AttentionMask::Causal, AttentionMask::CausalFromEnd];
    let window = || {
        let (before, after) = text.strip_prefix("window_")?.split_once('_')?;
        Some(AttentionMask::Window { before: before.parse().ok()?, after: after.parse().ok()? })
    };
    let mask = simple.into_iter().find(|mask| mask.name() == text).or_else(window);
    mask.ok_or_else(|| expected("full, causal, causal_from_end or window_BEFORE_AFTER", text))
}
