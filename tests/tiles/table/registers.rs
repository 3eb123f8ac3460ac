//! The parts of the document for register tiles and vectors: a column per type.

use std::{
    fmt::Write,
    ops::{Div, Sub},
};

use warpwright::{
    prelude::*,
    ptx::traits::Numeric,
    tensor::TensorElement,
    tiles::{Accumulate, Aligned, Complex, Crt, Crv, Naive},
};

use super::{
    super::numbers::Numeral,
    emitted::{BEGIN, Operands, Operation, codes, common, counted},
};

/// Writes the table of a group of operations: a column per type.
macro_rules! types {
    ($text:ident by $emitted:ident => $($group:literal [$($t:ident)*] $operations:tt)*) => {$(
        let _ = write!($text, "\n### {}\n\n| operation |", $group);
        $( let _ = write!($text, " {} |", stringify!($t)); )*
        let _ = writeln!($text);
        let _ = writeln!($text, "| --- |{}", " --- |".repeat([$(stringify!($t)),*].len()));
        types! { @rows $text $emitted, [$($t)*] $operations }
    )*};
    (@rows $text:ident $emitted:ident, $types:tt { $($($name:literal |$operands:pat_param| $operation:expr),+;)* }) => {
        $( types! { @row $text $emitted, $types [$($name),+] { $($name $operands, $operation;)+ } } )*
    };
    (@row $text:ident $emitted:ident, [$($t:ident)*] $names:tt $operations:tt) => {
        let names = $names;
        let _ = write!($text, "| {} |", codes(&names));
        $(
            let lists = types! { @lists $emitted, $t $operations };
            let _ = write!($text, " {} |", common(&names, &lists));
        )*
        let _ = writeln!($text);
    };
    (@lists $emitted:ident, $t:ident { $($name:literal $operands:pat_param, $operation:expr;)+ }) => {{
        type T = $t;
        let _: Option<T> = None;
        [$({
            let operation: &Operation<'_, T> = &|$operands| { let _ = $operation; };
            $emitted::<T>($name, operation)
        }),+]
    }};
}
pub(super) use types;

/// Returns a number of a type.
fn of<T: Numeral>(number: f64) -> T {
    T::of(number)
}

/// The length of a subtile of a type.
type LengthOf<T> = <T as TensorElement>::Length;

/// Returns whether a number is greater than 0.
pub(super) fn positive<S: Numeral + Numeric>(x: Val<'_, S>) -> Val<'_, bool> {
    x.gt(S::of(0.0))
}

/// Returns a tile of another shape, before the operation begins.
fn shaped<'k, T: TensorElement, const H: usize, const W: usize>(k: Builder<'k>) -> Rt<'k, T, H, W> {
    let tile = k.zeros();
    k.comment(BEGIN);
    tile
}

/// Returns 0.
fn zero<T: Numeral>() -> T {
    T::of(0.0)
}

/// Returns a complex tile of the operands.
fn complex<'k, T: TensorElement>(t: Rt<'k, T, 1, 1>, u: Rt<'k, T, 1, 1>) -> Crt<'k, T, 1, 1> {
    Crt { re: t, im: u }
}

/// Returns a complex vector, before the operation begins.
fn complex_vector<'k, T: TensorElement>(k: Builder<'k>, v: Rv<'k, T, 1>) -> Crv<'k, T, 1> {
    let vector = Crv { re: v.map_words(|x| x), im: v };
    k.comment(BEGIN);
    vector
}

pub(super) fn write(text: &mut String) {
    elementwise(text);
    reductions(text);
    masks_and_random(text);
    moves(text);
    vectors_and_complex(text);
    narrow(text);
}

