//! Products of tensor fragments of every element type: every dense warp-level atom, executed on them.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{Group, MmaAtom, MmaOperand, MmaType, mma_atoms},
    layout::Layout,
    prelude::*,
    ptx::BuildErrorKind,
    run::Device,
    tensor::{TensorElement, copy, gemm},
};

use crate::devices;

/// An element type with small whole numbers.
trait Whole: TensorElement {
    fn of(number: i32) -> Self;
    fn number(self) -> i32;
}

macro_rules! whole {
    ($($t:ty, $of:expr, $number:expr;)*) => {$(
        impl Whole for $t {
            fn of(number: i32) -> Self {
                let of: fn(i32) -> $t = $of;
                of(number)
            }
            fn number(self) -> i32 {
                let number: fn($t) -> i32 = $number;
                number(self)
            }
        }
    )*};
}

whole! {
    i8,   |n| n as i8,                 i8::into;
    u8,   |n| n.rem_euclid(7) as u8,   u8::into;
    i32,  |n| n,                       |x| x;
    e4m3, |n| e4m3::from_f32(n as f32), |x| x.to_f32() as i32;
    e5m2, |n| e5m2::from_f32(n as f32), |x| x.to_f32() as i32;
    e3m2, |n| e3m2::from_f32(n as f32), |x| x.to_f32() as i32;
    e2m3, |n| e2m3::from_f32(n as f32), |x| x.to_f32() as i32;
    f16,  |n| f16::from_f32(n as f32),  |x| x.to_f32() as i32;
    bf16, |n| bf16::from_f32(n as f32), |x| x.to_f32() as i32;
    tf32, |n| tf32::from_f32(n as f32), |x| x.to_f32() as i32;
    f32,  |n| n as f32,                |x| x as i32;
    f64,  |n| n.into(),                |x| x as i32;
}

/// A matrix by rows of numbers from −3 to 3.
fn matrix<T: Whole>(rows: u32, cols: u32, seed: u32) -> Vec<T> {
    let number = |i: u32| (i.wrapping_mul(0x9e37_79b1).wrapping_add(seed) >> 13) as i32 % 7 - 3;
    (0..rows * cols).map(|i| T::of(number(i))).collect()
}

fn row_major_layout(rows: u32, cols: u32) -> Layout {
    format!("({rows},{cols}):({cols},1)").parse().expect("a layout")
}

/// A·B + C = D.
type Args<A, B, C, D> = (In<A>, In<B>, In<C>, Out<D>);

/// D = A·B + C, of one instruction, with all operands in tensors by rows (B as n×k).
fn product<A: Whole, B: Whole, C: Whole, D: Whole>(
    atom: &'static MmaAtom,
) -> Result<Kernel<Args<A, B, C, D>>, BuildError> {
    let (m, n, depth) = atom.shape();
    Kernel::<(In<A>, In<B>, In<C>, Out<D>)>::build("product(a, b, c, d)", atom.target(), |k, (a, b, c, d)| {
        k.block([32]);
        k.grid([1]);
        let a = k.tensor_with_layout(a, &row_major_layout(m, depth));
        let b = k.tensor_with_layout(b, &row_major_layout(n, depth));
        let c = k.tensor_with_layout(c, &row_major_layout(m, n));
        let d = k.tensor_with_layout(d, &row_major_layout(m, n));
        let mma = k.tiled_mma(atom.name(), "(1,1,1):(0,0,0)", ..);
        let thread = mma.thread(k, k.tid_x());
        let (a, b) = (thread.partition_a(&a), thread.partition_b(&b));
        let (a_fragment, b_fragment) =
            (thread.fragment_like(MmaOperand::A, &a), thread.fragment_like(MmaOperand::B, &b));
        copy(&a_fragment, &a);
        copy(&b_fragment, &b);
        let (rows, cols) = (m.into(), n.into());
        let addend = thread.fragment::<C>(MmaOperand::C, rows, cols);
        copy(&addend, &thread.partition_c(&c));
        let sum = thread.fragment::<D>(MmaOperand::D, rows, cols);
        gemm(&mma, &sum, &a_fragment, &b_fragment, &addend);
        copy(&thread.partition(MmaOperand::D, &d), &sum);
    })
}

fn run<A: Whole, B: Whole, C: Whole, D: Whole>(atom: &'static MmaAtom) {
    let (m, n, depth) = atom.shape();
    let kernel = product::<A, B, C, D>(atom).unwrap_or_else(|why| panic!("{atom}: {why}"));
    let (a, b, c) = (matrix::<A>(m, depth, 1), matrix::<B>(n, depth, 2), matrix::<C>(m, n, 3));
    let device = devices::simulator_of(atom.target());
    let mut d = device.output::<D>((m * n) as usize).unwrap();
    let inputs = (device.upload(&a).unwrap(), device.upload(&b).unwrap(), device.upload(&c).unwrap());
    let launched = device.launch(&kernel, (&inputs.0, &inputs.1, &inputs.2, &mut d));
    launched.unwrap_or_else(|why| panic!("{atom}: {why}"));
    let found: Vec<i32> = device.download(&d).unwrap().into_iter().map(D::number).collect();
    let wanted = (0..m * n).map(|i| {
        let (row, col) = (i / n, i % n);
        let products = (0..depth)
            .map(|k| a[(row * depth + k) as usize].number() * b[(col * depth + k) as usize].number());
        products.sum::<i32>() + c[i as usize].number()
    });
    assert_eq!(found, wanted.collect::<Vec<_>>(), "{atom}");
}

