//! Module variables and local arrays.
#![allow(unsafe_code, reason = "addresses of variables")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{B64, BuildErrorKind, Const, Local, Read, Variable},
};

use super::built::{built, lines, refused};

#[test]
fn initial_values_of_every_type() {
    let ptx = built::<(Out<f32>,)>("f(y)", |k, (y,)| {
        k.address_of(&Variable::constant("bytes", &[1u8, 255]));
        k.address_of(&Variable::constant("signed", &[-1i8, 1]));
        k.address_of(&Variable::constant("ints", &[-1i32, i32::MAX]));
        k.address_of(&Variable::constant("halves", &[f16::ONE, -f16::ONE]));
        k.address_of(&Variable::constant("brains", &[bf16::ONE]));
        k.address_of(&Variable::constant("pairs", &[f16x2([f16::ONE, -f16::ONE])]));
        k.address_of(&Variable::constant("doubles", &[-1.5f64, f64::NAN]));
        k.address_of(&Variable::global("wide", &[u64::MAX]));
        k.address_of(&Variable::global("bits", &[B64(0xab)]));
        k.address_of(&Variable::<f32, _>::zeroed("zeros", 1 << 20).aligned(256));
        let floats: Ptr<'_, f32, Const, Read> = k.address_of(&Variable::constant("floats", &[0.5, -0.0]));
        unsafe { y.store(floats.at(1).load()) };
    });
    assert_eq!(
        lines(&ptx, &[".const .align", "};", "zeros["]),
        [
            ".const .align 1 .b8 bytes[2] = {1, 255};",
            ".const .align 1 .b8 signed[2] = {255, 1};",
            ".const .align 4 .b32 ints[2] = {4294967295, 2147483647};",
            ".const .align 2 .b16 halves[2] = {0x3c00, 0xbc00};",
            ".const .align 2 .b16 brains[1] = {0x3f80};",
            ".const .align 4 .b32 pairs[1] = {0xbc003c00};",
            ".const .align 8 .f64 doubles[2] = {0dBFF8000000000000, 0d7FF8000000000000};",
            ".global .align 8 .b64 wide[1] = {18446744073709551615};",
            ".global .align 8 .b64 bits[1] = {0x00000000000000ab};",
            ".global .align 256 .f32 zeros[1048576];",
            ".const .align 4 .f32 floats[2] = {0f3F000000, 0f80000000};",
        ]
    );
    assert_eq!(
        lines(&ptx, &["floats;", "ld.const"]),
        ["mov.u64 %rd12, floats;", "ld.const.f32 %f0, [%rd12+4];"]
    );
}

#[test]
fn long_tables_are_broken_into_lines() {
    let ptx = built::<()>("f", |k, ()| {
        k.address_of(&Variable::constant("long", &[7u32; 17]));
    });
    let table = &ptx[ptx.find("= {").expect("values")..ptx.find("};").expect("their end")];
    assert_eq!(table.lines().map(|line| line.matches('7').count()).collect::<Vec<_>>(), [8, 8, 1]);
}

#[test]
fn globals_are_written_and_read_as_vectors_where_aligned() {
    let counters = Variable::global("counters", &[0u32; 8]).aligned(16);
    let ptx = built::<(u32,)>("count(n)", |k, (n,)| {
        let p = k.address_of(&counters);
        unsafe { p.at(4).store_vector([n, n, n, n]) };
        unsafe { p.store(p.at(4).load_vector::<4>()[0]) };
    });
    assert_eq!(
        lines(&ptx, &["counters;", "v4"]),
        [
            "mov.u64 %rd0, counters;",
            "st.global.v4.u32 [%rd0+16], {%r0, %r0, %r0, %r0};",
            "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+16];",
        ]
    );
}

#[test]
fn local_arrays_are_separate_per_thread() {
    let kernel = Kernel::<(Out<f32>, u32)>::build("f(y, i)", Target::SM_80, |k, (y, i)| {
        let a: Ptr<'_, f32, Local> = k.local_array(3);
        let b = k.local_array::<f64>(4);
        a.at(i).store(1.0);
        b.at(i).store(2.0);
        unsafe { y.store(a.at(i + 1u32).load()) };
    })
    .expect("it builds");
    assert_eq!(kernel.entry().local_bytes, 16 + 32);
    let ptx = built::<()>("g", |k, ()| {
        k.local_array::<u8>(5);
    });
    assert_eq!(lines(&ptx, &["$local"]), [".local .align 16 .b8 $local0[5];", "mov.u64 %rd0, $local0;"]);
}

#[test]
fn invalid_names_sizes_and_alignments_are_rejected() {
    let kind = refused::<()>(|k, ()| {
        k.address_of(&Variable::constant("7up", &[1u32]));
    });
    assert_eq!(kind, BuildErrorKind::BadName { name: "7up".into() });

    for name in ["refused", "refused_smem"] {
        let kind = refused::<()>(|k, ()| {
            k.address_of(&Variable::constant(name, &[1u32]));
        });
        assert_eq!(kind, BuildErrorKind::DuplicateName { name: name.into() });
    }

    // Parameters are declared under their names after that of the kernel.
    for (signature, name) in
        [("f(x, x)", "x"), ("f(smem, x)", "f_smem"), ("f(g, x)", "f_g"), ("f(x, format0)", "f_format0")]
    {
        let refused = Kernel::<(Out<u32>, u32)>::build(signature, Target::SM_80, |k, (_, n)| {
            let _ = k.shared::<u32>(32);
            k.address_of(&Variable::constant("f_g", &[1u32]));
            k.print("{}", n);
        });
        let refused = refused.expect_err("two declarations have the same name");
        assert_eq!(refused.kind(), &BuildErrorKind::DuplicateName { name: name.into() });
    }
    let wrong = Kernel::<()>::build("WARP_SZ", Target::SM_80, |_, ()| {}).expect_err("a constant of PTX");
    assert_eq!(wrong.kind(), &BuildErrorKind::BadName { name: "WARP_SZ".into() });

    let kind = refused::<()>(|k, ()| {
        k.address_of(&Variable::constant("a", &[1u32]));
        k.address_of(&Variable::constant("a", &[2u32]));
    });
    assert_eq!(kind, BuildErrorKind::DuplicateName { name: "a".into() });

    let kind = refused::<()>(|k, ()| {
        k.address_of(&Variable::constant("big", &[0u64; 8193]));
    });
    assert_eq!(
        kind.to_string(),
        "variable `big`: expected at most 65536 bytes of `.const` in a module, found 65544"
    );

    let kind = refused::<()>(|k, ()| {
        k.address_of(&Variable::<u32, _>::zeroed("none", 0));
    });
    assert!(matches!(kind, BuildErrorKind::Refused(_)), "{kind}");

    for bytes in [0, 2, 12] {
        let kind = refused::<()>(|k, ()| {
            k.address_of(&Variable::constant("a", &[1u32]).aligned(bytes));
        });
        assert!(kind.to_string().contains("expected a power of two, at least 4"), "{kind}");
    }

    let kind = refused::<()>(|k, ()| {
        k.local_array::<u32>(1 << 17);
        k.local_array::<u32>(1);
    });
    assert!(matches!(kind, BuildErrorKind::BadShape { found: 524292, .. }), "{kind}");
}
