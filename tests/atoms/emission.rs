//! The operands that `Builder::mma` rejects, and the location of the errors.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{Metadata, MmaOperand, Scale, mma_atom, mma_atoms, mma_with_mnemonic},
    prelude::*,
    ptx::{RegClass, table},
};

fn pair<'k>() -> Val<'k, bf16x2> {
    bf16x2([bf16::ONE; 2]).into()
}

fn halves<'k>() -> Val<'k, f16x2> {
    f16x2([f16::ONE; 2]).into()
}

fn bits<'k>() -> Val<'k, u32> {
    0.into()
}

fn sum<'k>() -> Val<'k, f32> {
    0.0.into()
}

/// Returns the error of a kernel, without its location.
fn refused(target: Target, write: impl for<'k> FnOnce(Builder<'k>)) -> String {
    let built = Kernel::<()>::build("k", target, |k, ()| write(k));
    let error = built.expect_err("it is refused");
    assert!(error.location().file().ends_with("emission.rs"), "{error}");
    error.kind().to_string()
}

#[test]
fn wrong_operands_are_refused_at_the_callers_line() {
    let atom = mma_atom("SM80_16x8x16_F32BF16BF16F32_TN").expect("the table has it");
    let few = refused(Target::SM_80, |k| {
        let _: Vec<Val<'_, f32>> = k.mma(atom, &[pair(); 2], &[pair(); 2], &[sum(); 4]);
    });
    assert_eq!(
        few,
        "SM80_16x8x16_F32BF16BF16F32_TN: A: expected 4 registers `.b32` of bf16x2, found 2 of bf16x2"
    );
    let other = refused(Target::SM_80, |k| {
        let _: Vec<Val<'_, f32>> = k.mma(atom, &[pair(); 4], &[halves(); 2], &[sum(); 4]);
    });
    assert_eq!(
        other,
        "SM80_16x8x16_F32BF16BF16F32_TN: B: expected 2 registers `.b32` of bf16x2, found 2 of f16x2"
    );
    let integers = refused(Target::SM_80, |k| {
        let _: Vec<Val<'_, i32>> = k.mma(atom, &[pair(); 4], &[pair(); 2], &[sum(); 4]);
    });
    assert_eq!(
        integers,
        "SM80_16x8x16_F32BF16BF16F32_TN: D: expected 4 registers `.f32` of f32, found 4 of s32"
    );
    let tensor_float = refused(Target::SM_80, |k| {
        let one = Val::from(tf32::ONE);
        let _: Vec<Val<'_, f32>> = k.mma(atom, &[one; 4], &[pair(); 2], &[sum(); 4]);
    });
    assert_eq!(
        tensor_float,
        "SM80_16x8x16_F32BF16BF16F32_TN: A: expected 4 registers `.b32` of bf16x2, found 4 of tf32"
    );
    let bytes = mma_atom("SM89_16x8x32_F32E4M3E4M3F32_TN").unwrap();
    let single = refused(Target::SM_89, |k| {
        // Single numbers, not words of four.
        let one = Val::from(e4m3::ONE);
        let _: Vec<Val<'_, f32>> = k.mma(bytes, &[one; 4], &[bits(); 2], &[sum(); 4]);
    });
    assert_eq!(
        single,
        "SM89_16x8x32_F32E4M3E4M3F32_TN: A: expected 4 registers `.b32` of e4m3x4, found 4 of e4m3"
    );
    let old = refused(Target::SM_75, |k| {
        let _: Vec<Val<'_, f32>> = k.mma(atom, &[pair(); 4], &[pair(); 2], &[sum(); 4]);
    });
    assert_eq!(
        old,
        "`mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`: expected target sm_80 or a successor that supports it, found sm_75"
    );
    let outside = refused(Target::SM_80, |k| {
        let mut c = [k.copy_of(sum()); 4];
        k.for_(3u32, |_| k.mma_in_place(atom, &mut c, &[pair(); 4], &[pair(); 2]));
    });
    assert!(outside.contains("accumulated into in an emitted loop that does not carry it"), "{outside}");
}

#[test]
fn metadata_and_scales_are_required() {
    let sparse = mma_atom("SM80_SPARSE_16x8x32_F32F16F16F32_TN").expect("the table has it");
    let none = refused(Target::SM_80, |k| {
        let _: Vec<Val<'_, f32>> = k.mma(sparse, &[bits(); 4], &[bits(); 4], &[sum(); 4]);
    });
    assert_eq!(none, "SM80_SPARSE_16x8x32_F32F16F16F32_TN: expected the metadata of a sparse A, found none");
    let selector = refused(Target::SM_80, |k| {
        let metadata = Metadata { bits: bits(), selector: 2 };
        let _: Vec<Val<'_, f32>> = k.mma_sparse(sparse, &[bits(); 4], &[bits(); 4], &[sum(); 4], metadata);
    });
    assert_eq!(selector, "SM80_SPARSE_16x8x32_F32F16F16F32_TN: expected a selector below 2, found 2");
    let scaled = mma_with_mnemonic(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    );
    let scaled = scaled.expect("the table has it");
    let byte = refused(Target::SM_120A, |k| {
        let scale = Scale { bits: bits(), byte: 1, thread: 0 };
        let _: Vec<Val<'_, f32>> = k.mma_scaled(scaled, &[bits(); 4], &[bits(); 2], &[sum(); 4], [scale; 2]);
    });
    assert_eq!(byte, format!("{scaled}: expected a byte index valid for 2 scales of A, found 1"));
    let wgmma = mma_atom("SM90_64x128x16_F32F16F16_SS").expect("the table has it");
    let elsewhere = refused(Target::SM_90A, |k| {
        let _: Vec<Val<'_, f32>> = k.mma(wgmma, &[bits(); 1], &[bits(); 1], &[sum(); 64]);
    });
    assert_eq!(elsewhere, "`mma` does not support atom SM90_64x128x16_F32F16F16_SS");
}

