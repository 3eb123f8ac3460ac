//! A tour of the layout algebra: prints each step and verifies it over all elements.
//!
//! `cargo run --example layout_tour`

use std::error::Error;

use warpwright::draw::{Highlight, Picture};
use warpwright::layout::{
    ComposedLayout, Layout, Swizzle, bank_conflicts, coord_of_index, domain_distribute, warp_accesses,
};

fn main() -> Result<(), Box<dyn Error>> {
    functions()?;
    composition()?;
    tiles()?;
    products()?;
    threads()?;
    vectors()?;
    edges()?;
    swizzles()?;
    println!("All of it verified.");
    Ok(())
}

fn heading(text: &str) {
    println!("── {text} {}", "─".repeat(76_usize.saturating_sub(text.chars().count())));
}

/// Shows shapes and strides, and three kinds of coordinates of one element.
fn functions() -> Result<(), Box<dyn Error>> {
    heading("A layout is a function");
    let blocks: Layout = "((2,2),(2,4)):((1,4),(2,8))".parse()?;
    println!("{}", Picture::of_layout(&blocks.clone().into())?);
    for index in 0..blocks.size() {
        let nested = coord_of_index(index, blocks.shape());
        let flat = coord_of_index(index, &blocks.shape().product_each());
        assert_eq!(blocks.at(&nested)?, blocks.index(index));
        assert_eq!(blocks.at(&flat)?, blocks.index(index));
    }
    let (size, cosize) = (blocks.size(), blocks.cosize());
    println!("size {size}, cosize {cosize}, injective: {}", blocks.is_injective());
    println!("simplest form: {}\n", blocks.coalesce());
    assert!(blocks.coalesce().values().eq(blocks.values()));
    Ok(())
}

/// Shows A(B(i)), and a composition without a valid result.
fn composition() -> Result<(), Box<dyn Error>> {
    heading("Composition");
    let (a, b) = (Layout::row_major((8, 16))?, Layout::new((4, 2), (1, 8))?);
    let composed = a.compose(&b)?;
    println!("{a} ∘ {b} = {composed}");
    assert!((0..b.size()).all(|i| composed.index(i) == a.index(b.index(i))));
    let refused = Layout::new((3, 3), (3, 1))?.compose(Layout::new(4, 2)?);
    println!("refused: {}\n", refused.expect_err("it has no answer"));
    Ok(())
}

/// Shows divides: every element is in exactly one tile.
fn tiles() -> Result<(), Box<dyn Error>> {
    heading("Tiles");
    let matrix = Layout::row_major((4, 8))?;
    let tiles = matrix.zipped_divide((2, 4))?;
    println!("{matrix} in tiles of 2×4: {tiles}");
    let mut seen: Vec<i64> = tiles.values().collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..matrix.size()));
    for tile in 0..4 {
        let (view, offset) = tiles.slice_and_offset((.., tile))?;
        println!("  tile {tile}: {view} from offset {offset}");
    }
    let evens = Layout::new(4, 2)?;
    println!("complement of {evens} in 24: {}\n", evens.complement(24)?);
    Ok(())
}

/// Shows products: blocked and raked copies.
fn products() -> Result<(), Box<dyn Error>> {
    heading("Products");
    let (block, copies) = (Layout::new((2, 4), (4, 1))?, Layout::new((2, 2), (1, 2))?);
    for (name, product) in
        [("blocked", block.blocked_product(&copies)?), ("raked", block.raked_product(&copies)?)]
    {
        assert!(product.is_bijective());
        println!("{name}: {}", Picture::of_layout(&product.into())?);
    }
    Ok(())
}

/// Shows the 4×9 tile that six threads copy, constructed from layouts of threads and values.
fn threads() -> Result<(), Box<dyn Error>> {
    heading("Threads and values");
    let (threads, values) = (Layout::new((2, 3), (3, 1))?, Layout::new((2, 3), (1, 2))?);
    let map = threads.raked_product(&values)?.right_inverse().with_shape((6, 6))?;
    assert_eq!(map.to_string(), "((3,2),(2,3)):((12,2),(1,4))");
    assert!(map.is_bijective());
    println!("{}", Picture::of_thread_values(&map, (4, 9), Highlight::All)?);
    println!("Thread 1 alone:\n{}", Picture::of_thread_values(&map, (4, 9), Highlight::Thread(1))?);
    let shared = domain_distribute(map.shape(), 12)?;
    println!("12 workers share its 36 elements as {shared}\n");
    Ok(())
}

/// Shows the maximum width of a load.
fn vectors() -> Result<(), Box<dyn Error>> {
    heading("Vectors");
    let (dense, padded) = (Layout::column_major((8, 8))?, Layout::new((8, 8), (1, 10))?);
    let common = dense.max_common_layout(&padded);
    println!("{dense} and {padded} share runs of {} elements", common.size());
    assert!(
        (0..common.size()).all(|i| dense.index(common.index(i)) == i && padded.index(common.index(i)) == i)
    );
    println!("{padded} is aligned to {} elements", padded.max_alignment());
    println!("as 32-bit words of two: {}\n", padded.recast(16, 32)?);
    Ok(())
}

/// Shows how an identity layout, tiled like the data, finds the elements past the edge.
fn edges() -> Result<(), Box<dyn Error>> {
    heading("Edges");
    let (rows, cols) = (10, 6);
    let places = Layout::identity((rows, cols))?.zipped_divide((4, 4))?;
    let inside = places.values().filter(|place| place.component(0) < rows && place.component(1) < cols);
    let inside = inside.count() as i64;
    println!("{places}: {inside} of {} places are inside of {rows}×{cols}\n", places.size());
    assert_eq!(inside, rows * cols);
    Ok(())
}

/// Shows eight lanes that read a column of 16-byte chunks, with and without a swizzle.
fn swizzles() -> Result<(), Box<dyn Error>> {
    heading("Swizzles and banks");
    for (swizzle, passes) in [(Swizzle::NONE, 8), (Swizzle::BYTES_128, 1)] {
        let tile = ComposedLayout::new(swizzle, 0, Layout::new((8, 8), (128, 2))?);
        let access = &warp_accesses(&tile, 2, 8)?[0];
        let cost = bank_conflicts(access.iter().copied(), 16)?;
        println!("{tile}: {} passes", cost.degree());
        assert_eq!(cost.degree(), passes);
    }
    println!("\n{}", Picture::of_swizzle(Swizzle::BYTES_128)?);
    Ok(())
}
