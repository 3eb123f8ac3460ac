//! Accesses that exceed a tensor, a fragment or a thread's elements are rejected when the kernel is built.
#![allow(unsafe_code, reason = "extents that no launch can compute")]

use pretty_assertions::assert_eq;
use warpwright::{
    layout::{Layout, Swizzle},
    prelude::*,
    ptx::ReadWrite,
    run::{Device, Simulator},
    tensor::{SharedLayout, Tensor, TensorError, TiledMma, copy, fill, sum, transform},
};

use super::{atoms, support::numbers};

/// Returns the first error of the operations of `body` on `x`.
#[track_caller]
fn refusal(body: impl for<'k> Fn(Builder<'k>, Ptr<'k, f32, Global, ReadWrite>)) -> String {
    let built = Kernel::<(InOut<f32>,)>::build("refused(x)", Target::SM_80, |k, (x,)| {
        k.block([32]);
        k.grid([1]);
        body(k, x);
    });
    let error = built.expect_err("this must be refused").to_string();
    assert!(error.contains(file!()), "it names another file: {error}");
    error
}

#[test]
fn constants_past_the_end() {
    let cases = [
        (
            refusal(|k, _| {
                let tile = k.shared_tensor::<f32>(&k.layout("(4,8):(1,4)"));
                let _ = tile.slice((9, ..));
            }),
            "coordinate 9 is out of bounds of a mode of 4",
        ),
        (
            refusal(|k, x| {
                let x = k.tensor_with_layout(x, &k.layout("(4,8):(1,4)"));
                let _ = x.local_tile((4, 4), (0, 5));
            }),
            "coordinate 5 is out of bounds of a mode of 2",
        ),
        (
            refusal(|k, x| {
                let x = k.tensor_with_layout(x, &k.layout("(4,8):(1,4)"));
                let _ = x.local_partition(&k.layout("(4,2):(1,4)"), 99.into());
            }),
            "expected a thread below 8, found thread 99",
        ),
        (
            refusal(|k, x| {
                let x = k.tensor_with_layout(x, &k.layout("(16,8):(1,16)"));
                let mma = k.tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", "(1,2,1):(0,1,0)", (16, 8, 8));
                let _ = mma.thread(k, k.tid_x()).partition_c(&x);
            }),
            "expected at most 32 threads, the extent of the block along x, found 64",
        ),
        (
            refusal(|k, _| k.fragment_of_shape::<f32>((2, 2)).set(50, 7.0)),
            "expected an element below 4, found element 50",
        ),
        (
            refusal(|k, _| {
                let _ = k.fragment_of_shape::<f32>((2, 2)).get(77);
            }),
            "expected an element below 4, found element 77",
        ),
        (
            refusal(|k, _| drop(k.fragment_of_shape::<f32>((2, 2)).slice((3, ..)))),
            "coordinate 3 is out of bounds of a mode of 2",
        ),
    ];
    for (found, wanted) in cases {
        assert!(found.contains(wanted), "{found}");
    }
}

#[test]
fn negative_strides() {
    let reversed = [
        refusal(|k, _| drop(k.fragment_of_shape::<f32>(4).compose(k.layout("4:-1")))),
        refusal(|k, _| drop(k.predicates(&k.layout("4:-1"), vec![true.into(); 4]))),
    ];
    for found in reversed {
        assert!(found.contains("4:-1") && found.contains("strides of at least 0"), "{found}");
    }
}

#[test]
fn tiles_that_do_not_divide() {
    let cut = |layout: &'static str, cut: fn(Tensor<'_, Global, f32, ReadWrite>)| {
        refusal(move |k, x| cut(k.tensor_with_layout(x, &k.layout(layout))))
    };
    let cases = [
        cut("(5,6):(1,8)", |x| drop(x.local_tile((4, 3), (0, 0)))),
        cut("(5,8):(1,5)", |x| drop(x.local_tile((4, 4), (1, 0)))),
        cut("(5,8):(1,5)", |x| drop(x.local_partition(&"(4,8):(1,4)".parse::<Layout>().unwrap(), 0.into()))),
        cut("(4,4):(1,4)", |x| drop(x.compose((8, 2)))),
    ];
    for found in cases {
        assert!(found.contains("does not divide"), "{found}");
    }
    let product = refusal(|k, x| {
        let mma = k.tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", "(1,1,1):(0,0,0)", ..);
        let _ = mma.thread(k, k.tid_x()).partition_c(&k.tensor_with_layout(x, &k.layout("(10,6):(1,10)")));
    });
    assert!(product.contains("does not divide"), "{product}");
}

