//! Functions of registers by the classes of their operands, each with its propagation of undefined bits.

use crate::program::code::alu::flow::Spread::{self, Bitwise, Carries, Mixes, Moves};
use crate::program::code::alu::flow::{A, B};

/// Defines the functions for each combination of operand classes: their names, and how undefined bits of the operands propagate to the
/// result.
macro_rules! forms {
    ($(
        $(#[$doc:meta])*
        $form:ident { $($(#[$about:meta])* $f:ident: $spread:expr;)* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $form {
            $($(#[$about])* $f,)*
        }

        impl $form {
            pub(crate) fn spread(self) -> Spread {
                match self {
                    $($form::$f => $spread,)*
                }
            }
        }
    )*};
}

forms! {
    /// Functions of one 32-bit operand.
    R1 {
        Mov: Moves(1);
        Mov16: Moves(1);
        Not: Bitwise(!A);
        Not16: Bitwise(!A);
        Neg: Carries;
        Neg16: Carries;
        Abs: Mixes;
        Abs16: Mixes;
        Cnot: Mixes;
        Cnot16: Mixes;
        Clz: Mixes;
        Popc: Mixes;
        Brev: Moves(1);
        BfindU: Mixes;
        BfindS: Mixes;
        BfindShiftU: Mixes;
        BfindShiftS: Mixes;
        Sext8: Moves(1);
        Sext16: Moves(1);
        /// Sign extension from 8 to 16 bits.
        Sext8To16: Moves(1);
        Zext8: Moves(1);
        NegF32: Mixes;
        AbsF32: Mixes;
    }

    /// Functions of two 32-bit operands.
    R2 {
        Add: Carries;
        Sub: Carries;
        MulLo: Carries;
        MulHiU: Mixes;
        MulHiS: Mixes;
        Mul24LoU: Mixes;
        Mul24LoS: Mixes;
        Mul24HiU: Mixes;
        Mul24HiS: Mixes;
        DivU: Mixes;
        DivS: Mixes;
        RemU: Mixes;
        RemS: Mixes;
        MinU: Mixes;
        MinS: Mixes;
        MaxU: Mixes;
        MaxS: Mixes;
        MinSRelu: Mixes;
        MaxSRelu: Mixes;
        AddSat: Mixes;
        SubSat: Mixes;
        And: Bitwise(A & B);
        Or: Bitwise(A | B);
        Xor: Bitwise(A ^ B);
        Shl: Moves(1);
        ShrU: Moves(1);
        ShrS: Moves(1);
        BmskClamp: Mixes;
        BmskWrap: Mixes;
        SzextUClamp: Mixes;
        SzextUWrap: Mixes;
        SzextSClamp: Mixes;
        SzextSWrap: Mixes;
        AddF32: Mixes;
        SubF32: Mixes;
        MulF32: Mixes;
        CopysignF32: Mixes;
    }

    /// Functions of two 16-bit operands, or of two pairs of halves.
    H2 {
        Add16: Carries;
        Sub16: Carries;
        MulLo16: Carries;
        MulHiU16: Mixes;
        MulHiS16: Mixes;
        MulWideU16: Mixes;
        MulWideS16: Mixes;
        DivU16: Mixes;
        DivS16: Mixes;
        RemU16: Mixes;
        RemS16: Mixes;
        MinU16: Mixes;
        MinS16: Mixes;
        MaxU16: Mixes;
        MaxS16: Mixes;
        Shl16: Moves(1);
        ShrU16: Moves(1);
        ShrS16: Moves(1);
        Add16x2: Mixes;
        MinU16x2: Mixes;
        MinS16x2: Mixes;
        MaxU16x2: Mixes;
        MaxS16x2: Mixes;
        MinS16x2Relu: Mixes;
        MaxS16x2Relu: Mixes;
    }

    /// Functions of three 32-bit operands.
    R3 {
        MadLo: Carries;
        MadHiU: Mixes;
        MadHiS: Mixes;
        MadHiSSat: Mixes;
        Mad24LoU: Mixes;
        Mad24LoS: Mixes;
        Mad24HiU: Mixes;
        Mad24HiS: Mixes;
        Mad24HiSSat: Mixes;
        MadLo16: Carries;
        MadHiU16: Mixes;
        MadHiS16: Mixes;
        MadWideU16: Mixes;
        MadWideS16: Mixes;
        SadU: Mixes;
        SadS: Mixes;
        SadU16: Mixes;
        SadS16: Mixes;
        BfeU: Moves(1);
        BfeS: Moves(1);
        ShfLClamp: Moves(2);
        ShfLWrap: Moves(2);
        ShfRClamp: Moves(2);
        ShfRWrap: Moves(2);
        Prmt: Moves(2);
        PrmtF4e: Moves(2);
        PrmtB4e: Moves(2);
        PrmtRc8: Moves(2);
        PrmtEcl: Moves(2);
        PrmtEcr: Moves(2);
        PrmtRc16: Moves(2);
        Fns: Mixes;
        FmaF32: Mixes;
        /// `a · b − c`, `c − a · b` and `−a · b − c`: contracted from `mul` and `add` or `sub`.
        FmsF32: Mixes;
        FnmaF32: Mixes;
        FnmsF32: Mixes;
    }

    /// Functions of one 64-bit operand.
    D1 {
        Mov: Moves(1);
        Not: Bitwise(!A);
        Neg: Carries;
        Abs: Mixes;
        Cnot: Mixes;
        Brev: Moves(1);
        Sext8: Moves(1);
        Sext16: Moves(1);
        Sext32: Moves(1);
        Zext8: Moves(1);
        Zext16: Moves(1);
        Zext32: Moves(1);
        /// The conversion of a shared address to a generic address, and vice versa.
        SharedToGeneric: Carries;
        GenericToShared: Carries;
        LocalToGeneric: Carries;
        GenericToLocal: Carries;
        ParamToGeneric: Carries;
        GenericToParam: Carries;
    }

    /// Functions of two 64-bit operands.
    D2 {
        Add: Carries;
        Sub: Carries;
        MulLo: Carries;
        MulHiU: Mixes;
        MulHiS: Mixes;
        DivU: Mixes;
        DivS: Mixes;
        RemU: Mixes;
        RemS: Mixes;
        MinU: Mixes;
        MinS: Mixes;
        MaxU: Mixes;
        MaxS: Mixes;
        And: Bitwise(A & B);
        Or: Bitwise(A | B);
        Xor: Bitwise(A ^ B);
        AddF64: Mixes;
        SubF64: Mixes;
        MulF64: Mixes;
    }

    /// Functions of three 64-bit operands.
    D3 {
        MadLo: Carries;
        MadHiU: Mixes;
        MadHiS: Mixes;
        SadU: Mixes;
        SadS: Mixes;
        FmaF64: Mixes;
        /// The same contracted functions as for f32.
        FmsF64: Mixes;
        FnmaF64: Mixes;
        FnmsF64: Mixes;
    }

    /// Functions of a 64-bit and a 32-bit operand.
    DR {
        Shl: Moves(1);
        ShrU: Moves(1);
        ShrS: Moves(1);
    }

    /// Functions from 32 to 64 bits.
    Widen {
        U32: Moves(1);
        S32: Moves(1);
        U16: Moves(1);
        S16: Moves(1);
        U8: Moves(1);
        S8: Moves(1);
    }

    /// Functions from 64 to 32 bits.
    Narrow {
        Low: Moves(1);
        Low16: Moves(1);
        Low8: Moves(1);
        Clz: Mixes;
        Popc: Mixes;
        BfindU: Mixes;
        BfindS: Mixes;
        BfindShiftU: Mixes;
        BfindShiftS: Mixes;
    }
}
