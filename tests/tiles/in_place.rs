//! Elementwise operations compute in place: the instruction that computes a register's next value writes the register.

use std::cell::Cell;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::BuildErrorKind,
    run::Device,
    tensor::Computed,
    tiles::{Complex, Crt, RegisterLayout},
};

use super::{masks::value, numbers::Numeral};
use crate::cases::everywhere;

/// The number of PTX instructions of a kernel whose loop carries a tile of `W` subtiles.
fn instructions<const W: usize>() -> u32 {
    let kernel = Kernel::<(Out<f32>,)>::build("carried", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let tile = k.fold(4u32, k.filled::<Rt<f32, 1, W>>(0.5), |_, mut tile| {
            tile *= 0.5;
            tile -= &tile.row_max();
            tile.exp2()
        });
        k.global(y, row_major(16, 16 * W as u32)).tile(0, 0).store(&tile);
    });
    kernel.unwrap().entry().instructions
}

#[test]
fn a_carried_tile_is_not_moved() {
    // Per subtile and lane: 8 values to initialize, multiply, subtract, exponentiate; 8 comparisons of the maxima; 4 stores.
    assert_eq!(instructions::<3>() - instructions::<2>(), 8 * 5 + 4);
}

#[test]
fn a_value_from_outside_is_not_renamed() {
    let kernel = Kernel::<(Out<f32>, u32)>::build("outside", Target::SM_80, |k, (y, n)| {
        k.block([32]);
        k.grid([1]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let value = n.cast::<f32>();
        tile.apply(|_| value);
        tile += value;
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y, 3)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [6.0; 256]);
}

#[test]
fn a_value_that_escapes_is_rejected() {
    let error = Kernel::<(Out<f32>,)>::build("escapes", Target::SM_80, |k, (y,)| {
        k.block([32]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let escaped = Cell::new(None);
        tile.apply(|x| {
            escaped.set(Some(x * 2.0));
            escaped.get().unwrap_or(x)
        });
        tile += escaped.get().unwrap_or(Val::from(0.0));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap_err();
    assert!(matches!(error.kind(), BuildErrorKind::Overwritten { .. }), "{error}");
}

#[test]
fn every_iteration_starts_from_a_tile_that_the_loop_does_not_carry() {
    let kernel = Kernel::<(Out<f32>,)>::build("not_carried", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let start = k.filled::<Rt<f32, 1, 1>>(3.0);
        let sum = k.fold(4u32, k.zeros::<Rt<f32, 1, 1>>(), |_, sum| sum + (start * 2.0));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [24.0; 256]);
}

/// The loop's state is a value from the previous iteration, whose register the body has reused.
#[test]
fn a_carried_register_may_be_reused_before_the_end() {
    let kernel = Kernel::<(Out<f32>,)>::build("reused", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let start = (k.filled::<Rt<f32, 1, 1>>(1.0), k.zeros::<Rt<f32, 1, 1>>());
        let (_, sum) = k.fold(3u32, start, |_, (last, sum)| {
            let next = &last * 3.0;
            let difference = next.map(|x| x) - &last;
            (next, sum + (last * 10.0) + difference)
        });
        k.global(y, row_major(16, 16)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [(1.0 + 3.0 + 9.0) * 12.0; 256]);
}

/// The simulator checks the assumption by the register's name, so the result is moved instead of renamed.
#[test]
fn an_assumption_about_a_result_keeps_its_register() {
    let kernel = Kernel::<(Out<f32>,)>::build("assumed", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let mut tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let warp = k.warp();
        tile.apply(|x| (x * 2.0).assume_uniform(warp));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&tile);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(256).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [2.0; 256]);
}

/// Copies of one register to another in the loop of a kernel.
fn copies<A>(kernel: &Kernel<A>) -> usize {
    let text = kernel.ptx();
    let (_, from_loop) = text.split_once(":\n").expect("the label of the loop");
    let copies = from_loop.lines().take_while(|line| !line.contains("bra")).filter_map(|line| {
        let (mnemonic, operands) = line.trim().split_once(' ')?;
        let (to, from) = operands.trim().trim_end_matches(';').split_once(", ")?;
        (mnemonic.starts_with("mov.") && is_register(to) && is_register(from)).then_some(())
    });
    copies.count()
}

/// Whether an operand is a register of any class, such as `%fd12`; `%laneid` and the like have no number.
fn is_register(operand: &str) -> bool {
    operand.starts_with('%') && operand.ends_with(|last: char| last.is_ascii_digit())
}

/// Copies are counted where they are necessary: the loop exchanges two tiles.
#[test]
fn copies_are_counted() {
    fn exchanged<T: Numeral>() -> usize {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("exchanged(x, y)", Target::SM_89, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let load = |at: u32| -> Rt<T, 1, 1> { k.global(x, row_major(64, 64)).tile(at, 0).load() };
            let (first, _) = k.fold(3u32, (load(0), load(1)), |_, (first, second)| (second, first));
            k.global(y, row_major(64, 64)).tile(0, 0).store(&first);
        });
        copies(&kernel.unwrap())
    }
    for (name, copies, registers) in
        [("f32", exchanged::<f32>(), 8), ("f64", exchanged::<f64>(), 8), ("bf16", exchanged::<bf16>(), 4)]
    {
        assert!(copies >= 2 * registers, "{name}: {copies} copies");
    }
}

/// A loop that carries tiles of types that compute in themselves copies as many registers for a wide tile as for a narrow one, with each
/// kind of elementwise operation.
#[test]
fn carried_tiles_are_not_copied() {
    type Carried<'k, T, L, const W: usize> = (Rt<'k, T, 1, W, L>, Rt<'k, T, 1, W, L>);
    type Step<'a, T, L, const W: usize> = dyn for<'k> Fn(Carried<'k, T, L, W>) -> Carried<'k, T, L, W> + 'a;
    fn check<T, L, const W: usize>(name: &str, step: &Step<'_, T, L, W>) -> usize
    where
        T: Numeral,
        L: RegisterLayout,
    {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("carried(x, y)", Target::SM_89, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let shape = row_major(64, 256);
            let load = |at: u32| k.global(x, shape).tile(at, 0).load();
            let (tile, other) = k.fold(4u32, (load(0), load(1)), |_, tiles| step(tiles));
            k.global(y, shape).tile(0, 0).store(&tile);
            k.global(y, shape).tile(1, 0).store(&other);
        });
        copies(&kernel.unwrap_or_else(|error| panic!("{name} of {}: {error}", T::NAME)))
    }
    fn each<T, L>()
    where
        T: Numeral + Computed,
        L: RegisterLayout,
    {
        macro_rules! operations {
            ($($name:literal $step:expr;)*) => {$(
                let found = [check::<T, L, 1>($name, &$step), check::<T, L, 3>($name, &$step)];
                assert_eq!(found[0], found[1], "{} of {} {:?}", $name, T::NAME, L::LAYOUT);
            )*};
        }
        operations! {
            "arithmetic" |(mut t, u)| { t *= T::of(2.0); t += &u; (t.max(T::of(1.0)), u) };
            "relu and clamp" |(t, u)| (t.relu(), u.clamp(T::of(1.0), T::of(2.0)));
            "mul_add" |(t, u)| (t.mul_add(&u, &u), u);
            "add_product" |(t, u)| (t.add_product(&u, &u), u);
            "masks" |(t, u)| (t.tril(3, value(T::of(1.0))), u.right_fill(5, value(T::of(2.0))));
            "map_indexed, then arithmetic" |(t, u)| {
                let mut t = t.map_indexed(|_, (row, col), x| row.eq(col).select(value(T::of(1.0)), x));
                t += &u;
                (t.max(T::of(1.0)), u)
            };
            "map_indexed" |(t, u)| (t.map_indexed(|_, (row, col), x| row.eq(col).select(value(T::of(1.0)), x)), u);
        }
    }
    each::<f32, Row>();
    each::<f32, Col>();
    each::<bf16, Row>();
    each::<f16, Col>();
    each::<f64, Row>();
}

/// The same for elementary functions and for vectors that are broadcast or carried themselves.
#[test]
fn carried_functions_and_vectors_are_not_copied() {
    type Carried<'k, T, const W: usize> = (Rt<'k, T, 1, W>, ColVec<'k, T, 1>, RowVec<'k, T, W>);
    type Step<'a, T, const W: usize> = dyn for<'k> Fn(Carried<'k, T, W>) -> Carried<'k, T, W> + 'a;
    fn check<T: Numeral, const W: usize>(name: &str, step: &Step<'_, T, W>) -> usize {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("carried(x, y)", Target::SM_90, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let (x, y) = (k.global(x, row_major(64, 256)), k.global(y, row_major(64, 256)));
            let start = (x.tile(0, 0).load(), x.col(0).tile(0).load(), x.row(0).tile(0).load());
            let (tile, rows, cols) = k.fold(4u32, start, |_, state| step(state));
            y.tile(0, 0).store(&tile);
            y.col(200).tile(0).store(&rows);
            y.row(20).tile(0).store(&cols);
        });
        copies(&kernel.unwrap_or_else(|error| panic!("{name} of {}: {error}", T::NAME)))
    }
    macro_rules! operations {
        ($($t:ident: $($name:literal $step:expr;)*)*) => {$({
            type T = $t;
            $(
                let found = [check::<T, 1>($name, &$step), check::<T, 3>($name, &$step)];
                assert_eq!(found[0], found[1], "{} of {}", $name, stringify!($t));
            )*
        })*};
    }
    macro_rules! arithmetic {
        ($($t:ident)*) => { operations! {$(
            $t:
            "vectors" |(mut t, rows, cols)| { t -= &rows; t *= &cols; (t + &rows, rows, cols) };
            "carried vectors" |(t, mut rows, cols)| { rows *= T::of(2.0); (t, rows.max(T::of(1.0)), cols.mul_add(T::of(2.0), T::of(1.0))) };
        )*} };
    }
    arithmetic! { f32 bf16 f16 f64 i32 }
    operations! {
        f64: "roots" |(t, rows, cols)| (t.sqrt(), rows.recip(), cols);
    }
    macro_rules! functions {
        ($($t:ident)*) => { operations! {$(
            $t:
            "roots" |(t, rows, cols)| (t.sqrt().rsqrt(), rows.recip(), cols);
            "exponentials" |(t, rows, cols)| (t.exp2(), rows.exp(), cols.log2());
            "hyperbolic" |(t, rows, cols)| (t.tanh().silu(), rows.sigmoid(), cols.gelu_tanh());
        )*} };
    }
    functions! { f32 bf16 f16 }
}

/// Complex tiles are combined and mapped in place.
#[test]
fn carried_complex_tiles_are_not_copied() {
    fn check<const W: usize>() -> usize {
        let kernel = Kernel::<(In<f32>, Out<f32>)>::build("carried(x, y)", Target::SM_80, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let (x, y) = (k.global(x, row_major(64, 256)), k.global(y, row_major(64, 256)));
            let load =
                |row: u32| Crt::<f32, 1, W> { re: x.tile(row, 0).load(), im: x.tile(row + 1, 0).load() };
            let (z, _) = k.fold(4u32, (load(0), load(2)), |_, (mut z, factor)| {
                z *= &factor;
                z += &factor;
                z /= &factor;
                z = z.mul_add(&factor, Complex { re: 0.5, im: 0.25 }).add_product(&factor, &factor);
                (z.recip().exp().conj(), factor)
            });
            y.tile(0, 0).store(&z.re);
            y.tile(1, 0).store(&z.im);
        });
        copies(&kernel.unwrap())
    }
    assert_eq!(check::<1>(), check::<3>());
}