/// Operations on elements of 16 bits or more that are computed in themselves.
fn elementwise(text: &mut String) {
    types! { text by counted =>
        "Arithmetic" [f32 bf16 f16 f64 i32] {
            "&t + &u" |Operands { t, .. }| &t + &t;
            "&t - &u" |Operands { t, .. }| Sub::sub(&t, &t);
            "&t * &u" |Operands { t, .. }| &t * &t;
            "&t / &u" |Operands { t, .. }| Div::div(&t, &t);
            "t * 2" |Operands { t, .. }| t * of::<T>(2.0);
            "t.mul_add(2, 1)" |Operands { t, .. }| t.mul_add(of::<T>(2.0), of::<T>(1.0));
            "t.mul_add(&u, &u)" |Operands { t, u, .. }| t.mul_add(&u, &u), "t.add_product(&u, &u)" |Operands { t, u, .. }| t.add_product(&u, &u);
            "t.max(0)" |Operands { t, .. }| t.max(of::<T>(0.0)), "t.min(0)" |Operands { t, .. }| t.min(of::<T>(0.0));
            "t.clamp(0, 6)" |Operands { t, .. }| t.clamp(of::<T>(0.0), of::<T>(6.0));
            "-t" |Operands { t, .. }| -t;
            "t.abs()" |Operands { t, .. }| t.abs();
            "t.relu()" |Operands { t, .. }| t.relu();
        }
        "Maps: functions of registers and of elements" [f32 bf16 i32] {
            "t.map(|x| -x)" |Operands { t, .. }| t.map(|x| -x), "t.apply(|x| -x)" |Operands { mut t, .. }| t.apply(|x| -x),
            "t.map_words(|x| -x)" |Operands { t, .. }| t.map_words(|x| -x),
            "t.map_to::<T>(|x| -x)" |Operands { t, .. }| t.map_to::<T>(|x| -x);
            "t.zip(&u, |x, y| x + y)" |Operands { t, u, .. }| t.zip(&u, |x, y| x + y), "t.zip_words(&u, |x, y| x + y)" |Operands { t, u, .. }| t.zip_words(&u, |x, y| x + y);
            "Rt::from_registers(k, t.registers())" |Operands { k, t, .. }| Rt::<T, 1, 1>::from_registers(k, t.registers());
            "Rv::from_registers(k, v.registers())" |Operands { k, v, .. }| Rv::<T, 1>::from_registers(k, v.registers());
            "t.zip_rows(&per_row, |x, y| x + y)" |Operands { t, v, .. }| t.zip_rows(&v, |x, y| x + y);
            "t.zip_cols(&per_column, |x, y| x + y)" |Operands { k, t, .. }| t.zip_cols(&k.filled::<RowVec<T, 1>>(of::<T>(1.0)), |x, y| x + y);
            "t.zip_elements(&bits, |x, b| b.eq(0).select(x, 0))" |Operands { k, t, .. }| {
                let bits: Rt<u32, 1, 1> = shaped(k);
                t.zip_elements(&bits, |x, bits| bits.eq(0).select(x, of::<T>(0.0)))
            };
            "t.map_indexed(|_, (row, col), x| row.eq(col).select(x, 0))"
                |Operands { t, .. }| t.map_indexed(|_, (row, col), x| row.eq(col).select(x, of::<T>(0.0)));
        }
        "Broadcasts" [f32 bf16 f16 f64 i32] {
            "t - &per_row" |Operands { k, t, .. }| t - &k.filled::<ColVec<T, 1>>(of::<T>(1.0));
            "t - &per_column" |Operands { k, t, .. }| t - &k.filled::<RowVec<T, 1>>(of::<T>(1.0));
            "Rt::broadcast(&per_row)" |Operands { k, .. }| Rt::<T, 1, 1>::broadcast(&k.filled::<ColVec<T, 1>>(of::<T>(1.0)));
        }
        "Functions" [f32 bf16 f16] {
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.rsqrt()" |Operands { t, .. }| t.rsqrt();
            "t.recip()" |Operands { t, .. }| t.recip();
            "t.exp2()" |Operands { t, .. }| t.exp2();
            "t.exp()" |Operands { t, .. }| t.exp();
            "t.log2()" |Operands { t, .. }| t.log2();
            "t.ln()" |Operands { t, .. }| t.ln();
            "t.tanh()" |Operands { t, .. }| t.tanh();
            "t.sin()" |Operands { t, .. }| t.sin();
            "t.cos()" |Operands { t, .. }| t.cos();
            "t.sigmoid()" |Operands { t, .. }| t.sigmoid();
            "t.silu()" |Operands { t, .. }| t.silu();
            "t.gelu()" |Operands { t, .. }| t.gelu();
            "t.gelu_tanh()" |Operands { t, .. }| t.gelu_tanh();
        }
        "Roots of f64" [f64] {
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.rsqrt()" |Operands { t, .. }| t.rsqrt();
            "t.recip()" |Operands { t, .. }| t.recip();
        }
        "Conversions" [f32 bf16 f16 f64 i32] {
            "t.convert::<f32>()" |Operands { t, .. }| t.convert::<f32>();
            "t.convert::<bf16>()" |Operands { t, .. }| t.convert::<bf16>();
            "t.convert::<f16>()" |Operands { t, .. }| t.convert::<f16>();
            "t.convert::<f64>()" |Operands { t, .. }| t.convert::<f64>();
            "t.convert::<i32>()" |Operands { t, .. }| t.convert::<i32>();
        }
        "Saturating conversions" [f32 bf16 f16] {
            "t.convert_saturating::<f16>()" |Operands { t, .. }| t.convert_saturating::<f16>();
            "t.convert_saturating::<bf16>()" |Operands { t, .. }| t.convert_saturating::<bf16>();
        }
    }
}

