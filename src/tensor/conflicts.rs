//! Copies between shared memory and fragments without bank conflicts.
//!
//! If all lanes of a warp access their values in the same order, lanes whose values are a multiple of 128 bytes apart use the same banks.
//! To avoid the conflict, values are paired, and the lanes whose index has a certain bit set access the two values of each pair in the
//! opposite order, so that at any time they use different banks from the other lanes. `selp` instructions swap the two values in registers,
//! which takes less time than a second pass over the banks.

use std::rc::Rc;

use arrayvec::ArrayVec;

use super::{
    copy::{How, transfer},
    element::TensorElement,
    fragment::Fragment,
    matrix_moves::Direction,
    memory::Tensor,
    moves::{Location, Place, Widths, plan},
    outline::ViewOutline,
    sides::Side,
    step::Step,
};
use crate::{
    layout::{Layout, Swizzle},
    ptx::{Computation, ReadWrite, RegId, Scalar, Shared, Val},
};

/// Pairs of values that the lanes whose index has a certain bit set access in the opposite order.
#[derive(Clone, Debug)]
struct Exchange {
    /// The position of the index bit that selects these lanes.
    lane_bit: u32,
    /// The distance between the indices `v` and `v + distance` of a pair: a power of 2 whose bit is clear in `v`.
    distance: usize,
    /// The lower values of all pairs, and both values of the first pair.
    low: Rc<Layout<Step>>,
    pair: Rc<Layout<Step>>,
}

/// A warp's accesses to its part of a view.
struct Accesses {
    /// The offset of each lane's first value, in elements.
    lanes: [i64; LANES],
    /// The values, relative to the first one.
    places: Vec<Place>,
    widths: Widths,
    swizzle: Swizzle,
}

const LANES: usize = 32;
const BANKS: usize = 32;
const BANK_BYTES: i64 = 4;
/// The number of instructions that can be issued during one pass over the banks.
const ISSUED_PER_PASS: u32 = 4;

/// Copies between a lane's part of shared memory and a fragment in the order with the fewest bank conflicts, if that is not the order of
/// the elements; otherwise, returns `false`.
#[track_caller]
pub(super) fn move_exchanged<'k, T: TensorElement>(
    direction: Direction,
    memory: &Tensor<'k, Shared, T, ReadWrite>,
    fragment: &Fragment<'k, T>,
) -> bool {
    let Some(part) = LaneParts::of(memory).filter(|_| memory.size() == fragment.size()) else { return false };
    let (Some(registers), Some(exchange)) = (fragment.whole_registers(), memory.kernel().computed(part))
    else {
        return false;
    };
    let Some((halves, swapped)) = halves(memory, &exchange) else { return false };
    let k = memory.kernel();
    let low = (0..registers.len()).filter(|value| value & exchange.distance == 0);
    let pairs: Vec<[RegId; 2]> =
        low.map(|low| [registers[low], registers[low + exchange.distance]]).collect();
    // The values of each pair that the lane accesses first and second.
    let passing: Vec<[RegId; 2]> =
        pairs.iter().map(|_| [(); 2].map(|()| k.fresh_changing(T::Word::CLASS))).collect();
    let exchanged = |to: &[[RegId; 2]], from: &[[RegId; 2]]| {
        for (to, &[low, high]) in to.iter().zip(from) {
            k.select_register(to[0], high, low, swapped);
            k.select_register(to[1], low, high, swapped);
        }
    };
    if direction == Direction::Store {
        exchanged(&passing, &pairs);
    }
    for (which, half) in halves.into_iter().enumerate() {
        let values = Layout::new(pairs.len() as i64, 1).expect("a fragment has few registers");
        let data = Fragment::over(k, passing.iter().map(|pair| pair[which]).collect(), values);
        let (memory, data) = (Side::Shared(half), Side::Registers(data));
        let (to, from) = match direction {
            Direction::Load => (data, memory),
            Direction::Store => (memory, data),
        };
        transfer(to, from, None, &How::best(k));
    }
    if direction == Direction::Load {
        exchanged(&pairs, &passing);
    }
    true
}

