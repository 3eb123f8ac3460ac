//! The rule that all fragments of `mma` and `wgmma` follow (PTX ISA, "Matrix Fragments for mma" and "Register Fragments and
//! Shared Memory Matrix Layouts" of wgmma).
//!
//! With lane = 4g + t and E elements per register, register 0 contains columns E·t to E·t + E − 1 of row g; subsequent registers advance by
//! 8 rows first, then by 4·E columns. Each of a warpgroup's four warps owns 16 rows. For A and B, the column is k; C and D are treated as
//! if two elements shared a register.

use super::Group;
use crate::layout::{IntTuple, Layout};

/// An extent and its stride.
type Mode = (u32, u32);

/// Returns the (thread, value) layout of a `rows`×`cols` matrix in the registers of a warp, or of a warpgroup if `rows` is 64.
pub(super) fn fragment(rows: u32, cols: u32, per_register: u32) -> Layout {
    let mut threads = vec![(4, per_register * rows), (8, 1)];
    if rows == 64 {
        threads.push((4, 16));
    }
    let registers = if rows == 8 { 1 } else { 2 };
    let right = 4 * per_register;
    layout(&threads, &[(per_register, rows), (registers, 8), (cols / right, right * rows)])
}

/// Returns the layout of an operand in shared memory; every thread reads all elements.
pub(super) fn shared(rows: u32, cols: u32) -> Layout {
    layout(&[(128, 0)], &[(rows, 1), (cols, rows)])
}

/// Returns the layout of A or B of the f16 form of `mma.m8n8k4` over the eight threads of a quad pair. The matrix is 8×4, with k as the
/// column.
pub(super) fn quad_pair_factor(k_major: bool) -> Layout {
    if k_major { layout(&[(8, 1)], &[(4, 8)]) } else { layout(&[(4, 8), (2, 4)], &[(4, 1)]) }
}

/// Returns the layout of C or D of the f16 form of `mma.m8n8k4` over the eight threads of a quad pair.
pub(super) fn quad_pair_sum(bits: u32) -> Layout {
    match bits {
        16 => layout(&[(8, 1)], &[(8, 8)]),
        _ => layout(&[(2, 1), (2, 16), (2, 4)], &[(2, 8), (2, 2), (2, 32)]),
    }
}

/// Returns the layout of a row of `values` elements in one thread.
pub(super) fn scalar(values: u32) -> Layout {
    layout(&[(1, 0)], &[(values, 1)])
}

/// Returns the layout of the scales of A: lane 4g + t provides the scales of row g + 8(t mod 2), for all k.
pub(super) fn scale_a(k: u32) -> Layout {
    layout(&[(2, 8), (2, 0), (8, 1)], &[(k, 16)])
}

/// Returns the layout of the scales of B: each of the four lanes 4g + t provides the scales of column g, for all k.
pub(super) fn scale_b(k: u32) -> Layout {
    layout(&[(4, 0), (8, 1)], &[(k, 8)])
}

/// Returns the layout of the metadata of a sparse A, which maps (thread, bit index in the thread's register) to `row + 16 · bit`, where
/// `bit` is an index in the metadata of the row. Each of the 16 rows has `bits` bits of metadata; `wide` is set for 16-bit and 32-bit
/// elements (PTX ISA, "Sparse matrix storage").
pub(super) fn metadata(bits: u32, wide: bool) -> Layout {
    match (bits, wide) {
        // One lane in four provides both rows of its group.
        (16, _) => layout(&[(8, 1)], &[(16, 16), (2, 8)]),
        // Two lanes in four each provide half of both rows, or one row.
        (32, true) => layout(&[(2, 256), (8, 1)], &[(16, 16), (2, 8)]),
        (32, false) => layout(&[(2, 8), (8, 1)], &[(32, 16)]),
        // All four lanes.
        _ => layout(&[(2, 8), (2, 512), (8, 1)], &[(32, 16)]),
    }
}

/// Builds a (thread, value) layout from the thread modes and the value modes, omitting modes of extent 1.
fn layout(threads: &[Mode], values: &[Mode]) -> Layout {
    let modes = |modes: &[Mode]| -> (IntTuple, IntTuple) {
        let kept: Vec<&Mode> = modes.iter().filter(|(extent, _)| *extent > 1).collect();
        match kept.as_slice() {
            [] => (1.into(), 0.into()),
            [(extent, stride)] => ((*extent).into(), (*stride).into()),
            kept => (
                kept.iter().map(|(extent, _)| i64::from(*extent)).collect(),
                kept.iter().map(|(_, stride)| i64::from(*stride)).collect(),
            ),
        }
    };
    let ((thread_shape, thread_stride), (value_shape, value_stride)) = (modes(threads), modes(values));
    Layout::new((thread_shape, value_shape), (thread_stride, value_stride))
        .expect("small positive extents and strides, nested alike")
}

/// Returns the layout that maps logical threads to lanes.
pub(super) fn thread_ids(group: Group) -> Layout {
    let lanes = |shape: IntTuple, stride: IntTuple| {
        Layout::new(shape, stride).expect("small positive extents and strides, nested alike")
    };
    match group {
        Group::Thread => lanes(1.into(), 0.into()),
        Group::QuadPair => lanes((4, 2).into(), (1, 16).into()),
        Group::Warp | Group::Warpgroup => lanes(group.threads().into(), 1.into()),
    }
}

/// Returns the layout that maps the threads of [`metadata`] to lanes, for selector 0.
pub(super) fn metadata_threads(bits: u32) -> Layout {
    let (shape, stride) = match bits {
        16 => (8.into(), 4.into()),
        32 => (IntTuple::from((2, 8)), IntTuple::from((1, 4))),
        _ => (32.into(), 1.into()),
    };
    Layout::new(shape, stride).expect("small positive extents and strides, nested alike")
}
