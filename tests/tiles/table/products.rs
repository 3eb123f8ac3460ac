//! The part of the document for matrix products: a row per pair of types.

use std::fmt::Write;

use warpwright::{
    prelude::*,
    ptx::e5m2,
    tensor::{FloatElement, TensorElement},
    tiles::{Crt, Product, RegisterLayout, SparseProduct, SparseRt},
};

use super::emitted::{BEGIN, Operands, codes, common, counted};

/// The product of a sparse tile and a tile of zeros, in either form.
pub(super) fn sparse_product<'k, A: SparseProduct<B, C>, B: TensorElement, C: TensorElement>(
    operands: Operands<'k, A>,
    is_transposed: bool,
) -> Rt<'k, C, 1, 1> {
    let Operands { k, values, metadata, .. } = operands;
    let a = k.sparse(values, metadata, 16, 2 * A::SUBTILE_LENGTH);
    let a: SparseRt<'_, A, 1, 1> = a.tile(0, 0).load();
    let sum = k.zeros::<Rt<C, 1, 1>>();
    if is_transposed {
        let b = k.zeros::<Rt<B, 1, 2>>();
        k.comment(BEGIN);
        sum.mma_abt_sparse(&a, &b)
    } else {
        let b = k.zeros::<Rt<B, 2, 1, Col>>();
        k.comment(BEGIN);
        sum.mma_ab_sparse(&a, &b)
    }
}

/// The names of the products, and the instructions of each.
const NAMES: [&str; 4] = ["mma_ab", "mma_abt", "mma_atb", "mma_atbt"];

/// The operands of a product, of one subtile each: those of A and of B in both layouts.
struct Factors<'k, A: TensorElement, B: TensorElement, C: TensorElement> {
    sum: Rt<'k, C, 1, 1>,
    a: Rt<'k, A, 1, 1>,
    a_in_cols: Rt<'k, A, 1, 1, Col>,
    b: Rt<'k, B, 1, 1>,
    b_in_cols: Rt<'k, B, 1, 1, Col>,
}

impl<'k, A: TensorElement, B: TensorElement, C: TensorElement> Factors<'k, A, B, C> {
    /// Returns operands, after which the operation begins.
    fn new(k: Builder<'k>) -> Self {
        let factors =
            Self { sum: k.zeros(), a: k.zeros(), a_in_cols: k.zeros(), b: k.zeros(), b_in_cols: k.zeros() };
        k.comment(BEGIN);
        factors
    }
}

/// Returns the instructions of all products of tiles of 16×(length of a subtile of A) by (the same)×16 elements.
fn of_tiles<A: Product<B, C>, B: TensorElement, C: TensorElement>() -> String {
    macro_rules! list {
        ($($method:ident $a:ident $b:ident;)*) => {
            [$(counted::<f32>(stringify!($method), &|operands| {
                let factors = Factors::<A, B, C>::new(operands.k);
                drop(factors.sum.$method(&factors.$a, &factors.$b));
            })),*]
        };
    }
    let lists = list! { mma_ab a b_in_cols; mma_abt a b; mma_atb a_in_cols b_in_cols; mma_atbt a_in_cols b; };
    common(&NAMES, &lists)
}

/// Returns the instructions of both products with a sparse left operand, which stores half of twice as many columns.
fn of_sparse<A: SparseProduct<B, C>, B: TensorElement, C: TensorElement>() -> String {
    let lists = [false, true].map(|is_transposed| {
        counted::<A>("a sparse product", &|operands| drop(sparse_product::<A, B, C>(operands, is_transposed)))
    });
    common(&["mma_ab_sparse", "mma_abt_sparse"], &lists)
}

/// Returns the instructions of all products of complex tiles.
fn of_complex<A: Product<B, C> + FloatElement, B: TensorElement, C: TensorElement>() -> String {
    fn filled<'k, T: TensorElement, L: RegisterLayout>(k: Builder<'k>) -> Crt<'k, T, 1, 1, L> {
        Crt { re: k.zeros(), im: k.zeros() }
    }
    macro_rules! list {
        ($($method:ident $a:ident $b:ident;)*) => {
            [$(counted::<f32>(stringify!($method), &|operands| {
                let k = operands.k;
                let (sum, a, b) = (filled::<C, Row>(k), filled::<A, $a>(k), filled::<B, $b>(k));
                k.comment(BEGIN);
                drop(sum.$method(&a, &b));
            })),*]
        };
    }
    let lists = list! { mma_ab Row Col; mma_abt Row Row; mma_atb Col Col; mma_atbt Col Row; };
    common(&NAMES, &lists)
}

pub(super) fn write(text: &mut String) {
    let dense = codes(&NAMES.map(|name| format!("t.{name}(&a, &b)")).each_ref().map(String::as_str));
    let sparse = codes(&["t.mma_ab_sparse(&a, &b)", "t.mma_abt_sparse(&a, &b)"]);
    let complex = codes(&NAMES.map(|name| format!("c.{name}(&a, &b)")).each_ref().map(String::as_str));
    let _ = write!(
        text,
        "\n### Products\n\nOf operands of one subtile; a sparse left operand has twice as many columns, and its right operand twice as \
         many rows.\n\n| A, B | sum | {dense} | {sparse} | {complex} |\n| --- | --- | --- | --- | --- |\n"
    );
    macro_rules! rows {
        ($($a:ident $b:ident $c:ident: $sparse:tt $complex:tt;)*) => {$(
            let dense = of_tiles::<$a, $b, $c>();
            let (sparse, complex) = (rows!(@$sparse $a $b $c), rows!(@$complex $a $b $c));
            let _ = writeln!(text, "| {}, {} | {} | {dense} | {sparse} | {complex} |", stringify!($a), stringify!($b), stringify!($c));
        )*};
        (@sparse $a:ident $b:ident $c:ident) => { of_sparse::<$a, $b, $c>() };
        (@complex $a:ident $b:ident $c:ident) => { of_complex::<$a, $b, $c>() };
        (@none $a:ident $b:ident $c:ident) => { "–" };
    }
    rows! {
        bf16 bf16 f32: sparse complex;
        f16  f16  f32: sparse complex;
        f16  f16  f16: sparse complex;
        tf32 tf32 f32: sparse complex;
        f64  f64  f64: none   complex;
        e4m3 e4m3 f32: sparse complex;
        e4m3 e5m2 f32: sparse complex;
        e5m2 e4m3 f32: sparse complex;
        e5m2 e5m2 f32: sparse complex;
        e4m3 e4m3 f16: none   complex;
        e4m3 e5m2 f16: none   complex;
        e5m2 e4m3 f16: none   complex;
        e5m2 e5m2 f16: none   complex;
        i8   i8   i32: sparse none;
        i8   u8   i32: sparse none;
        u8   i8   i32: sparse none;
        u8   u8   i32: sparse none;
    }
}
