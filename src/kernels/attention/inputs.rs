//! The arguments of a launch: the matrices of all heads, for sequences of equal lengths or packed sequences.

use super::{
    dropout::{Dropout, HeadDropout},
    scaled::padded,
    scores::nonzero,
};
use crate::{
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{Gl, contiguous, row_major, vector},
};

/// The parameters of a kernel.
pub(super) struct Inputs<'k, T, O = T> {
    /// Q, K and V.
    pub(super) factors: [Ptr<'k, T, Global, Read>; 3],
    pub(super) o: Ptr<'k, O, Global, Write>,
    pub(super) lse: Ptr<'k, f32, Global, Write>,
    pub(super) sizes: Sizes<'k>,
    /// The strides of Q, K, V and O between batches, heads and rows.
    pub(super) strides: [[Val<'k, u32>; 3]; 4],
    pub(super) scale: Val<'k, f32>,
    /// The first row of each sequence in Q and in K, followed by the end of the last sequence.
    pub(super) starts: Starts<'k>,
    /// The slope of each head: the amount by which a score decreases per position of distance between the query and the key.
    pub(super) slopes: Option<Ptr<'k, f32, Global, Read>>,
    /// The sink of each head: the score of an additional key.
    pub(super) sinks: Option<Ptr<'k, f32, Global, Read>>,
    pub(super) dropout: Option<Dropout<'k>>,
    /// The scale factors of 8-bit elements. If present, V is transposed.
    pub(super) scales: Option<HeadScales<'k>>,
}

/// The scale factors for Q, one for each query head, and for K and V, one for each KV head.
#[derive(Clone, Copy)]
pub(super) struct HeadScales<'k>([Ptr<'k, f32, Global, Read>; 3]);

