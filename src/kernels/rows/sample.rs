//! Sampling of one column of each row from the softmax of its elements.

use std::f32::consts::{LN_2, LOG2_E};

use super::{
    RowTiling,
    candidates::Key,
    extremum::max_or_nan,
    tiling::{Line, Row},
};
use crate::{
    kernels::base::base,
    ptx::{BuildError, Builder, In, Kernel, Out, Read, Target, Val},
    tiles::{Convert, Striped},
};

/// The arguments of the kernel that [`Sample::kernel`] builds: `(x, ldx, tokens, m, n, temperature, top_k, top_p, seed, offset)`, where x
/// is m×n, with the row pitch `ldx` in elements; `tokens` has m elements.
pub type SampleArgs<X> = (In<X>, u32, Out<i32>, u32, u32, f32, u32, f32, u64, u64);

/// A kernel that draws one column of each row with the probabilities softmax(x / `temperature`).
///
/// Columns are ordered by descending element, and columns of equal elements by ascending index. A column may be drawn if fewer than
/// `top_k` columns precede it and the total probability of these columns is less than `top_p`; the first column may always be drawn. With
/// `top_k` = `u32::MAX` and `top_p` = 1, all columns may be drawn. Probabilities are those of the softmax of the whole row.
///
/// If the temperature is 0, negative or NaN, the result is the column of the largest element in the order of [`TopK`](super::TopK); if the
/// row contains NaN, this is the column of the first NaN. The same applies to rows whose softmax is undefined because they contain NaN or
/// +∞, or only −∞. The result for a row without elements is −1.
///
/// The results depend only on the elements, the arguments and the tiling. Random numbers are those of
/// [Philox4x32-10](crate::ptx::Builder::philox4x32) for the key `seed` and the counters (row, group, `offset`), low words first. Launches
/// with the same seed, for example in successive decoding steps, must use different offsets.
///
/// If all columns may be drawn, rows of any length are read once, in parts. The elements of a part that a thread reads form a group. Each
/// group draws an exponentially distributed number E; the group with the smallest E / S, where S is the sum of the group's exponentials,
/// wins, and one of its elements is drawn. If columns are restricted, the row is read again to count the columns that precede the drawn
/// column; if that column may not be drawn, the next round draws only from these preceding columns.
#[doc(alias = "multinomial")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How rows are divided among threads: each row is read in parts by a warp or a block.
    pub tiling: RowTiling,
}

/// The smallest scale. Scales are limited, because the products of 0 and ∞ would be NaN.
const LEAST_SCALE: f32 = 1e-30;
/// The length of the longest row that a warp processes, in groups of adjacent elements.
const MOST_OF_WARP: u32 = 128;
/// The number of groups of adjacent elements that a thread loads at a time.
const GROUPS: u32 = 2;

impl Sample {
    /// Returns the kernel for elements of `bytes` bytes in rows of the given `sizes`; see [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let chosen = RowTiling::for_rows(target, bytes, sizes);
        let groups = chosen.groups(sizes);
        let (threads, rows) = match groups.div_ceil(MOST_OF_WARP) {
            0..=1 => (32, 4),
            2..=8 => (128, 1),
            _ => (512, 1),
        };
        let most = if chosen.unaligned { 1 } else { GROUPS };
        let stripes = groups.div_ceil(threads).clamp(1, most);
        let resident = 1024 / (threads * rows);
        Self {
            tiling: RowTiling {
                threads,
                rows,
                cluster: 1,
                stripes,
                streamed: true,
                resident,
                ahead: 0,
                ..chosen
            },
        }
    }

    /// Builds the kernel. For bf16 and sizes that are multiples of 8, it is named `sample_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, and for a tiling in which a row is not read in parts by a warp or a block.
    pub fn kernel<X: Convert<f32>>(&self, target: Target) -> Result<Kernel<SampleArgs<X>>, BuildError> {
        let RowTiling { threads, cluster, streamed, .. } = self.tiling;
        let parameters = "x, ldx, tokens, m, n, temperature, top_k, top_p, seed, offset";
        let signature = format!("sample_{}_{}({parameters})", X::NAME, self.tiling);
        Kernel::<SampleArgs<X>>::build(
            &signature,
            target,
            |k, (x, ldx, tokens, m, n, temperature, top_k, top_p, seed, offset)| {
                k.describe(format!("a column of each row of x ({}), m×n, drawn from its softmax", X::NAME));
                if threads < 32 || cluster > 1 || !streamed {
                    k.refuse(format!(
                        "expected a warp or a block that reads a row in parts, found {:?}",
                        self.tiling
                    ));
                    return;
                }
                let row = self.tiling.row_of(k, [m, n, ldx]);
                let line = row.of(x, ldx);
                let race = Race {
                    k,
                    row: &row,
                    line: &line,
                    scale: (Val::from(LOG2_E) / temperature).clamp(LEAST_SCALE, 1.0 / LEAST_SCALE),
                    seed: seed.unpack().into(),
                    offset: offset.unpack().into(),
                };
                let (token, is_drawn) = (k.var::<i32>(0), k.var::<u32>(0));
                k.if_(temperature.gt(0.0), || {
                    let drawn = race.drawn(top_k, top_p);
                    token.set(drawn.col);
                    is_drawn.set(drawn.exists.select(1, 0));
                });
                let is_greedy = !row.team.any(is_drawn.get().ne(0));
                k.if_(is_greedy, || token.set(largest(&row, &line)));
                row.store_element(tokens, token.get());
            },
        )
    }
}

