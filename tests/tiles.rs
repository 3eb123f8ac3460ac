//! Tiles, run on every available device.
//!
//! The tests of ThunderKittens (about 3,000 cases at its default intensity), and the tests here that cover each of its rows, including
//! those that are commented out there. docs/tiles.md states lower bounds of the numbers of kernels and cases here, which
//! `total_of_cases` counts. Most kernels run
//! in two blocks. Every element of their results is compared, exactly unless a function is approximate; outputs are poisoned before the launch.
//!
//! | ThunderKittens | sizes there | tests here |
//! | --- | --- | --- |
//! | global ↔ register tile, both layouts; f32, bf16, f16 | up to 64 subtiles, 1 to 12 warps | `global::f32_rows`, `global::f32_cols`, `global::bf16_rows`, `global::bf16_cols`, `global::f16_rows`, `global::f16_cols`, `global::strides`, `views::rows_of_warps` |
//! | global ↔ shared tile, synchronous and not, along axes 0 to 2, and fp8 | the same | `banks::e4m3_tiles`, `banks::e5m2_tiles`, `banks::bf16_tiles`, `banks::f32_tiles`, `shared::bf16_rows`, `shared_stores::bf16_through_shared`, `shared_stores::f16_through_shared`, `shared_stores::f32_through_shared`, `views::batch`, `views::inner_heads`, `views::columns` |
//! | shared ↔ register tile, and fp8; rows of a shared tile ↔ vectors | the same | `banks::e4m3_tiles`, `banks::bf16_tiles`, `banks::f16_tiles`, `banks::f32_tiles`, `banks::f64_tiles`, `banks::tf32_tiles`, `banks::i8_tiles`, `shared::swizzles`, `shared::store_and_load`, `shared_stores::rows_and_columns` |
//! | vectors between global and shared memory and registers, three layouts | by intensity | `vectors::f32_to_itself`, `vectors::bf16_to_itself`, `vectors::f16_to_itself`, `vectors::bf16_as_f32`, `shared_stores::vectors_through_shared`, `banks::vectors`, `odd::vectors_of_bytes` |
//! | maps of register tiles: exp | all H×W, both layouts | `functions::functions_of_f32`, `functions::functions_of_bf16`, `functions::functions_of_f16` |
//! | tril, triu; named fills (there, all call `apply`) | the same | `operations::f32_row_2_3`, `operations::bf16_row_4_4`, `operations::f16_col_4_4`, `long::i32_tiles` |
//! | norms and broadcasts of rows and columns | the same | `operations::f32_row_4_4`, `operations::f32_col_4_4`, `operations::bf16_col_4_3`, `operations::f16_row_1_16`, `long::f64_tiles` |
//! | subtiles of register tiles | the same | `moves::parts`, `moves::parts_stay_inside`, `operations::f32_row_4_4` |
//! | `swap_layout`, `transpose` (commented out) | – | `moves::bf16_rows`, `moves::f16_cols`, `moves::f32_rows`, `moves::f64_rows`, `moves::e4m3_cols`, `moves::u8_rows` |
//! | conversions between types (commented out) | – | `arithmetic::elementwise_operations`, `moves::e4m3_and_f32`, `moves::e5m2_and_f16`, `moves::s8_and_s32`, `moves::u8_and_f32` |
//! | complex products of elements | all H×W | `complex::elementwise` |
//! | register vectors: add one, polynomial, norm | lengths by intensity | `operations::f32_row_1_8`, `operations::bf16_row_8_1`, `vectors::vectors_of_a_tile` |
//! | register vectors: conversions between the three layouts | the same | `moves::vectors_of_32_bits`, `moves::vectors_of_16_bits`, `odd::vectors_of_bytes` |
//! | maps, norms and broadcasts of shared tiles and vectors, copies, subtiles | 1 to 12 warps | `block::maps_of_shared_tiles`, `block::every_scope`, `odd::shared_vectors_change_in_place`, `shared_stores::every_width` |
//! | `mma` AB, ABt, AtB, AtBt of bf16; f16 (defined, not run); fp8 ABt | K of 1 to 4 subtiles | `products::bf16_in_f32`, `products::f16_in_f32`, `products::f16_in_f16`, `products::e4m3_e4m3_in_f32`, `products::e5m2_e4m3_in_f16`, `products::tf32_in_f32`, `products::f64_in_f64`, `products::s8_u8_in_s32` |
//! | complex `mma` AB | the same | `complex::bf16_ab`, `complex::bf16_atbt`, `complex::f16_in_f16`, `complex::tf32_ab` |
//!
//! ThunderKittens' tests of `wgmma`, of tensor copies and of several GPUs are not part of this table.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "tiles/cases.rs"]
mod cases;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/philox.rs"]
mod philox;
#[path = "support/require.rs"]
mod require;
#[path = "architecture/tokens.rs"]
mod tokens;

mod tiles {
    mod all_reduce;
    mod arithmetic;
    mod banks;
    mod block;
    mod bytes;
    mod codes;
    mod complex;
    mod conversions;
    mod every_type;
    mod functions;
    mod global;
    mod in_place;
    mod left_numbers;
    mod lines;
    mod listed;
    mod long;
    mod masks;
    mod matmul;
    mod matrix;
    mod moves;
    mod nan;
    mod numbers;
    mod odd;
    mod operations;
    mod over_scopes;
    mod pairs;
    mod pipeline;
    mod products;
    mod random;
    mod register_values;
    mod rejections;
    mod scans;
    mod scopes;
    mod shared;
    mod shared_parts;
    mod shared_stores;
    mod shared_types;
    mod sizes;
    mod softmax;
    mod sparse;
    mod stochastic;
    mod table;
    mod tensor;
    mod vector_operands;
    mod vectors;
    mod views;
    mod vocabulary;
    mod wide_shared;
    mod widths;
}

/// Named to be the last test to begin.
#[test]
fn total_of_cases() {
    cases::check_counts();
}
