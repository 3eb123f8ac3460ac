//! Programs that left their buffers in earlier versions: each is rejected, or runs without an out-of-bounds access.

use std::cell::Cell;
use warpwright::{
    prelude::*,
    ptx::{Dim, ReadWrite, State, Visitor},
    run::{Device, RunError, Simulator},
    tensor::{Tensor, TensorElement, WriteElements, fill},
    tiles::{Convert, Gl, consumers, producer},
};

type Args = (InOut<f32>, u32);

/// Builds a kernel of one block and launches it on a buffer of `len` elements; or returns why it is refused.
fn run(
    threads: u32,
    len: u32,
    write: impl for<'k> Fn(Builder<'k>, Ptr<'k, f32, Global>, Val<'k, u32>),
) -> Option<String> {
    let kernel = Kernel::<Args>::build("escape(x, n)", Target::SM_80, |k, (x, n)| {
        k.block([threads]);
        write(k, x, n);
        k.grid([1]);
    });
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(refused) => return Some(refused.to_string()),
    };
    assert_eq!(kernel.entry().unsafe_accesses, 0);
    let device = Simulator::new();
    let mut x = device.upload(&vec![0.0_f32; len as usize]).unwrap();
    device.launch(&kernel, (&mut x, len)).expect("nothing outside of the buffer is accessed");
    None
}

#[test]
fn vectors_of_a_matrix_are_not_cut() {
    let refused = run(32, 1, |k, x, n| {
        let row = k.global(x, row_major(1, n));
        row.at(0, k.tid_x() * 4).store_vector([Val::from(1.0); 4]);
    });
    assert!(refused.is_some_and(|why| why.contains("multiples of 4")));
    let aligned = run(32, 64, |k, x, n| {
        let row = k.global(x, row_major(1, n.multiple_of(4)));
        row.at(0, k.tid_x() * 4).store_vector([Val::from(1.0); 4]);
    });
    assert_eq!(aligned, None);
}

#[test]
fn elements_and_views_do_not_leave_the_branch_that_proves_them() {
    let element = run(32, 1, |k, x, n| {
        let (x, mut escaped) = (k.slice(x, n), None);
        k.if_(n.gt(5), || escaped = Some(x.at(5)));
        escaped.expect("made").store(1.0);
    });
    assert!(element.is_some_and(|why| why.contains("has ended")));
    let view = run(32, 8, |k, x, n| {
        let (x, mut escaped) = (k.tensor(x, [n], [1.into()]), None);
        k.if_(n.gt(63), || escaped = Some(x.local_tile((4,), (5,))));
        fill(&escaped.expect("made"), 1.0);
    });
    assert!(view.is_some_and(|why| why.contains("has ended")));
}

#[test]
fn views_of_views_do_not_leave_their_branch() {
    let rows = run(32, 1, |k, x, n| {
        let (x, mut escaped) = (k.global(x, row_major(n, 1)), None);
        let rows = k.ctaid_x() + 2;
        k.if_(rows.lt(n), || escaped = Some(x.sub_matrix((0, 0), (rows, 1))));
        escaped.expect("made").sub_matrix((0, 0), (rows, 1)).at(1, 0).store(1.0);
    });
    assert!(rows.is_some_and(|why| why.contains("has ended")));
    let recast = run(32, 32, |k, x, n| {
        let (x, mut escaped) = (k.tensor_with_layout(x, &k.layout("(8,4):(4,1)")), None);
        k.if_(n.lt(8), || escaped = Some(x.slice((n, ..))));
        fill(&escaped.expect("made").recast::<u32>(), 1);
    });
    assert!(recast.is_some_and(|why| why.contains("has ended")));
}

