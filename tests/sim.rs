//! Tests of the simulator, by subject.

mod sim {
    mod corpus;
    mod json;
    mod npy;
    mod support;
}