impl<'k> HeadScales<'k> {
    pub(super) fn new(of_q_k_v: [Ptr<'k, f32, Global, Read>; 3]) -> Self {
        Self(of_q_k_v)
    }
}

impl<'k, T, O> Inputs<'k, T, O> {
    /// Returns the parameters for sequences of equal lengths, without extras; the outputs are O and the logarithms of sums.
    pub(super) fn new(
        factors: [Ptr<'k, T, Global, Read>; 3],
        (o, lse): (Ptr<'k, O, Global, Write>, Ptr<'k, f32, Global, Write>),
        sizes: Sizes<'k>,
        strides: [[Val<'k, u32>; 3]; 4],
        scale: Val<'k, f32>,
    ) -> Self {
        Self {
            factors,
            o,
            lse,
            sizes,
            strides,
            scale,
            starts: None,
            slopes: None,
            sinks: None,
            dropout: None,
            scales: None,
        }
    }
}

impl<'k, T> Inputs<'k, T> {
    /// Requires that all strides are multiples of `divisor`.
    #[track_caller]
    pub(super) fn aligned(self, divisor: u32) -> Self {
        let strides = self.strides.map(|of| of.map(|stride| stride.multiple_of(divisor)));
        Self { strides, ..self }
    }
}

/// The sizes of a launch; for packed sequences, `queries` and `keys` are totals over all sequences.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'k> {
    pub(super) batches: Val<'k, u32>,
    pub(super) kv_heads: Val<'k, u32>,
    /// The number of query heads per KV head.
    pub(super) group: Val<'k, u32>,
    pub(super) queries: Val<'k, u32>,
    pub(super) keys: Val<'k, u32>,
    /// The maximum number of queries per sequence.
    pub(super) longest: Val<'k, u32>,
    /// The maximum number of keys per sequence.
    pub(super) longest_keys: Val<'k, u32>,
}

impl<'k> Sizes<'k> {
    /// Returns the sizes of sequences of equal lengths.
    #[track_caller]
    pub(super) fn of([batches, kv_heads, group, queries, keys]: [Val<'k, u32>; 5]) -> Self {
        // Positions and distances to the ends of windows are i32.
        let (queries, keys) = (queries.at_most(1 << 30), keys.at_most(1 << 30));
        Self { batches, kv_heads, group, queries, keys, longest: queries, longest_keys: keys }
    }

    /// Returns the number of query heads, which is computed where needed rather than kept in a register.
    #[track_caller]
    pub(super) fn heads(self) -> Val<'k, u32> {
        self.kv_heads * self.group
    }

    /// Returns the sizes of packed sequences with at most `longest` queries each.
    pub(super) fn with_longest(self, longest: Val<'k, u32>) -> Self {
        Self { longest, ..self }
    }

    /// Returns the sizes of packed sequences with at most `queries` queries and `keys` keys each.
    #[track_caller]
    pub(super) fn with_both_longest(self, [queries, keys]: [Val<'k, u32>; 2]) -> Self {
        Self { longest: queries, longest_keys: keys, ..self }
    }
}

/// All sequences.
pub(super) struct Sequences<'k> {
    pub(super) k: Builder<'k>,
    pub(super) sizes: Sizes<'k>,
    starts: Option<[Gl<'k, u32, Read, 1>; 2]>,
}

/// The matrices of all heads.
pub(super) struct Heads<'k, T: TensorElement, O: TensorElement = T> {
    pub(super) sequences: Sequences<'k>,
    factors: [Gl<'k, T, Read, 4>; 3],
    o: Gl<'k, O, Write, 4>,
    lse: Ptr<'k, f32, Global, Write>,
    slopes: Option<Gl<'k, f32, Read, 1>>,
    sinks: Option<Gl<'k, f32, Read, 1>>,
    dropout: Option<Dropout<'k>>,
    scales: Option<[Gl<'k, f32, Read, 1>; 3]>,
}

/// The rows of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Sequence<'k> {
    pub(super) number: Val<'k, u32>,
    batch: Val<'k, u32>,
    pub(super) first_query: Val<'k, u32>,
    pub(super) first_key: Val<'k, u32>,
    pub(super) queries: Val<'k, u32>,
    pub(super) keys: Val<'k, u32>,
    is_packed: bool,
}

/// The starts of packed sequences in Q and in K.
pub(super) type Starts<'k> = Option<[Ptr<'k, u32, Global, Read>; 2]>;

impl<'k> Sequences<'k> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, sizes: Sizes<'k>, starts: &Starts<'k>) -> Self {
        let starts = starts
            .as_ref()
            .map(|starts| starts.each_ref().map(|starts| k.global(*starts, vector(sizes.batches + 1))));
        Self { k, sizes, starts }
    }

    pub(super) fn are_packed(&self) -> bool {
        self.starts.is_some()
    }

    /// Returns the sequence with index `number`.
    #[track_caller]
    pub(super) fn sequence(&self, number: Val<'k, u32>) -> Sequence<'k> {
        let Sizes { queries, keys, .. } = self.sizes;
        let Some(starts) = &self.starts else {
            let zero = Val::from(0);
            return Sequence {
                number,
                batch: number,
                first_query: zero,
                first_key: zero,
                queries,
                keys,
                is_packed: false,
            };
        };
        let [[first_query, end_query], [first_key, end_key]] =
            starts.each_ref().map(|starts| [number, number + 1].map(|at| starts.at(at).load()));
        // If starts are not ascending or exceed the number of rows, the sequence is shortened, possibly to 0 rows.
        let length =
            |first: Val<'k, u32>, end: Val<'k, u32>, all: Val<'k, u32>| end.min(all).max(first) - first;
        let (queries, keys) = (length(first_query, end_query, queries), length(first_key, end_key, keys));
        Sequence { number, batch: 0.into(), first_query, first_key, queries, keys, is_packed: true }
    }

    /// Returns the logarithms of one head of a sequence, one for each query.
    #[track_caller]
    pub(super) fn logarithms<A>(
        &self,
        lse: Ptr<'k, f32, Global, A>,
        sequence: Sequence<'k>,
        head: Val<'k, u32>,
    ) -> Gl<'k, f32, A, 1> {
        let Sequence { batch, first_query, queries, is_packed, .. } = sequence;
        let (heads, batches) = (self.sizes.heads(), if is_packed { 1.into() } else { self.sizes.batches });
        let lse = self.k.global(lse, row_major(batches * heads, self.sizes.queries));
        let row = batch * heads + head;
        if is_packed { lse.sub_matrix((row, first_query), (1, queries)).row(0) } else { lse.row(row) }
    }

