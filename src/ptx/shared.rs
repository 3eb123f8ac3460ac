//! Shared memory: typed arrays are allocated from one arena per kernel.
//!
//! An arena of up to 48 KiB is declared with a fixed size; a larger arena is dynamic (`.extern .shared`), as the driver requires, and the
//! kernel records the size that a launch must request.

use std::panic::Location;

use super::{
    entry::Declaration,
    error::BuildErrorKind,
    kernel::Builder,
    operand::Operand,
    ptr::{Ptr, ReadWrite, Shared},
    types::Element,
    val::Val,
};

/// The maximum size of statically declared shared memory in bytes (CUDA C++ Programming Guide, "Shared Memory").
const MAX_STATIC_BYTES: u64 = 48 << 10;

/// The allocated part of the arena.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arena {
    bytes: u64,
    align: u32,
    /// A gap left by alignment: the offsets of its first byte and of the byte after its last one.
    gap: (u64, u64),
}

impl Arena {
    /// Allocates `bytes` at a multiple of `align` and returns the offset.
    fn take(&mut self, bytes: u64, align: u32) -> u64 {
        self.align = self.align.max(align);
        let (first, end) = self.gap;
        let start = first.next_multiple_of(align.into());
        if start + bytes <= end {
            self.gap.0 = start + bytes;
            return start;
        }
        let start = self.bytes.next_multiple_of(align.into());
        if start - self.bytes > end - first {
            self.gap = (self.bytes, start);
        }
        self.bytes = start + bytes;
        start
    }

    /// Returns the number of bytes to declare, the number of bytes to request at launch, and the declaration.
    pub(crate) fn declaration(self, symbol: &str) -> (u64, u64, Option<Declaration>) {
        let (bytes, align) = (self.bytes, self.align);
        if align == 0 {
            return (0, 0, None);
        }
        let name = symbol.to_string();
        // PTX has no arrays of zero bytes: if all arrays are empty, their address is the address of a dynamic array.
        if (1..=MAX_STATIC_BYTES).contains(&bytes) {
            let text = format!(".shared .align {align} .b8 {symbol}[{bytes}];\n");
            (bytes, 0, Some(Declaration { name, text }))
        } else {
            let text = format!(".extern .shared .align {align} .b8 {symbol}[];\n");
            (0, bytes, Some(Declaration { name, text }))
        }
    }
}

impl<'k> Builder<'k> {
    /// Allocates an uninitialized array of `count` elements in the block's shared memory, aligned to at least 16 bytes.
    ///
    /// The total size of a kernel's arrays must not exceed the target's limit
    /// ([`Target::max_shared_bytes`](super::Target::max_shared_bytes)).
    #[doc(alias = ".shared")]
    #[track_caller]
    pub fn shared<T: Element>(self, count: u32) -> Ptr<'k, T, Shared, ReadWrite> {
        self.shared_aligned(count, T::SIZE.max(16))
    }

    /// Allocates an array as [`shared`](Self::shared) does, but aligned to `align` bytes or to the size of an element, whichever is larger.
    /// `align` must be a power of two up to 1024.
    #[track_caller]
    pub fn shared_aligned<T: Element>(self, count: u32, align: u32) -> Ptr<'k, T, Shared, ReadWrite> {
        if !align.is_power_of_two() || align > 1024 {
            self.fail(BuildErrorKind::Refused(format!(
                "shared memory: expected an alignment that is a power of two up to 1024, found {align}"
            )));
            return self.shared_aligned(count, 1024);
        }
        let align = align.max(T::SIZE);
        let mut body = self.body();
        let start = body.shared.take(u64::from(count) * u64::from(T::SIZE), align);
        let symbol = body.shared_symbol();
        let at = body.located.unwrap_or(Location::caller());
        let reg = body.fresh(super::RegClass::B32);
        let name = if start == 0 { symbol } else { format!("{symbol}+{start}") };
        body.instruction(&["mov.u32"], &[Operand::Reg(reg), Operand::Name(&name)], at);
        body.set_divisor(reg, align.into());
        drop(body);
        Ptr::new(self, Val::from_reg(reg, self), align)
    }
}