/// Returns the column of the largest element of a row; −1 if it has none.
#[track_caller]
fn largest<'k, X: Convert<f32>>(row: &Row<'k>, line: &Line<'k, X, Read>) -> Val<'k, i32> {
    let own = row.k.fold(row.parts(), Val::<u64>::from(0), |part, largest| {
        let x = row.load(line, part, f32::NEG_INFINITY);
        columns(&x, part)
            .zip(x.registers())
            .fold(largest, |largest, (col, &x)| largest.max(col.lt(row.n).select(Key::new(x, col).0, 0)))
    });
    // The halves of a key are exchanged as if they were floats.
    let (low, high) = own.unpack();
    let key = |[low, high]: [Val<'k, f32>; 2]| Val::<u64>::pack(low.bits::<u32>(), high.bits::<u32>());
    let larger = |a: [Val<'k, f32>; 2], b: [Val<'k, f32>; 2]| {
        let is_first = key(a).ge(key(b));
        [0, 1].map(|half| is_first.select(a[half], b[half]))
    };
    let found = row.team.reduce([low.bits(), high.bits()], [0.0; 2], &larger);
    Key(key(found)).col()
}

/// Returns the columns of a thread's elements of part `part`.
#[track_caller]
fn columns<'k>(x: &Striped<'k, f32>, part: Val<'k, u32>) -> impl Iterator<Item = Val<'k, u32>> + use<'k> {
    let start = part * x.stripes().length() + x.stripes().first();
    x.stripes().offsets().map(move |offset| start + offset)
}

/// A race of the groups of a row.
struct Race<'a, 'k, X: Convert<f32>> {
    k: Builder<'k>,
    row: &'a Row<'k>,
    line: &'a Line<'k, X, Read>,
    /// The factor by which elements are multiplied in base-2 exponents.
    scale: Val<'k, f32>,
    seed: [Val<'k, u32>; 2],
    offset: [Val<'k, u32>; 2],
}

/// An element and its column.
#[derive(Clone, Copy)]
struct Place<'k> {
    x: Val<'k, f32>,
    col: Val<'k, u32>,
}

impl<'k> Place<'k> {
    /// Returns whether this element precedes another one.
    #[track_caller]
    fn precedes(self, other: Self) -> Val<'k, bool> {
        self.x.gt(other.x) | (self.x.eq(other.x) & self.col.lt(other.col))
    }
}

/// The result of the last round.
struct Drawn<'k> {
    col: Val<'k, i32>,
    /// Whether the softmax of the row is defined.
    exists: Val<'k, bool>,
}

/// The winner of a race so far, and the maximum of all elements, which is NaN if any element is NaN.
#[derive(Clone, Copy)]
struct Winner<'k> {
    /// The largest element of the group; `f32::MIN` if all are −∞.
    base: Val<'k, f32>,
    /// The base-2 logarithm of S / E, where S is the sum of exponentials relative to `base`, and E the random number of the group.
    score: Val<'k, f32>,
    group: Val<'k, u32>,
    maximum: Val<'k, f32>,
}

/// The score of groups whose probability is 0.
const WITHOUT: f32 = -1e30;

