//! The instructions that `copy` selects, verified by counting them and by results of the simulator.

use pretty_assertions::assert_eq;
use warpwright::{
    layout::{Layout, Swizzle},
    prelude::*,
    run::Device,
    tensor::{SharedLayout, TensorElement, axpby, copy, copy_if, copy_tiled, fill, sum, transform},
};

use crate::devices::all;

use super::support::{count, numbers};

type OneToOne<T> = (In<T>, Out<T>);
type Matrices<T> = (In<T>, Out<T>, u32, u32);
type Rows<T> = (In<T>, Out<T>, Out<T>, u32);

/// A kernel in which each of 32 threads moves `values` elements of row `thread` from x to y, both with `pitch`.
fn rows(values: u32, pitch: u32) -> Kernel<OneToOne<f32>> {
    let build = Kernel::<OneToOne<f32>>::build("rows(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let layout = Layout::new((32, values), (pitch, 1)).unwrap();
        let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
        let (x, y) = (x.slice((k.tid_x(), ..)), y.slice((k.tid_x(), ..)));
        copy(&y, &x);
    });
    build.unwrap()
}

#[test]
fn width_follows_layout_and_alignment() {
    let widths = |kernel: &Kernel<OneToOne<f32>>| {
        [".v4", ".v2", ".b32"].map(|width| count(kernel, &format!("ld.global.nc{width}")))
    };
    assert_eq!(widths(&rows(8, 8)), [2, 0, 0]);
    assert_eq!(widths(&rows(8, 12)), [2, 0, 0]);
    assert_eq!(widths(&rows(7, 8)), [1, 1, 1]);
    assert_eq!(widths(&rows(4, 6)), [0, 2, 0]);
    assert_eq!(widths(&rows(4, 5)), [0, 0, 4]);
    for device in all() {
        for (values, pitch) in [(8, 8), (7, 8), (4, 6), (4, 5)] {
            let size = (31 * pitch + values) as usize;
            let x = numbers(size);
            let (from, mut to) = (device.upload(&x).unwrap(), device.zeros::<f32>(size).unwrap());
            device.launch(&rows(values, pitch), (&from, &mut to)).unwrap();
            let found = device.download(&to).unwrap();
            for (at, &found) in found.iter().enumerate() {
                let moved = at as u32 % pitch < values;
                assert_eq!(found, if moved { x[at] } else { 0.0 }, "{values} of {pitch}, element {at}");
            }
        }
    }
}

#[test]
fn halves_move_in_whole_registers() {
    let kernel = Kernel::<OneToOne<bf16>>::build("halves(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let layout = k.layout("(32,9):(16,1)");
        let (x, y) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
        let held = k.fragment_of_shape::<bf16>(9);
        copy(&held, &x.slice((k.tid_x(), ..)));
        copy(&y.slice((k.tid_x(), ..)), &held);
    });
    let kernel = kernel.unwrap();
    assert_eq!((count(&kernel, "ld.global.nc.v4.b32"), count(&kernel, "ld.global.nc.b16")), (1, 1));
    let x: Vec<bf16> = (0..512).map(|i| bf16::from_f32((i % 256) as f32)).collect();
    for device in all() {
        let (from, mut to) = (device.upload(&x).unwrap(), device.zeros::<bf16>(512).unwrap());
        device.launch(&kernel, (&from, &mut to)).unwrap();
        let found = device.download(&to).unwrap();
        assert!((0..512).all(|i| found[i] == if i % 16 < 9 { x[i] } else { bf16::ZERO }));
    }
}

