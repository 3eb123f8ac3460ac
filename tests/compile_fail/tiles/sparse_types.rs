use warpwright::{prelude::*, tiles::SparseRt};

fn main() {
    Kernel::<(In<bf16>, In<u16>)>::build("k", Target::SM_80, |k, (values, metadata)| {
        k.block([32]);
        let a: SparseRt<bf16, 1, 1> = k.sparse(values, metadata, 16, 32).tile(0, 0).load();
        let b = k.zeros::<Rt<f16, 2, 1, Col>>();
        let _ = k.zeros::<Rt<f32, 1, 1>>().mma_ab_sparse(&a, &b);
    })
    .unwrap();
}
