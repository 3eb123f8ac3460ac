//! Functions of the section "Memory Management": copies with attributes, and batches of copies, which are executed in order.

use super::pointers::{In, Out};
use super::pool::Location;
use super::transfer::{Side, copy_box};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::array::Array;
use crate::driver::copy::{Copy, Place};
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

/// `CUmemcpyAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Attributes {
    order: u32,
    /// The locations of managed memory, which have no effect.
    hints: [Location; 2],
    flags: u32,
}

/// When the source is read (`CUmemcpySrcAccessOrder`): in stream order, during the call, or at any time.
const STREAM: u32 = 1;
const DURING_CALL: u32 = 2;
const ANY: u32 = 3;

/// A copy, and the order in which its source is read.
type Ordered = (Copy, u32);

fn check((copy, order): &Ordered) -> Fallible {
    if !matches!(*order, STREAM | DURING_CALL | ANY) {
        return Err(Code::INVALID_VALUE);
    }
    copy.check()
}

/// Checks all copies and then queues them.
fn submit(copies: &[Ordered], stream: &Stream) -> Fallible {
    copies.iter().try_for_each(check)?;
    copies.iter().try_for_each(|(copy, order)| match *order {
        // Earlier operations in the stream may write the source, even if it is pageable memory.
        STREAM => stream.submit(Operation::Copy(*copy)),
        _ => copy.submit(stream),
    })
}

/// Returns the copies of a batch. Each entry of `attributes` applies to the copies from the index in the corresponding entry of `starts` to
/// the next such index.
fn list(
    [to, from]: [In<u64>; 2],
    sizes: In<usize>,
    count: usize,
    attributes: In<Attributes>,
    starts: In<usize>,
    entries: usize,
) -> Fallible<Vec<Ordered>> {
    let (attributes, starts) = (attributes.list(entries)?, starts.list(entries)?);
    let ascends = starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
    if count == 0 || !ascends || starts.last().is_some_and(|&start| start >= count) {
        return Err(Code::INVALID_VALUE);
    }
    let (to, from, sizes) = (to.list(count)?, from.list(count)?, sizes.list(count)?);
    let copy = |i: usize| {
        let order = attributes[starts.partition_point(|&start| start <= i) - 1].order;
        (Copy::linear(Place::of(to[i]), Place::of(from[i]), sizes[i] as u64), order)
    };
    Ok((0..count).map(copy).collect())
}

/// `CUmemcpy3DOperand`. For memory: the address, the number of elements per row and the number of rows per slice. For arrays: the array and
/// a position in elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Operand {
    ty: u32,
    fields: [usize; 4],
}

/// `CUDA_MEMCPY3D_BATCH_OP`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Op {
    from: Operand,
    to: Operand,
    /// The number of elements per row, rows per slice, and slices.
    extent: [usize; 3],
    order: u32,
    flags: u32,
}

/// `CU_MEMCPY_OPERAND_TYPE_POINTER` and `_ARRAY`.
const POINTER: u32 = 1;
const ARRAY: u32 = 2;

impl Operand {
    /// Returns the element size in bytes, if the operand determines it.
    fn element(&self) -> Fallible<Option<usize>> {
        match self.ty {
            POINTER => Ok(None),
            ARRAY => Ok(Some(Array::of(Handle(self.fields[0]))?.image.texel() as usize)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn side(&self, element: usize) -> Side {
        match (self.ty, self.fields) {
            (ARRAY, [array, x, y, z]) => Side::Array { array: Handle(array), start: [x * element, y, z] },
            (_, [address, row, height, _]) => Side::Memory {
                place: Place::of(address as u64),
                start: [0; 3],
                pitch: [row * element, height],
            },
        }
    }
}

impl Op {
    fn copy(&self) -> Fallible<Ordered> {
        let element = self.from.element()?.or(self.to.element()?).unwrap_or(1);
        let [width, height, depth] = self.extent;
        let copy =
            copy_box(self.to.side(element), self.from.side(element), [width * element, height, depth])?;
        Ok((copy, self.order))
    }
}

fn boxes(ops: In<Op>, count: usize, flags: u64) -> Fallible<Vec<Ordered>> {
    if count == 0 || flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    ops.list(count)?.iter().map(Op::copy).collect()
}

entries! {
    fn cuMemcpyWithAttributesAsync | cuMemcpyWithAttributesAsync_ptsz own (
        to: u64, from: u64, bytes: usize, attributes: In<Attributes>, stream: Handle,
    ) {
        let copy = Copy::linear(Place::of(to), Place::of(from), bytes as u64);
        submit(&[(copy, attributes.get()?.order)], &*Stream::of(stream, own)?)
    }

    fn cuMemcpy3DWithAttributesAsync | cuMemcpy3DWithAttributesAsync_ptsz own (op: In<Op>, flags: u64, stream: Handle) {
        submit(&boxes(op, 1, flags)?, &*Stream::of(stream, own)?)
    }

    fn cuMemcpyBatchAsync | cuMemcpyBatchAsync_ptsz own (
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<Attributes>, starts: In<usize>,
        entries: usize, failed: Out<usize>, stream: Handle,
    ) {
        let copies = list([to, from], sizes, count, attributes, starts, entries).inspect_err(|_| failed.set_if(usize::MAX))?;
        if let Some(first) = copies.iter().position(|copy| check(copy).is_err()) {
            failed.set_if(first);
        }
        submit(&copies, &*Stream::of(stream, own)?)
    }

    fn cuMemcpyBatchAsync_v2 | cuMemcpyBatchAsync_v2_ptsz own (
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<Attributes>, starts: In<usize>,
        entries: usize, stream: Handle,
    ) {
        submit(&list([to, from], sizes, count, attributes, starts, entries)?, &*Stream::of(stream, own)?)
    }

    fn cuMemcpy3DBatchAsync | cuMemcpy3DBatchAsync_ptsz own (
        count: usize, ops: In<Op>, failed: Out<usize>, flags: u64, stream: Handle,
    ) {
        let copies = boxes(ops, count, flags).inspect_err(|_| failed.set_if(usize::MAX))?;
        if let Some(first) = copies.iter().position(|copy| check(copy).is_err()) {
            failed.set_if(first);
        }
        submit(&copies, &*Stream::of(stream, own)?)
    }

    fn cuMemcpy3DBatchAsync_v2 | cuMemcpy3DBatchAsync_v2_ptsz own (count: usize, ops: In<Op>, flags: u64, stream: Handle) {
        submit(&boxes(ops, count, flags)?, &*Stream::of(stream, own)?)
    }
}
