//! Products, quotients and squares of complex numbers of every type are rounded as documented, to the bit.

use warpwright::{
    prelude::*,
    ptx::traits::{Divide, Signed},
    run::Device,
    tiles::{Accumulate, Cgl, Complex, Crt},
};

use super::super::numbers::{Numeral, Random};
use crate::cases::everywhere;

/// The arithmetic of the type in which products are computed.
trait Computed: Numeral {
    fn fma(self, factor: Self, sum: Self) -> Self;
    fn over(self, divisor: Self) -> Self;
}

macro_rules! computed {
    ($($t:ty: $fma:expr, $over:expr;)*) => {$(
        impl Computed for $t {
            fn fma(self, factor: Self, sum: Self) -> Self {
                let fma: fn($t, $t, $t) -> $t = $fma;
                fma(self, factor, sum)
            }

            fn over(self, divisor: Self) -> Self {
                let over: fn($t, $t) -> $t = $over;
                over(self, divisor)
            }
        }
    )*};
}

computed! {
    f32: f32::mul_add, |a, b| a / b;
    f64: f64::mul_add, |a, b| a / b;
    i32: |a, b, c| a * b + c, |a, b| a / b;
    i64: |a, b, c| a * b + c, |a, b| a / b;
}

/// The formulas of the documentation.
fn expected<S: Computed>([[a, b], [c, d], [e, f]]: [[S; 2]; 3]) -> Vec<[S; 2]> {
    let zero = S::of(0.0);
    // −x, and the sign of a product that is not added to anything.
    let negative = |x: S| x.fma(S::of(-1.0), S::of(-0.0));
    let times = |x: S, y: S| x.fma(y, S::of(-0.0));
    let square = |x: S, y: S| x.fma(x, times(y, y));
    let n = square(c, d);
    let added = [a.fma(c, negative(b).fma(d, e)), a.fma(d, b.fma(c, f))];
    vec![
        [a.fma(c, negative(times(b, d))), a.fma(d, times(b, c))],
        [a.fma(c, times(b, d)).over(n), b.fma(c, negative(times(a, d))).over(n)],
        added,
        added,
        [c.over(n), negative(d).over(n)],
        [square(a, b), zero],
    ]
}

fn check<T>()
where
    T: Numeral + Accumulate<Sum: Computed + Signed + Divide>,
{
    type Args<T> = (In<T>, In<T>, Out<T>, Out<T>);
    let (rows, cols) = (Rt::<T, 1, 1>::ROWS, Rt::<T, 1, 1>::COLS);
    let kernel =
        Kernel::<Args<T>>::build("rounding(xre, xim, yre, yim)", Target::SM_89, |k, (xre, xim, yre, yim)| {
            k.block([32]);
            k.grid([2]);
            let (of_x, of_y) = (row_major(6 * rows, cols), row_major(12 * rows, cols));
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, of_y), im: k.global(yim, of_y) };
            let b = k.ctaid_x();
            let load = |i: u32| -> Crt<'_, T, 1, 1> { x.tile(b * 3 + i, 0).load() };
            let (z, w, v) = (load(0), load(1), load(2));
            let results = [
                &z * &w,
                &z / &w,
                load(0).mul_add(&w, &v),
                load(2).add_product(&z, &w),
                load(1).recip(),
                Complex { re: z.abs_squared(), im: k.zeros() },
            ];
            (0u32..).zip(&results).for_each(|(i, result)| y.tile(b * 6 + i, 0).store(result));
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let size = (rows * cols) as usize;
    let is_integer = T::of(0.5).number() == 0.0;
    for launch in 0..2 {
        let mut random = Random(17 + launch);
        let [mut re, mut im] =
            [(); 2].map(|()| (0..6 * size).map(|_| T::random(&mut random)).collect::<Vec<_>>());
        if is_integer {
            // Divisors are not 0, whose quotients are undefined.
            (size..2 * size)
                .chain(4 * size..5 * size)
                .for_each(|at| re[at] = T::of(re[at].number().abs() % 9.0 + 1.0));
            im.iter_mut().for_each(|im| *im = T::of(im.number() % 9.0));
            re.iter_mut().for_each(|re| *re = T::of(re.number() % 90.0));
        } else {
            for (at, special) in
                [f64::NAN, f64::INFINITY, -0.0, 0.0, 1e-6, 3e30, -200.0].into_iter().enumerate()
            {
                (re[at], im[at + 3]) = (T::of(special), T::of(special));
                (re[size + 20 + at], im[size + 23 + at]) = (T::of(special), T::of(special));
            }
        }
        let found = everywhere(|device| {
            let [xre, xim] = [&re, &im].map(|part| device.upload(part).unwrap());
            let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&vec![T::of(77.0); 12 * size]).unwrap());
            device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
            [yre, yim].map(|y| device.download(&y).unwrap().into_iter().map(bits).collect::<Vec<_>>())
        });
        for (block, at) in (0..2).flat_map(|block| (0..size).map(move |at| (block, at))) {
            let operands = [0, 1, 2].map(|i| {
                let at = (block * 3 + i) * size + at;
                [re[at], im[at]].map(|part| T::Sum::of(part.number()))
            });
            for (i, expected) in expected(operands).into_iter().enumerate() {
                let found = [0, 1].map(|part: usize| found[part][(block * 6 + i) * size + at]);
                let expected = expected.map(|part| bits(T::of(part.number())));
                assert_eq!(found, expected, "result {i} of {} for {operands:?}", T::NAME);
            }
        }
    }
}

/// The bits of a number; NaN has only one form.
fn bits<T: Numeral>(number: T) -> Option<u64> {
    (!number.number().is_nan()).then(|| number.to_mem_bits())
}

#[test]
fn rounded_once_after_each_real_product() {
    macro_rules! types {
        ($($t:ty)*) => { $( check::<$t>(); )* };
    }
    types! { f32 f64 bf16 f16 tf32 e4m3 e5m2 i32 i64 i8 u8 }
}