    /// Returns the matrices of all batches and heads, with `rows` rows each, given the strides between batches, between heads and between
    /// rows.
    #[track_caller]
    pub(super) fn matrices<T: TensorElement, A>(
        &self,
        elements: Ptr<'k, T, Global, A>,
        [heads, rows]: [Val<'k, u32>; 2],
        columns: impl Into<Val<'k, u32>>,
        [batch, head, row]: [Val<'k, u32>; 3],
    ) -> Gl<'k, T, A, 4> {
        let batches = if self.are_packed() { 1.into() } else { self.sizes.batches };
        let layout =
            contiguous([batches, heads, rows, columns.into()]).with_strides([batch, head, row, 1.into()]);
        self.k.global(elements, layout)
    }
}

impl<'k, T: TensorElement, O: TensorElement> Heads<'k, T, O> {
    /// Returns the matrices; rows of Q and K have `d` elements, and rows of V and O have `e`.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, inputs: &Inputs<'k, T, O>, d: u32, e: u32) -> Self {
        let Inputs {
            factors: [q, keys, values],
            o,
            lse,
            sizes,
            strides,
            starts,
            slopes,
            sinks,
            dropout,
            scales,
            ..
        } = inputs;
        let Sizes { kv_heads, queries: m, keys: n, .. } = *sizes;
        let heads = sizes.heads();
        let sequences = Sequences::new(k, *sizes, starts);
        let of_heads = |numbers: &Ptr<'k, f32, Global, Read>| k.global(*numbers, vector(heads));
        Self {
            factors: [
                sequences.matrices(*q, [heads, m], d, strides[0]),
                sequences.matrices(*keys, [kv_heads, n], d, strides[1]),
                match scales {
                    None => sequences.matrices(*values, [kv_heads, n], e, strides[2]),
                    Some(_) => sequences.matrices(*values, [kv_heads, e.into()], padded(n), strides[2]),
                },
            ],
            o: sequences.matrices(*o, [heads, m], e, strides[3]),
            lse: *lse,
            slopes: slopes.as_ref().map(of_heads),
            sinks: sinks.as_ref().map(of_heads),
            dropout: *dropout,
            scales: scales.map(|HeadScales([q, keys, values])| {
                let [queries, keys_and_values] = [heads, kv_heads].map(|heads| vector(sizes.batches * heads));
                [(q, queries), (keys, keys_and_values), (values, keys_and_values)]
                    .map(|(numbers, layout)| k.global(numbers, layout))
            }),
            sequences,
        }
    }

    /// Returns Q, K and V of a head. For packed sequences, the matrices continue with the rows of the next sequence.
    #[track_caller]
    pub(super) fn factors(&self, sequence: Sequence<'k>, head: Val<'k, u32>) -> [Gl<'k, T, Read>; 3] {
        let kv_head = head / self.sequences.sizes.group;
        let [q, keys, values] = &self.factors;
        [
            sequence.from(q, head, sequence.first_query),
            sequence.from(keys, kv_head, sequence.first_key),
            sequence.from(values, kv_head, sequence.first_key),
        ]
    }