/// A matrix m×n of any pitch through shared memory to another: the edges are predicated.
fn through_shared<T: warpwright::tensor::TensorElement>(
    target: Target,
    layout: impl Into<SharedLayout>,
    multiple: u32,
) -> Result<Kernel<Matrices<T>>, BuildError> {
    Kernel::<Matrices<T>>::build("edges(x, y, m, n)", target, |k, (x, y, m, n)| {
        k.block([128]);
        k.grid([m.tiles(32), n.tiles(32)]);
        let (m, n) = (m, n.multiple_of(multiple));
        let at = (k.ctaid_x(), k.ctaid_y());
        let x = k.tensor::<T, _, 2>(x, [m, n], [n, 1.into()]).local_tile((32, 32), at);
        let y = k.tensor::<T, _, 2>(y, [m, n], [n, 1.into()]).local_tile((32, 32), at);
        let tile = k.shared_tensor::<T>(layout);
        let tiled =
            k.tiled_copy::<T>(&format!("UniversalCopy<u{}>", 8 * T::SIZE), "(16,8):(8,1)", "(1,4):(0,1)");
        let part = tiled.thread(k.tid_x());
        let tile = copy(&part.partition_d(&tile), &part.partition_s(&x)).wait();
        copy(&part.partition_d(&y), &part.partition_s(&tile));
    })
}

#[test]
fn copies_to_shared_memory_are_asynchronous_where_they_can_be() {
    let plain = Layout::row_major((32, 32)).unwrap();
    let chunks = SharedLayout::swizzled(plain.clone(), Swizzle::BYTES_128);
    let cases = [
        (Target::SM_80, plain.clone().into(), 4, "cp.async.cg", 2),
        (Target::SM_80, chunks.clone(), 4, "cp.async.cg", 2),
        (Target::SM_80, plain.clone().into(), 2, "cp.async.ca", 4),
        (Target::SM_80, "(32,32):(33,1)".parse::<Layout>().unwrap().into(), 4, "cp.async.ca", 8),
        (Target::SM_75, chunks, 4, "st.shared.v4", 2),
        (Target::SM_75, plain.into(), 1, "st.shared.v4", 2),
    ];
    for (target, layout, multiple, instruction, times) in cases {
        let kernel = through_shared::<f32>(target, layout, multiple).unwrap();
        assert_eq!(count(&kernel, instruction), times, "{instruction}");
        for device in all() {
            for (m, n) in [(32, 32), (33, 64), (70, 44), (5, 100)] {
                let x = numbers(m * n);
                let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(m * n).unwrap());
                device.launch(&kernel, (&from, &mut to, m as u32, n as u32)).unwrap();
                assert_eq!(device.download(&to).unwrap(), x, "{m}×{n}, {instruction}");
            }
        }
    }
}

#[test]
fn elements_too_small_for_asynchronous_copies_are_stored_together() {
    fn check<T: TensorElement + PartialEq>(store: &str, element: impl Fn(usize) -> T) {
        let kernel = through_shared::<T>(Target::SM_80, Layout::row_major((32, 32)).unwrap(), 1).unwrap();
        let counts = ["cp.async", "ld.global", store, "st.shared"].map(|name| count(&kernel, name));
        assert_eq!(counts, [0, 8, 2, 2], "{store}");
        for device in all() {
            for (m, n) in [(32, 32), (33, 65), (5, 99)] {
                let x: Vec<T> = (0..m * n).map(&element).collect();
                let (from, mut to) = (device.upload(&x).unwrap(), device.output::<T>(m * n).unwrap());
                device.launch(&kernel, (&from, &mut to, m as u32, n as u32)).unwrap();
                assert_eq!(device.download(&to).unwrap(), x, "{m}×{n}, {store}");
            }
        }
    }
    check("st.shared.v2.b32", |i| bf16::from_bits(i as u16));
    check("st.shared.b32", |i| i as u8);
    check("st.shared.b32", |i| i as i8);
}

/// A thread copies rows 0 to `tile.0` of x, of which the first m exist, to y and to the start of `seen`: through registers and, at the
/// end of `seen`, through shared memory.
fn rows_at_an_edge<T: TensorElement>(
    name: &str,
    target: Target,
    tile: (i64, i64),
    [n, pitch, multiple]: [u32; 3],
) -> Kernel<Rows<T>> {
    let built = Kernel::<Rows<T>>::build(name, target, |k, (x, y, seen, m)| {
        k.block([1]);
        k.grid([1]);
        let (extents, strides) = ([m.multiple_of(multiple), n.into()], [pitch.into(), 1.into()]);
        let x = k.tensor::<T, _, 2>(x, extents, strides).local_tile(tile, (0, 0));
        let y = k.tensor::<T, _, 2>(y, extents, strides).local_tile(tile, (0, 0));
        let seen = k.tensor_with_layout(seen, &Layout::row_major((2, tile.0, tile.1)).unwrap());
        let held = k.fragment::<T>(&Layout::row_major(tile).unwrap());
        copy(&held, &x);
        copy(&y, &held);
        copy(&seen.slice((0, .., ..)), &held);
        let shared = k.shared_tensor::<T>(Layout::row_major(tile).unwrap());
        copy(&seen.slice((1, .., ..)), &copy(&shared, &x).wait());
    });
    built.unwrap()
}