fn reductions(text: &mut String) {
    types! { text by counted =>
        "Reductions" [f32 bf16 f16 f64 i32] {
            "t.row_sum()" |Operands { t, .. }| t.row_sum(), "t.row_prod()" |Operands { t, .. }| t.row_prod();
            "t.row_max()" |Operands { t, .. }| t.row_max(), "t.row_min()" |Operands { t, .. }| t.row_min();
            "t.col_sum()" |Operands { t, .. }| t.col_sum(), "t.col_prod()" |Operands { t, .. }| t.col_prod();
            "t.col_max()" |Operands { t, .. }| t.col_max(), "t.col_min()" |Operands { t, .. }| t.col_min();
            "t.sum()" |Operands { t, .. }| t.sum(), "t.product()" |Operands { t, .. }| t.product();
            "t.maximum()" |Operands { t, .. }| t.maximum(), "t.minimum()" |Operands { t, .. }| t.minimum();
            "t.row_argmax()" |Operands { t, .. }| t.row_argmax(), "t.row_argmin()" |Operands { t, .. }| t.row_argmin();
            "t.col_argmax()" |Operands { t, .. }| t.col_argmax(), "t.col_argmin()" |Operands { t, .. }| t.col_argmin();
            "t.argmax()" |Operands { t, .. }| t.argmax(), "t.argmin()" |Operands { t, .. }| t.argmin();
            "t.row_any(|x| x.gt(0))" |Operands { t, .. }| t.row_any(positive);
            "t.row_all(|x| x.gt(0))" |Operands { t, .. }| t.row_all(positive);
            "t.col_any(|x| x.gt(0))" |Operands { t, .. }| t.col_any(positive);
            "t.col_all(|x| x.gt(0))" |Operands { t, .. }| t.col_all(positive);
            "t.any(|x| x.gt(0))" |Operands { t, .. }| t.any(positive), "t.all(|x| x.gt(0))" |Operands { t, .. }| t.all(positive);
            "t.row_scan()" |Operands { t, .. }| t.row_scan(), "t.row_scan_prod()" |Operands { t, .. }| t.row_scan_prod();
            "t.row_scan_max()" |Operands { t, .. }| t.row_scan_max(), "t.row_scan_min()" |Operands { t, .. }| t.row_scan_min();
            "t.col_scan()" |Operands { t, .. }| t.col_scan(), "t.col_scan_prod()" |Operands { t, .. }| t.col_scan_prod();
            "t.col_scan_max()" |Operands { t, .. }| t.col_scan_max(), "t.col_scan_min()" |Operands { t, .. }| t.col_scan_min();
        }
        "Reductions with the results of other tiles (after the reduction itself)" [f32] {
            "t.row_sum_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_sum_with(v)),
            "t.row_prod_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_prod_with(v));
            "t.row_max_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_max_with(v)),
            "t.row_min_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_min_with(v));
            "t.col_sum_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_sum_with(v)),
            "t.col_prod_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_prod_with(v));
            "t.col_max_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_max_with(v)),
            "t.col_min_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_min_with(v));
            "t.row_scan_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_scan_with(v)),
            "t.row_scan_prod_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_scan_prod_with(v));
            "t.row_scan_max_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_scan_max_with(v)),
            "t.row_scan_min_with(v)" |Operands { k, t, .. }| with_rows(k, 0.0, |v| t.row_scan_min_with(v));
            "t.col_scan_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_scan_with(v)),
            "t.col_scan_prod_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_scan_prod_with(v));
            "t.col_scan_max_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_scan_max_with(v)),
            "t.col_scan_min_with(v)" |Operands { k, t, .. }| with_cols(k, 0.0, |v| t.col_scan_min_with(v));
            "t.row_argmax_with(best, 0)" |Operands { k, t, .. }| t.row_argmax_with((with_rows(k, 0.0, |v| v), k.zeros()), 0),
            "t.row_argmin_with(best, 0)" |Operands { k, t, .. }| t.row_argmin_with((with_rows(k, 0.0, |v| v), k.zeros()), 0);
            "t.col_argmax_with(best, 0)" |Operands { k, t, .. }| t.col_argmax_with((with_cols(k, 0.0, |v| v), k.zeros()), 0),
            "t.col_argmin_with(best, 0)" |Operands { k, t, .. }| t.col_argmin_with((with_cols(k, 0.0, |v| v), k.zeros()), 0);
            "t.row_any_with(v, |x| x.gt(0))" |Operands { k, t, .. }| with_rows(k, 0, |v| t.row_any_with(v, positive));
            "t.row_all_with(v, |x| x.gt(0))" |Operands { k, t, .. }| with_rows(k, 0, |v| t.row_all_with(v, positive));
            "t.col_any_with(v, |x| x.gt(0))" |Operands { k, t, .. }| with_cols(k, 0, |v| t.col_any_with(v, positive));
            "t.col_all_with(v, |x| x.gt(0))" |Operands { k, t, .. }| with_cols(k, 0, |v| t.col_all_with(v, positive));
        }
    }
}

