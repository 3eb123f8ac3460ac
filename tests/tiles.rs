//! Tiles, run on every device there is.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/require.rs"]
mod require;

mod tiles {
    mod all_reduce;
    mod arithmetic;
    mod banks;
    mod block;
    mod codes;
    mod complex;
    mod global;
    mod in_place;
    mod lines;
    mod matmul;
    mod mistakes;
    mod moves;
    mod numbers;
    mod odd;
    mod operations;
    mod pipeline;
    mod products;
    mod random;
    mod shared;
    mod shared_stores;
    mod sizes;
    mod softmax;
    mod sparse;
    mod table;
    mod tensor;
    mod vectors;
    mod views;
}