#[test]
fn vectors_span_rows_only_if_all_of_them_are_inside() {
    fn check<T: TensorElement + PartialEq>(
        tile: (i64, i64),
        [n, pitch, multiple]: [u32; 3],
        (vector, loads): (&str, usize),
        element: impl Fn(usize) -> T,
    ) {
        let name = format!("{} {n} of {pitch}, rows in {multiple}", T::NAME);
        for target in [Target::SM_75, Target::SM_80] {
            let kernel = rows_at_an_edge::<T>("rows(x, y, seen, m)", target, tile, [n, pitch, multiple]);
            if target == Target::SM_75 {
                assert_eq!(count(&kernel, &format!("ld.global.nc{vector}")), loads, "{name}");
            }
            for m in (multiple..=tile.0 as u32).step_by(multiple as usize) {
                let size = ((m - 1) * pitch + n) as usize;
                let x: Vec<T> = (1..=size).map(&element).collect();
                let zero = element(0);
                let inside = |at: usize| {
                    let (row, col) = (at as u32 / tile.1 as u32, at as u32 % tile.1 as u32);
                    (row < m && col < n).then(|| (row * pitch + col) as usize)
                };
                let area = (tile.0 * tile.1) as usize;
                let mut written = vec![zero; size];
                (0..area).filter_map(inside).for_each(|at| written[at] = x[at]);
                let seen: Vec<T> = (0..area).map(|at| inside(at).map_or(zero, |at| x[at])).collect();
                for device in all() {
                    let from = device.upload(&x).unwrap();
                    let mut to = device.zeros::<T>(size).unwrap();
                    let mut read = device.output::<T>(2 * area).unwrap();
                    device.launch(&kernel, (&from, &mut to, &mut read, m)).unwrap();
                    assert_eq!(device.download(&to).unwrap(), written, "{name}: {m} rows");
                    assert_eq!(
                        device.download(&read).unwrap(),
                        [&*seen, &*seen].concat(),
                        "{name}: {m} rows"
                    );
                }
            }
        }
    }
    let half = |i: usize| bf16::from_bits(i as u16);
    let float = |i: usize| i as f32;
    // A vector of 16 bytes would span two rows, of which the second may be outside.
    check((4, 2), [2, 2, 1], (".v2", 8), float);
    check((4, 4), [4, 4, 1], (".v2", 8), half);
    check((4, 8), [8, 8, 1], (".v2", 8), |i| i as u8);
    // They are inside together.
    check((4, 2), [2, 2, 2], (".v4", 4), float);
    check((4, 4), [4, 4, 2], (".v4", 4), half);
    // The last elements of a tile's row are outside, and those of the next row follow in memory.
    check((4, 12), [8, 12, 1], (".v4", 4), half);
    // Rows overlap.
    check((4, 4), [4, 2, 1], (".v2", 6), float);
}