#[test]
fn more_elements_than_a_thread_can_have() {
    let whole = |what: fn(Tensor<'_, Global, f32, ReadWrite>)| {
        refusal(move |k, x| {
            let n = k.tid_x();
            let x = unsafe { x.assume_valid() };
            what(k.tensor::<f32, _, 2>(x, [n, n], [n, 1.into()]));
        })
    };
    assert!(whole(|x| fill(&x, 0.0)).contains("slice the tensor first"));
    assert!(whole(|x| transform(&x, &x, |value| value)).contains("slice the tensor first"));
    assert!(whole(|x| fill(&x, sum(&x))).contains("slice the tensor first"));
    assert!(whole(|x| drop(x.inside())).contains("slice the tensor first"));
    let shared = refusal(|k, _| drop(k.shared_tensor::<f32>(&k.layout("(1099511627776,2):(1,1)"))));
    assert!(shared.contains("expected at most 1048576 elements"), "{shared}");
}

/// The offsets of bytes in shared memory have 32 bits.
#[test]
fn swizzles_with_long_periods() {
    let found = refusal(|k, _| {
        let swizzle = Swizzle::new(1, 40, 5).unwrap();
        let tile = k.shared_tensor::<f32>(SharedLayout::swizzled(k.layout("(4,8):(1,4)"), swizzle));
        fill(&tile.local_partition(&k.layout("(4,8):(1,4)"), k.tid_x()), 0.0);
    });
    let expected =
        "expected a swizzle with a period of at most 2147483648 bytes, found Sw<1,40,5> with 70368744177664";
    assert!(found.ends_with(expected), "{found}");
}

/// Elements whose offsets or numbers exceed 64 bits are past the edges of every buffer.
#[test]
fn offsets_beyond_64_bits() {
    type Write = for<'k> fn(Builder<'k>, Ptr<'k, f32, Global, ReadWrite>, Val<'k, u32>);
    let writes: [(&str, Write); 5] = [
        ("row", |k, x, n| k.global(x, row_major(n, 1u32 << 31)).at(1u32 << 30, 0).store(1.0)),
        ("dynamic stride", |k, x, n| {
            fill(&k.tensor(x, [4.into(), n], [1.into(), n]).slice((.., i64::MAX)), 1.0);
        }),
        ("constant stride", |k, x, n| {
            fill(&k.tensor(x, [n, 4.into()], [1.into(), 4.into()]).slice((i64::MAX, ..)), 1.0);
        }),
        ("copy", |k, x, n| {
            let from = k.tensor(x, [4.into(), n], [1.into(), n]).slice((.., i64::MAX));
            let fragment = k.fragment_of_shape::<f32>(4);
            copy(&fragment, &from);
            k.global(x, vector(n)).at(0).store(fragment.get(0));
        }),
        ("group", |k, x, n| {
            let large: Val<'_, u32> = (1u32 << 31).into();
            fill(&k.tensor(x, [large, large, 4.into(), n], [1.into(); 4]).group(0, 3).slice(5), 1.0);
        }),
    ];
    for (name, write) in writes {
        let kernel = Kernel::<(InOut<f32>, u32)>::build("past(x, n)", Target::SM_80, |k, (x, n)| {
            k.block([1]);
            k.grid([1]);
            write(k, x, n);
        });
        let device = Simulator::new();
        let mut x = device.upload(&[0.0_f32; 2]).unwrap();
        let kernel = kernel.unwrap();
        device.launch(&kernel, (&mut x, 0)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(device.download(&x).unwrap(), [0.0; 2], "{name}");
    }
    // The size in bytes of such a view exceeds 64 bits too.
    let kernel = Kernel::<(InOut<f32>,)>::build("recast(x)", Target::SM_80, |k, (x,)| {
        let x = k.tensor_with_layout(x, &k.layout("(2):(9223372036854775807)"));
        let _ = (x.recast::<u32>(), x.slice(1).recast::<u32>());
    });
    kernel.unwrap();
}

