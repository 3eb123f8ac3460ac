//! Tests of the simulator, by subject.

mod sim {
    mod corpus;
    mod matmul;
    mod npy;
    mod speed;
    mod support;
}