/// Strides along both axes are known only at launch, so that the next row is a step back along the columns.
#[test]
fn strides_of_both_axes_may_be_dynamic() {
    type Args = (In<f32>, Out<f32>, u32, u32, u32, u32);
    let kernel =
        Kernel::<Args>::build("strided(x, y, m, n, row, col)", Target::SM_80, |k, (x, y, m, n, row, col)| {
            k.block([1]);
            k.grid([m.tiles(4), n.tiles(4)]);
            let at = (k.ctaid_x(), k.ctaid_y());
            let from = k.tensor(x, [m, n], [row, col]).local_tile((4, 4), at);
            let to = k.tensor(y, [m, n], [1.into(), m]).local_tile((4, 4), at);
            let held = k.fragment_of_shape::<f32>((4, 4));
            copy(&held, &from);
            copy(&to, &held);
        });
    let kernel = kernel.unwrap();
    for device in all() {
        for (m, n, row, col) in [(8, 8, 8, 1), (7, 5, 12, 2), (6, 9, 1, 7), (5, 6, 3, 20)] {
            let x = numbers(m * row + n * col);
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(m * n).unwrap());
            let sizes = [m, n, row, col].map(|size| size as u32);
            device.launch(&kernel, (&from, &mut to, sizes[0], sizes[1], sizes[2], sizes[3])).unwrap();
            let expected: Vec<f32> = (0..m * n).map(|i| x[i % m * row + i / m * col]).collect();
            assert_eq!(device.download(&to).unwrap(), expected, "{m}×{n}, strides {row} and {col}");
        }
    }
}

/// Bytes whose rows start at even addresses: accesses of two bytes would not fill registers.
#[test]
fn bytes_of_even_rows() {
    let row_major = Layout::row_major((32, 32)).unwrap();
    let even: Layout = "(32,32):(34,1)".parse().unwrap();
    for target in [Target::SM_75, Target::SM_80] {
        for layout in [&row_major, &even] {
            let kernel = through_shared::<u8>(target, layout, 2).unwrap();
            for device in all() {
                for (m, n) in [(32, 34), (33, 66), (5, 98)] {
                    let x: Vec<u8> = (0..m * n).map(|i| (i % 255) as u8).collect();
                    let (from, mut to) = (device.upload(&x).unwrap(), device.output::<u8>(m * n).unwrap());
                    device.launch(&kernel, (&from, &mut to, m as u32, n as u32)).unwrap();
                    assert_eq!(device.download(&to).unwrap(), x, "{m}×{n}, {layout}");
                }
            }
        }
    }
    let six = Kernel::<OneToOne<u8>>::build("six(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([1]);
        k.grid([1]);
        let six = k.layout("6:1");
        let (x, y) = (k.tensor_with_layout(x, &six), k.tensor_with_layout(y, &six));
        copy(&y, &copy(&k.shared_tensor::<u8>(&six), &x).wait());
    });
    let six = six.unwrap();
    for device in all() {
        let (from, mut to) =
            (device.upload(&[1_u8, 2, 3, 4, 5, 6]).unwrap(), device.output::<u8>(6).unwrap());
        device.launch(&six, (&from, &mut to)).unwrap();
        assert_eq!(device.download(&to).unwrap(), [1, 2, 3, 4, 5, 6]);
    }
    let pairs = Kernel::<OneToOne<u8>>::build("pairs(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        let all = k.layout("64:1");
        let (x, y) = (k.tensor_with_layout(x, &all), k.tensor_with_layout(y, &all));
        let tiled = k.tiled_copy::<u8>("UniversalCopy<u16>", "32:1", "2:1");
        let part = tiled.thread(k.tid_x());
        copy_tiled(&tiled, &part.partition_d(&y), &part.partition_s(&x));
    });
    assert!(refusal(pairs).contains("moves 2 bytes in one access, but from element 0 on only 1"));
}

fn refusal<A>(built: Result<Kernel<A>, BuildError>) -> String {
    let error = built.expect_err("this must be refused");
    assert!(error.location().file().ends_with("copying.rs"), "{error}");
    error.kind().to_string()
}

