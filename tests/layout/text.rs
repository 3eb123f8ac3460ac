//! CuTe's text form.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::layout::{BasisVector, ComposedLayout, IntTuple, Layout, Slicer, Swizzle, Tiler};
use warpwright_proptest::layout::{signed_layout, slicer, swizzle, tiler};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

#[test]
fn a_leaf_and_a_tuple_of_one_differ() {
    let (leaf, one): (IntTuple, IntTuple) = (4.into(), (4,).into());
    assert_eq!((leaf.to_string(), one.to_string()), ("4".into(), "(4)".into()));
    assert_ne!(leaf, one);
    assert_eq!("4".parse(), Ok(leaf));
    assert_eq!("(4)".parse(), Ok(one));
    assert_eq!("()".parse(), Ok(IntTuple::default()));
}

#[test]
fn layouts_printed_by_cute_are_parsed() {
    assert_eq!(layout("(_4,(_2,2)):(_2,(_1,_8))"), layout("(4,(2,2)):(2,(1,8))"));
    assert_eq!(layout(" ( 4 , 2 ) : ( 1 , -4 ) ").to_string(), "(4,2):(1,-4)");
    let composed: ComposedLayout = "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)".parse().expect("a composed layout");
    assert_eq!(composed.to_string(), "Sw<3,4,3> o 0 o (8,64):(64,1)");
    for text in
        ["S<3,4,3> o 0 o (8,64):(64,1)", "Swizzle<3,4,3> ∘ (8,64,):(64,1)", "Sw<3,4,3> o (8,64):(64,1)"]
    {
        assert_eq!(text.parse(), Ok(composed.clone()), "{text}");
    }
    assert_eq!("S<3,4,3>".parse(), Ok(Swizzle::BYTES_128));
    let places: Layout<BasisVector> = "(4,(8,2),3):(E<0>,(_2@1,0),(1,-2))".parse().expect("coordinates");
    assert_eq!(places.to_string(), "(4,(8,2),3):(1@0,(2@1,0),(1,-2))");
    for wrong in ["4:1", "4:1@64", "(4,2):1@0", "4:((1,2),3)", "4:E<0"] {
        assert!(wrong.parse::<Layout<BasisVector>>().is_err(), "{wrong}");
    }
}

#[test]
fn tilers_distinguish_layouts_and_tuples() {
    let tiler: Tiler = "(4:1,_,(2,8),8)".parse().expect("a tiler");
    assert_eq!(tiler, Tiler::from((layout("4:1"), .., (2, 8), 8)));
    let whole: Tiler = "(4,8):(1,4)".parse().expect("a tiler");
    assert_eq!(whole, Tiler::from(layout("(4,8):(1,4)")));
    assert_eq!("(_,(1,_))".parse(), Ok(Slicer::from((.., (1, ..)))));
}

#[test]
fn errors_have_their_column() {
    let fault = |text: &str| text.parse::<Layout>().unwrap_err().to_string();
    assert_eq!(fault("(4,2)"), r#""(4,2)", column 6: expected `:` and a stride"#);
    assert_eq!(fault("(4,2:(1,4)"), r#""(4,2:(1,4)", column 5: expected `,` or `)`"#);
    assert_eq!(fault("(4,x):(1,4)"), r#""(4,x):(1,4)", column 4: expected an integer of 64 bits"#);
    assert_eq!(fault("4:1 8"), r#""4:1 8", column 5: expected the end"#);
    assert_eq!(
        fault("99999999999999999999:1"),
        r#""99999999999999999999:1", column 1: expected an integer of 64 bits"#
    );
    assert_eq!(fault("(2,2):(1,(2,4))"), "mode 1: expected a stride nested like shape 2, found (2,4)");
    let deep = "(".repeat(100_000);
    assert!(fault(&deep).ends_with("column 65: expected at most 64 nested tuples"));
    assert!("é".parse::<Tiler>().is_err());
    assert!("Sw<3,4,2>".parse::<Swizzle>().is_err());
    assert!("Sw<3,4".parse::<Swizzle>().is_err());
}

proptest! {
    #[test]
    fn printed_values_parse_back(
        (layout, slicer, tiler) in signed_layout()
            .prop_flat_map(|layout| (Just(layout.clone()), slicer(layout.shape()), tiler(&layout))),
        swizzle in swizzle(),
        offset in -100..100_i64,
    ) {
        prop_assert_eq!(layout.shape().to_string().parse(), Ok(layout.shape().clone()));
        prop_assert_eq!(layout.to_string().parse(), Ok(layout.clone()));
        prop_assert_eq!(slicer.to_string().parse(), Ok(slicer));
        prop_assert_eq!(tiler.to_string().parse(), Ok(tiler));
        prop_assert_eq!(swizzle.to_string().parse(), Ok(swizzle));
        let places = Layout::identity(layout.shape()).expect("the same shape");
        prop_assert_eq!(places.to_string().parse(), Ok(places.clone()));
        // Read in another order, its strides have several components.
        if let Ok(places) = places.compose(&layout) {
            prop_assert_eq!(places.to_string().parse(), Ok(places));
        }
        let composed = ComposedLayout::new(swizzle, offset, layout);
        prop_assert_eq!(composed.to_string().parse(), Ok(composed));
    }

    #[test]
    fn any_text_is_parsed_or_rejected(text in "[0-9(),:_< >oSw-]{0,24}") {
        // No panic, and whatever is accepted prints to something that parses to the same.
        if let Ok(layout) = text.parse::<Layout>() {
            prop_assert_eq!(layout.to_string().parse(), Ok(layout));
        }
        if let Ok(tiler) = text.parse::<Tiler>() {
            prop_assert_eq!(tiler.to_string().parse(), Ok(tiler));
        }
        if let Ok(composed) = text.parse::<ComposedLayout>() {
            prop_assert_eq!(composed.to_string().parse(), Ok(composed));
        }
    }
}