#[test]
fn errors_of_unknown_names_suggest_the_closest_one() {
    assert_eq!(
        mma_atom("nosuch").unwrap_err().to_string(),
        "expected the name of an mma atom, found `nosuch`"
    );
    let why = mma_atom("SM80_16x8x16_F32BF16BF16F32").expect_err("there is none");
    assert_eq!(
        why.to_string(),
        "expected the name of an mma atom, found `SM80_16x8x16_F32BF16BF16F32`: the closest name is `SM80_16x8x16_F32BF16BF16F32_TN`"
    );
}

#[test]
fn atoms_and_the_instruction_table_agree_on_registers() {
    let mut agreed = 0;
    for atom in mma_atoms() {
        let Some(form) =
            table::find(atom.mnemonic()).filter(|_| atom.is_emitted() && atom.group().threads() > 1)
        else {
            continue;
        };
        let order = [MmaOperand::D, MmaOperand::A, MmaOperand::B, MmaOperand::C];
        for (operand, stated) in order.into_iter().zip(form.operands.split(' ')) {
            let (count, class) = stated.split_once('}').expect("registers in braces");
            assert_eq!(count, format!("{{{}", atom.registers(operand)), "{atom} {operand:?}");
            let class = class.rsplit(':').next().expect("a class");
            let wanted = match atom.register_class(operand) {
                RegClass::F32 => "f32",
                RegClass::F64 => "f64",
                _ if atom.operand_type(operand).name() == "s32" => "s32",
                _ => "b32",
            };
            assert_eq!(class, wanted, "{atom} {operand:?}");
        }
        agreed += 1;
    }
    assert_eq!(
        agreed,
        mma_atoms().filter(|atom| atom.is_emitted()).count() - 7,
        "all but those of one thread"
    );
}

#[test]
fn sums_in_place_run_in_a_loop() {
    use warpwright::run::{Device, Simulator};
    let atom = mma_atom("SM80_8x8x4_F64F64F64F64_TN").expect("the table has it");
    let kernel = Kernel::<(Out<f64>, u32)>::build("sum(d, n)", Target::SM_80, |k, (d, n)| {
        k.block([32]);
        k.grid([1]);
        let start = [Val::from(1.0f64); 2].map(|c| k.copy_of(c));
        let sums = k.fold(n, start, |_, mut sums| {
            k.mma_in_place(atom, &mut sums, &[Val::from(2.0f64)], &[Val::from(3.0f64)]);
            sums
        });
        k.slice(d, 32).at(k.tid_x()).store(sums[0]);
    });
    let kernel = kernel.unwrap_or_else(|why| panic!("{why}"));
    let device = Simulator::new();
    let mut d = device.output::<f64>(32).expect("room");
    device.launch(&kernel, (&mut d, 5)).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(device.download(&d).expect("it can be read"), [121.0; 32]);
}

#[test]
fn sums_that_begin_in_one_register_are_separate() {
    use warpwright::run::{Device, Simulator};
    let atom = mma_atom("SM80_8x8x4_F64F64F64F64_TN").expect("the table has it");
    let kernel = Kernel::<(Out<f64>,)>::build("sums(d)", Target::SM_80, |k, (d,)| {
        k.block([32]);
        k.grid([1]);
        let mut sums = [k.copy_of(1.0f64); 2];
        // Column n of B contains n.
        let b = (k.tid_x() / 4).cast::<f64>();
        k.mma_in_place(atom, &mut sums, &[Val::from(2.0f64)], &[b]);
        k.slice(d, 32).at(k.tid_x()).store(sums[0] * 1000.0 + sums[1]);
    });
    let kernel = kernel.unwrap_or_else(|why| panic!("{why}"));
    let device = Simulator::new();
    let mut d = device.output::<f64>(32).expect("room");
    device.launch(&kernel, (&mut d,)).unwrap_or_else(|why| panic!("{why}"));
    let expected: Vec<f64> = (0..32).map(|lane| f64::from(16 * (lane % 4)) * 1001.0 + 1009.0).collect();
    assert_eq!(device.download(&d).expect("it can be read"), expected);
}