#[test]
fn aliasing_and_misalignment_are_refused() {
    let aliasing = through_shared::<f32>(Target::SM_80, "(32,32):(1,31)".parse::<Layout>().unwrap(), 1);
    assert_eq!(
        refusal(aliasing),
        "the shared tensor (32,32):(1,31) has elements (31,0) and (0,1) both at offset 31"
    );
    let slab = |pad: u32| {
        Kernel::<(In<f32>,)>::build("odd(x)", Target::SM_80, |k, (x,)| {
            k.block([256]);
            let x = k.tensor_with_layout(x, &k.layout("(128,8):(1,128)"));
            let slab = k.shared_tensor::<f32>(k.layout(&format!("(128,8):(1,{})", 128 + pad)));
            let tiled = k.tiled_copy::<f32>("SM80_CP_ASYNC_CACHEALWAYS<u64>", "(32,8):(1,32)", "(2,1):(1,0)");
            let part = tiled.thread(k.tid_x());
            let _ = copy_tiled(&tiled, &part.partition_d(&slab), &part.partition_s(&x)).wait();
        })
    };
    assert_eq!(
        refusal(slab(1)),
        "SM80_CP_ASYNC_CACHEALWAYS<u64> moves 8 bytes in one access, but from element 0 on only 4 are adjacent and \
         aligned on both sides"
    );
    assert_eq!(count(&slab(2).unwrap(), "cp.async.ca"), 2);

    let sizes = Kernel::<OneToOne<f32>>::build("sizes(x, y)", Target::SM_80, |k, (x, y)| {
        let (x, y) = (k.tensor_with_layout(x, &k.layout("8:1")), k.tensor_with_layout(y, &k.layout("6:1")));
        copy(&y, &x);
    });
    assert_eq!(refusal(sizes), "copy: expected the same number of elements on both sides, found 8 and 6");
}

#[test]
fn tensors_of_four_modes_whose_extents_the_launch_decides() {
    type Args = (In<f32>, Out<f32>, u32, u32, u32, u32);
    let build = |tile: (i64, i64, i64, i64)| {
        Kernel::<Args>::build("images(x, y, c, w, h, n)", Target::SM_80, |k, (x, y, c, w, h, n)| {
            k.block([32]);
            k.grid([c.tiles(8), w.tiles(4), h.tiles(2)]);
            let (extents, strides) = ([c, w, h, n], [1.into(), c, c * w, c * w * h]);
            let at = |image| (k.ctaid_x(), k.ctaid_y(), k.ctaid_z(), image);
            let threads = k.layout("(8,4,1,1):(1,8,0,0)");
            k.for_(n, |image| {
                let x = k.tensor::<f32, _, 4>(x, extents, strides).local_tile(tile, at(image));
                let y = k.tensor::<f32, _, 4>(y, extents, strides).local_tile(tile, at(image));
                copy(&y.local_partition(&threads, k.tid_x()), &x.local_partition(&threads, k.tid_x()));
            });
        })
    };
    let kernel = build((8, 4, 2, 1)).unwrap();
    for device in all() {
        for [c, w, h, n] in [[8, 4, 2, 1], [13, 7, 5, 3]] {
            let x = numbers((c * w * h * n) as usize);
            let (from, mut to) = (device.upload(&x).unwrap(), device.output::<f32>(x.len()).unwrap());
            device.launch(&kernel, (&from, &mut to, c, w, h, n)).unwrap();
            assert_eq!(device.download(&to).unwrap(), x, "{c}×{w}×{h}×{n}");
        }
        assert_eq!(
            refusal(build((8, 1 << 16, 2, 1))),
            "expected at most 32768 elements in a tile along mode 1 of 4, whose extent a launch determines, found 65536"
        );
    }
}

#[test]
fn predicates_by_element_and_by_vector() {
    let build = |layout: &str, name: &str| {
        let kernel = Kernel::<OneToOne<f32>>::build(name, Target::SM_80, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let rows = k.layout("(32,8):(8,1)");
            let thread = k.tid_x();
            let x = k.tensor_with_layout(x, &rows).slice((thread, ..));
            let y = k.tensor_with_layout(y, &rows).slice((thread, ..));
            let values = (0..8).map(|i| (thread + i).lt(16)).collect();
            copy_if(&k.predicates(&k.layout(layout), values), &y, &x);
        });
        kernel.unwrap()
    };
    for device in all() {
        let x = numbers(256);
        for (layout, wide) in [("8:1", 0), ("(4,2):(0,1)", 2)] {
            let kernel = build(layout, "chosen(x, y)");
            assert_eq!(count(&kernel, "ld.global.nc.v4"), wide);
            let (from, mut to) = (device.upload(&x).unwrap(), device.zeros::<f32>(256).unwrap());
            device.launch(&kernel, (&from, &mut to)).unwrap();
            let found = device.download(&to).unwrap();
            let by = layout.parse::<Layout>().unwrap();
            for (at, &found) in found.iter().enumerate() {
                let chosen = (at / 8) as i64 + by.index((at % 8) as i64) < 16;
                assert_eq!(found, if chosen { x[at] } else { 0.0 }, "{layout}: element {at}");
            }
        }
    }
}

