//! The registers of asynchronous products in flight.

/// The use of a register by a pending product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Use {
    #[default]
    None,
    /// An accumulator of a product in this group, issued by this instruction.
    Accumulates(u32, u32),
    Reads(u32, u32),
}

/// One register that products use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProductRegister {
    pub(crate) used: Use,
    /// The kind of write to the register since the last `wgmma.fence`.
    pub(crate) unfenced: Unfenced,
}

/// A write that requires a fence before the next product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unfenced {
    #[default]
    None,
    /// A `mov` from a register that no product uses. Compilers initialize accumulators this way immediately before the product that uses
    /// them, after the fence.
    Set,
    /// A write by any other instruction.
    Computed,
}

/// The registers of one warp's products.
#[derive(Debug, Default)]
pub(crate) struct ProductRegisters {
    pub(crate) registers: Vec<ProductRegister>,
    /// The number of groups for which the warp has waited, and the group to which products currently belong.
    pub(crate) done: u32,
    pub(crate) open: u32,
    pub(crate) any: bool,
    /// Whether the warp has executed a fence since its last wait, or since it started.
    pub(crate) fenced: bool,
}

impl ProductRegisters {
    pub(crate) fn start(&mut self, registers: u32) {
        self.registers.clear();
        self.registers.resize(registers as usize, ProductRegister::default());
        (self.done, self.open, self.any, self.fenced) = (0, 0, false, false);
    }

    pub(crate) fn commit(&mut self) {
        self.open += 1;
    }

    pub(crate) fn wait(&mut self, n: u32) {
        self.done = self.done.max(self.open.saturating_sub(n));
        self.any = self.registers.iter().any(|register| self.in_flight(register.used).is_some());
        self.fenced = false;
    }

    pub(crate) fn fence(&mut self) {
        self.registers.iter_mut().for_each(|register| register.unfenced = Unfenced::None);
        self.fenced = true;
    }

    /// Returns the operand that requires a fence before the product, if any.
    pub(crate) fn missing_fence(&self, a: &[u32], accumulators: &[u32]) -> Option<&'static str> {
        let unfenced = |register: &u32| self.registers[*register as usize].unfenced;
        if a.iter().any(|register| unfenced(register) == Unfenced::Computed) {
            return Some("registers that hold A were written since the last one");
        }
        let late = |register: &u32| match unfenced(register) {
            Unfenced::None => false,
            Unfenced::Set => !self.fenced,
            Unfenced::Computed => true,
        };
        accumulators.iter().any(late).then_some("accumulators were written since the last one")
    }

    /// Returns the instruction of the product, if it is still in flight.
    pub(crate) fn in_flight(&self, used: Use) -> Option<u32> {
        match used {
            Use::Accumulates(group, pc) | Use::Reads(group, pc) if group >= self.done => Some(pc),
            _ => None,
        }
    }

    /// Returns a pending product, if any.
    pub(crate) fn unwaited(&self) -> Option<u32> {
        if !self.any {
            return None;
        }
        let accumulates = |r: &&ProductRegister| matches!(r.used, Use::Accumulates(..));
        self.registers.iter().filter(accumulates).find_map(|register| self.in_flight(register.used))
    }
}
