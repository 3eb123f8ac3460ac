//! Products computed by cuBLASLt.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use cudarc::driver::CudaStream;
use warpwright::{
    gpu::{CublasLtProduct, CublasLtTypes, Order},
    kernels::MatrixOrder,
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind},
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::{Failed, Fallible};

/// A cuBLASLt algorithm.
struct Rival {
    name: &'static str,
    plan: Rc<RefCell<CublasLtProduct>>,
    algorithm: usize,
}

impl<P: Precision> Contender<P> for Rival {
    fn kind(&self) -> Kind {
        Kind::Rival
    }

    fn name(&self) -> String {
        format!("{}, algorithm {}", self.name, self.algorithm)
    }

    fn launch(&mut self, _: &Arc<CudaStream>, buffers: &mut Buffers<P>) -> Result<(), Failed> {
        let Buffers { a, b, d } = buffers;
        self.plan.borrow_mut().run(self.algorithm, a, b, d).map_err(Failed::of)
    }
}

/// Returns the first `most` cuBLASLt algorithms for a product.
pub(super) fn rivals<P: Precision>(
    stream: &Arc<CudaStream>,
    (name, types): (&'static str, CublasLtTypes),
    Size(size): Size,
    Layout(orders): Layout,
    most: usize,
) -> Fallible<Vec<Boxed<P>>> {
    let orders = orders.map(|order| match order {
        MatrixOrder::Row => Order::Normal,
        MatrixOrder::Col => Order::Transposed,
    });
    let plan = CublasLtProduct::new(stream, types, size, orders)?;
    let count = plan.algorithms().min(most);
    let plan = Rc::new(RefCell::new(plan));
    let rival = |algorithm| Box::new(Rival { name, plan: Rc::clone(&plan), algorithm }) as _;
    Ok((0..count).map(rival).collect())
}
