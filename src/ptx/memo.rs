//! Results that a kernel needs repeatedly, such as the layouts of equal copies: each is computed once.

use std::any::{Any, TypeId};

use rustc_hash::FxHashMap;

use super::kernel::Builder;

/// A computation that emits nothing and depends only on its fields, such as the composition of two layouts.
pub(crate) trait Computation: PartialEq + Sized + 'static {
    /// Its result, which is cheap to clone.
    type Result: Clone + 'static;

    fn compute(&self) -> Self::Result;
}

/// The results of a kernel under construction: a `Vec<(C, C::Result)>` for each type of computation.
#[derive(Default)]
pub(crate) struct Memo(FxHashMap<TypeId, Box<dyn Any>>);

/// The maximum number of results per type of computation: finding one takes less time than computing it.
const MOST_RESULTS: usize = 32;

impl Memo {
    fn results<C: Computation>(&mut self) -> Option<&mut Vec<(C, C::Result)>> {
        let results = self.0.entry(TypeId::of::<C>());
        results.or_insert_with(|| Box::new(Vec::<(C, C::Result)>::new())).downcast_mut()
    }
}

impl Builder<'_> {
    /// Returns the result of a computation, from an equal one of this kernel if there was one.
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
            // Also when there are more than are kept, and of another type with the same field.
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
}
