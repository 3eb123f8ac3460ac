//! Hostile programs: views with sizes, offsets and indices chosen to leave the buffer or to wrap around. The simulator stops at any access
//! outside of an allocation, so a launch that ends without an error wrote only inside; a model states the expected contents. On a GPU,
//! canaries surround the buffers.

mod escapes;
#[cfg(feature = "cuda")]
mod on_device;
mod tiles;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::{
    prelude::*,
    ptx::{Index, traits::IntoIndex},
    run::{Device, RunError, Simulator},
    tensor::fill,
};

/// A number in a kernel: a constant or a register, of 32 or 64 bits.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: u64,
    register: bool,
}

fn number() -> impl Strategy<Value = Number> {
    let edges = vec![
        0,
        u64::from(u32::MAX),
        1 << 30,
        1 << 31,
        1 << 32,
        (1 << 32) + 1,
        1 << 61,
        1 << 62,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];
    (prop_oneof![3 => 0..24_u64, 1 => proptest::sample::select(edges)], any::<bool>())
        .prop_map(|(value, register)| Number { value, register })
}

impl Number {
    /// The number in the kernel; registers come out of a table.
    fn index<'k>(self, table: Slice<'k, u64, Global, warpwright::ptx::Read>, at: u32) -> Index<'k> {
        let wide = table.at(at).load();
        match (self.register, u32::try_from(self.value)) {
            (true, Ok(_)) => wide.cast::<u32>().into_index(),
            (true, Err(_)) => wide.into_index(),
            (false, _) => self.value.into_index(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Access {
    Store,
    Add,
    Exchange,
    LoadOr,
    Vector,
}

/// One access to element `index` of `skip(skip).first(first)`.
#[derive(Clone, Copy, Debug)]
struct Step {
    access: Access,
    skip: Number,
    first: Number,
    index: Number,
}

fn step() -> impl Strategy<Value = Step> {
    use Access::{Add, Exchange, LoadOr, Store, Vector};
    (proptest::sample::select(vec![Store, Add, Exchange, LoadOr, Vector]), number(), number(), number())
        .prop_map(|(access, skip, first, index)| Step { access, skip, first, index })
}

impl Step {
    /// The element of the buffer that it reaches.
    fn reaches(&self, len: u64) -> Option<usize> {
        let start = self.skip.value.min(len);
        let count = (len - start).min(self.first.value);
        (self.index.value < count).then(|| (start + self.index.value) as usize)
    }
}

type Args = (In<u64>, InOut<u32>, Out<u32>, u32);

fn kernel(steps: &[Step], constant: Option<u32>) -> Kernel<Args> {
    let table_len = 3 * steps.len() as u32;
    let built = Kernel::<Args>::build("hostile(t, y, old, n)", Target::SM_80, |k, (table, y, old, n)| {
        k.block([1]);
        k.grid([n.tiles(u32::MAX)]);
        let (table, old) = (k.slice(table, table_len), k.slice(old, steps.len()));
        let len: Val<'_, u32> = constant.map_or(n, Val::from);
        let y = k.slice(y, len);
        for (i, step) in (0..).zip(steps) {
            let view = y.skip(step.skip.index(table, 3 * i)).first(step.first.index(table, 3 * i + 1));
            let at = view.at(step.index.index(table, 3 * i + 2));
            match step.access {
                Access::Store => at.store(1000 + i),
                Access::Add => at.reduction().add(1 + i),
                Access::Exchange => old.at(i).store(at.atomic().exchange(2000 + i)),
                Access::LoadOr => old.at(i).store(at.load_or(77)),
                // Pairs of the whole buffer, whose length must be even for it.
                Access::Vector => {
                    let pair = step.index.index(table, 3 * i + 2);
                    let even = match pair {
                        Index::U32(pair) => (pair & !1u32).into_index(),
                        Index::U64(pair) => (pair & !1u64).into_index(),
                    };
                    let pairs = k.slice(y.pointer(), len & !1u32);
                    pairs.at(even).store_vector([Val::from(3000 + i); 2]);
                }
            }
        }
    });
    built.expect("it builds")
}

/// Returns the numbers that the kernel of these steps loads.
fn table(steps: &[Step]) -> Vec<u64> {
    steps.iter().flat_map(|s| [s.skip.value, s.first.value, s.index.value]).collect()
}

/// Returns the expected contents of the buffer and of the old values.
fn model(steps: &[Step], len: usize) -> (Vec<u32>, Vec<u32>) {
    let mut y: Vec<u32> = (0..len as u32).collect();
    let mut old = vec![0; steps.len()];
    for (i, step) in steps.iter().enumerate() {
        let (number, reached) = (i as u32, step.reaches(len as u64));
        match (step.access, reached) {
            (Access::Store, Some(at)) => y[at] = 1000 + number,
            (Access::Add, Some(at)) => y[at] = y[at].wrapping_add(1 + number),
            (Access::Exchange, Some(at)) => old[i] = std::mem::replace(&mut y[at], 2000 + number),
            (Access::LoadOr, at) => old[i] = at.map_or(77, |at| y[at]),
            (Access::Vector, _) => {
                let pair = step.index.value & !1;
                if pair < (len & !1) as u64 {
                    y[pair as usize..][..2].fill(3000 + number);
                }
            }
            (_, None) => {}
        }
    }
    (y, old)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slices_stay_inside(steps in prop::collection::vec(step(), 1..12), len in 1..20_u32, constant: bool) {
        let kernel = kernel(&steps, constant.then_some(len));
        prop_assert_eq!(kernel.entry().unsafe_accesses, 0);
        let device = Simulator::new();
        let table = device.upload(&table(&steps)).unwrap();
        let mut y = device.upload(&(0..len).collect::<Vec<_>>()).unwrap();
        let mut old = device.zeros(steps.len()).unwrap();
        let launched = device.launch(&kernel, (&table, &mut y, &mut old, len));
        prop_assert!(launched.is_ok(), "{}", launched.unwrap_err());
        let (want, want_old) = model(&steps, len as usize);
        prop_assert_eq!(device.download(&y).unwrap(), want);
        prop_assert_eq!(device.download(&old).unwrap(), want_old);
    }

    /// A matrix of any sizes and pitch, in a buffer of any length: a launch runs if and only if the buffer contains it, and elements
    /// out of bounds are not accessed.
    #[test]
    fn matrices_stay_inside(matrix in matrix()) {
        let kernel = matrix_kernel();
        prop_assert_eq!(kernel.entry().unsafe_accesses, 0);
        let device = Simulator::new();
        let mut y = device.zeros::<u8>(matrix.len).unwrap();
        let Matrix { rows, cols, pitch, at, .. } = matrix;
        let launched = device.launch(&kernel, (&mut y, rows, cols, pitch, at[0], at[1]));
        if let Some(want) = matrix.check(launched)? {
            prop_assert_eq!(device.download(&y).unwrap(), want);
        }
    }
}

/// An element of a matrix in a buffer of `len` elements.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    rows: u32,
    cols: u32,
    pitch: u32,
    len: usize,
    at: [u32; 2],
}

fn matrix() -> impl Strategy<Value = Matrix> {
    let rows = prop_oneof![3 => 0..6_u32, 1 => Just(1 << 31), 1 => Just(u32::MAX)];
    let cols = prop_oneof![3 => 0..6_u32, 1 => Just(1 << 31)];
    let pitch = prop_oneof![3 => 0..9_u32, 1 => Just(1 << 31), 1 => Just(u32::MAX)];
    let at = prop::array::uniform2(prop_oneof![4 => 0..7_u32, 1 => Just(1 << 31), 1 => Just(u32::MAX)]);
    (rows, cols, pitch, 0..40_usize, at).prop_map(|(rows, cols, pitch, len, at)| Matrix {
        rows,
        cols,
        pitch,
        len,
        at,
    })
}

type MatrixArgs = (InOut<u8>, u32, u32, u32, u32, u32);

/// Adds 1 to an element.
fn matrix_kernel() -> Kernel<MatrixArgs> {
    let kernel =
        Kernel::<MatrixArgs>::build("at(y, m, n, p, i, j)", Target::SM_80, |k, (y, m, n, p, i, j)| {
            k.block([1]);
            k.grid([m.tiles(u32::MAX)]);
            let at = k.global(y, row_major(m, n).with_row_stride(p)).at(i, j);
            at.store(at.load() + 1);
        });
    kernel.expect("it builds")
}

impl Matrix {
    /// Returns the contents of the buffer after a launch; `None` if the launch must be rejected, and was.
    fn check(&self, launched: Result<impl Sized, RunError>) -> Result<Option<Vec<u8>>, TestCaseError> {
        let &Matrix { rows, cols, pitch, len, at } = self;
        let [r, c, p] = [rows, cols, pitch].map(u128::from);
        let needed = if r == 0 || c == 0 { 0 } else { (r - 1) * p + c };
        let launched = launched.map(|_| ());
        if rows > u32::MAX - (1 << 16) {
            let refused = matches!(
                launched,
                Err(RunError::TooManyCoordinates { .. } | RunError::ExtentOverflow { .. })
            );
            prop_assert!(refused, "{launched:?}");
            return Ok(None);
        }
        if needed > len as u128 {
            let short = matches!(launched, Err(RunError::TooShort { .. } | RunError::ExtentOverflow { .. }));
            prop_assert!(short, "{needed} of {len}: {launched:?}");
            return Ok(None);
        }
        prop_assert!(launched.is_ok(), "{}", launched.unwrap_err());
        let mut want = vec![0; len];
        if at[0] < rows && at[1] < cols {
            want[(at[0] * pitch + at[1]) as usize] = 1;
        }
        Ok(Some(want))
    }
}

/// A step from a view of two modes to another.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// A tile at an index.
    Tile([u32; 2], [Number; 2]),
    /// A thread's part, for `rows` × `cols` threads.
    Part([u32; 2]),
    /// The view from one end to the other.
    Transpose,
}

