//! The tiles that tensor copies move (PTX ISA, "Tensors").

use crate::exec::bulk::{combine, global_bits, global_word, shared_bits};
use crate::exec::global::{Doing, reach};
use crate::exec::memory::generic_byte;
use crate::machine::Cluster;
use crate::machine::bulk::Tile;
use crate::machine::bulk::{End, Transfer};
use crate::machine::im2col::Columns;
use crate::machine::tensor_map::TensorMap;
use crate::machine::warp::Warp;
use crate::program::code::TensorType;
use crate::program::code::{BulkTensor, ReduceFn, Reduction, TensorReduce};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Returns the tile that a copy moves. It may be larger than shared memory.
pub(crate) fn tile(
    cluster: &Cluster<'_>,
    warp: &Warp,
    lane: usize,
    op: &BulkTensor,
    address: u64,
    coordinates: Vec<i32>,
) -> Outcome<Tile> {
    if !address.is_multiple_of(64) {
        let message =
            format!("misaligned access: a tensor map at {address:#x}, which is not a multiple of 64");
        return Err(Fault::at(FindingKind::MisalignedAccess, lane, message));
    }
    let mut bytes = [0; 128];
    for (i, byte) in (0..).zip(&mut bytes) {
        *byte = generic_byte(cluster, warp, lane, address + i)?;
    }
    let Some(map) = TensorMap::decode(&bytes) else {
        let message = format!("invalid descriptor: the 128 bytes at {address:#x} are not a tensor map");
        return Err(Fault::at(FindingKind::InvalidDescriptor, lane, message));
    };
    if map.dims.len() != coordinates.len() {
        let message = format!(
            "invalid descriptor: a tensor map of {} dimensions used with {} coordinates",
            map.dims.len(),
            coordinates.len()
        );
        return Err(Fault::at(FindingKind::InvalidDescriptor, lane, message));
    }
    let inner = i64::from(coordinates[0]) * map.ty.bytes() as i64;
    if inner % 16 != 0 {
        let message = format!(
            "the innermost tensor coordinate {} starts {inner} bytes into a row, which is not a multiple of 16",
            coordinates[0]
        );
        return Err(Fault::at(FindingKind::TensorCoordinateMisaligned, lane, message));
    }
    let columns = Columns::decode(&bytes, &map);
    if columns.is_some() != op.im2col.is_some() {
        let mode = |im2col: bool| if im2col { "im2col" } else { "tile" };
        let (found, expected) = (mode(columns.is_some()), mode(op.im2col.is_some()));
        let message = format!(
            "invalid descriptor: expected a tensor map in {expected} mode, found one in {found} mode"
        );
        return Err(Fault::at(FindingKind::InvalidDescriptor, lane, message));
    }
    let violation = columns.as_ref().and_then(|columns| columns.violation(&map, &coordinates, !op.load));
    if let Some((kind, message)) = violation {
        return Err(Fault::at(kind, lane, message));
    }
    let offsets: Vec<u32> =
        op.im2col.iter().flatten().map(|&offset| warp.regs.r(offset)[lane] & 0xffff).collect();
    let pixels = columns.map(|columns| columns.positions(&map, &coordinates, &offsets));
    Ok(Tile { map, coordinates, pixels, stores: !op.load })
}

