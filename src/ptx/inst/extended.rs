//! Multi-word integers: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.

use crate::ptx::{fold::Integer, kernel::Builder, operand::Operand, val::Val};

/// The type of a word of a multi-word integer: `u32` or `u64`.
pub trait ExtendedPrecision: Integer {}

impl ExtendedPrecision for u32 {}
impl ExtendedPrecision for u64 {}

/// Extended-precision arithmetic on `N`-word integers, low word first.
impl<'k> Builder<'k> {
    /// Returns `a + b` for `N`-word integers, low word first. The result wraps around.
    #[doc(alias = "add.cc")]
    #[doc(alias = "addc")]
    #[track_caller]
    pub fn add_words<T: ExtendedPrecision, const N: usize>(
        self,
        a: [Val<'k, T>; N],
        b: [Val<'k, T>; N],
    ) -> [Val<'k, T>; N] {
        self.carry_chain("add", a, b)
    }

    /// Returns `a − b` for `N`-word integers, low word first. The result wraps around.
    #[doc(alias = "sub.cc")]
    #[doc(alias = "subc")]
    #[track_caller]
    pub fn sub_words<T: ExtendedPrecision, const N: usize>(
        self,
        a: [Val<'k, T>; N],
        b: [Val<'k, T>; N],
    ) -> [Val<'k, T>; N] {
        self.carry_chain("sub", a, b)
    }

    #[track_caller]
    fn carry_chain<T: ExtendedPrecision, const N: usize>(
        self,
        operation: &str,
        a: [Val<'k, T>; N],
        b: [Val<'k, T>; N],
    ) -> [Val<'k, T>; N] {
        // Constants are moved to registers first: no other instruction may come between the instructions of the carry chain.
        let operands: [_; N] = std::array::from_fn(|i| [a[i].operand(self), b[i].operand(self)]);
        std::array::from_fn(|i| {
            let takes = if i > 0 { "c" } else { "" };
            let gives = if i + 1 < N { ".cc" } else { "" };
            self.result(format_args!("{operation}{takes}{gives}.{}", T::PTX), &operands[i])
        })
    }

    /// Returns `a · b + c`, where `a` and `c` are `N`-word integers, low word first, and `b` is a single word. The result wraps around.
    #[doc(alias = "mad.lo.cc")]
    #[doc(alias = "madc.hi.cc")]
    #[track_caller]
    pub fn mad_words<T: ExtendedPrecision, const N: usize>(
        self,
        a: [Val<'k, T>; N],
        b: Val<'k, T>,
        c: [Val<'k, T>; N],
    ) -> [Val<'k, T>; N] {
        let a: [Operand<'static>; N] = a.map(|word| word.operand(self));
        let b = b.operand(self);
        let c = c.map(|word| word.operand(self));
        // One chain for the low halves of the products, one for the high halves, which are one word higher.
        let low: [Val<'k, T>; N] = std::array::from_fn(|i| {
            let (takes, gives) = (if i > 0 { "c" } else { "" }, if i + 1 < N { ".cc" } else { "" });
            self.result(format_args!("mad{takes}.lo{gives}.{}", T::PTX), &[a[i], b, c[i]])
        });
        let mut sum = low;
        for i in 1..N {
            let (takes, gives) = (if i > 1 { "c" } else { "" }, if i + 1 < N { ".cc" } else { "" });
            let operands = [a[i - 1], b, low[i].operand(self)];
            sum[i] = self.result(format_args!("mad{takes}.hi{gives}.{}", T::PTX), &operands);
        }
        sum
    }
}
