//! Whole tensor-core instructions compared with the rule for one element, for every type and for sparse operands.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright_sim::arith::{
    Float,
    mma::{Accumulator, Instruction, Shape, TensorArch, TensorOp},
};

use crate::tile::numbers;

/// An instruction with its K, and its operands for 16 rows and 8 columns.
type Case = (TensorOp, usize, Vec<u32>, Vec<u32>, Vec<u32>);

fn cases() -> impl Strategy<Value = Case> {
    let arch = prop_oneof![
        Just(TensorArch::Sm80),
        Just(TensorArch::Sm89),
        Just(TensorArch::Sm90),
        Just(TensorArch::Sm100),
        Just(TensorArch::Sm120),
    ];
    let instruction = prop_oneof![Just(Instruction::Mma), Just(Instruction::Wgmma)];
    let ty = prop_oneof![
        Just((Float::F16, Float::F16)),
        Just((Float::Bf16, Float::Bf16)),
        Just((Float::Tf32, Float::Tf32)),
        Just((Float::E4m3, Float::E4m3)),
        Just((Float::E4m3, Float::E5m2)),
        Just((Float::E5m2, Float::E4m3)),
    ];
    let acc = prop_oneof![Just(Accumulator::F32), Just(Accumulator::F16)];
    (arch, instruction, ty, acc).prop_flat_map(|(arch, instruction, ty, acc)| {
        let k = 256 / ty.0.bits() as usize;
        let op = TensorOp { arch, instruction, ty, acc };
        let sizes = (numbers(ty.0, 16 * k), numbers(ty.1, 8 * k), numbers(acc.float(), 128));
        (Just(op), Just(k), sizes).prop_map(|(op, k, (a, b, c))| (op, k, a, b, c))
    })
}

proptest! {
    #[test]
    fn rows_have_the_bits_of_dot((op, k, a, b, c) in cases()) {
        let mut d = c.clone();
        op.rows(Shape { n: 8, k }, &a, &b, &mut d);
        for (i, &d) in d.iter().enumerate() {
            let (row, column) = (&a[i / 8 * k..][..k], &b[i % 8 * k..][..k]);
            assert_eq!(d, op.dot(row, column, c[i]), "{op:?} row {} column {}", i / 8, i % 8);
        }
    }

    #[test]
    fn sparse_rows_use_the_selected_k((op, k, a, b, c) in cases(), seed in any::<u64>()) {
        let products = k / 2;
        let a = &a[..16 * products];
        let k_of: Vec<u16> =
            (0..16 * products).map(|i| (2 * (i % products)) as u16 + (seed >> (i % 64) & 1) as u16).collect();
        let mut d = c.clone();
        op.sparse_rows(Shape { n: 8, k }, a, &k_of, &b, &mut d);
        for (i, &d) in d.iter().enumerate() {
            let at = i / 8 * products;
            let column: Vec<u32> =
                k_of[at..][..products].iter().map(|&j| b[i % 8 * k + usize::from(j)]).collect();
            let want = op.dot(&a[at..][..products], &column, c[i]);
            assert_eq!(d, want, "{op:?} row {} column {}", i / 8, i % 8);
        }
    }

    #[test]
    fn the_order_of_k_does_not_change_the_bits((op, k, a, b, c) in cases(), by in 1usize..32) {
        // Within one fused dot-add any permutation common to A and B gives the same bits.
        let op = TensorOp { arch: TensorArch::Sm100, ..op };
        let rotated = |x: &[u32]| -> Vec<u32> { (0..k).map(|i| x[(i + by) % k]).collect() };
        let (row, column) = (&a[..k], &b[..k]);
        prop_assert_eq!(op.dot(row, column, c[0]), op.dot(&rotated(row), &rotated(column), c[0]));
    }
}
