//! Masks of complex tiles, which replace the elements on one side of a diagonal, a row or a column with a complex number.

use super::{Complex, Crt};
use crate::{ptx::Val, tensor::TensorElement, tiles::element::RegisterLayout};

macro_rules! masks {
    ($($name:ident $what:literal ($($argument:ident: $number:ident),*);)*) => {
        impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {$(
            #[doc = concat!("Replaces the elements ", $what, " with `re` + i · `im`, as [`Rt::", stringify!($name), "`](crate::tiles::Rt::", stringify!($name), ") does.")]
            #[must_use]
            #[track_caller]
            pub fn $name(
                self,
                $($argument: impl Into<Val<'k, $number>>,)*
                re: impl Into<Val<'k, T::Reg>>,
                im: impl Into<Val<'k, T::Reg>>,
            ) -> Self {
                $(let $argument = $argument.into();)*
                Complex { re: self.re.$name($($argument,)* re), im: self.im.$name($($argument,)* im) }
            }
        )*}
    };
}

masks! {
    causal            "above the main diagonal" ();
    causal_transposed "below the main diagonal" ();
    tril              "with `col` > `row` + `diagonal`" (diagonal: i32);
    triu              "with `col` < `row` + `diagonal`" (diagonal: i32);
    right_fill        "in column `col` and all later columns" (col: u32);
    left_fill         "in columns before `col`" (col: u32);
    upper_fill        "in rows before `row`" (row: u32);
    lower_fill        "in row `row` and all later rows" (row: u32);
    upper_right_fill  "whose row is less than `row` and whose column is at least `col`" (row: u32, col: u32);
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    /// Sets each element for which `f(row, col)` is true to `re` + i · `im`, as [`Rt::fill_where`](crate::tiles::Rt::fill_where) does. `f`
    /// is evaluated separately for each part.
    #[must_use]
    #[track_caller]
    pub fn fill_where(
        self,
        re: impl Into<Val<'k, T::Reg>>,
        im: impl Into<Val<'k, T::Reg>>,
        f: impl Fn(Val<'k, u32>, Val<'k, u32>) -> Val<'k, bool>,
    ) -> Self {
        Complex { re: self.re.fill_where(re, &f), im: self.im.fill_where(im, &f) }
    }
}