/// Returns the reduction for a tensor copy with elements of type `ty` (PTX ISA, "cp.reduce.async.bulk.tensor").
pub(crate) fn reduction(f: TensorReduce, ty: TensorType, lane: usize) -> Outcome<Reduction> {
    use TensorType::{Bf16, F16, F32, F32Ftz, S32, S64, U32, U64};
    let f = match (f, ty, ty.int(), ty.float()) {
        (TensorReduce::Add, U32 | S32 | U64, Some(int), _) => ReduceFn::AddInt(int),
        (TensorReduce::Min, U32 | S32 | U64 | S64, Some(int), _) => ReduceFn::MinInt(int),
        (TensorReduce::Max, U32 | S32 | U64 | S64, Some(int), _) => ReduceFn::MaxInt(int),
        (TensorReduce::Add, F32 | F32Ftz | F16 | Bf16, _, Some(float)) => ReduceFn::AddFloat(float),
        (TensorReduce::Min, F16 | Bf16, _, Some(float)) => ReduceFn::MinFloat(float),
        (TensorReduce::Max, F16 | Bf16, _, Some(float)) => ReduceFn::MaxFloat(float),
        (TensorReduce::Inc, U32, ..) => ReduceFn::Inc,
        (TensorReduce::Dec, U32, ..) => ReduceFn::Dec,
        (TensorReduce::And, ..) if ty.bytes() >= 4 => ReduceFn::And,
        (TensorReduce::Or, ..) if ty.bytes() >= 4 => ReduceFn::Or,
        (TensorReduce::Xor, ..) if ty.bytes() >= 4 => ReduceFn::Xor,
        _ => {
            return Err(Fault::at(
                FindingKind::InvalidOperand,
                lane,
                format!("expected a reduction of {ty:?} elements through a tensor map, found {f:?}"),
            ));
        }
    };
    Ok(Reduction { f, bytes: ty.bytes() as u8 })
}

impl Tile {
    /// Returns the number of copied bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.map.bytes() * self.pixels.as_ref().map_or(1, Vec::len)
    }

    fn elements(&self) -> usize {
        self.bytes() / self.map.ty.bytes()
    }

    /// Returns the coordinates of element `index` of the box, innermost first.
    fn position(&self, mut index: usize) -> [i64; 5] {
        if let Some(pixels) = &self.pixels {
            let channels = self.map.extent(0);
            let mut position = pixels[index / channels];
            position[0] += (index % channels) as i64;
            return position;
        }
        let mut position = [0; 5];
        for (i, p) in position.iter_mut().enumerate().take(self.map.dims.len()) {
            let extent = self.map.extent(i);
            let step = i64::from(self.map.step(i));
            *p = i64::from(self.coordinates[i]) + (index % extent) as i64 * step;
            index /= extent;
        }
        position
    }

    /// Returns the global address of the first element of the tensor's row at these coordinates, or `None` outside the tensor.
    fn row(&self, position: &[i64; 5]) -> Option<u64> {
        let outer = self.map.dims.iter().zip(position).skip(1).zip(&self.map.strides);
        outer.into_iter().try_fold(self.map.address, |address, ((&dim, &at), stride)| {
            let at = u64::try_from(at).ok().filter(|&at| at < dim)?;
            Some(address.wrapping_add(at.wrapping_mul(*stride)))
        })
    }

    /// Returns the global address of each element of the box, or `None` outside the tensor.
    fn addresses(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        let size = self.map.ty.bytes() as u64;
        let row = self.map.extent(0);
        // Stores write whole 16-byte units of a row, even past its end (observed on an H200 with bf16 and f32 rows of 1 to 20
        // elements); loads fill from the first element past the end.
        let dim = self.map.dims[0];
        let end = if self.stores { (dim * size).next_multiple_of(16) / size } else { dim };
        (0..self.elements()).step_by(row).flat_map(move |first| {
            let position = self.position(first);
            let start = self.row(&position);
            (0..row as i64).map(move |i| {
                let at = u64::try_from(position[0] + i).ok().filter(|&at| at < end)?;
                Some(start?.wrapping_add(at * size))
            })
        })
    }

    /// Rejects a tile with elements that are inside the tensor but outside the buffer.
    pub(crate) fn check(&self, cluster: &Cluster<'_>, lane: usize) -> Outcome<()> {
        let doing = if self.stores { Doing::Store } else { Doing::Load };
        let element = self.map.ty.bytes() as u64;
        let (mut low, mut high) = (u64::MAX, 0);
        for address in self.addresses().flatten() {
            low = low.min(address);
            high = high.max(address.saturating_add(element));
        }
        if low < high {
            reach(cluster.machine, lane, low, high - low, doing)?;
        }
        Ok(())
    }

    /// Returns the ranges of global memory that the tile covers.
    pub(crate) fn runs(&self) -> Vec<(u64, u64)> {
        let element = self.map.ty.bytes() as u64;
        let mut runs: Vec<(u64, u64)> = vec![];
        for address in self.addresses().flatten() {
            match runs.last_mut() {
                Some((start, bytes)) if *start + *bytes == address => *bytes += element,
                _ => runs.push((address, element)),
            }
        }
        runs
    }

    /// Returns the value of elements outside the tensor.
    fn fill(&self) -> u64 {
        match (self.map.nan_fill, self.map.ty.float()) {
            (true, Some(float)) => float.canonical_nan(),
            _ => 0,
        }
    }
}

