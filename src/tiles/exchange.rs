//! Exchange between the lanes of a warp: elements move from one (lane, value) layout to another.
//!
//! The two layouts determine the plan. A *round* is one `shfl`: each lane sends one word, composed of any of its elements, and reads the
//! word that one other lane sends. A lane may read from any lane that owns a required element; it selects the first such lane that does not
//! already send a different word in the round. If, for a value of the result, at least half of the lanes already own the required element,
//! these lanes keep it instead of receiving it.

use std::panic::Location;

use crate::{
    layout::TvLayout,
    ptx::{Builder, Scalar, Shuffle, Val, shuffle},
};

/// The number of lanes of a warp.
const LANES: usize = 32;
/// The number of bits of the lane number.
const LANE_BITS: u32 = 5;
/// The maximum number of elements per word.
const MOST: usize = 4;

/// The slot of an element in one of the words of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    word: usize,
    slot: usize,
}

/// The elements of a composed word; slots without an element are undefined.
type Composed = [Option<Part>; MOST];
/// One item per lane.
type PerLane<T> = [T; LANES];

/// One word sent by each lane, and the lane that each lane reads from.
#[derive(Debug)]
struct Round {
    sent: PerLane<Composed>,
    source: PerLane<Option<u32>>,
}

/// The instructions that move elements from one layout to another.
#[derive(Debug)]
pub(super) struct Exchange {
    per_word: usize,
    rounds: Vec<Round>,
    /// The words of the result, composed of the lane's own words, which have the lowest indices, and the words received in each round.
    results: Vec<PerLane<Composed>>,
}

impl Exchange {
    /// Plans the exchange between two layouts of the same elements with the same number of elements per word. In either layout,
    /// elements may have several owners.
    pub(super) fn plan(from: &TvLayout, to: &TvLayout) -> Self {
        Self::plan_gather(from, to, |index| index)
    }

    /// Plans an exchange that moves the element with index `source(index)` in `from` to `index` in `to`.
    pub(super) fn plan_gather(from: &TvLayout, to: &TvLayout, source: impl Fn(i64) -> i64) -> Self {
        let per_word = from.per_register() as usize;
        let part = |value: i64| Part { word: value as usize / per_word, slot: value as usize % per_word };
        let mut owners: Vec<Vec<(usize, Part)>> = vec![Vec::new(); from.shape().size() as usize];
        for (lane, value) in (0..LANES).flat_map(|lane| (0..from.values()).map(move |value| (lane, value))) {
            owners[from.index(lane as i64, value) as usize].push((lane, part(value)));
        }
        let owners =
            |lane: usize, value: usize| &owners[source(to.index(lane as i64, value as i64)) as usize];
        let from_lane = |lane, value, source| {
            let mut parts = owners(lane, value).iter().filter(move |(owner, _)| *owner == source);
            parts.next().map(|(_, part)| *part)
        };

        let values = to.values() as usize;
        let mut results = vec![[[None; MOST]; LANES]; values.div_ceil(per_word)];
        let mut missing: PerLane<Vec<usize>> = std::array::from_fn(|_| Vec::new());
        for value in 0..values {
            let own: PerLane<Option<Part>> = std::array::from_fn(|lane| from_lane(lane, value, lane));
            let is_kept = own.iter().flatten().count() >= LANES / 2;
            for lane in 0..LANES {
                match own[lane].filter(|_| is_kept) {
                    Some(own) => results[value / per_word][lane][value % per_word] = Some(own),
                    None => missing[lane].push(value),
                }
            }
        }

        let mut rounds = Vec::new();
        while missing.iter().any(|missing| !missing.is_empty()) {
            let mut round = Round { sent: [[None; MOST]; LANES], source: [None; LANES] };
            for (lane, missing) in missing.iter_mut().enumerate() {
                let sources = missing.iter().flat_map(|&value| owners(lane, value));
                let is_sent = |sent: &Composed, part: &Part| sent.contains(&Some(*part));
                let free = |&&(source, ref part): &&(usize, Part)| {
                    let sent = &round.sent[source];
                    *sent == [None; MOST] || is_sent(sent, part)
                };
                let Some(&(source, _)) = { sources }.find(free) else { continue };
                if round.sent[source] == [None; MOST] {
                    let parts = missing.iter().filter_map(|&value| from_lane(lane, value, source));
                    for (slot, part) in round.sent[source][..per_word].iter_mut().zip(parts) {
                        *slot = Some(part);
                    }
                }
                round.source[lane] = Some(source as u32);
                let word = from.registers() as usize + rounds.len();
                missing.retain(|&value| {
                    let part = from_lane(lane, value, source);
                    let slot = round.sent[source].iter().position(|sent| sent.is_some() && *sent == part);
                    if let Some(slot) = slot {
                        results[value / per_word][lane][value % per_word] = Some(Part { word, slot });
                    }
                    slot.is_none()
                });
            }
            rounds.push(round);
        }
        Self { per_word, rounds, results }
    }