#[test]
fn alignments_of_pointers_do_not_leave_the_branch_that_proves_them() {
    let vector = |inner: bool| {
        run(32, 1, move |k, _, _| {
            let (shared, i) = (k.shared::<u32>(64), k.tid_x());
            shared.at(i).store(1);
            k.warp().sync();
            let mut escaped = None;
            k.if_(i.eq(8), || {
                escaped = Some(shared.at(i));
                if inner {
                    let _: [Val<'_, u32>; 4] = shared.at(i).load_vector();
                }
            });
            if !inner {
                let _: [Val<'_, u32>; 4] = escaped.expect("made").load_vector();
            }
        })
    };
    assert_eq!(vector(true), None);
    assert!(vector(false).is_some_and(|why| why.contains("outside the block that defines it")));
}

#[test]
fn values_do_not_leave_the_branch_that_simplifies_them() {
    type Simplified = for<'k> fn(Val<'k, i32>) -> Val<'k, f32>;
    let of_a_branch: [Simplified; 5] = [
        |n| n.max(0).cast(),
        |n| n.relu().cast(),
        |n| Val::from(0).min(n).cast(),
        |n| n.lt(0).select(1.0, 0.0),
        |n| n.ceil_div(64).cast(),
    ];
    for simplified in of_a_branch {
        let refused = run(32, 32, |k, x, n| {
            let (x, n) = (k.slice(x, n), n.cast::<i32>() - 5);
            // Value numbering could reuse this sum.
            x.at(1u32).store(((n + 63) / 64).cast::<f32>());
            let mut escaped = None;
            k.if_(n.ge(0), || k.if_(n.lt(1000), || escaped = Some(simplified(n))));
            x.at(0u32).store(escaped.expect("made"));
        });
        assert!(refused.is_some_and(|why| why.contains("outside the block that defines it")));
    }
}

#[test]
fn a_grid_declared_in_a_branch_keeps_no_facts_of_it() {
    run(32, 20, |k, x, n| {
        let (x, i) = (k.slice(x, n), k.ctaid_x() * 32 + k.tid_x());
        k.if_(i.lt(n), || k.grid([1]));
        x.at(i).store(1.0);
    });
}

#[test]
fn registers_of_fragments_have_no_facts() {
    run(32, 4, |k, x, _| {
        let tile = k.filled::<Rt<u32, 1, 1>>(7).map(|v| v & 3);
        let index = tile.registers()[0];
        let (fragment, x) = (tile.into_fragment(), k.slice(x, 4));
        k.for_(2u32, |_| {
            x.at(index).store(1.0);
            fragment.set(0, Val::<u32>::from(1_000_000));
        });
    });
}

#[test]
fn extents_beyond_32_bits_are_not_divisors() {
    run(32, 2, |k, x, _| {
        let x = k.tensor_with_layout(x, &k.layout("(4294967296,2):(0,1)"));
        fill(&x.slice(k.tid_x()), 1.0);
    });
}

#[test]
fn a_wider_element_needs_its_bytes() {
    let refused = run(32, 1, |k, x, _| {
        fill(&k.tensor_with_layout(x, &k.layout("1:0")).recast::<u64>(), 1);
    });
    assert!(refused.is_some_and(|why| why.contains("expected at most 4 bytes, found 8")));
}

#[test]
fn elements_outside_a_view_are_refused() {
    let refused = run(32, 8, |k, x, _| {
        k.tensor_with_layout(x, &k.layout("8:1")).put(1_000_000, 1.0.into());
    });
    assert!(refused.is_some_and(|why| why.contains("element 1000000")));
}

#[test]
fn a_quotient_of_a_number_that_may_be_negative_is_not_a_bound() {
    run(32, 8, |k, x, n| {
        let (x, v) = (k.slice(x, n), n.cast::<i32>() - 12);
        let quotient = v / 3;
        k.if_(v.ge(0), || {
            let _ = v / 3;
        });
        k.if_(quotient.cast::<u32>().gt(k.tid_x()), || x.at(quotient.cast::<u32>()).store(0.0));
    });
}

#[test]
fn a_quotient_by_zero_is_not_a_bound() {
    let quotients: [fn(Val<'_, u32>) -> Val<'_, u32>; 4] =
        [|n| n / 0, |n| n % 0, |n| n.ceil_div(0), |n| (n.cast::<i32>() / 0).cast()];
    for quotient in quotients {
        let refused = run(1, 8, |k, x, n| {
            let (x, i) = (k.slice(x, n), k.tid_x() + 8);
            k.if_(i.lt(quotient(n)), || x.at(i).store(0.0));
        });
        assert_eq!(refused, None);
    }
    // In a rule, a divisor of 0 counts as 1.
    run(1, 8, |k, x, n| {
        let blocks = Dim::CeilDiv(Box::new(Dim::Const(5)), 0);
        k.grid([blocks]);
        k.slice(x, n).at(k.ctaid_x()).store(0.0);
    });
}

#[test]
fn bytes_out_of_bounds_are_counted_along_one_axis() {
    run(1, 1, |k, x, n| {
        let from = k.tensor(x, [100.into(), n], [0.into(), 1.into()]).local_tile((2, 2), (0, 0));
        let to = k.shared_tensor::<f32>(k.layout("(2,2):(2,3)"));
        let _ = warpwright::tensor::copy(&to, &from).wait();
    });
}

/// Builds and launches a kernel that stores to one of 8 elements, whose index it computes from a signed number; returns the error with
/// which it is rejected, if any.
fn of_signed(n: i32, index: impl for<'k> Fn(Builder<'k>, Val<'k, i32>) -> Val<'k, u32>) -> Option<String> {
    let built = Kernel::<(InOut<f32>, i32)>::build("escape(x, n)", Target::SM_80, |k, (x, n)| {
        k.block([1]);
        k.grid([1]);
        k.slice(x, 8u32).at(index(k, n)).store(1.0);
    });
    let kernel = match built {
        Ok(kernel) => kernel,
        Err(refused) => return Some(refused.to_string()),
    };
    assert_eq!(kernel.entry().unsafe_accesses, 0);
    let device = Simulator::new();
    let mut x = device.zeros::<f32>(8).unwrap();
    match device.launch(&kernel, (&mut x, n)) {
        Err(RunError::Simulation(fault)) => panic!("{fault}"),
        other => other.err().map(|error| error.to_string()),
    }
}

/// A negative number is large as an unsigned one, and has other divisors.
#[test]
fn assumptions_about_the_bits_of_signed_numbers_are_refused() {
    let limited = of_signed(-1, |_, n| n.cast::<u32>().at_most(7));
    assert!(limited.is_some_and(|why| why.contains("found the bits of a parameter of type i32")));
    let divided = of_signed(-7, |_, n| n.cast::<u32>().multiple_of(7) % 14u32);
    assert!(divided.is_some_and(|why| why.contains("found the bits of a parameter of type i32")));
    let signed = of_signed(-7, |_, n| {
        let _ = n.multiple_of(7);
        n.cast::<u32>() % 14u32
    });
    assert_eq!(signed, None);
    let floating = Kernel::<(InOut<f32>, f32)>::build("escape(x, a)", Target::SM_80, |k, (x, a)| {
        k.block([1]);
        k.grid([1]);
        k.slice(x, 8u32).at(a.bits::<u32>().at_most(7)).store(1.0);
    });
    assert!(floating.is_err());
}

#[test]
fn assumptions_do_not_keep_facts_of_a_branch() {
    let kept = of_signed(-7, |k, n| {
        k.if_(n.ge(0), || {
            let _ = n.multiple_of(7);
        });
        n.cast::<u32>() % 14u32
    });
    assert_eq!(kept, None);
}

/// The difference between the visits of a state.
#[derive(Clone, Copy)]
enum Differ {
    /// After the loop, a view that is known to be inside takes the place of one that is compared.
    View,
    /// After an iteration, a number takes the place of a view's address.
    Order,
}

struct Swapped<'k> {
    differ: Differ,
    compared: Tensor<'k, Global, f32, ReadWrite>,
    inside: Tensor<'k, Global, f32, ReadWrite>,
    number: Val<'k, u64>,
    visits: u32,
}

impl<'k> State<'k> for Swapped<'k> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.visits += 1;
        match (self.differ, self.visits) {
            (Differ::View, 1 | 2) => self.compared.visit(visitor),
            (Differ::View, _) => self.inside.visit(visitor),
            (Differ::Order, 2) => {
                self.number.visit(visitor);
                self.inside.visit(visitor);
            }
            (Differ::Order, _) => {
                self.inside.visit(visitor);
                self.number.visit(visitor);
            }
        }
        if self.visits == 3 {
            fill(&self.inside, 1.0);
        }
    }
}