/// A lane's part of shared memory.
type Part<'k, T> = Tensor<'k, Shared, T, ReadWrite>;

/// Returns the values of a lane's part that the lane accesses first and second, and whether the upper values are first.
#[track_caller]
fn halves<'k, T: TensorElement>(
    memory: &Part<'k, T>,
    exchange: &Exchange,
) -> Option<([Part<'k, T>; 2], Val<'k, bool>)> {
    let lane = memory.lanes.as_ref()?.lane;
    let bit = (lane >> exchange.lane_bit) & 1;
    let view = memory.resolved();
    let halves = [bit, bit ^ 1].map(|which| {
        let mut half = view.with_layout(Rc::clone(&exchange.low));
        half.add_coordinate(&exchange.pair, which);
        half
    });
    Some((halves, bit.ne(0)))
}

/// The parts of a warp's lanes, which determine the best exchange.
#[derive(PartialEq)]
struct LaneParts {
    values: ViewOutline,
    lanes: Rc<Layout<Step>>,
    swizzle: Swizzle,
}

impl LaneParts {
    /// Returns the parts of all lanes, given one lane's part, if its elements fill registers.
    fn of<T: TensorElement>(memory: &Part<'_, T>) -> Option<Self> {
        let lanes = &memory.lanes.as_deref()?.layout;
        (T::PER_WORD == 1 && lanes.size() == LANES as i64).then(|| Self {
            values: memory.outline(),
            lanes: Rc::clone(lanes),
            swizzle: memory.swizzle,
        })
    }

    fn accesses(&self) -> Accesses {
        Accesses {
            lanes: std::array::from_fn(|lane| self.lanes.index(lane as i64).component(0)),
            places: self.values.compute().iter().copied().map(Place::Memory).collect(),
            widths: Widths { element: self.values.size, per_word: 1, widest: 16, partial: false },
            swizzle: self.swizzle,
        }
    }
}

impl Computation for LaneParts {
    type Result = Option<Exchange>;

    fn compute(&self) -> Self::Result {
        let (lane_bit, distance) = self.accesses().best_exchange()?;
        let values = &self.values.layout;
        let (between, count) = (distance as i64, values.size());
        let low = Layout::new((between, count / (2 * between)), (1, 2 * between)).ok()?;
        let pair = Layout::new(2, between).ok()?;
        let [low, pair] = [values.compose(&low).ok()?, values.compose(&pair).ok()?].map(Rc::new);
        Some(Exchange { lane_bit, distance, low, pair })
    }
}

impl Accesses {
    /// Returns the lane bit and the distance of the fastest exchange, or `None` if accesses in the same order are at least as fast.
    fn best_exchange(&self) -> Option<(u32, usize)> {
        let plain = self.accesses(&self.places);
        let passes = self.passes(&plain, |_| 0);
        if passes == plain.ideal() {
            return None;
        }
        let (mut best, mut least) = (None, plain.time(passes));
        let selects = self.places.len() as u32 * self.widths.element / 4;
        let distances = (0..self.places.len().ilog2()).map(|bit| 1 << bit);
        for (distance, elements) in distances.filter_map(|distance| Some((distance, self.apart(distance)?))) {
            let half = self.accesses(&self.lower_values(distance, elements));
            let ideal = half.time(half.ideal());
            for lane_bit in 0..LANES.ilog2() {
                let time = |first: usize| {
                    half.time(self.passes(&half, |lane| ((lane >> lane_bit & 1) ^ first) as i64 * elements))
                };
                // The second half takes at least the ideal time; this bound rules out most exchanges before their actual time is computed.
                let first = selects + if selects + 2 * ideal < least { time(0) } else { ideal };
                let all = first + if first + ideal < least { time(1) } else { ideal };
                if all < least {
                    (best, least) = (Some((lane_bit, distance)), all);
                }
            }
        }
        best
    }

    /// Returns the distance in elements between the values of a pair, whose indices differ by `distance`, if it is the same for all pairs
    /// and not 0.
    fn apart(&self, distance: usize) -> Option<i64> {
        if !self.places.len().is_multiple_of(2 * distance) {
            return None;
        }
        let mut pairs = (0..self.places.len()).filter(|value| value & distance == 0);
        let between = |low: usize| self.elements(low + distance) - self.elements(low);
        let first = between(0);
        (first != 0 && pairs.all(|low| between(low) == first)).then_some(first)
    }

    fn elements(&self, value: usize) -> i64 {
        match &self.places[value] {
            Place::Memory(location) => location.offset.elements,
            Place::Register { .. } => 0,
        }
    }

    /// Returns the lower values of all pairs. Their known alignment is limited to the alignment that the exchange preserves.
    fn lower_values(&self, distance: usize, elements: i64) -> Vec<Place> {
        let align = 1u32 << (elements * i64::from(self.widths.element)).trailing_zeros().min(4);
        let low = (0..self.places.len()).filter(|value| value & distance == 0);
        let place = |value: usize| match self.places[value] {
            Place::Memory(location) => {
                Place::Memory(Location { align: location.align.min(align), ..location })
            }
            register @ Place::Register { .. } => register,
        };
        low.map(place).collect()
    }

    /// Returns the accesses of a lane to `places`.
    fn accesses(&self, places: &[Place]) -> Series {
        let registers: Vec<Place> = (0..places.len()).map(|word| Place::Register { word, slot: 0 }).collect();
        let accesses = plan(&registers, places, self.widths);
        let first = &accesses[0].elements;
        let start = match &places[first[0] as usize] {
            Place::Memory(location) => location.offset.elements,
            Place::Register { .. } => 0,
        };
        Series {
            count: accesses.len() as u32,
            start,
            bytes: first.len() as i64 * i64::from(self.widths.element),
        }
    }

    /// Returns the number of passes over the banks for one access; `of_lane` returns the number of elements that a lane adds to its
    /// address.
    fn passes(&self, series: &Series, of_lane: impl Fn(usize) -> i64) -> u32 {
        let size = i64::from(self.widths.element);
        let address =
            |lane: usize| self.swizzle.apply((series.start + self.lanes[lane] + of_lane(lane)) * size);
        let lanes: [i64; LANES] = std::array::from_fn(address);
        lanes.chunks(series.lanes_together()).map(|lanes| passes(lanes, series.bytes)).sum()
    }
}

/// Accesses of a lane. Because the layout is affine, all of them have the same width and conflicts as the first.
struct Series {
    count: u32,
    /// The first element of the first access.
    start: i64,
    /// The width of an access in bytes.
    bytes: i64,
}

impl Series {
    /// Returns the number of lanes that are served simultaneously: half of the warp for 8-byte accesses, a quarter for 16-byte accesses.
    fn lanes_together(&self) -> usize {
        LANES * BANK_BYTES as usize / self.bytes.max(BANK_BYTES) as usize
    }

    /// Returns the number of passes for one access without bank conflicts.
    fn ideal(&self) -> u32 {
        (LANES / self.lanes_together()) as u32
    }

    /// Estimates the time of all accesses if each takes `passes` passes, as the number of instructions that a multiprocessor could issue in
    /// this time.
    fn time(&self, passes: u32) -> u32 {
        self.count * (1 + ISSUED_PER_PASS * passes)
    }
}

/// Returns the number of passes over the banks required to serve accesses to `addresses`; in each pass, a bank delivers one word.
fn passes(addresses: &[i64], bytes: i64) -> u32 {
    let mut words: [ArrayVec<i64, LANES>; BANKS] = std::array::from_fn(|_| ArrayVec::new());
    for address in addresses {
        for word in address / BANK_BYTES..(address + bytes) / BANK_BYTES {
            let bank = &mut words[word as usize % BANKS];
            if !bank.contains(&word) {
                bank.push(word);
            }
        }
    }
    words.iter().map(|bank| bank.len() as u32).max().unwrap_or(0)
}
