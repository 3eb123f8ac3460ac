//! Emission of any `mma` from its mnemonic and registers. It is used by [`crate::atoms`], which checks the operands, and by the typed
//! methods.

use std::fmt;

use arrayvec::ArrayVec;

use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    types::Scalar,
    val::Val,
};

/// The maximum number of registers per operand. C of the quad-pair form and A of `mma.m16n8k16` on f64 have this many.
const MOST: usize = 8;

/// The operands of `mma` in addition to D, A, B and C.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addition<'k> {
    /// The metadata of a sparse A, and the selector.
    pub(crate) sparse: Option<(Val<'k, u32>, u32)>,
    /// For A and for B: the register that contains the scales, and the selected byte and thread.
    pub(crate) scales: Option<[(Val<'k, u32>, [u32; 2]); 2]>,
    /// Whether the operands are single registers without braces.
    pub(crate) bare: bool,
}

impl<'k> Builder<'k> {
    /// Emits `mnemonic d, a, b, c` with every operand in braces, or without braces if `addition.bare` is true, followed by the additional
    /// operands.
    #[track_caller]
    pub(crate) fn product<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        mnemonic: fmt::Arguments<'_>,
        d: &[Val<'k, D>],
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        c: &[Val<'k, C>],
        addition: Addition<'k>,
    ) {
        let registers = (self.registers(d), self.registers(a), self.registers(b), self.registers(c));
        let (d, a, b, c) = &registers;
        let constant = |n: u32| Operand::Imm(Immediate::new(n));
        let chosen = addition.scales.map(|scales| scales.map(|(_, chosen)| chosen.map(constant)));
        let mut operands = ArrayVec::<Operand<'_>, 10>::new();
        match addition.bare {
            true => operands.extend([d, a, b, c].into_iter().filter_map(|x| x.first().copied())),
            false => operands.extend([d, a, b, c].map(|x| Operand::Vector(x))),
        }
        if let Some((metadata, selector)) = addition.sparse {
            operands.push(Operand::Reg(metadata.in_register(self)));
            operands.push(constant(selector));
        }
        for ((data, _), chosen) in addition.scales.iter().flatten().zip(chosen.iter().flatten()) {
            operands.push(Operand::Reg(data.in_register(self)));
            operands.push(Operand::Vector(chosen));
        }
        self.emit(mnemonic, &operands);
    }

    /// Emits an `mma` that uses the registers of C as both C and D. The innermost loop must carry these registers.
    #[track_caller]
    pub(crate) fn product_in_place<A: Scalar, B: Scalar, C: Scalar>(
        self,
        mnemonic: fmt::Arguments<'_>,
        c: &mut [Val<'k, C>],
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        addition: Addition<'k>,
    ) {
        let mut registers = ArrayVec::<Val<'k, C>, MOST>::new();
        for c in c.iter() {
            // A register can be an element of C only once.
            let c = if c.is_shared() || registers.iter().any(|other| c.has_register_of(other)) {
                self.copy_of(*c)
            } else {
                *c
            };
            let reg = c.in_register(self);
            self.check_carried(&[reg]);
            registers.push(Val::from_reg(reg, self));
        }
        self.product(mnemonic, &registers, a, b, &registers, addition);
        for (c, register) in c.iter_mut().zip(registers) {
            *c = Val::from_reg(self.body().overwrite(register.in_register(self)), self);
        }
    }

    /// Returns `count` values in fresh registers, to which an instruction can write its result.
    pub(crate) fn fresh_values<T: Scalar>(self, count: usize) -> Vec<Val<'k, T>> {
        (0..count).map(|_| Val::from_reg(self.fresh(T::CLASS), self)).collect()
    }

    #[track_caller]
    fn registers<T: Scalar>(self, values: &[Val<'k, T>]) -> ArrayVec<Operand<'static>, MOST> {
        let mut registers = ArrayVec::new();
        for value in values {
            registers.push(Operand::Reg(value.in_register(self)));
        }
        registers
    }
}