/// Returns the result of `f` for a vector with one element per row, before which the operation begins.
fn with_rows<'k, S: TensorElement, R>(k: Builder<'k>, value: S, f: impl FnOnce(ColVec<'k, S, 1>) -> R) -> R {
    let vector = k.filled(value);
    k.comment(BEGIN);
    f(vector)
}

/// Returns the result of `f` for a vector with one element per column, before which the operation begins.
fn with_cols<'k, S: TensorElement, R>(k: Builder<'k>, value: S, f: impl FnOnce(RowVec<'k, S, 1>) -> R) -> R {
    let vector = k.filled(value);
    k.comment(BEGIN);
    f(vector)
}

fn masks_and_random(text: &mut String) {
    types! { text by counted =>
        "Masks" [f32 bf16 f16 f64 i32] {
            "t.tril(0, 0)" |Operands { t, .. }| t.tril(0, of::<T>(0.0)), "t.causal(0)" |Operands { t, .. }| t.causal(of::<T>(0.0));
            "t.triu(0, 0)" |Operands { t, .. }| t.triu(0, of::<T>(0.0)),
            "t.causal_transposed(0)" |Operands { t, .. }| t.causal_transposed(of::<T>(0.0));
            "t.right_fill(5, 0)" |Operands { t, .. }| t.right_fill(5, of::<T>(0.0));
            "t.left_fill(5, 0)" |Operands { t, .. }| t.left_fill(5, of::<T>(0.0));
            "t.lower_fill(5, 0)" |Operands { t, .. }| t.lower_fill(5, of::<T>(0.0));
            "t.upper_fill(5, 0)" |Operands { t, .. }| t.upper_fill(5, of::<T>(0.0));
            "t.upper_right_fill(5, 5, 0)" |Operands { t, .. }| t.upper_right_fill(5, 5, of::<T>(0.0));
            "t.fill_where(0, |row, col| row.eq(col))" |Operands { t, .. }| t.fill_where(of::<T>(0.0), |row, col| row.eq(col));
        }
        "NaN and dropout" [f32 bf16 f16] {
            "t.has_nan()" |Operands { t, .. }| t.has_nan();
            "t.dropout(0.1, &random)" |Operands { k, t, .. }| t.dropout(0.1, &k.random(1, 2).tile(0, 0));
        }
        "Random numbers" [f32] {
            "random.tile(0, 0).bits()" |Operands { k, .. }| k.random(1, 2).tile(0, 0).bits::<1, 1, Row>();
            "random.tile(0, 0).uniform()" |Operands { k, .. }| k.random(1, 2).tile(0, 0).uniform::<1, 1, Row>();
            "random.tile(0, 0).normal()" |Operands { k, .. }| k.random(1, 2).tile(0, 0).normal::<1, 1, Row>();
        }
    }
}

