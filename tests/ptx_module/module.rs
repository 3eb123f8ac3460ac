//! Several kernels in one module.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Module, ModuleError, Variable, Version},
};

use super::built::lines;
use crate::ptxas;

fn kernel(name: &str, write: impl for<'k> FnOnce(Builder<'k>)) -> Kernel<()> {
    Kernel::build(name, Target::SM_90, |k, ()| write(k)).expect("it builds")
}

#[test]
fn kernels_share_declarations_and_version() {
    let table = Variable::constant("table", &[1.0f32, 2.0]);
    let show = |k: Builder<'_>| k.print("{}\n", k.variable(&table).at(0).load());
    let [a, b] = ["a", "b"].map(|name| kernel(name, show));
    let c = kernel("c", |k| {
        k.shared::<u32>(4);
        k.cluster([2]);
    });
    let mut module = Module::new(Target::SM_90);
    module.add(&a).and_then(|m| m.add(&b)).and_then(|m| m.add(&c)).expect("they fit together");
    let ptx = module.ptx();
    ptxas::module(&ptx, Target::SM_90);
    ptxas::module(&module.ptx_with_lines(), Target::SM_90);
    assert_eq!(
        lines(&ptx, &[".version", ".entry", ".const .align", ".extern", "_format0["]),
        [
            format!(".version {}", Version::new(7, 8)),
            ".const .align 4 .f32 table[2] = {0f3F800000, 0f40000000};".into(),
            ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 args);".into(),
            ".global .align 1 .b8 a_format0[4] = {37, 103, 10, 0};".into(),
            ".global .align 1 .b8 b_format0[4] = {37, 103, 10, 0};".into(),
            ".visible .entry a()".into(),
            ".visible .entry b()".into(),
            ".visible .entry c()".into(),
        ]
    );
    assert_eq!(ptx, module.ptx(), "the same each time");
    assert!(!ptx.contains(".loc ") && !ptx.contains(".file "));
}

#[test]
fn a_module_of_one_kernel_is_that_kernel() {
    let a = kernel("a", |k| k.return_());
    let mut module = Module::new(Target::SM_90);
    module.add(&a).expect("it fits");
    assert_eq!(module.ptx(), a.ptx());
    assert_eq!(module.ptx_with_lines(), a.ptx_with_lines());
}

#[test]
fn incompatible_kernels_are_rejected() {
    let mut module = Module::new(Target::SM_90);
    let a = kernel("a", |k| {
        k.address_of(&Variable::constant("table", &[1u32]));
        k.address_of(&Variable::constant("later", &[1u32]));
    });
    module.add(&a).expect("the first fits");
    let before = module.ptx();

    let mut refused = |kernel: &Kernel<()>, name: &str| {
        let expected = ModuleError::DuplicateName { kernel: kernel.name().into(), name: name.into() };
        assert_eq!(module.add(kernel).err(), Some(expected));
    };
    refused(&a, "a");
    refused(&kernel("later", |_| ()), "later");
    let declaring = |name: &str, value: u32| {
        kernel("b", |k| {
            k.address_of(&Variable::constant(name, &[value]));
        })
    };
    refused(&declaring("a", 1), "a");
    refused(&declaring("table", 2), "table");

    let old = Kernel::<()>::build("old", Target::SM_80, |_, ()| ()).expect("it builds");
    let error = module.add(&old).expect_err("another target");
    assert_eq!(error.to_string(), "kernel `old`: expected the module's target sm_90, found sm_80");
    assert_eq!(module.ptx(), before);
}

#[test]
fn an_empty_module_is_valid() {
    let ptx = Module::new(Target::SM_90A).ptx();
    assert_eq!(ptx, "\n.version 8.0\n.target sm_90a\n.address_size 64\n");
    ptxas::module(&ptx, Target::SM_90A);
}