/// Elements past an edge are read as 0 if their predicate holds; elements whose predicate does not hold keep their value.
#[test]
fn predicates_and_edges() {
    fn check<T: TensorElement + PartialEq>(multiple: u32, element: impl Fn(usize) -> T) {
        type Args<T> = (In<T>, In<T>, Out<T>, u32);
        let kernel = Kernel::<Args<T>>::build("edge(x, old, y, n)", Target::SM_80, |k, (x, old, y, n)| {
            k.block([4]);
            k.grid([1]);
            let x = k.tensor(x, [n.multiple_of(multiple)], [1.into()]).local_tile((16,), (0,));
            let held = k.fragment_of_shape::<T>(16);
            copy(&held, &k.tensor_with_layout(old, &k.layout("16:1")));
            let chosen = (0..4).map(|group| (k.tid_x() + group).lt(4)).collect();
            copy_if(&k.predicates(&k.layout("(4,4):(0,1)"), chosen), &held, &x);
            copy(&k.tensor_with_layout(y, &k.layout("(4,16):(16,1)")).slice((k.tid_x(), ..)), &held);
        });
        let kernel = kernel.unwrap();
        let [x, old]: [Vec<T>; 2] = [1, 17].map(|first| (first..first + 16).map(&element).collect());
        for device in all() {
            for n in (multiple as usize..=16).step_by(multiple as usize) {
                let from = [&x[..n], &old].map(|data| device.upload(data).unwrap());
                let mut to = device.output::<T>(64).unwrap();
                device.launch(&kernel, (&from[0], &from[1], &mut to, n as u32)).unwrap();
                let value = |at: usize| match (at / 16 + at % 16 / 4 < 4, at % 16) {
                    (false, i) => old[i],
                    (true, i) if i < n => x[i],
                    _ => element(0),
                };
                let expected: Vec<T> = (0..64).map(value).collect();
                assert_eq!(device.download(&to).unwrap(), expected, "{} of {}", n, T::NAME);
            }
        }
    }
    check(1, |i| i as f32);
    check(4, |i| i as f32);
    check(1, |i| bf16::from_bits(i as u16));
    check(2, |i| bf16::from_bits(i as u16));
    check(4, |i| i as u8);
    check(8, |i| i as f64);
}

#[test]
fn elementwise() {
    let kernel =
        Kernel::<(In<f32>, InOut<f32>, Out<f32>)>::build("ops(x, y, z)", Target::SM_80, |k, (x, y, z)| {
            k.block([32]);
            k.grid([1]);
            let rows = k.layout("(32,(2,3)):(6,(3,1))");
            let thread = k.tid_x();
            let (x, y) = (
                k.tensor_with_layout(x, &rows).slice((thread, ..)),
                k.tensor_with_layout(y, &rows).slice((thread, ..)),
            );
            let held = k.fragment_of_shape::<f32>(x.shape().size());
            copy(&held, &x);
            axpby(2.0, &held, 3.0, &y);
            transform(&held, &held, |value| value * value);
            let ones = k.fragment_of_shape::<f32>(6);
            fill(&ones, 1.0);
            k.slice(z, 32).at(thread).store(sum(&held) + sum(&ones));
        });
    for device in all() {
        let (x, y) = (numbers(192), numbers(192));
        let (from, mut to, mut sums) =
            (device.upload(&x).unwrap(), device.upload(&y).unwrap(), device.output::<f32>(32).unwrap());
        device.launch(kernel.as_ref().unwrap(), (&from, &mut to, &mut sums)).unwrap();
        assert_eq!(device.download(&to).unwrap(), x.iter().map(|x| 5.0 * x).collect::<Vec<_>>());
        let squares = |row: usize| x[6 * row..6 * row + 6].iter().map(|x| x * x).sum::<f32>() + 6.0;
        let found = device.download(&sums).unwrap();
        assert!((0..32).all(|row| (found[row] - squares(row)).abs() <= 1e-6 * squares(row)));
    }
}