impl<'k> Winner<'k> {
    const NONE: [f32; 4] = [f32::MIN, WITHOUT, 0.0, f32::NEG_INFINITY];

    fn of([base, score, group, maximum]: [Val<'k, f32>; 4]) -> Self {
        Self { base, score, group: group.bits(), maximum }
    }

    fn values(self) -> [Val<'k, f32>; 4] {
        [self.base, self.score, self.group.bits(), self.maximum]
    }

    /// Returns the winner of the two. If the two are exchanged, the differences only change their signs, so all threads agree.
    #[track_caller]
    fn against(self, other: Self, scale: Val<'k, f32>) -> Self {
        let (ahead, behind) = ((self.base - other.base) * scale, other.score - self.score);
        let wins = ahead.gt(behind) | (ahead.eq(behind) & self.group.le(other.group));
        Self {
            base: wins.select(self.base, other.base),
            score: wins.select(self.score, other.score),
            group: wins.select(self.group, other.group),
            maximum: max_or_nan(self.maximum, other.maximum),
        }
    }
}

impl<'k, X: Convert<f32>> Race<'_, 'k, X> {
    /// Runs races until the drawn column is one that may be drawn.
    #[track_caller]
    fn drawn(&self, top_k: Val<'k, u32>, top_p: Val<'k, f32>) -> Drawn<'k> {
        let (k, row) = (self.k, self.row);
        let round = k.var::<u32>(0);
        // Only elements that precede this one take part.
        let limit = (k.var::<f32>(f32::NEG_INFINITY), k.var::<u32>(u32::MAX));
        let exists = k.var::<u32>(0);
        let is_restricted = top_k.ne(u32::MAX) | top_p.lt(1.0);
        k.loop_(|rounds| {
            let before = Place { x: limit.0.get(), col: limit.1.get() };
            let winner = self.winner(round.get(), before);
            let has_softmax = winner.maximum.lt(f32::INFINITY) & winner.score.gt(WITHOUT);
            let drawn = self.of_group(winner, round.get(), before);
            limit.0.set(drawn.x);
            limit.1.set(drawn.col);
            exists.set(has_softmax.select(1, 0));
            let may_be_rejected = row.team.any(has_softmax & is_restricted);
            rounds.break_if(!may_be_rejected);
            let [total, preceding, count] = self.preceding(winner.maximum, drawn);
            let is_kept = count.eq(0.0) | (count.lt(top_k.cast::<f32>()) & preceding.lt(total * top_p));
            rounds.break_if(row.team.any(is_kept));
            round.update(|round| round + 1);
        });
        Drawn { col: limit.1.get().bits(), exists: exists.get().ne(0) }
    }

    /// Loads a part of the row; elements that do not precede `before` are −∞.
    #[track_caller]
    fn load(&self, part: Val<'k, u32>, round: Val<'k, u32>, before: Place<'k>) -> Striped<'k, f32> {
        let x = self.row.load(self.line, part, f32::NEG_INFINITY);
        let is_later = round.gt(0);
        self.k.if_else_with(
            is_later,
            || {
                let mut cols = columns(&x, part);
                x.scanned(|x| {
                    let col = cols.next().expect("a column for each element");
                    Place { x, col }.precedes(before).select(x, f32::NEG_INFINITY)
                })
            },
            || x.clone(),
        )
    }

    /// Returns the winner among the groups of the row.
    #[track_caller]
    fn winner(&self, round: Val<'k, u32>, before: Place<'k>) -> Winner<'k> {
        let row = self.row;
        let against = |a, b| Winner::of(a).against(Winner::of(b), self.scale).values();
        Winner::of(row.over_parts(Winner::NONE, &against, &|part| {
            let x = self.load(part, round, before);
            let maximum = x.combined(max_or_nan);
            let sum = self.exponentials(&x, maximum).combined(|a, b| a + b);
            let group = self.group(part);
            let [random, ..] = self.random(group, round);
            let score = self.k.lg2_approx_ftz(sum) - self.k.lg2_approx_ftz(exponential(self.k, random));
            Winner { base: maximum.max(f32::MIN), score: score.max(WITHOUT), group, maximum }.values()
        }))
    }

    /// Returns the exponentials of elements relative to their maximum.
    #[track_caller]
    fn exponentials(&self, x: &Striped<'k, f32>, maximum: Val<'k, f32>) -> Striped<'k, f32> {
        let base = base(maximum);
        x.map(|x| self.k.exp2((x - base) * self.scale))
    }

    /// Returns the index of this thread's group in part `part`.
    #[track_caller]
    fn group(&self, part: Val<'k, u32>) -> Val<'k, u32> {
        part * self.row.tiling.threads + self.row.thread
    }

    /// Returns the random words of a group in a round.
    #[track_caller]
    fn random(&self, group: Val<'k, u32>, round: Val<'k, u32>) -> [Val<'k, u32>; 4] {
        let [low, high] = self.offset;
        let groups = self.row.parts() * self.row.tiling.threads;
        self.k.philox4x32([self.row.at, round * groups + group, low, high], self.seed)
    }

    /// Draws an element of the winning group; the thread that owns the group draws for all threads.
    #[track_caller]
    fn of_group(&self, winner: Winner<'k>, round: Val<'k, u32>, before: Place<'k>) -> Place<'k> {
        let (k, row) = (self.k, self.row);
        let (part, owner) = (winner.group / row.tiling.threads, winner.group % row.tiling.threads);
        let found: [_; 3] = std::array::from_fn(|_| k.var::<f32>(0.0));
        k.if_(row.thread.eq(owner), || {
            let x = self.load(part, round, before);
            let terms = self.exponentials(&x, x.combined(|a, b| a.max(b)));
            let total = terms.registers().iter().fold(Val::from(0.0), |sum, &term| sum + term);
            let [_, random, ..] = self.random(winner.group, round);
            let threshold = (random >> 8).cast::<f32>() * (1.0 / TWO_24) * total;
            // The last element for which the sum of the preceding terms does not exceed the threshold.
            let mut sum = Val::from(0.0);
            for ((col, &x), &term) in columns(&x, part).zip(x.registers()).zip(terms.registers()) {
                let is_reached = sum.le(threshold) & term.gt(0.0);
                for (found, value) in found.iter().zip([x, col.bits(), 1.0.into()]) {
                    found.update(|found| is_reached.select(value, found));
                }
                sum = sum + term;
            }
        });
        let own = found.map(|found| found.get());
        let [x, col, _] = row.team.reduce(own, [0.0; 3], &|a, b| {
            let is_first = a[2].ne(0.0);
            std::array::from_fn(|i| is_first.select(a[i], b[i]))
        });
        Place { x, col: col.bits() }
    }

    /// Returns the sum of all exponentials, the sum of the exponentials of the elements that precede the drawn element, and the number of
    /// these elements.
    #[track_caller]
    fn preceding(&self, maximum: Val<'k, f32>, drawn: Place<'k>) -> [Val<'k, f32>; 3] {
        let row = self.row;
        row.sums(&|part| {
            let x = row.load(self.line, part, f32::NEG_INFINITY);
            let terms = self.exponentials(&x, maximum);
            let mut cols = columns(&x, part);
            let precedes = x.scanned(|x| {
                let col = cols.next().expect("a column for each element");
                Place { x, col }.precedes(drawn).select(1.0, 0.0)
            });
            let sum = |x: &Striped<'k, f32>| x.combined(|a, b| a + b);
            [sum(&terms), terms.dot(&precedes), sum(&precedes)]
        })
    }
}

const TWO_24: f32 = (1u32 << 24) as f32;
const TWO_32: f32 = (1u64 << 32) as f32;
/// Below this u, logarithms of 1 − u are computed as a series.
const SMALL: f32 = 1.0 / 64.0;

/// Returns a random number of the exponential distribution with mean 1, −ln(1 − u), with a small relative error even for small numbers.
#[track_caller]
fn exponential<'k>(k: Builder<'k>, random: Val<'k, u32>) -> Val<'k, f32> {
    // The middle of one of 2³² intervals, so that neither number is 0.
    let uniform = |word: Val<'k, u32>| word.cast::<f32>().mad(1.0 / TWO_32, 0.5 / TWO_32);
    let (u, rest) = (uniform(random), uniform(!random));
    let series = u * u.mad(u.mad(u.mad(0.25, 1.0 / 3.0), 0.5), 1.0);
    u.lt(SMALL).select(series, k.lg2_approx_ftz(rest) * -LN_2)
}
