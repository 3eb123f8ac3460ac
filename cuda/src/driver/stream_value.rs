//! Stream operations that wait for or write values in memory ("Stream Memory Operations").

use std::thread;
use std::time::Duration;

use warpwright_sim::Footprint;

use crate::code::{Code, Fallible};
use crate::driver::context::Context;
use crate::driver::copy::{Place, device_address};
use crate::driver::memory;
use crate::driver::operation::{Execution, Operation};
use crate::driver::races;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

/// The condition under which a wait ends, given the value in memory and the value specified by the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The cyclic difference between the value in memory and the specified value is not negative.
    AtLeast,
    Equal,
    /// At least one bit is set in both values.
    And,
    /// At least one bit is set in neither value.
    Nor,
}

impl Condition {
    /// Returns whether the condition holds for values of `bits` bits.
    fn holds(self, found: u64, value: u64, bits: u32) -> bool {
        let mask = u64::MAX >> (64 - bits);
        match self {
            Self::AtLeast => found.wrapping_sub(value) & 1 << (bits - 1) == 0,
            Self::Equal => (found ^ value) & mask == 0,
            Self::And => found & value & mask != 0,
            Self::Nor => !(found | value) & mask != 0,
        }
    }
}

/// A wait until a condition holds for the value at an address, or a write of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueOperation {
    pub(crate) address: u64,
    pub(crate) value: u64,
    /// The size of the value: 4 or 8 bytes.
    pub(crate) bytes: u64,
    /// The condition of a wait, or `None` for a write.
    pub(crate) condition: Option<Condition>,
}

/// Value operations that a stream executes one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    list: Vec<ValueOperation>,
    context: Handle,
}

/// The time between consecutive reads of a value for which a stream waits.
const INTERVAL: Duration = Duration::from_micros(100);

impl ValueOperation {
    /// Returns the operation with the address that kernels use, or an error if the memory is not allocated.
    fn resolved(self) -> Fallible<Self> {
        let address = match Place::of(self.address) {
            Place::Device(address) => address,
            Place::Host(host) => device_address(host)?,
        };
        let room = memory::room(address).ok_or(Code::INVALID_VALUE)?;
        let valid = address.is_multiple_of(self.bytes) && room >= self.bytes;
        if valid { Ok(Self { address, ..self }) } else { Err(Code::INVALID_VALUE) }
    }

    fn footprint(&self) -> Footprint {
        let range = Some(self.address..self.address + self.bytes).into_iter().collect();
        match self.condition {
            Some(_) => Footprint { strongly_read: range, ..Footprint::default() },
            None => Footprint { strongly_written: range, ..Footprint::default() },
        }
    }

    fn execute(&self, context: Handle, execution: &Execution) -> Fallible {
        let size = self.bytes as usize;
        let Some(condition) = self.condition else {
            races::record(execution, "a write of a value", self.footprint());
            let value = self.value.to_le_bytes();
            return memory::accessed(&execution.origin, memory::lock().write(self.address, &value[..size]));
        };
        loop {
            let mut found = [0; 8];
            memory::accessed(&execution.origin, memory::lock().read(self.address, &mut found[..size]))?;
            if condition.holds(u64::from_le_bytes(found), self.value, 8 * self.bytes as u32) {
                break;
            }
            // After a fault, the value is no longer written.
            Context::of(context)?.check()?;
            thread::sleep(INTERVAL);
        }
        let writers = races::writers(&(self.address..self.address + self.bytes));
        execution.position.end_wait(writers.iter().map(|writer| &**writer));
        races::record(execution, "a wait for a value", self.footprint());
        Ok(())
    }
}

impl Values {
    /// Queues operations on a stream.
    pub(crate) fn submit(list: Vec<ValueOperation>, stream: &Stream) -> Fallible {
        let list = list.into_iter().map(ValueOperation::resolved).collect::<Fallible<_>>()?;
        stream.submit(Operation::Values(Self { list, context: stream.context()?.handle }))
    }

    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        self.list.iter().try_for_each(|operation| operation.execute(self.context, execution))
    }
}

#[cfg(test)]
mod tests {
    use super::Condition::{And, AtLeast, Equal, Nor};

    #[test]
    fn conditions_of_waits() {
        let cases = [
            (AtLeast, 5, 5, 32, true),
            (AtLeast, 4, 5, 32, false),
            // The difference is cyclic.
            (AtLeast, 1, 0xffff_fffe, 32, true),
            (AtLeast, 0x8000_0000, 0, 32, false),
            (AtLeast, 0x8000_0000, 0, 64, true),
            (AtLeast, 0, 1, 64, false),
            (Equal, 7, 7, 32, true),
            (Equal, 1 << 40, 0, 64, false),
            (Equal, 6, 7, 32, false),
            (And, 6, 1, 32, false),
            (And, 6, 2, 32, true),
            (Nor, 0xffff_0000, 0xffff, 32, false),
            (Nor, 0xffff_0000, 0xfffe, 32, true),
            (Nor, 0xffff_ffff, 0, 64, true),
        ];
        for (condition, found, value, bits, expected) in cases {
            assert_eq!(
                condition.holds(found, value, bits),
                expected,
                "{condition:?} of {found:#x} and {value:#x}"
            );
        }
    }
}
