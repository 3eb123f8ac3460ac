//! Rotary position embeddings.

use crate::{
    ptx::{BuildError, Builder, In, IntoDim, Kernel, Out, Readable, Target, Val, Writable},
    tensor::TensorElement,
    tiles::{Convert, Gl, Stripes, row_major, vector},
};

/// The arguments of the kernel that [`Rotary::kernel`] builds:
/// `(x, ldx, cos, sin, ldt, rows, positions, tokens, heads, half, y, ldy, m, n)`. x and y are m×n, with row pitches of `ldx` and `ldy`
/// elements. The tables `cos` and `sin` are `rows`×`half`, with a row pitch of `ldt` elements. `positions` has `tokens` elements. See
/// [`Rotary`] for the meaning of `heads` and `half`.
pub type RotaryArgs<X> =
    (In<X>, u32, In<f32>, In<f32>, u32, u32, In<i32>, u32, u32, u32, Out<X>, u32, u32, u32);

/// The pairs of elements that are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RotaryPairs {
    /// Elements i and i + `half`, for i from 0 to `half` − 1.
    #[doc(alias = "NeoX")]
    Halves,
    /// Elements 2i and 2i + 1, for i from 0 to `half` − 1.
    #[doc(alias = "GPT-J")]
    #[doc(alias = "interleaved")]
    Adjacent,
}

/// A kernel for rotary position embeddings. In the first 2 · `half` elements of each row, it replaces each pair (a, b) with (a · cos − b ·
/// sin, b · cos + a · sin). It copies the other elements.
///
/// The position of row i is `positions[i / heads]`: the index of the table rows that contain the cosines and sines for the pairs. If i /
/// `heads` or the position is out of bounds, the pairs are replaced with zeros. Arithmetic is performed in f32, and results are rounded
/// once.
#[doc(alias = "RoPE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rotary {
    /// The number of threads per row: a power of two up to 32.
    pub threads: u32,
    /// The number of consecutive rows per thread, from 1 to 8. These rows are usually heads of the same token, which share angles.
    pub rows: u32,
    /// The number of blocks, from 1 to 32, that must be resident on a multiprocessor simultaneously. This number limits the registers per
    /// thread.
    pub resident: u32,
    /// The number of adjacent elements that a thread accesses at a time. It must divide `half`, n and all row pitches.
    pub adjacent: u32,
    /// The pairs of elements that are rotated.
    pub pairs: RotaryPairs,
    /// Whether the angles are negated, as required for the gradient.
    pub inverse: bool,
}

/// The number of threads per block.
const THREADS: u32 = 64;
/// The maximum number of rows per thread.
const MOST_ROWS: u32 = 8;

impl Rotary {
    /// Returns the kernel for elements of `bytes` bytes. `sizes` contains `half`, followed by the row length and all row pitches, or
    /// divisors of these sizes.
    #[must_use]
    pub fn for_rows(pairs: RotaryPairs, bytes: u32, sizes: &[u32]) -> Self {
        let widest = (16 / bytes.max(1)).clamp(1, 8);
        let adjacent = if sizes.iter().all(|size| size.is_multiple_of(widest)) { widest } else { 1 };
        let half = sizes.first().map_or(1, |&half| half.max(1));
        let threads = (half / adjacent).min(32).next_power_of_two();
        // These values were the fastest on an H200. Without a minimum of resident blocks, ptxas may use so
        // few registers that some are spilled.
        let (rows, resident) = match (pairs, bytes) {
            (RotaryPairs::Halves, _) => (2, 14),
            (RotaryPairs::Adjacent, ..=2) => (1, 24),
            (RotaryPairs::Adjacent, _) => (2, 1),
        };
        Self { threads, rows, resident, adjacent, pairs, inverse: false }
    }