#[test]
fn loop_state_has_the_same_type_in_every_iteration() {
    for (differ, expected) in
        [(Differ::View, "expected loop state to keep its form"), (Differ::Order, "found another of type")]
    {
        let kernel = Kernel::<Args>::build("escape(x, n)", Target::SM_80, |k, (x, n)| {
            k.block([1]);
            k.grid([n.tiles(4)]);
            let whole = k.tensor(x, [n.multiple_of(4)], [1.into()]);
            let compared = whole.local_tile((4,), (n * 100,));
            let inside = match differ {
                Differ::View => whole.local_tile((4,), (k.ctaid_x(),)),
                Differ::Order => k.tensor_with_layout(x, &k.layout("4:1")),
            };
            let number = n.cast::<u64>() * 1_000_000;
            k.fold(2u32, Swapped { differ, compared, inside, number, visits: 0 }, |_, state| state);
        });
        let refused = kernel.expect_err("refused").to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A state that visits the registers of a view in the first iteration and, in the same order, other values with the same descriptions
/// afterwards.
struct Forged<'k> {
    view: Tensor<'k, Global, f32, ReadWrite>,
    address: Val<'k, u64>,
    visits: u32,
}

impl<'k> State<'k> for Forged<'k> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.visits += 1;
        if self.visits != 2 {
            return self.view.visit(visitor);
        }
        visitor.unchanged(&"a view");
        visitor.shared(&mut self.address);
        visitor.unchanged(&format!("f32 {} 16 false false", std::any::type_name::<(Global, ReadWrite)>()));
        visitor.unchanged(&"4:1@0 + 0 with Sw<0,4,3>, inner offset Some(0), edges [] and None");
    }
}