fn moves(text: &mut String) {
    types! { text by counted =>
        "Parts of a tile of 2×2 subtiles" [f32 bf16 f64] {
            "t.subtile::<1, 1>(1, 1)" |Operands { k, .. }| shaped::<T, 2, 2>(k).subtile::<1, 1>(1, 1);
            "t.update_subtile(1, 1, |part: Rt<T, 1, 1>| part)" |Operands { k, .. }| shaped::<T, 2, 2>(k).update_subtile(1, 1, |part: Rt<'_, T, 1, 1>| part),
            "t.vsplit::<1, 2>()" |Operands { k, .. }| shaped::<T, 2, 2>(k).vsplit::<1, 2>(),
            "t.hsplit::<1, 2>()" |Operands { k, .. }| shaped::<T, 2, 2>(k).hsplit::<1, 2>(),
            "Rt::vconcat(parts)" |Operands { t, u, .. }| Rt::<T, 2, 1>::vconcat([t, u]),
            "Rt::hconcat(parts)" |Operands { t, u, .. }| Rt::<T, 1, 2>::hconcat([t, u]),
            "t.into_transposed()" |Operands { t, .. }| t.into_transposed();
        }
        "Moves between lanes" [f32 bf16 f64] {
            "t.swap_layout()" |Operands { t, .. }| t.swap_layout(), "t.transpose()" |Operands { t, .. }| t.transpose();
            "t.gather_cols(|j| j ^ 2)" |Operands { t, .. }| t.gather_cols(|col| col ^ 2);
            "t.gather_cols(|j| j ^ 8)" |Operands { t, .. }| t.gather_cols(|col| col ^ 8);
        }
    }
}

fn vectors_and_complex(text: &mut String) {
    types! { text by counted =>
        "Vectors with one element per row (`Orthogonal`)" [f32 bf16 i32] {
            "v.sum()" |Operands { v, .. }| v.sum(), "v.product()" |Operands { v, .. }| v.product();
            "v.maximum()" |Operands { v, .. }| v.maximum(), "v.minimum()" |Operands { v, .. }| v.minimum();
            "v.argmax()" |Operands { v, .. }| v.argmax(), "v.argmin()" |Operands { v, .. }| v.argmin();
            "v.scan()" |Operands { v, .. }| v.scan(), "v.scan_prod()" |Operands { v, .. }| v.scan_prod();
            "v.scan_max()" |Operands { v, .. }| v.scan_max(), "v.scan_min()" |Operands { v, .. }| v.scan_min();
            "v.scan_with(3)" |Operands { v, .. }| v.scan_with(of::<<T as Accumulate>::Sum>(3.0)),
            "v.scan_prod_with(3)" |Operands { v, .. }| v.scan_prod_with(of::<<T as Accumulate>::Sum>(3.0));
            "v.scan_max_with(3)" |Operands { v, .. }| v.scan_max_with(of::<<T as Accumulate>::Sum>(3.0)),
            "v.scan_min_with(3)" |Operands { v, .. }| v.scan_min_with(of::<<T as Accumulate>::Sum>(3.0));
            "v.map_indexed(|_, i, x| i.eq(0).select(x, 0))" |Operands { v, .. }| v.map_indexed(|_, at, x| at.eq(0).select(x, of::<T>(0.0)));
            "v.to_layout::<Aligned>()" |Operands { v, .. }| v.to_layout::<Aligned>(),
            "v.to_vector::<1, Aligned>()" |Operands { v, .. }| v.to_vector::<1, Aligned>();
            "v.to_layout::<Naive>()" |Operands { v, .. }| v.to_layout::<Naive>();
            "v.convert::<f32>()" |Operands { v, .. }| v.convert::<f32>();
            "v.convert_saturating::<f16>()" |Operands { v, .. }| v.convert_saturating::<f16>();
        }
        "Elements of vectors" [f32 i32] {
            "v.get(5)" |Operands { v, .. }| v.get(5);
        }
        "Complex numbers" [f32 bf16] {
            "&c + &d" |Operands { t, u, .. }| { let c = complex(t, u); &c + &c };
            "&c * &d" |Operands { t, u, .. }| { let c = complex(t, u); &c * &c };
            "&c / &d" |Operands { t, u, .. }| { let c = complex(t, u); Div::div(&c, &c) };
            "&c * &per_row" |Operands { k, t, u, v, .. }| { let v = complex_vector(k, v); &complex(t, u) * &v };
            "c.mul_add(&d, &e)" |Operands { k, t, u, .. }| { let d = Crt::filled(k, zero::<T>(), zero::<T>()); k.comment(BEGIN); complex(t, u).mul_add(&d, &d) },
            "c.add_product(&d, &e)" |Operands { k, t, u, .. }| { let d = Crt::filled(k, zero::<T>(), zero::<T>()); k.comment(BEGIN); complex(t, u).add_product(&d, &d) };
            "c.recip()" |Operands { t, u, .. }| complex(t, u).recip();
            "c.conj()" |Operands { t, u, .. }| complex(t, u).conj();
            "c.scale(2)" |Operands { t, u, .. }| complex(t, u).scale(of::<T>(2.0));
            "c.exp()" |Operands { t, u, .. }| complex(t, u).exp();
            "c.abs_squared()" |Operands { t, u, .. }| complex(t, u).abs_squared();
            "c.abs()" |Operands { t, u, .. }| complex(t, u).abs();
            "c.map(|z| Complex { re: z.im, im: -z.re })" |Operands { t, u, .. }| complex(t, u).map(|z| Complex { re: z.im, im: -z.re });
            "c.zip(&d, |z, w| Complex { re: z.re + w.im, im: w.re })"
                |Operands { t, u, .. }| { let c = complex(t, u); c.zip(&c, |z, w| Complex { re: z.re + w.im, im: w.re }) };
            "c.map_indexed(|_, (row, col), z| Complex { re: row.eq(col).select(z.re, z.im), im: z.im })"
                |Operands { t, u, .. }| complex(t, u).map_indexed(|_, (row, col), z| Complex { re: row.eq(col).select(z.re, z.im), im: z.im });
            "c.row_sum()" |Operands { t, u, .. }| complex(t, u).row_sum();
            "c.col_sum()" |Operands { t, u, .. }| complex(t, u).col_sum();
            "c.sum()" |Operands { t, u, .. }| complex(t, u).sum();
            "c.row_sum_with(sums)" |Operands { k, t, u, .. }| { let sums = Crv::zeros(k); k.comment(BEGIN); complex(t, u).row_sum_with(sums) };
            "c.col_sum_with(sums)" |Operands { k, t, u, .. }| { let sums = Crv::zeros(k); k.comment(BEGIN); complex(t, u).col_sum_with(sums) };
            "c.row_scan()" |Operands { t, u, .. }| complex(t, u).row_scan();
            "c.col_scan()" |Operands { t, u, .. }| complex(t, u).col_scan();
            "c.scan()" |Operands { k, v, .. }| complex_vector(k, v).scan();
            "c.has_nan()" |Operands { t, u, .. }| complex(t, u).has_nan();
            "c.causal(0, 0)" |Operands { t, u, .. }| complex(t, u).causal(zero::<T>(), zero::<T>());
            "c.causal_transposed(0, 0)" |Operands { t, u, .. }| complex(t, u).causal_transposed(zero::<T>(), zero::<T>());
            "c.tril(3, 0, 0)" |Operands { t, u, .. }| complex(t, u).tril(3, zero::<T>(), zero::<T>());
            "c.triu(3, 0, 0)" |Operands { t, u, .. }| complex(t, u).triu(3, zero::<T>(), zero::<T>());
            "c.right_fill(5, 0, 0)" |Operands { t, u, .. }| complex(t, u).right_fill(5, zero::<T>(), zero::<T>());
            "c.left_fill(5, 0, 0)" |Operands { t, u, .. }| complex(t, u).left_fill(5, zero::<T>(), zero::<T>());
            "c.upper_fill(5, 0, 0)" |Operands { t, u, .. }| complex(t, u).upper_fill(5, zero::<T>(), zero::<T>());
            "c.lower_fill(5, 0, 0)" |Operands { t, u, .. }| complex(t, u).lower_fill(5, zero::<T>(), zero::<T>());
            "c.upper_right_fill(5, 5, 0, 0)" |Operands { t, u, .. }| complex(t, u).upper_right_fill(5, 5, zero::<T>(), zero::<T>());
            "c.fill_where(0, 0, |row, col| row.lt(5) & col.ge(5))" |Operands { t, u, .. }| complex(t, u).fill_where(zero::<T>(), zero::<T>(), |row, col| row.lt(5) & col.ge(5));
            "c.dropout(0.1, &random)" |Operands { k, t, u, .. }| complex(t, u).dropout(0.1, &k.random(1, 2).tile(0, 0));
            "c.convert::<f16>()" |Operands { t, u, .. }| complex(t, u).convert::<f16>();
            "c.convert_saturating::<f16>()" |Operands { t, u, .. }| complex(t, u).convert_saturating::<f16>();
            "c.narrow::<e4m3, 1, 1>()" |Operands { k, .. }| {
                let (t, u) = (k.zeros::<Rt<T, 1, 2>>(), k.zeros::<Rt<T, 1, 2>>());
                k.comment(BEGIN);
                Crt { re: t, im: u }.narrow::<e4m3, 1, 1>()
            };
            "c.widen::<T, 1, 2>()" |Operands { k, .. }| {
                let (t, u) = (k.zeros::<Rt<e4m3, 1, 1>>(), k.zeros::<Rt<e4m3, 1, 1>>());
                k.comment(BEGIN);
                Crt { re: t, im: u }.widen::<T, 1, 2>()
            };
            "c.swap_layout()" |Operands { t, u, .. }| complex(t, u).swap_layout(), "c.transpose()" |Operands { t, u, .. }| complex(t, u).transpose();
            "c.gather_cols(|j| j ^ 2)" |Operands { t, u, .. }| complex(t, u).gather_cols(|col| col ^ 2);
            "c.to_layout::<Aligned>()" |Operands { k, v, .. }| complex_vector(k, v).to_layout::<Aligned>(),
            "c.to_vector::<1, Aligned>()" |Operands { k, v, .. }| complex_vector(k, v).to_vector::<1, Aligned>();
            "c.into_transposed()" |Operands { t, u, .. }| complex(t, u).into_transposed(),
            "c.vsplit::<1, 1>()" |Operands { t, u, .. }| complex(t, u).vsplit::<1, 1>(), "c.hsplit::<1, 1>()" |Operands { t, u, .. }| complex(t, u).hsplit::<1, 1>(),
            "Crt::vconcat(tiles)" |Operands { t, u, .. }| Crt::<T, 1, 1>::vconcat([complex(t, u)]), "Crt::hconcat(tiles)" |Operands { t, u, .. }| Crt::<T, 1, 1>::hconcat([complex(t, u)]),
            "c.update_subtile(0, 0, |c| c)" |Operands { t, u, .. }| complex(t, u).update_subtile(0, 0, |c: Crt<T, 1, 1>| c);
            "c.subtile::<1, 1>(0, 0)" |Operands { t, u, .. }| complex(t, u).subtile::<1, 1>(0, 0);
            "Crt::zeros(k)" |Operands { k, .. }| Crt::<T, 1, 1>::zeros(k), "Crt::filled(k, 0, 0)" |Operands { k, .. }| Crt::<T, 1, 1>::filled(k, of::<T>(0.0), of::<T>(0.0));
            "Crt::broadcast(&per_row)" |Operands { k, v, .. }| Crt::<T, 1, 1>::broadcast(&complex_vector(k, v));
        }
        "Elements of complex vectors" [f32 i32] {
            "c.get(5)" |Operands { k, v, .. }| complex_vector(k, v).get(5);
        }
    }
}

/// Types that are computed in a wider one.
fn narrow(text: &mut String) {
    types! { text by counted =>
        "Types that are computed in f32 or i32" [tf32 e4m3 i8] {
            "&t + &u" |Operands { t, .. }| &t + &t;
            "&t / &u" |Operands { t, .. }| Div::div(&t, &t);
            "t.max(0)" |Operands { t, .. }| t.max(of::<T>(0.0)), "t.min(0)" |Operands { t, .. }| t.min(of::<T>(0.0));
            "t.abs()" |Operands { t, .. }| t.abs();
            "t - &per_row" |Operands { k, t, .. }| t - &k.filled::<ColVec<T, 1>>(of::<T>(1.0));
            "t - &per_column" |Operands { k, t, .. }| t - &k.filled::<RowVec<T, 1, Row, LengthOf<T>>>(of::<T>(1.0));
            "t.row_sum()" |Operands { t, .. }| t.row_sum(), "t.row_prod()" |Operands { t, .. }| t.row_prod();
            "t.row_max()" |Operands { t, .. }| t.row_max(), "t.row_min()" |Operands { t, .. }| t.row_min();
            "t.col_sum()" |Operands { t, .. }| t.col_sum(), "t.col_prod()" |Operands { t, .. }| t.col_prod();
            "t.col_max()" |Operands { t, .. }| t.col_max(), "t.col_min()" |Operands { t, .. }| t.col_min();
            "t.sum()" |Operands { t, .. }| t.sum(), "t.product()" |Operands { t, .. }| t.product();
            "t.col_argmax()" |Operands { t, .. }| t.col_argmax(), "t.col_argmin()" |Operands { t, .. }| t.col_argmin();
            "t.col_any(|x| x.gt(0))" |Operands { t, .. }| t.col_any(positive);
            "t.any(|x| x.gt(0))" |Operands { t, .. }| t.any(positive), "t.all(|x| x.gt(0))" |Operands { t, .. }| t.all(positive);
            "t.right_fill(5, 0)" |Operands { t, .. }| t.right_fill(5, super::super::masks::value(of::<T>(0.0)));
        }
        "Functions in f32" [tf32 e4m3] {
            "t.tril(0, 0)" |Operands { t, .. }| t.tril(0, of::<T>(0.0));
            "t.exp2()" |Operands { t, .. }| t.exp2();
            "t.sqrt()" |Operands { t, .. }| t.sqrt();
            "t.has_nan()" |Operands { t, .. }| t.has_nan();
        }
        "From 8 bits" [e4m3 i8] {
            "t.widen::<f32, 1, 2>()" |Operands { t, .. }| t.widen::<f32, 1, 2>();
            "t.widen::<f16, 1, 2>()" |Operands { t, .. }| t.widen::<f16, 1, 2>();
            "t.swap_layout()" |Operands { k, .. }| shaped::<T, 2, 1>(k).swap_layout::<1, 2>(),
            "t.transpose()" |Operands { k, .. }| shaped::<T, 2, 1>(k).transpose::<2, 1>();
        }
        "To 8 bits" [f32 f16 i32] {
            "t.narrow::<e4m3, 1, 1>()" |Operands { k, .. }| shaped::<T, 1, 2>(k).narrow::<e4m3, 1, 1>();
            "t.narrow::<i8, 1, 1>()" |Operands { k, .. }| shaped::<T, 1, 2>(k).narrow::<i8, 1, 1>();
        }
    }
}