/// Executes a tensor copy.
pub(crate) fn make(cluster: &mut Cluster<'_>, transfer: &Transfer, tile: &Tile) {
    let element = tile.map.ty.bytes();
    match transfer.from {
        End::Global(_) => {
            for (index, address) in tile.addresses().enumerate() {
                let value = match address {
                    Some(address) => global_element(cluster, address, element),
                    None => tile.fill(),
                };
                for &to in &transfer.to {
                    if let End::Shared(place) = to {
                        let address = (place.offset + index * element) as u64;
                        let offset = tile.map.swizzle.apply(address) as usize - place.offset;
                        put_shared(cluster, place, offset, element, value);
                    }
                }
            }
        }
        End::Shared(place) => {
            for (index, address) in tile.addresses().enumerate() {
                let Some(address) = address else { continue };
                let from = tile.map.swizzle.apply((place.offset + index * element) as u64) as usize;
                let value = shared_element(cluster, place.rank, from, element);
                match transfer.reduce {
                    Some(reduction) => {
                        let offset = (address & 3) as u32;
                        combine(cluster, End::Global(address & !3), offset, reduction, value);
                    }
                    None => put_global(cluster, address, element, value),
                }
            }
        }
        // Registers are not a tile.
        End::Registers(_) => {}
    }
}

fn mask(element: usize) -> u32 {
    if element >= 4 { u32::MAX } else { (1 << (8 * element)) - 1 }
}

fn global_element(cluster: &Cluster<'_>, address: u64, element: usize) -> u64 {
    let low = global_word(cluster, address & !3) >> (8 * (address & 3)) & mask(element);
    let high = if element == 8 { global_word(cluster, address + 4) } else { 0 };
    u64::from(low) | u64::from(high) << 32
}

fn shared_element(cluster: &Cluster<'_>, rank: usize, offset: usize, element: usize) -> u64 {
    let words = &cluster.ctas[rank].shared.words;
    let low = words[offset / 4] >> (8 * (offset & 3)) & mask(element);
    let high = if element == 8 { words[offset / 4 + 1] } else { 0 };
    u64::from(low) | u64::from(high) << 32
}

fn put_shared(
    cluster: &mut Cluster<'_>,
    place: crate::shadow::place::Place,
    offset: usize,
    element: usize,
    value: u64,
) {
    let shift = 8 * (offset & 3) as u32;
    shared_bits(cluster, place, offset & !3, mask(element) << shift, (value as u32) << shift);
    if element == 8 {
        shared_bits(cluster, place, offset + 4, u32::MAX, (value >> 32) as u32);
    }
}

fn put_global(cluster: &Cluster<'_>, address: u64, element: usize, value: u64) {
    let shift = 8 * (address & 3) as u32;
    global_bits(cluster, address & !3, mask(element) << shift, (value as u32) << shift);
    if element == 8 {
        global_bits(cluster, address + 4, u32::MAX, (value >> 32) as u32);
    }
}