#[test]
fn atoms_that_share_or_omit_threads() {
    let mma = |atom, atoms: &str| TiledMma::new(atoms::mma(atom), &atoms.parse().unwrap(), ..);
    let volta = "SM70_8x8x4_F32F16F16F32_NT";
    let ampere = "SM80_16x8x8_F32TF32TF32F32_TN";
    for (atom, atoms) in [(volta, "(2,2):(4,8)"), (ampere, "(2,2):(1,1)"), (ampere, "(2,2):(1,4)")] {
        assert!(matches!(mma(atom, atoms), Err(TensorError::Atoms { .. })), "{atom}, {atoms}");
    }
    assert_eq!(mma(volta, "(2,2):(1,2)").unwrap().threads(), 32);
    assert!(matches!(mma(ampere, "(1,1,1,1):(1,1,1,1)"), Err(TensorError::Modes { .. })));
    assert!(TiledMma::new(atoms::mma(ampere), &"(1,1,1):(0,0,0)".parse().unwrap(), (17, 8, 16)).is_err());
}

#[test]
fn inputs_are_summed_and_outputs_filled() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("sums(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let rows = k.layout("(32,4):(4,1)");
        let row = k.tensor_with_layout(x, &rows).slice((k.tid_x(), ..));
        let out = k.tensor_with_layout(y, &rows).slice((k.tid_x(), ..));
        fill(&out, sum(&row));
    });
    let device = Simulator::new();
    let x = numbers(128);
    let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(128).unwrap());
    device.launch(&kernel.unwrap(), (&from, &mut to)).unwrap();
    let expect: Vec<f32> = x.chunks(4).flat_map(|row| [row.iter().sum(); 4]).collect();
    assert_eq!(device.download(&to).unwrap(), expect);
}

/// An index in a register is rejected for a tensor whose accesses are not compared with an edge, unless it is known to be in bounds.
#[test]
fn indices_that_may_be_out_of_bounds() {
    type Args = (InOut<f32>, u32);
    let refused = |cut: for<'k> fn(Builder<'k>, Ptr<'k, f32, Global, ReadWrite>, Val<'k, u32>)| {
        let built = Kernel::<Args>::build("refused(x, n)", Target::SM_80, |k, (x, n)| {
            k.block([64]);
            k.grid([8]);
            cut(k, x, n);
        });
        built.err().map(|error| error.to_string())
    };
    let past = [
        refused(|k, x, n| drop(k.tensor_with_layout(x, &k.layout("(8,4):(4,1)")).slice((n, ..)))),
        refused(|k, x, _| drop(k.tensor_with_layout(x, &k.layout("(32,4):(4,1)")).slice((k.tid_x(), ..)))),
        refused(|k, x, _| {
            drop(k.tensor_with_layout(x, &k.layout("(28,4):(4,1)")).local_tile((4, 4), (k.ctaid_x(), 0)));
        }),
        refused(|k, x, _| {
            drop(k.tensor_with_layout(x, &k.layout("32:1")).local_partition(&k.layout("32:1"), k.tid_x()));
        }),
        // The tile is in bounds, so accesses are not compared with an edge, and accesses past the tile are rejected.
        refused(|k, x, n| drop(row_of(k, x, n).slice((n, ..)))),
        refused(|k, x, n| drop(row_of(k, x, n).slice((16, ..)))),
        refused(|k, x, n| drop(row_of(k, x, n).local_partition(&k.layout("(16,2):(2,1)"), k.tid_x()))),
        refused(|k, x, n| drop(row_of(k, x, n).local_tile((12, 4), (1, 0)))),
    ];
    for (case, error) in past.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("case {case} is not refused"));
        assert!(
            ["known to be less", "out of bounds of a mode of", "does not divide"]
                .iter()
                .any(|part| error.contains(part)),
            "{error}"
        );
    }
    let inside = [
        refused(|k, x, n| drop(k.tensor_with_layout(x, &k.layout("(8,4):(4,1)")).slice((n & 7, ..)))),
        refused(|k, x, n| {
            let rows = k.tensor_with_layout(x, &k.layout("(8,4):(4,1)"));
            k.if_(n.lt(8), || drop(rows.slice((n, ..))));
        }),
        refused(|k, x, _| drop(k.tensor_with_layout(x, &k.layout("(64,4):(4,1)")).slice((k.tid_x(), ..)))),
        refused(|k, x, _| {
            drop(k.tensor_with_layout(x, &k.layout("(32,4):(4,1)")).local_tile((4, 4), (k.ctaid_x(), 0)));
        }),
        refused(|k, x, n| drop(row_of(k, x, n).slice((n & 15, ..)))),
        refused(|k, x, n| drop(k.tensor(x, [n, 4.into()], [4.into(), 1.into()]).slice((n, ..)))),
    ];
    assert_eq!(inside, [const { None }; 6]);
}