fn cut() -> impl Strategy<Value = Cut> {
    let index = || {
        (
            0..5_u64,
            prop_oneof![3 => Just(0), 1 => Just(u64::from(u32::MAX) - 4), 1 => Just(1 << 28)],
            any::<bool>(),
        )
    };
    let index = || index().prop_map(|(low, high, register)| Number { value: low + high, register });
    let tile = || prop::array::uniform2(prop::sample::select(vec![1_u32, 2, 3, 4, 6]));
    prop_oneof![
        4 => (tile(), prop::array::uniform2(index())).prop_map(|(tile, at)| Cut::Tile(tile, at)),
        2 => prop::array::uniform2(1..5_u32).prop_map(Cut::Part),
        1 => Just(Cut::Transpose),
    ]
}

/// The form in which the extents of a matrix are given.
#[derive(Clone, Copy, Debug)]
enum Given {
    Constant,
    Parameter,
    MultipleOf4,
    Layout,
}

type ViewArgs = (In<u32>, InOut<u32>, u32, u32);

/// Views of an m×n tensor.
#[derive(Clone, Debug)]
struct Views {
    extents: [u32; 2],
    given: Given,
    cuts: Vec<Cut>,
    threads: u32,
}

fn views() -> impl Strategy<Value = Views> {
    let extents = prop::array::uniform2(prop::sample::select(vec![1_u32, 2, 3, 4, 6, 7, 8, 12]));
    let given =
        prop::sample::select(vec![Given::Constant, Given::Parameter, Given::MultipleOf4, Given::Layout]);
    (extents, given, prop::collection::vec(cut(), 1..4), 1..9_u32).prop_map(
        |(extents, given, cuts, threads)| {
            let extents = match given {
                Given::MultipleOf4 => extents.map(|extent| extent.next_multiple_of(4)),
                _ => extents,
            };
            Views { extents, given, cuts, threads }
        },
    )
}