    /// Returns Q, K and V of a head; rows of K have `d` elements, and rows of V have `e`. Rows of K and V after the last key, which may
    /// belong to the next packed sequence, are read as 0.
    #[track_caller]
    pub(super) fn own_factors(
        &self,
        sequence: Sequence<'k>,
        head: Val<'k, u32>,
        [d, e]: [u32; 2],
    ) -> [Gl<'k, T, Read>; 3] {
        let Sequence { first_query, first_key, keys: n, .. } = sequence;
        let kv_head = head / self.sequences.sizes.group;
        let [q, keys, values] = &self.factors;
        [
            sequence.from(q, head, first_query),
            sequence.only(keys, kv_head, [first_key, n], d),
            sequence.only(values, kv_head, [first_key, n], e),
        ]
    }

    /// Returns O and the logarithms of the sums of a head.
    #[track_caller]
    pub(super) fn results(
        &self,
        sequence: Sequence<'k>,
        head: Val<'k, u32>,
        e: u32,
    ) -> (Gl<'k, O, Write>, Gl<'k, f32, Write, 1>) {
        let logs = self.sequences.logarithms(self.lse, sequence, head);
        (sequence.only(&self.o, head, [sequence.first_query, sequence.queries], e), logs)
    }

    #[track_caller]
    pub(super) fn slope(&self, head: Val<'k, u32>) -> Option<Val<'k, f32>> {
        self.slopes.as_ref().map(|slopes| slopes.at(head).load())
    }

    /// Returns the factor for scores, which is `scale` unless elements have scale factors, and the factor for results, if any.
    #[track_caller]
    pub(super) fn scales(
        &self,
        sequence: Sequence<'k>,
        head: Val<'k, u32>,
        scale: Val<'k, f32>,
    ) -> (Val<'k, f32>, Option<Val<'k, f32>>) {
        let Some([q, keys, values]) = &self.scales else { return (scale, None) };
        let Sizes { kv_heads, group, .. } = self.sequences.sizes;
        let of_queries = sequence.number * self.sequences.sizes.heads() + head;
        let of_keys = sequence.number * kv_heads + head / group;
        let scale = scale * q.at(of_queries).load() * keys.at(of_keys).load();
        (nonzero(scale), Some(values.at(of_keys).load()))
    }

    #[track_caller]
    pub(super) fn dropout(&self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Option<HeadDropout<'k>> {
        let Sequences { k, sizes, .. } = self.sequences;
        self.dropout.map(|dropout| dropout.of_head(k, sequence.number * sizes.heads() + head))
    }

    #[track_caller]
    pub(super) fn sink(&self, head: Val<'k, u32>) -> Option<Val<'k, f32>> {
        self.sinks.as_ref().map(|sinks| sinks.at(head).load())
    }
}

impl<'k> Sequence<'k> {
    /// Returns the matrix of a head from row `first` onward. For packed sequences, the matrix continues with the rows of the next sequence.
    #[track_caller]
    pub(super) fn from<T: TensorElement, A>(
        self,
        matrices: &Gl<'k, T, A, 4>,
        head: Val<'k, u32>,
        first: Val<'k, u32>,
    ) -> Gl<'k, T, A> {
        let matrix = matrices.batch((self.batch, head));
        if self.is_packed { matrix.skip(first, 0) } else { matrix }
    }

    /// Returns the rows of this sequence in the matrix of a head: `rows` rows from row `first` onward.
    #[track_caller]
    pub(super) fn only<T: TensorElement, A>(
        self,
        matrices: &Gl<'k, T, A, 4>,
        head: Val<'k, u32>,
        [first, rows]: [Val<'k, u32>; 2],
        columns: u32,
    ) -> Gl<'k, T, A> {
        let matrix = matrices.batch((self.batch, head));
        if self.is_packed { matrix.sub_matrix((first, 0), (rows, columns)) } else { matrix }
    }

    /// Emits `body`; for packed sequences, it is executed only if `first` is less than `rows`.
    #[track_caller]
    pub(super) fn if_has(self, k: Builder<'k>, first: Val<'k, u32>, rows: Val<'k, u32>, body: impl FnOnce()) {
        if self.is_packed { k.if_(first.lt(rows), body) } else { body() }
    }
}
