//! Printing: the C format, the argument buffer, and rejected formats. The tests on the simulator and the GPU read the output.
#![allow(unsafe_code, reason = "the text alone")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{B16, B32, B64, BuildErrorKind},
};

use super::built::{built, lines, refused};

/// The C format that the module declares, as bytes and as the comment has it.
fn c_format(ptx: &str) -> (Vec<u8>, String) {
    let at = ptx.find("_format0[").expect("a format is declared");
    let list = ptx[at..].split(['{', '}']).nth(1).expect("its bytes");
    let bytes = list.split(',').map(|byte| byte.trim().parse().expect("a byte")).collect();
    let comment = ptx[..at].lines().rev().nth(1).expect("a comment").to_string();
    (bytes, comment)
}

#[test]
fn the_ptx_of_a_print() {
    let ptx = built::<(In<f32>,)>("show(x)", |k, (x,)| {
        let i = k.tid_x();
        k.print("x[{}] = {}\n", (i, unsafe { x.at(i).load() }));
    });
    let body = &ptx[ptx.find("// print").expect("a comment")..];
    assert_eq!(
        body.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
        r#"// print "x[{}] = {}\n"
mov.u64             %rd3, show_format0;
cvta.global.u64     %rd4, %rd3;
mov.u64             %rd5, $local0;
st.local.u32        [%rd5], %r0;
cvt.f64.f32         %fd0, %f0;
st.local.f64        [%rd5+8], %fd0;
cvta.local.u64      %rd6, %rd5;
{
.param .b64 format;
.param .b64 args;
.param .b32 status;
st.param.b64        [format], %rd4;
st.param.b64        [args], %rd6;
call.uni            (status), vprintf, (format, args);
}
ret;
}"#
    );
    assert_eq!(c_format(&ptx), (b"x[%u] = %g\n\0".to_vec(), r#"// "x[%u] = %g\n""#.to_string()));
}

#[test]
fn every_type_and_its_conversion() {
    type Args = (u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, In<f32>);
    let ptx = built::<Args>("f", |k, (a, b, c, d, e, f, g, h, i, j, p)| {
        k.print("{} {} {} {} {} {} {} {} {} {} {} {}", (a, b, c, d, e, f, g, h, i, j, p, c.eq(1u32)));
    });
    assert_eq!(c_format(&ptx).0, b"%u %d %u %d %llu %lld %g %g %g %g 0x%01llx %u\0");
    let offsets: Vec<String> =
        lines(&ptx, &["st.local"]).iter().map(|l| l.split(", ").next().unwrap().into()).collect();
    let buffer = offsets[0].split(['[', ']']).nth(1).expect("a register").to_string();
    let expected = [
        ("u32", 0),
        ("s32", 4),
        ("u32", 8),
        ("s32", 12),
        ("u64", 16),
        ("s64", 24),
        ("f64", 32),
        ("f64", 40),
        ("f64", 48),
        ("f64", 56),
        ("u64", 64),
        ("u32", 72),
    ]
    .map(|(t, at)| {
        if at == 0 { format!("st.local.{t} [{buffer}]") } else { format!("st.local.{t} [{buffer}+{at}]") }
    });
    assert_eq!(offsets, expected);
    assert!(ptx.contains("$local0[76]"), "{ptx}");
}

#[test]
fn host_values_and_formats() {
    let ptx = built::<(Out<u32>,)>("f", |k, (p,)| {
        k.print(
            "{{{:08x}}} {:X} {:+.2} {:10.3e} {:4} 100% {} {} {} {}",
            (1u32, 2i64, 0.5f32, 1.0f64, -3i16, true, B16(1), B32(2), B64(3)),
        );
        k.print("no values\n", ());
        k.print("{}", p.at(k.tid_x()));
        k.print("{:.1}", bf16::ONE);
    });
    assert_eq!(c_format(&ptx).0, b"{%08x} %llX %+.2f %10.3e %4d 100%% %u 0x%04x 0x%08x 0x%016llx\0");
    assert!(ptx.contains("st.param.b64        [args], 0;"), "{ptx}");
    assert_eq!(lines(&ptx, &["_format1[", "_format3["]).len(), 2);
}

#[test]
fn text_outside_ascii_is_printed_but_not_written_to_the_ptx() {
    let ptx = built::<()>("f", |k, ()| k.print("µ = \"{}\"\n", 1u32));
    assert!(ptx.is_ascii());
    assert_eq!(c_format(&ptx).0, "µ = \"%u\"\n\0".as_bytes());
}

#[test]
fn formats_must_fit_their_values() {
    let kind = refused::<(u32,)>(|k, (n,)| k.print("{} {}\n", (n,)));
    assert_eq!(kind, BuildErrorKind::BadPrint { format: "{} {}\n".into(), expected: 2, found: 1 });
    let kind = refused::<()>(|k, ()| k.print("{}", ()));
    assert_eq!(kind, BuildErrorKind::BadPrint { format: "{}".into(), expected: 1, found: 0 });

    let placeholder = |format: &'static str| {
        let kind = refused::<(f32, u32)>(|k, (x, n)| k.print(format, (x, n)));
        let BuildErrorKind::BadPlaceholder { placeholder, value, .. } = kind else { panic!("{kind}") };
        (placeholder, value)
    };
    assert_eq!(placeholder("{} {:.3}"), ("{:.3}".into(), "an integer"));
    assert_eq!(placeholder("{:x} {}"), ("{:x}".into(), "a float"));
    assert_eq!(placeholder("{} {:e}"), ("{:e}".into(), "an integer"));
    assert_eq!(placeholder("{} {name}"), ("{name}".into(), "any value"));
    assert_eq!(placeholder("{} }"), ("}".into(), "any value"));
}

#[test]
fn guarded_prints_and_nul_bytes_are_rejected() {
    let kind = refused::<(u32,)>(|k, (n,)| k.when(n.eq(1u32), || k.print("{}", n)));
    assert_eq!(kind.to_string(), "`print` cannot be used under `when`: use `if_`");
    let kind = refused::<()>(|k, ()| k.print("a\0b", ()));
    assert!(kind.to_string().contains("NUL"), "{kind}");
}

#[test]
fn prints_in_branches_and_loops() {
    let ptx = built::<(u32,)>("f(n)", |k, (n,)| {
        k.if_(n.gt(1u32), || k.for_(n, |i| k.print("{}\n", i)));
        k.print("{}\n", n);
    });
    assert_eq!(ptx.matches("vprintf").count(), 3);
}