/// The index of a mode with a single coordinate is compared with the edge, too.
#[test]
fn indices_of_modes_with_one_coordinate() {
    type View<'k> = Gl<'k, f32, ReadWrite>;
    type Write = for<'k> fn(Builder<'k>, Ptr<'k, f32, Global, ReadWrite>, [Val<'k, u32>; 2]);
    fn row(x: View<'_>) -> Gl<'_, f32, ReadWrite, 1> {
        x.row(0)
    }
    let writes: [(&str, Write); 10] = [
        ("at", |k, x, [at, n]| k.global(x, row_major(1, n)).at(at, 1).store(1.0)),
        ("transposed", |k, x, [at, n]| k.global(x, row_major(1, n)).transposed().at(1, at).store(1.0)),
        ("row", |k, x, [at, n]| k.global(x, row_major(1, n)).row(at).at(1).store(1.0)),
        ("col", |k, x, [at, n]| k.global(x, row_major(n, 1)).col(at).at(1).store(1.0)),
        ("skip", |k, x, [at, n]| row(k.global(x, row_major(1, n)).skip(at, 0)).at(1).store(1.0)),
        ("part", |k, x, [at, n]| {
            k.global(x, row_major(1, n)).sub_matrix((at, 0), (1, n)).at(0, 1).store(1.0);
        }),
        ("batch", |k, x, [at, n]| {
            k.global(x, contiguous([1.into(), 1.into(), n])).batch(at).at(0, 1).store(1.0);
        }),
        ("slice", |k, x, [at, n]| fill(&k.tensor(x, [1.into(), n], [n, 1.into()]).slice((at, 1)), 1.0)),
        ("tile", |k, x, [at, n]| {
            fill(&k.tensor(x, [1.into(), n], [n, 1.into()]).local_tile((1, 1), (at, 1)), 1.0);
        }),
        ("wide tile", |k, x, [at, n]| {
            fill(&k.tensor(x, [1.into(), n], [n, 1.into()]).local_tile((2, 2), (at, 0)), 1.0);
        }),
    ];
    for (name, write) in writes {
        let kernel =
            Kernel::<(InOut<f32>, u32, u32)>::build("one(x, at, n)", Target::SM_80, |k, (x, at, n)| {
                k.block([1]);
                k.grid([1]);
                write(k, x, [at, n]);
            });
        let kernel = kernel.unwrap();
        let device = Simulator::new();
        for at in [0, 1, 3, u32::MAX] {
            let mut x = device.upload(&[0.0_f32; 2]).unwrap();
            device.launch(&kernel, (&mut x, at, 2)).unwrap_or_else(|error| panic!("{name} {at}: {error}"));
            let first = if name == "wide tile" { 1.0 } else { 0.0 };
            let expected = if at == 0 { [first, 1.0] } else { [0.0; 2] };
            assert_eq!(device.download(&x).unwrap(), expected, "{name} {at}");
        }
    }
}

/// A tile whose rest is along the same axis: an in-bounds index of one does not imply that the other is in bounds.
#[test]
fn two_modes_along_an_axis() {
    let kernel = Kernel::<(InOut<f32>, u32)>::build("two(x, n)", Target::SM_80, |k, (x, n)| {
        k.block([1]);
        k.grid([4]);
        let x = k.tensor(x, [128.into()], [1.into()]).local_tile((16,), (..,));
        fill(&x.local_tile((4, 1), (k.ctaid_x(), n)), 1.0);
    });
    let device = Simulator::new();
    let mut x = device.upload(&[0.0_f32; 128]).unwrap();
    let kernel = kernel.unwrap();
    device.launch(&kernel, (&mut x, 9)).expect("rest 9 of 8 is outside");
    assert_eq!(device.download(&x).unwrap(), [0.0; 128]);
    device.launch(&kernel, (&mut x, 7)).expect("rest 7 of 8 is inside");
    assert_eq!(device.download(&x).unwrap(), [[0.0; 112].as_slice(), &[1.0; 16]].concat());
}

/// A tile of 16 rows that is known to be inside.
fn row_of<'k>(
    k: Builder<'k>,
    x: Ptr<'k, f32, Global, ReadWrite>,
    _: Val<'k, u32>,
) -> Tensor<'k, Global, f32, ReadWrite> {
    k.tensor(x, [128.into(), 4.into()], [4.into(), 1.into()]).local_tile((16, 4), (k.ctaid_x(), 0))
}
