//! Modules whose functions are parsed when they are used, because they have been checked before.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::support::{kernel, one_block};
use super::syntax::corpus;
use warpwright_sim::{Memory, Module, Outline, OutlineError, Sim};

fn outline(text: &str) -> Outline {
    let printed = Module::parse(text).expect("PTX").outline().to_string();
    let outline: Outline = printed.parse().expect("an outline");
    assert_eq!(outline.to_string(), printed);
    outline
}

/// The trees are compared as they are debugged, with all positions.
#[test]
fn compilers_modules_are_the_same_with_their_outlines() {
    for (name, text) in corpus() {
        let outlined = Module::parse_outlined("kernel.ptx", &text, &outline(&text)).expect(&name);
        let parsed = Module::parse(&text).expect("PTX");
        assert!(format!("{:?}", outlined.ast()) == format!("{:?}", parsed.ast()), "{name}");
        for (ours, theirs) in outlined.entries().zip(parsed.entries()) {
            assert_eq!(ours.static_shared_bytes(), theirs.static_shared_bytes(), "{name}");
        }
    }
}

const FUNCTIONS: &str = "\
.version 7.0
.target sm_80
.address_size 64
.entry bad() { .reg .b32 %r<2>; frobnicate.u32 %r1, %r0; }
/* é */ .entry good() { .global .u32 counter; .shared .b8 tile[64]; bar.sync 0; ret; }
.entry last() { ret; }
";

#[test]
fn functions_outside_of_the_outline_are_parsed() {
    let valid = FUNCTIONS.replace("frobnicate.u32 %r1, %r0", "mov.u32         %r1, %r0");
    let outline = outline(&valid);
    // `good` declares a variable of the module.
    assert_eq!(outline.to_string().lines().count(), 1 + 2);
    let module = Module::parse_outlined("m.ptx", &valid, &outline).expect("PTX");
    assert_eq!(module.variable_names().collect::<Vec<_>>(), ["counter"]);
    assert_eq!(module.entries().map(|entry| entry.name()).collect::<Vec<_>>(), ["bad", "good", "last"]);
}

#[test]
fn an_error_in_a_function_of_the_outline_is_an_error_of_its_launches() {
    let valid = FUNCTIONS.replace("frobnicate.u32 %r1, %r0", "mov.u32         %r1, %r0");
    let bad = FUNCTIONS.replace("frobnicate.u32 %r1, %r0", "frobnicate.u32  %r1, %r0");
    assert_eq!(bad.len(), valid.len());
    assert!(Module::parse(&bad).is_err());
    let module = Module::parse_outlined("m.ptx", &bad, &outline(&valid)).expect("PTX");
    let launch = |name| {
        let launched = Sim::new().launch(&module, name, &one_block(32), &[], &mut Memory::new());
        launched.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(launch("last"), Ok(()));
    let error = launch("bad").expect_err("an error");
    assert_eq!(error, "kernel `bad` cannot run: unknown instruction `frobnicate.u32`, line 4");
}

#[test]
fn other_texts_are_not_outlines() {
    for text in [
        "",
        "x\n",
        "9 1\n",
        "9\n1 2 3 4 5 6\n",
        "9 1\n1 2 3 4 5\n",
        "9 1\n1 2 3 4 5 6 7\n",
        "9 1\n1 2 3 4 5 6",
        "9 2\n1 2 3 4 5 6\n",
    ] {
        assert_eq!(text.parse::<Outline>().map(|_| ()), Err(OutlineError), "{text:?}");
    }
    assert!("9 1\n1 2 3 4 5 6\n".parse::<Outline>().is_ok());
}

proptest! {
    /// With the outline of another text, parsing returns a module or an error.
    #[test]
    fn any_outline_is_accepted(extents in prop::collection::vec((any::<[u8; 2]>(), any::<[u32; 4]>()), 0..8), shift in 0usize..200) {
        let text = kernel(".param .u64 out", "{ ret; }\n{ { ret; } }");
        let braces: Vec<_> = text.match_indices(['{', '}']).map(|(at, _)| at).collect();
        let lines = extents.iter().map(|([start, end], rest)| {
            let start = braces[usize::from(*start) % braces.len()];
            let end = braces[usize::from(*end) % braces.len()] + 1;
            let rest: Vec<_> = rest.iter().map(|number| (number >> (number % 32)).to_string()).collect();
            format!("{start} {end} {}\n", rest.join(" "))
        });
        let lines: String = lines.collect();
        for text in [text.clone(), text.chars().skip(shift).collect()] {
            let outline: Outline = format!("{} {}\n{lines}", text.len(), extents.len()).parse().unwrap();
            if let Ok(module) = Module::parse_outlined("m.ptx", &text, &outline) {
                let _ = module.entries().map(|entry| entry.static_shared_bytes()).sum::<usize>();
            }
        }
    }
}