#[test]
fn the_registers_of_a_view_are_not_exchanged_for_other_values() {
    let kernel = Kernel::<(InOut<f32>, u64)>::build("escape(x, a)", Target::SM_80, |k, (x, address)| {
        k.block([1]);
        k.grid([1]);
        let view = k.tensor_with_layout(x, &k.layout("4:1"));
        k.fold(2u32, Forged { view, address, visits: 0 }, |_, state| {
            fill(&state.view, 1.0);
            state
        });
    });
    let refused = kernel.expect_err("refused").to_string();
    assert!(refused.contains("expected loop state to keep its form"), "{refused}");
}

/// A state that visits another view with the same layout after an iteration.
struct Retyped<'k> {
    view: Tensor<'k, Global, f32, ReadWrite>,
    other: Tensor<'k, Global, bf16, ReadWrite>,
    visits: u32,
}

impl<'k> State<'k> for Retyped<'k> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.visits += 1;
        if self.visits == 2 { self.other.visit(visitor) } else { self.view.visit(visitor) }
    }
}

#[test]
fn views_are_not_exchanged_for_views_of_other_elements() {
    let kernel = Kernel::<(InOut<f32>, InOut<bf16>)>::build("escape(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([1]);
        k.grid([1]);
        let layout = k.layout("4:1");
        let (view, other) = (k.tensor_with_layout(x, &layout), k.tensor_with_layout(y, &layout));
        k.fold(2u32, Retyped { view, other, visits: 0 }, |_, state| {
            fill(&state.view, 1.0);
            state
        });
    });
    let refused = kernel.expect_err("refused").to_string();
    assert!(refused.contains("expected loop state to keep its form"), "{refused}");
}

/// A closure keeps a handle to a register that becomes part of a tile, which a loop overwrites after the handle's use.
#[test]
fn addresses_and_extents_do_not_share_registers_with_tiles() {
    let address = run(32, 32, |k, x, n| {
        let (x, kept) = (k.slice(x, n), Cell::new(None));
        let tile = k.filled::<Rt<u64, 1, 1>>(0).map_words(|_| {
            let element = x.at(k.tid_x());
            kept.set(kept.get().or(Some(element)));
            element.pointer().address()
        });
        let fragment = tile.into_fragment();
        k.for_(2u32, |_| {
            kept.get().expect("mapped").store(1.0);
            fragment.set(0, Val::<u64>::from(0xdead_0000));
        });
    });
    assert!(address.is_some_and(|why| why.contains("overwritten")));
    // The register may have been stored before, as part of a vector.
    for is_stored in [false, true] {
        let extent = run(32, 33, |k, x, n| {
            let (row, kept) = (k.global(x.cast::<u32>(), row_major(1, n)).row(0), Cell::new(None));
            let stripes = k.stripes(k.lane().rank(), 32, 1, 1);
            let tile = k.filled::<Rt<u32, 1, 1>>(0).map_words(|_| {
                let length = n + 1;
                kept.set(kept.get().or(Some(k.slice(x, length))));
                if is_stored {
                    stripes.store(&row, 0, &stripes.filled(0_u32).map(|_| length));
                }
                length
            });
            let fragment = tile.into_fragment();
            k.for_(2u32, |_| {
                kept.get().expect("mapped").at(5000).store(1.0);
                fragment.set(0, Val::<u32>::from(1_000_000));
            });
        });
        assert!(extent.is_some_and(|why| why.contains("overwritten")));
    }
}