/// Runs an atom on fragments of its types, or returns `false` if Rust types for them are missing.
fn run_on_own_types(atom: &'static MmaAtom) -> bool {
    use MmaType::{Bf16, E2m3, E3m2, E4m3, E5m2, F16, F32, F64, S8, S32, Tf32, U8};
    let [a, b, c, d] = [MmaOperand::A, MmaOperand::B, MmaOperand::C, MmaOperand::D]
        .map(|operand| atom.operand_type(operand));
    macro_rules! types {
        ($($a:ident $at:ty, $b:ident $bt:ty;)* => $($c:ident $ct:ty, $d:ident $dt:ty;)*) => {
            types!(@ [$($a $at, $b $bt;)*] $($c $ct, $d $dt;)*)
        };
        (@ $factors:tt $($c:ident $ct:ty, $d:ident $dt:ty;)*) => {$(
            if (c, d) == ($c, $d) {
                types!(% $factors $ct, $dt);
            }
        )*};
        (% [$($a:ident $at:ty, $b:ident $bt:ty;)*] $ct:ty, $dt:ty) => {$(
            if (a, b) == ($a, $b) {
                run::<$at, $bt, $ct, $dt>(atom);
                return true;
            }
        )*};
    }
    types! {
        E4m3 e4m3, E4m3 e4m3; E4m3 e4m3, E5m2 e5m2; E4m3 e4m3, E3m2 e3m2; E4m3 e4m3, E2m3 e2m3;
        E5m2 e5m2, E4m3 e4m3; E5m2 e5m2, E5m2 e5m2; E5m2 e5m2, E3m2 e3m2; E5m2 e5m2, E2m3 e2m3;
        E3m2 e3m2, E4m3 e4m3; E3m2 e3m2, E5m2 e5m2; E3m2 e3m2, E3m2 e3m2; E3m2 e3m2, E2m3 e2m3;
        E2m3 e2m3, E4m3 e4m3; E2m3 e2m3, E5m2 e5m2; E2m3 e2m3, E3m2 e3m2; E2m3 e2m3, E2m3 e2m3;
        F16 f16, F16 f16;
        => F32 f32, F32 f32; F16 f16, F16 f16; F16 f16, F32 f32;
    }
    types! { Tf32 tf32, Tf32 tf32; Bf16 bf16, Bf16 bf16; => F32 f32, F32 f32; }
    types! { F64 f64, F64 f64; => F64 f64, F64 f64; }
    types! { S8 i8, S8 i8; S8 i8, U8 u8; U8 u8, S8 i8; U8 u8, U8 u8; => S32 i32, S32 i32; }
    false
}

#[test]
fn every_atom_of_a_warp_accepts_fragments_of_its_types() {
    let atoms = mma_atoms().filter(|atom| {
        let plain = atom.sparsity().is_none() && atom.block_scale().is_none() && atom.bit_op().is_none();
        let runs = !atom.target().is_specific() || atom.target() == Target::SM_120A;
        plain && atom.is_emitted() && runs && atom.group() == Group::Warp
    });
    let (mut pairs, mut count, mut left) = (BTreeSet::new(), 0, BTreeSet::new());
    for atom in atoms {
        let factors = format!("{} {}", atom.operand_type(MmaOperand::A), atom.operand_type(MmaOperand::B));
        if run_on_own_types(atom) {
            pairs.insert(factors);
            count += 1;
        } else {
            left.insert(factors);
        }
    }
    let expected = [
        "bf16 bf16",
        "e2m3 e2m3",
        "e2m3 e3m2",
        "e2m3 e4m3",
        "e2m3 e5m2",
        "e3m2 e2m3",
        "e3m2 e3m2",
        "e3m2 e4m3",
        "e3m2 e5m2",
        "e4m3 e2m3",
        "e4m3 e3m2",
        "e4m3 e4m3",
        "e4m3 e5m2",
        "e5m2 e2m3",
        "e5m2 e3m2",
        "e5m2 e4m3",
        "e5m2 e5m2",
        "f16 f16",
        "f64 f64",
        "s8 s8",
        "s8 u8",
        "tf32 tf32",
        "u8 s8",
        "u8 u8",
    ];
    assert_eq!(pairs.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert!(count >= 50, "only {count} atoms");
    // Types of 4 bits have no element type.
    left.retain(|factors| !factors.contains("e2m1"));
    assert_eq!(left.iter().map(String::as_str).collect::<Vec<_>>(), ["s4 s4", "s4 u4", "u4 s4", "u4 u4"]);
}

/// The message about the operands of an atom.
fn refused<A: Whole, B: Whole, C: Whole, D: Whole>(name: &str) -> String {
    let atom = mma_atoms().find(|atom| atom.name() == name).expect("the atom exists");
    match product::<A, B, C, D>(atom).expect_err("a wrong type").kind() {
        BuildErrorKind::Refused(why) => why.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn fragments_of_other_types_of_the_same_width_are_refused() {
    assert_eq!(
        refused::<u8, e4m3, f32, f32>("SM89_16x8x32_F32E4M3E4M3F32_TN"),
        "operand A of SM89_16x8x32_F32E4M3E4M3F32_TN: expected elements e4m3, found u8"
    );
    assert_eq!(
        refused::<i8, u8, i32, i32>("SM80_16x8x32_S32S8S8S32_TN"),
        "operand B of SM80_16x8x32_S32S8S8S32_TN: expected elements s8, found u8"
    );
    assert_eq!(
        refused::<i8, i8, f32, i32>("SM80_16x8x32_S32S8S8S32_TN"),
        "operand C of SM80_16x8x32_S32S8S8S32_TN: expected elements s32, found f32"
    );
}

/// f32 is an operand of tf32 products, which ignore its lower bits.
#[test]
fn fragments_of_f32_are_tf32_operands() {
    let atom = mma_atoms().find(|atom| atom.name() == "SM80_16x8x8_F32TF32TF32F32_TN").unwrap();
    run::<f32, tf32, f32, f32>(atom);
}