impl Views {
    /// A kernel that fills the last view, unless it may leave the buffer.
    fn kernel(&self) -> Option<Kernel<ViewArgs>> {
        let &Views { extents: [m, n], given, ref cuts, threads } = self;
        let kernel =
            Kernel::<ViewArgs>::build("views(t, y, m, n)", Target::SM_80, |k, (table, y, rows, cols)| {
                k.block([threads]);
                k.grid([rows.tiles(u32::MAX)]);
                let [constant_m, constant_n]: [Val<'_, u32>; 2] = [m, n].map(Val::from);
                let mut view = match given {
                    Given::Constant => k.tensor(y, [constant_m, constant_n], [constant_n, 1.into()]),
                    Given::Parameter => k.tensor(y, [rows, cols], [cols, 1.into()]),
                    Given::MultipleOf4 => {
                        let (rows, cols) = (rows.multiple_of(4), cols.multiple_of(4));
                        k.tensor(y, [rows, cols], [cols, 1.into()])
                    }
                    Given::Layout => k.tensor_with_layout(y, &k.layout(&format!("({m},{n}):({n},1)"))),
                };
                let table = k.slice(table, 2 * cuts.len());
                for (i, cut) in (0_u32..).zip(cuts) {
                    view = match *cut {
                        Cut::Tile([rows, cols], at) => {
                            let place = |side: usize| {
                                let value = table.at(2 * i + side as u32).load();
                                if at[side].register { value } else { (at[side].value as u32).into() }
                            };
                            view.local_tile((rows, cols), (place(0), place(1)))
                        }
                        Cut::Part([rows, cols]) => {
                            view.local_partition(&k.layout(&format!("({rows},{cols}):({cols},1)")), k.tid_x())
                        }
                        Cut::Transpose => view.transpose(),
                    };
                }
                fill(&view, 7);
            });
        kernel.ok()
    }

    /// The indices that the kernel loads.
    fn table(&self) -> Vec<u32> {
        let at = self.cuts.iter().flat_map(|cut| match cut {
            Cut::Tile(_, at) => at.map(|number| number.value as u32),
            _ => [0; 2],
        });
        at.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tiles of tiles and parts of threads of any tensor, at any index: kernels that can be built write nothing outside the buffer.
    #[test]
    fn views_of_tensors_stay_inside(views in views()) {
        // Kernels whose accesses may leave the buffer cannot be built.
        let Some(kernel) = views.kernel() else { return Ok(()) };
        prop_assert_eq!(kernel.entry().unsafe_accesses, 0);
        let [m, n] = views.extents;
        let device = Simulator::new();
        let table = device.upload(&views.table()).unwrap();
        let mut y = device.upload(&vec![0_u32; (m * n) as usize]).unwrap();
        let launched = device.launch(&kernel, (&table, &mut y, m, n));
        prop_assert!(launched.is_ok(), "{}", launched.unwrap_err());
    }
}

/// Of two modes along one axis, neither alone determines where a tile is: a tile that is in bounds along one still requires
/// predicates because of the other.
#[test]
fn modes_along_one_axis_are_added() {
    let mut built = 0;
    for given in [Given::Constant, Given::Parameter, Given::MultipleOf4] {
        let kernel = Kernel::<(InOut<u32>, u32)>::build("modes(y, n)", Target::SM_80, |k, (y, n)| {
            k.block([1]);
            k.grid([n.tiles(2)]);
            let extent = match given {
                Given::Constant => 16.into(),
                Given::Parameter => n,
                _ => n.multiple_of(4),
            };
            let fours = k.tensor(y, [extent], [1.into()]).zipped_divide(4);
            fill(&fours.local_tile((2, 2), (k.ctaid_x(), 0u32)), 7);
        });
        // Kernels whose accesses may leave the buffer cannot be built.
        let Ok(kernel) = kernel else { continue };
        built += 1;
        let device = Simulator::new();
        let mut y = device.upload(&[0_u32; 16]).unwrap();
        device.launch(&kernel, (&mut y, 16)).unwrap_or_else(|error| panic!("{given:?}: {error}"));
    }
    assert!(built > 0);
}

/// A view carried through a loop keeps its own edges: the tile that is compared is that of the iteration.
#[test]
fn a_carried_view_is_compared_with_its_own_edge() {
    type Args = (InOut<u32>, u32, u32);
    let kernel = Kernel::<Args>::build("carried(y, n, first)", Target::SM_80, |k, (y, n, first)| {
        k.block([1]);
        k.grid([n.tiles(u32::MAX)]);
        let y = k.tensor(y, [n.multiple_of(4)], [1.into()]);
        let first = y.local_tile((4,), (first,));
        k.fold(6u32, first, |i, tile| {
            fill(&tile, i + 1);
            y.local_tile((4,), (i + n / 4 - 2,))
        });
    });
    let kernel = kernel.expect("it builds");
    let device = Simulator::new();
    let mut y = device.upload(&[0_u32; 16]).unwrap();
    device.launch(&kernel, (&mut y, 16, 0)).expect("nothing past the end is written");
    let tile = |value: u32| [value; 4];
    assert_eq!(device.download(&y).unwrap(), [tile(1), tile(0), tile(2), tile(3)].concat());
}

/// Views that no launch can check are build errors.
#[test]
fn views_that_no_launch_can_check_are_refused() {
    assert_eq!(
        build(|k, y, n| {
            k.slice(y.at(1), n);
        }),
        "expected a buffer parameter (`In`, `Out` or `InOut`) for `slice`, found a computed pointer, whose extents a launch cannot check: create the view from the parameter, or assert that the pointer is valid with `unsafe { pointer.assume_valid() }`"
    );
    assert_eq!(
        build(|k, y, n| {
            k.slice(y, n * k.tid_x());
        }),
        "expected extents and strides of `slice` made of constants and integer parameters, found a computed register or a negative constant, which a launch cannot check: pass the number as a parameter, or assert that the pointer is valid with `unsafe { pointer.assume_valid() }`"
    );
    assert_eq!(
        build(|k, y, n| {
            k.global(y, row_major(n, 4).with_row_stride(n - 1u32));
        }),
        "expected extents and strides of `tensor` made of constants and integer parameters, found a computed register or a negative constant, which a launch cannot check: pass the number as a parameter, or assert that the pointer is valid with `unsafe { pointer.assume_valid() }`"
    );
    assert_eq!(
        build(|k, y, n| {
            k.tensor(y.byte_offset(16), [n], [1.into()]);
        }),
        "expected a buffer parameter (`In`, `Out` or `InOut`) for `tensor`, found a computed pointer, whose extents a launch cannot check: create the view from the parameter, or assert that the pointer is valid with `unsafe { pointer.assume_valid() }`"
    );
    assert_eq!(
        build(|k, y, n| {
            k.slice(y, n).at(k.tid_x() << 2u32).load_vector::<4>();
        }),
        "expected index and length known to be multiples of 4 for a vector of 4 elements, found multiples of 1: declare `n.multiple_of(4)`, which a launch checks, or take a slice of `n & !3`"
    );
}

/// Shapes are declared once: accesses follow from what was declared first.
#[test]
fn shapes_are_not_declared_again() {
    let again = |declare: for<'k> fn(Builder<'k>)| build(move |k, _, _| declare(k));
    assert!(
        again(|k| {
            k.block([32]);
            k.block([64]);
        })
        .contains("expected the block to be declared once")
    );
    assert!(
        again(|k| {
            k.max_block([32]);
            k.block([64]);
        })
        .contains("expected the block to be declared once")
    );
    assert!(
        again(|k| {
            k.block([64]);
            k.max_block([32]);
        })
        .contains("expected the block to be declared once")
    );
    assert!(again(|k| k.max_block([32, 33])).contains("threads of a block: expected 1 to 1024"));
    assert!(again(|k| k.max_block([0])).contains("threads of a block: expected 1 to 1024"));
    assert!(
        again(|k| {
            k.max_block([32]);
            k.max_block([64]);
        })
        .contains("expected the largest block")
    );
    assert!(
        again(|k| {
            k.grid([1]);
            k.grid([2]);
        })
        .contains("expected the grid rule to be declared once")
    );
}

/// A shape that no launch can have.
#[test]
fn shapes_beyond_the_limits_are_refused() {
    let refused = |declare: for<'k> fn(Builder<'k>)| build(move |k, _, _| declare(k));
    assert_eq!(refused(|k| _ = k.block([33, 32])), "threads of a block: expected 1 to 1024, found 1056");
    assert_eq!(refused(|k| _ = k.block([2, 2, 65])), "threads of a block in z: expected 1 to 64, found 65");
    assert_eq!(refused(|k| k.max_block([1, 1, 128])), "threads of a block in z: expected 1 to 64, found 128");
    assert_eq!(refused(|k| _ = k.block([8, 4, 1, 1])), "dimensions of a block: expected 1 to 3, found 4");
    assert_eq!(refused(|k| k.max_block([8, 4, 1, 1])), "dimensions of a block: expected 1 to 3, found 4");
    assert_eq!(refused(|k| k.grid([4, 3, 2, 1])), "dimensions of the grid rule: expected 1 to 3, found 4");
    assert_eq!(
        refused(|k| k.grid([k.tid_x()])),
        "the grid rule: expected an expression of constants and integer kernel parameters, found a computed value or a negative constant; `n.tiles(32)` is ⌈n / 32⌉"
    );
    let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| _ = k.block([4, 4, 64]));
    kernel.expect("64 threads in z are the maximum");
}

