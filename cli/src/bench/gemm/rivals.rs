//! Products computed by cuBLASLt.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use cudarc::driver::CudaStream;
use warpwright::{
    gpu::{CublasLtEpilogue, CublasLtProduct, CublasLtTypes, Order},
    kernels::MatrixOrder,
};

use super::{
    contender::{Boxed, Buffers, Contender, Kind},
    epilogue::{Epilogue, bias},
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
        let Buffers { a, b, d, .. } = buffers;
        self.plan.borrow_mut().run(self.algorithm, a, b, d).map_err(Failed::of)
    }
}

/// Returns whether partial sums stay in the tensor cores, with less precision than f32.
pub(super) fn is_fast(types: CublasLtTypes) -> bool {
    matches!(types, CublasLtTypes::E4m3 { fast_accumulation: true })
}

/// Returns the first `most` cuBLASLt algorithms for a product with an epilogue.
pub(super) fn rivals<P: Precision>(
    stream: &Arc<CudaStream>,
    (name, types): (&'static str, CublasLtTypes),
    Size(size): Size,
    Layout(orders): Layout,
    epilogue: Epilogue,
    most: usize,
) -> Fallible<Vec<Boxed<P>>> {
    let orders = orders.map(|order| match order {
        MatrixOrder::Row => Order::Normal,
        MatrixOrder::Col => Order::Transposed,
    });
    let with = |epilogue| {
        let bias: Vec<_> = (0..size[1]).map(bias).collect();
        CublasLtProduct::with_epilogue(stream, types, size, orders, epilogue, &bias)
    };
    let plan = match epilogue {
        Epilogue::None => CublasLtProduct::new(stream, types, size, orders),
        Epilogue::Bias => with(CublasLtEpilogue::Bias),
        Epilogue::Gelu => with(CublasLtEpilogue::GeluBias),
        Epilogue::Relu => with(CublasLtEpilogue::ReluBias),
        Epilogue::Gate | Epilogue::Swiglu => {
            return Err(format!("`CublasLtProduct` does not support the epilogue {epilogue}").into());
        }
    }?;
    let count = plan.algorithms().min(most);
    let plan = Rc::new(RefCell::new(plan));
    let rival = |algorithm| Box::new(Rival { name, plan: Rc::clone(&plan), algorithm }) as _;
    Ok((0..count).map(rival).collect())
}