/// Builds a kernel that stores a tile of 64×64 ones with a tensor copy, and returns the error with which it is rejected.
fn stored_by_tensor_copy<T: TensorElement>(
    view: impl for<'k> Fn(Builder<'k>, Ptr<'k, f32, Global>, [Val<'k, u32>; 2]) -> Gl<'k, T, ReadWrite>,
) -> String
where
    f32: Convert<T>,
{
    let built = Kernel::<(InOut<f32>, u32, u32)>::build("escape(y, m, n)", Target::SM_90A, |k, (y, m, n)| {
        k.block([256]);
        k.grid([1]);
        let (to, outbox) = (view(k, y, [m, n]), k.outbox::<T, 4, 1, 1>());
        let ones = || [k.filled::<Rt<f32, 1, 4>>(1.0)];
        let consumer = consumers::<1, _>(232, |c| c.store(&outbox, ones(), |_| to.tile(0, 0)));
        k.specialize(producer(40, |_| {}), consumer);
    });
    built.expect_err("refused").to_string()
}

#[test]
fn tensor_copies_do_not_use_views_of_a_branch() {
    let refused = stored_by_tensor_copy(|k, y, [m, rows]| {
        let (y, mut escaped) = (k.global(y, row_major(m, 64)), None);
        k.if_(rows.lt(m), || escaped = Some(y.sub_matrix((0, 0), (rows, 64))));
        escaped.expect("made")
    });
    assert!(refused.contains("has ended"), "{refused}");
}

#[test]
fn tensor_copies_move_elements_of_the_buffers_size() {
    let refused = stored_by_tensor_copy(|k, y, [m, _]| k.global(y.cast::<bf16>(), row_major(m, 64)));
    let expected = "expected elements of 4 bytes, those of the buffer parameter (f32), found bf16 of 2 bytes";
    assert!(refused.contains(expected), "{refused}");
}

/// A launch evaluates a negative number in a grid rule as 2^64 − 1, and the kernel sees its 32 bits: the rule is no bound of the block index.
#[test]
fn grid_rules_of_signed_numbers_are_not_bounds() {
    let kernel = Kernel::<(InOut<f32>, i32, u32)>::build("escape(y, n, m)", Target::SM_80, |k, (y, n, m)| {
        k.block([1]);
        let bits = n.bits::<u32>();
        k.grid([bits.tiles(1 << 31).ceil_div(1 << 20)]);
        let (y, rows) = (k.global(y, row_major(m, 64)), bits.ceil_div(1u32 << 31));
        k.if_(rows.lt(m), || {
            let rows = y.sub_matrix((0, 0), (rows, 64)).tensor();
            fill(&rows.local_tile((1, 64), (k.ctaid_x(), 0)), 7.0);
        });
    });
    let kernel = kernel.expect("it builds");
    assert_eq!(kernel.entry().unsafe_accesses, 0);
    let device = Simulator::new();
    let mut y = device.zeros::<f32>(2 * 64).unwrap();
    device.launch(&kernel, (&mut y, i32::MIN, 2)).expect("nothing outside of the buffer is accessed");
    assert_eq!(device.download(&y).unwrap(), [[7.0; 64], [0.0; 64]].concat());
}

/// A rule that divides by zero has no value, so there is nothing to check a launch against.
#[test]
fn extents_divided_by_zero_are_refused() {
    for extent in [Dim::CeilDiv(Dim::Param(1).into(), 0), Dim::RoundDown(Dim::Param(1).into(), 0)] {
        let kernel = Kernel::<Args>::build("zero(x, n)", Target::SM_80, |k, (x, _)| {
            k.block([1]);
            k.grid([1]);
            k.slice(x, extent.clone()).at(0).store(1.0);
        });
        let device = Simulator::new();
        let mut x = device.zeros::<f32>(8).unwrap();
        let refused = device.launch(&kernel.unwrap(), (&mut x, 7)).expect_err("refused");
        assert!(matches!(refused, RunError::ExtentOverflow { .. }), "{refused}");
    }
}
