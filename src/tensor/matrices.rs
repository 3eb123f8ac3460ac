//! `ldmatrix` and `stmatrix` in tiled copies.

use std::panic::Location;

use super::{
    element::TensorElement, fragment::Fragment, index::Indices, memory::Tensor, pending::Pending,
    tiled_copy::TiledCopy,
};
use crate::{
    atoms::CopyKind,
    layout::{IntTuple, Layout, LayoutError, Slicer, Slot, Tuple, coord_of_index},
    ptx::{Builder, Ptr, Read, Readable, Shared, Writable},
};

/// Loads matrices from shared memory with the `ldmatrix` atom of a tiled copy.
///
/// `dst` contains the registers in the order of the copy ([`CopyThread::retile`](super::CopyThread::retile)), and `src` is a result of
/// [`partition_s`](super::CopyThread::partition_s). All lanes of the warp must execute the emitted code. The builder rejects other atoms,
/// and rows that are not known to be 16 contiguous bytes aligned to 16 bytes.
#[doc(alias = "ldmatrix")]
#[track_caller]
pub fn load_matrices<'k, T: TensorElement, A: Readable>(
    tiled: &TiledCopy,
    dst: &Fragment<'k, T>,
    src: &Tensor<'k, Shared, T, A>,
) {
    let k = src.kernel();
    let _located = k.locate(Location::caller());
    if !matches!(tiled.atom().kind(), CopyKind::LdMatrix(_)) {
        k.refuse(format!("expected an `ldmatrix` atom, found {}", tiled.atom().name()));
        return;
    }
    let (mnemonic, src) = (tiled.atom().mnemonic(), src.resolved());
    each_matrix(k, dst.layout(), &src.element_layout(), |to, from| {
        let (to, from) = (dst.slice(to), src.slice(Indices::from(from)));
        let words = to.operand();
        let Some(pointer) = from.row_of_matrix() else { return };
        pointer.ldmatrix_form([mnemonic], &words);
    });
}

/// Stores matrices to shared memory with the `stmatrix` atom of a tiled copy.
///
/// Requires sm_90 or later. `src` contains the registers in the order of the copy ([`CopyThread::retile`](super::CopyThread::retile)), and
/// `dst` is a result of [`partition_d`](super::CopyThread::partition_d). All lanes of the warp must execute the emitted code. The builder
/// rejects other atoms, and rows that are not known to be 16 contiguous bytes aligned to 16 bytes.
#[doc(alias = "stmatrix")]
#[track_caller]
pub fn store_matrices<'k, T: TensorElement, A: Writable>(
    tiled: &TiledCopy,
    dst: &Tensor<'k, Shared, T, A>,
    src: &Fragment<'k, T>,
) -> Pending<'k, Tensor<'k, Shared, T, Read>> {
    let k = dst.kernel();
    let _located = k.locate(Location::caller());
    if matches!(tiled.atom().kind(), CopyKind::StMatrix(_)) {
        let (mnemonic, dst) = (tiled.atom().mnemonic(), dst.resolved());
        each_matrix(k, src.layout(), &dst.element_layout(), |from, to| {
            let (from, to) = (src.slice(from), dst.slice(Indices::from(to)));
            let words = from.operand();
            let Some(pointer) = to.row_of_matrix() else { return };
            pointer.stmatrix_form([mnemonic], &words);
        });
    } else {
        k.refuse(format!("expected an `stmatrix` atom, found {}", tiled.atom().name()));
    }
    Pending::new(k, dst.whole().read_only().leased(), false)
}

/// Calls `move_one` with the slices of both sides for each instruction.
#[track_caller]
fn each_matrix(
    k: Builder<'_>,
    registers: &Layout,
    memory: &Result<Layout, LayoutError>,
    mut move_one: impl FnMut(Slicer, Slicer),
) {
    let both = memory.clone().and_then(|memory| Ok((instructions(registers)?, instructions(&memory)?)));
    match both {
        Ok((registers, memory)) if registers.len() == memory.len() => {
            registers.into_iter().zip(memory).for_each(|(registers, memory)| move_one(registers, memory));
        }
        Ok((registers, memory)) => {
            k.refuse(format!(
                "expected the matrices of {} instructions in registers, as in memory, found those of {}",
                memory.len(),
                registers.len()
            ));
        }
        Err(error) => k.refuse(error.to_string()),
    }
}

/// Returns the slices of `((values, repeats), rest, rest, …)`, each of which contains the values of one instruction.
pub(super) fn instructions(layout: &Layout) -> Result<Vec<Slicer>, LayoutError> {
    let values = layout.mode(0)?;
    let repeats = if values.rank() == 2 { values.mode(1)?.size() } else { 1 };
    let rest = layout.shape().modes()[1..].iter().map(Tuple::size);
    let all: IntTuple = [repeats].into_iter().chain(rest).collect();
    Ok((0..all.size()).map(|at| slice_of_instruction(at, &all)).collect())
}

/// Returns the slice of instruction `at`, where `all` is the shape of the repeats and rest modes.
fn slice_of_instruction(at: i64, all: &IntTuple) -> Slicer {
    let coord = coord_of_index(at, all);
    let mut places = coord.modes().iter().map(|place| place.map(|&index| Slot::At(index)));
    let repeat = places.next().unwrap_or(Tuple::Leaf(Slot::At(0)));
    let first = Slicer::from(vec![Tuple::Leaf(Slot::Keep), repeat]);
    [first].into_iter().chain(places).collect()
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    /// Returns the address that a lane passes to `ldmatrix` or `stmatrix`, if the row at this address is 16 contiguous and aligned bytes.
    #[track_caller]
    fn row_of_matrix(&self) -> Option<Ptr<'k, T, Shared, A>> {
        if self.is_row_of_matrix() {
            return Some(self.pointer_to(0));
        }
        self.kernel().refuse(format!(
            "ldmatrix and stmatrix take aligned rows of 16 contiguous bytes, but the layout of a lane's elements is {:?}",
            self.element_layout().map(|layout| layout.to_string())
        ));
        None
    }

    fn is_row_of_matrix(&self) -> bool {
        let locations = self.kernel().computed(self.outline());
        let element = |at: usize| locations[at].offset.elements;
        let adjacent = (0..locations.len()).all(|at| element(at) == element(0) + at as i64);
        adjacent && locations.len() as u32 == 16 / T::SIZE && locations[0].align == 16
    }
}