    /// Returns whether every lane already has its words, in order.
    pub(super) fn is_identity(&self) -> bool {
        self.results.iter().enumerate().all(|(word, lanes)| {
            let parts = lanes.iter().flat_map(|composed| composed.iter().enumerate());
            parts
                .filter_map(|(slot, part)| Some((slot, (*part)?)))
                .all(|(slot, part)| part == Part { word, slot })
        })
    }

    /// Emits the exchange of these words and returns the words of the result.
    #[track_caller]
    pub(super) fn emit<'k, W: Scalar>(&self, k: Builder<'k>, words: &[Val<'k, W>]) -> Vec<Val<'k, W>> {
        let _located = k.locate(Location::caller());
        let mut all = words.to_vec();
        for round in &self.rounds {
            let sent = self.composed(k, words, &round.sent);
            let (how, lane) = source_lane(k, &round.source);
            all.push(shuffle(k, how, sent, lane));
        }
        self.results.iter().map(|lanes| self.composed(k, &all, lanes)).collect()
    }

    /// Composes a word in each lane.
    #[track_caller]
    fn composed<'k, W: Scalar>(
        &self,
        k: Builder<'k>,
        words: &[Val<'k, W>],
        lanes: &PerLane<Composed>,
    ) -> Val<'k, W> {
        let columns = columns(lanes);
        let column = |at: usize| -> Val<'k, W> {
            let table = columns.each_ref().map(|words: &Vec<usize>| words.get(at).copied());
            choose(&table, &|word| words[word], &by_lane_bit(k)).unwrap_or(words[0])
        };
        let mut word = column(0);
        if self.per_word == 1 {
            return word;
        }
        let count = columns.iter().map(Vec::len).max().unwrap_or(1);
        for at in 1..count.max(2) {
            let mut selectors = [None; LANES];
            for (lane, composed) in lanes.iter().enumerate() {
                if composed.iter().any(Option::is_some) {
                    selectors[lane] = Some(self.selector(composed, &columns[lane], at));
                }
            }
            if selectors.iter().flatten().all(|&selector| selector == IN_PLACE) {
                continue;
            }
            let next = if at < count { column(at) } else { word };
            let selector = choose(&selectors, &|selector: u32| Val::from(selector), &by_lane_bit(k));
            let bits = |word: Val<'k, W>| Val::<u32>::from_reg(word.in_register(k), k);
            let permuted = bits(word).permute(bits(next), selector.unwrap_or(IN_PLACE.into()));
            word = Val::from_reg(permuted.in_register(k), k);
        }
        word
    }

    /// Returns the selector of the `prmt` that inserts the elements of column `at` into the word composed so far; the first `prmt`
    /// also moves the elements of column 0.
    fn selector(&self, composed: &Composed, columns: &[usize], at: usize) -> u32 {
        let bytes = MOST / self.per_word;
        let mut selector = IN_PLACE;
        for (slot, part) in composed.iter().enumerate() {
            let Some(part) = part else { continue };
            let from = match columns.iter().position(|&word| word == part.word) {
                Some(0) if at == 1 => part.slot * bytes,
                Some(column) if column == at => MOST + part.slot * bytes,
                _ => slot * bytes,
            };
            for byte in 0..bytes {
                let shift = 4 * (slot * bytes + byte);
                selector = selector & !(0xf << shift) | ((from + byte) as u32) << shift;
            }
        }
        selector
    }
}

/// The selector of a `prmt` that returns its first operand.
const IN_PLACE: u32 = 0x3210;