    /// Builds the kernel. Its name contains the pairs, the type and `adjacent`, as in `rotary_halves_bf16_by8`. If angles are negated,
    /// `_inverse` precedes the type.
    ///
    /// # Errors
    /// Returns an error if the number of threads, rows or resident blocks is invalid.
    pub fn kernel<X>(&self, target: Target) -> Result<Kernel<RotaryArgs<X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let pairs = match self.pairs {
            RotaryPairs::Halves => "halves",
            RotaryPairs::Adjacent => "adjacent",
        };
        let inverse = if self.inverse { "_inverse" } else { "" };
        let parameters = "x, ldx, cos, sin, ldt, rows, positions, tokens, heads, half, y, ldy, m, n";
        let signature = format!("rotary_{pairs}{inverse}_{}_by{}({parameters})", X::NAME, self.adjacent);
        Kernel::<RotaryArgs<X>>::build(
            &signature,
            target,
            |k, (x, ldx, cos, sin, ldt, rows_of_tables, positions, tokens, heads, half, y, ldy, m, n)| {
                k.describe(format!("y = x with rotated pairs ({pairs}) in rows of m×n ({})", X::NAME));
                let Self { threads, rows: at_once, .. } = *self;
                if !(1..=MOST_ROWS).contains(&at_once) {
                    return k.refuse(format!("expected 1 to {MOST_ROWS} rows per thread, found {at_once}"));
                }
                if !(threads.is_power_of_two() && threads <= 32) {
                    return k.refuse(format!(
                        "expected a power of two up to 32 threads for a row, found {threads}"
                    ));
                }
                if !(self.adjacent.is_power_of_two() && self.adjacent <= 8) {
                    return k
                        .refuse(format!("expected 1, 2, 4 or 8 adjacent elements, found {}", self.adjacent));
                }
                let [ldx, ldt, half, ldy, n] =
                    [ldx, ldt, half, ldy, n].map(|size| size.multiple_of(self.adjacent));
                let thread = k.block([THREADS]).thread();
                k.min_blocks(self.resident);
                // There is one thread for each pair of groups.
                let of_row = (n.into_dim()).ceil_div(2 * threads * self.adjacent);
                let teams = THREADS / threads;
                k.grid([m.into_dim().ceil_div(teams * at_once), of_row]);
                let first = (k.ctaid_x() * teams + thread / threads) * at_once;
                let rows: Vec<_> = (0..at_once).map(|i| first + i).collect();
                let group = k.ctaid_y() * threads + thread % threads;
                let groups = half / self.adjacent;

                let positions = k.global(positions, vector(tokens));
                let [cos, sin] = [cos, sin]
                    .map(|table| k.global(table, row_major(rows_of_tables, half).with_row_stride(ldt)));
                let angles = |position| [&cos, &sin].map(|table| self.load(k, &table.row(position), group));
                let x = k.global(x, row_major(m, n).with_row_stride(ldx));
                let y = k.global(y, row_major(m, n).with_row_stride(ldy));
                let pair = match self.pairs {
                    RotaryPairs::Halves => [group, group + groups],
                    RotaryPairs::Adjacent => [group * 2, group * 2 + 1],
                };
                k.if_(group.lt(groups), || {
                    // All rows are loaded before the first one waits for its angles.
                    let position = |token| positions.at(token).load_or(-1).cast::<u32>();
                    let positions: Vec<_> =
                        tokens_of_rows(first, heads, at_once).into_iter().map(position).collect();
                    let elements: Vec<_> = rows
                        .iter()
                        .map(|&row| pair.map(|group| self.load(k, &x.row(row), group)).concat())
                        .collect();
                    let mut current = angles(positions[0]);
                    for (i, (&row, elements)) in rows.iter().zip(&elements).enumerate() {
                        if i > 0 {
                            let is_same = positions[i].eq(positions[i - 1]);
                            current = k.if_else_with(is_same, || current.clone(), || angles(positions[i]));
                        }
                        let rotated = self.rotated(elements, &current);
                        for (group, elements) in pair.into_iter().zip(rotated.chunks(self.adjacent as usize))
                        {
                            self.store(k, &y.row(row), group, elements);
                        }
                    }
                });
                // There are up to two other groups per thread.
                let all = k.nctaid_y() * threads;
                for copied in [group + groups * 2, group + groups * 2 + all] {
                    k.if_(copied.lt(n / self.adjacent), || {
                        for &row in &rows {
                            self.store(k, &y.row(row), copied, &self.load(k, &x.row(row), copied));
                        }
                    });
                }
            },
        )
    }

    /// Returns the layout of a group.
    #[track_caller]
    fn group<'k>(&self, k: Builder<'k>) -> Stripes<'k> {
        k.stripes(0, 1, self.adjacent, 1)
    }

    #[track_caller]
    fn load<'k, T: Convert<f32>, A: Readable>(
        &self,
        k: Builder<'k>,
        row: &Gl<'k, T, A, 1>,
        group: Val<'k, u32>,
    ) -> Vec<Val<'k, f32>> {
        self.group(k).load(row, group).convert().registers().to_vec()
    }

    #[track_caller]
    fn store<'k, T: TensorElement, A: Writable>(
        &self,
        k: Builder<'k>,
        row: &Gl<'k, T, A, 1>,
        group: Val<'k, u32>,
        elements: &[Val<'k, f32>],
    ) where
        f32: Convert<T>,
    {
        let stripes = self.group(k);
        stripes.store(row, group, &stripes.with(elements));
    }

    /// Rotates the pairs of elements in two groups.
    fn rotated<'k>(
        &self,
        elements: &[Val<'k, f32>],
        [cos, sin]: &[Vec<Val<'k, f32>>; 2],
    ) -> Vec<Val<'k, f32>> {
        let mut rotated = elements.to_vec();
        let adjacent = self.adjacent as usize;
        for (i, (&cos, &sin)) in cos.iter().zip(sin).enumerate() {
            let sin = if self.inverse { -sin } else { sin };
            let [at, to] = match self.pairs {
                RotaryPairs::Halves => [i, i + adjacent],
                RotaryPairs::Adjacent => [2 * i, 2 * i + 1],
            };
            let (a, b) = (elements[at], elements[to]);
            rotated[at] = a.mad(cos, -(b * sin));
            rotated[to] = b.mad(cos, a * sin);
        }
        rotated
    }
}

/// Returns the tokens of `count` consecutive rows, each of which is a head, given the first row and the number of heads per token.
#[track_caller]
fn tokens_of_rows<'k>(first: Val<'k, u32>, heads: Val<'k, u32>, count: u32) -> Vec<Val<'k, u32>> {
    let mut token = first / heads;
    let mut tokens = vec![token];
    if count > 1 {
        let mut head = first - token * heads;
        for _ in 1..count {
            head = head + 1;
            let is_next = head.eq(heads);
            (token, head) = (token + is_next.select(1, 0), is_next.select(0, head));
            tokens.push(token);
        }
    }
    tokens
}
