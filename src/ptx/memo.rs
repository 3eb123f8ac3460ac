//! A cache for the results of computations that kernels repeat, such as the layouts of equal copies.

use std::{
    any::{Any, TypeId},
    cell::Cell,
};

use rustc_hash::FxHashMap;

use super::kernel::Builder;

/// A computation that emits nothing and depends only on its fields, such as the composition of two layouts.
pub(crate) trait Computation: PartialEq + Sized + 'static {
    /// Its result, which is cheap to clone.
    type Result: Clone + 'static;

    fn compute(&self) -> Self::Result;
}

/// The results of the kernel under construction and of the thread's previous kernel, for each type of computation.
#[derive(Default)]
pub(crate) struct Memo(FxHashMap<TypeId, Box<dyn Results>>);

/// Computations of one type with their results: a `Vec<(C, C::Result)>`.
trait Results: Any {
    fn count(&self) -> usize;
}

impl<C: Computation> Results for Vec<(C, C::Result)> {
    fn count(&self) -> usize {
        self.len()
    }
}

/// The maximum number of results per type of computation. Up to this number, finding a result takes less time than computing it.
const MOST_RESULTS: usize = 64;
/// If a kernel has at most this many results of a type, they are kept for the next kernel, which can then add at least as many; otherwise,
/// none of them are kept.
const MOST_KEPT: usize = MOST_RESULTS / 2;

thread_local! {
    static KEPT: Cell<Option<Memo>> = const { Cell::new(None) };
}

impl Memo {
    /// Returns the results of the thread's previous kernel. Programs build similar kernels one after another, and results do not depend on
    /// the kernel.
    pub(crate) fn of_previous_kernel() -> Self {
        KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps the results for the thread's next kernel.
    pub(crate) fn keep(mut self) {
        self.0.retain(|_, results| results.count() <= MOST_KEPT);
        let _ = KEPT.try_with(|kept| kept.set(Some(self)));
    }

    fn results<C: Computation>(&mut self) -> Option<&mut Vec<(C, C::Result)>> {
        let results = self.0.entry(TypeId::of::<C>());
        let results: &mut dyn Any = &mut **results.or_insert_with(|| Box::new(Vec::<(C, C::Result)>::new()));
        results.downcast_mut()
    }
}

impl Builder<'_> {
    /// Returns the result of a computation, from the cache if it contains the result of an equal computation.
    pub(crate) fn computed<C: Computation>(self, computation: C) -> C::Result {
        let found = self.memo().results::<C>().and_then(|results| {
            results.iter().find(|(known, _)| *known == computation).map(|(_, result)| result.clone())
        });
        found.unwrap_or_else(|| {
            let result = computation.compute();
            if let Some(results) = self.memo().results().filter(|results| results.len() < MOST_RESULTS) {
                results.push((computation, result.clone()));
            }
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::ptx::{Kernel, Target};

    #[derive(PartialEq)]
    struct Doubled(usize);
    #[derive(PartialEq)]
    struct Tripled(usize);

    impl Computation for Doubled {
        type Result = Rc<usize>;

        fn compute(&self) -> Rc<usize> {
            (2 * self.0).into()
        }
    }

    impl Computation for Tripled {
        type Result = Rc<usize>;

        fn compute(&self) -> Rc<usize> {
            (3 * self.0).into()
        }
    }

    #[test]
    fn equal_computations_share_their_result() {
        let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
            let first = k.computed(Doubled(1));
            assert!(Rc::ptr_eq(&first, &k.computed(Doubled(1))));
            // This also holds if the kernel has more computations than the cache keeps, and computations of another type with equal fields.
            for number in 0..2 * MOST_RESULTS {
                assert_eq!(
                    (*k.computed(Doubled(number)), *k.computed(Tripled(number))),
                    (2 * number, 3 * number)
                );
            }
            assert!(Rc::ptr_eq(&first, &k.computed(Doubled(1))));
        });
        assert!(kernel.is_ok());
    }

    /// Returns the result of `Doubled(0)` in a kernel with `others` further computations.
    fn doubled(others: usize) -> Rc<usize> {
        let mut found = None;
        let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
            found = Some(k.computed(Doubled(0)));
            (1..=others).for_each(|number| drop(k.computed(Doubled(number))));
        });
        assert!(kernel.is_ok());
        found.expect("the closure was called")
    }

    #[test]
    fn consecutive_kernels_share_results_unless_there_are_many() {
        let first = doubled(MOST_KEPT - 1);
        assert!(Rc::ptr_eq(&first, &doubled(MOST_KEPT)));
        let later = doubled(0);
        assert!(!Rc::ptr_eq(&first, &later));
        assert!(Rc::ptr_eq(&later, &doubled(0)));
    }
}