/// Returns the words from which each lane composes its word. If the lanes together use no more words than the single lane that uses the
/// most, the list is the same for all lanes.
fn columns(lanes: &PerLane<Composed>) -> PerLane<Vec<usize>> {
    let own = lanes.each_ref().map(|composed| {
        let mut words: Vec<usize> = composed.iter().flatten().map(|part| part.word).collect();
        words.sort_unstable();
        words.dedup();
        words
    });
    let mut all: Vec<usize> = own.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let most = own.iter().map(Vec::len).max().unwrap_or(0);
    if all.len() == most { std::array::from_fn(|_| all.clone()) } else { own }
}

/// Returns the mode of the shuffle, and the operand that determines the lane that each lane reads from.
#[track_caller]
fn source_lane<'k>(k: Builder<'k>, source: &PerLane<Option<u32>>) -> (Shuffle, Val<'k, u32>) {
    let Some((base, steps)) = linear(source) else {
        let chosen = choose(source, &|lane: u32| Val::from(lane), &by_lane_bit(k));
        return (Shuffle::Idx, chosen.unwrap_or(0.into()));
    };
    if (0..LANE_BITS).all(|bit| steps[bit as usize] == 1 << bit) {
        return (Shuffle::Bfly, base.into());
    }
    let lane = k.lane().rank();
    let mut index = Val::from(0u32);
    // Bits that move by the same distance are moved together.
    for distance in 1 - LANE_BITS as i32..LANE_BITS as i32 {
        let moves = |&bit: &u32| {
            let to = bit as i32 + distance;
            to >= 0 && steps[bit as usize] >> to & 1 == 1
        };
        let mask: u32 = (0..LANE_BITS).filter(moves).map(|bit| 1 << bit).sum();
        if mask != 0 {
            let bits = lane & mask;
            index =
                index | if distance < 0 { bits >> distance.unsigned_abs() } else { bits << distance as u32 };
        }
    }
    (Shuffle::Idx, index ^ base)
}

/// Returns the source of lane 0 and, for each bit of the lane number, the bits of the source that it changes. Returns `None` unless these
/// values determine the source of every lane that has one and each bit of the source depends on at most one bit of the lane number.
fn linear(source: &PerLane<Option<u32>>) -> Option<(u32, [u32; LANE_BITS as usize])> {
    let base = source[0]?;
    let mut steps = [0; LANE_BITS as usize];
    for (bit, step) in steps.iter_mut().enumerate() {
        *step = source[1 << bit]? ^ base;
    }
    let at = |lane: usize| {
        (0..steps.len()).filter(|bit| lane >> bit & 1 == 1).fold(base, |at, bit| at ^ steps[bit])
    };
    let is_linear =
        source.iter().enumerate().all(|(lane, source)| source.is_none_or(|source| source == at(lane)));
    let is_disjoint = steps.iter().sum::<u32>() == steps.iter().fold(0, |all, step| all | step);
    (is_linear && is_disjoint).then_some((base, steps))
}

/// Returns a function that selects by one bit of the lane number: the first value if the bit is set, otherwise the second.
fn by_lane_bit<'k, W: Scalar>(k: Builder<'k>) -> impl Fn(u32, Val<'k, W>, Val<'k, W>) -> Val<'k, W> {
    move |bit, one, zero| (k.lane().rank() & (1 << bit)).ne(0).select(one, zero)
}

/// Returns the item of the executing lane, or `None` if no lane has an item. The item is selected by bits of the lane number, chosen
/// greedily to keep the number of selections small.
fn choose<T: Copy + PartialEq, V>(
    table: &PerLane<Option<T>>,
    leaf: &impl Fn(T) -> V,
    select: &impl Fn(u32, V, V) -> V,
) -> Option<V> {
    let first = table.iter().flatten().next()?;
    if table.iter().flatten().all(|item| item == first) {
        return Some(leaf(*first));
    }
    let half = |bit: u32, value: usize| -> PerLane<Option<T>> {
        std::array::from_fn(|lane| table[lane].filter(|_| lane >> bit & 1 == value))
    };
    let distinct = |table: &PerLane<Option<T>>| {
        (0..LANES).filter(|&lane| table[lane].is_some() && !table[..lane].contains(&table[lane])).count()
    };
    let halves = (0..LANE_BITS).map(|bit| (bit, half(bit, 1), half(bit, 0)));
    let halves = halves.filter(|(_, one, zero)| distinct(one) > 0 && distinct(zero) > 0);
    let (bit, one, zero) = halves.min_by_key(|(_, one, zero)| distinct(one) + distinct(zero))?;
    Some(select(bit, choose(&one, leaf, select)?, choose(&zero, leaf, select)?))
}