/// Code after a rejected shape, whose number of threads or blocks may exceed 32 or 64 bits.
#[test]
fn rejected_shapes_are_not_computed_with() {
    let refused = |declare: for<'k> fn(Builder<'k>)| build(move |k, _, _| declare(k));
    assert_eq!(
        refused(|k| {
            let block = k.block([65536, 65536]);
            let _ = (block.size(), block.thread(), k.warp().rank(), k.tid_x(), k.tid_z());
            let _ = k.zeros::<Rt<'_, f32, 1, 1>>();
        }),
        "threads of a block: expected 1 to 1024, found 4294967296"
    );
    let found = format!("found {}", u64::MAX);
    assert!(refused(|k| _ = k.block([u32::MAX; 3]).size()).ends_with(&found));
    assert!(refused(|k| k.max_block([u32::MAX; 3])).ends_with(&found));
    assert_eq!(
        refused(|k| {
            k.block([32]);
            let cluster = k.cluster([65536, 65536]);
            let _ = (cluster.blocks(), cluster.size(), k.this_cluster().thread());
        }),
        "blocks of a cluster: expected 1 to 8, found 4294967296"
    );
}

/// Returns the error with which a kernel is rejected.
fn build(write: impl for<'k> Fn(Builder<'k>, Ptr<'k, f32, Global>, Val<'k, u32>)) -> String {
    let built =
        Kernel::<(InOut<f32>, u32)>::build("refused(y, n)", Target::SM_80, |k, (y, n)| write(k, y, n));
    let error = built.expect_err("it must be refused").to_string();
    error.split_once("kernel `refused`: ").expect("the kernel's name").1.to_string()
}
