//! Coordinates of the elements in a lane's registers, derived from the (lane, value) layout. A coordinate is the sum of a term that depends
//! on the lane and a constant for each value.

use crate::{
    layout::{ThreadBit, TvLayout},
    ptx::{Builder, Uniformity, Val},
};

/// The coordinates of a lane's elements along one axis.
pub(super) struct Coordinates<'k> {
    /// The coordinate of value 0.
    pub(super) lane: Val<'k, u32>,
    /// The distance of each value from value 0.
    pub(super) offsets: Vec<i64>,
}

impl<'k> Coordinates<'k> {
    /// Returns the coordinates along an axis of a tile or vector.
    #[track_caller]
    pub(super) fn along(k: Builder<'k>, layout: &TvLayout, axis: usize) -> Self {
        let (bits, offsets) = (lane_bits(layout, axis), value_offsets(layout, axis));
        Self { lane: coordinate_of_lane(k, &bits), offsets }
    }

    /// Returns the coordinate of a value.
    #[track_caller]
    pub(super) fn at(&self, value: usize) -> Val<'k, u32> {
        self.lane + self.offsets[value] as u32
    }
}

/// Returns the bits of the lane number that change the coordinate along an axis, lowest first.
pub(super) fn lane_bits(layout: &TvLayout, axis: usize) -> Vec<ThreadBit> {
    layout.along(axis).expect("register tiles and vectors are affine along their axes").thread_bits
}

/// Returns whether this lane is the first of those that own the same elements.
#[track_caller]
pub(super) fn is_first_owner<'k>(k: Builder<'k>, layout: &TvLayout) -> Val<'k, bool> {
    match replicated_bits(layout) {
        0 => true.into(),
        replicated => (k.lane().rank() & replicated).eq(0),
    }
}

/// Returns the bits of the lane number that change no coordinate: lanes that differ only in these bits own the same elements.
fn replicated_bits(layout: &TvLayout) -> u32 {
    let moving = (0..layout.shape().rank()).flat_map(|axis| lane_bits(layout, axis));
    31 & !moving.fold(0, |mask, bit| mask | 1_u32 << bit.bit)
}

/// Returns the uniformity of a result that the lanes compute by exchanges over the lane bits of all axes. If several lanes own the same
/// elements, nothing is known, because these lanes exchange nothing with each other and may hold different values.
pub(super) fn uniformity_of_exchanged(layout: &TvLayout) -> Uniformity {
    if replicated_bits(layout) == 0 { Uniformity::WARP } else { Uniformity::NONE }
}

/// Returns the distance of each value from value 0 along an axis.
pub(super) fn value_offsets(layout: &TvLayout, axis: usize) -> Vec<i64> {
    layout.value_offsets(axis).expect("register tiles and vectors are affine along their axes")
}

/// Returns, for each value of a tile, the index of the vector's value at the same coordinate along `axis`.
pub(super) fn vector_values(tile: &TvLayout, axis: usize) -> Vec<usize> {
    let values = tile.vector_values(axis).expect("register tiles are affine along their axes");
    values.values().map(|value| value as usize).collect()
}

/// Returns the sum of `offset` over the bits in `bits` that are set in the lane number. A run of adjacent bits is extracted as one field if
/// the offset of each bit is twice that of the bit below it.
#[track_caller]
fn coordinate_of_lane<'k>(k: Builder<'k>, bits: &[ThreadBit]) -> Val<'k, u32> {
    let fields = bits.chunk_by(|low, high| high.bit == low.bit + 1 && high.offset == 2 * low.offset);
    let lane = k.lane().rank();
    fields.fold(0.into(), |sum: Val<'k, u32>, field| {
        let mask = (1_u32 << field.len()) - 1;
        sum + ((lane >> field[0].bit) & mask) * field[0].offset as u32
    })
}
