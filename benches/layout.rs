//! Speed of the layout algebra: each function on typical layouts.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use warpwright::layout::{
    ComposedLayout, IntTuple, Layout, Slicer, Swizzle, Tiler, TvLayout, bank_conflicts, coord_of_index,
    domain_distribute, warp_accesses,
};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

/// A 128×64 tile as 8×8 blocks.
const TILE: &str = "((8,16),(8,8)):((8,512),(1,64))";
/// The (thread, value) layout of A of m16n8k16.
const FRAGMENT: &str = "((4,8),(2,2,2)):((32,1),(16,8,128))";

fn bench<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut f: impl FnMut() -> T) {
    group.bench_function(name, |bencher| bencher.iter(&mut f));
}

fn evaluation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layout/evaluation");
    let (tile, fragment) = (layout(TILE), layout(FRAGMENT));
    let swizzled = ComposedLayout::new(Swizzle::BYTES_128, 0, tile.scaled(2).expect("small"));
    let coord: IntTuple = "((3,5),(2,7))".parse().expect("a coordinate");
    bench(&mut group, "parse", || FRAGMENT.parse::<Layout>());
    bench(&mut group, "print", || black_box(&fragment).to_string());
    bench(&mut group, "index", || black_box(&tile).index(black_box(4711)));
    bench(&mut group, "at", || black_box(&tile).at(black_box(&coord)));
    bench(&mut group, "coord_of_index", || coord_of_index(black_box(4711), tile.shape()));
    bench(&mut group, "8192 values", || black_box(&tile).values().sum::<i64>());
    bench(&mut group, "8192 values, swizzled", || black_box(&swizzled).values().sum::<i64>());
    bench(&mut group, "is_injective, 8192 values", || black_box(&tile).is_injective());
    group.finish();
}

fn algebra(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layout/algebra");
    let (tile, fragment) = (layout(TILE), layout(FRAGMENT));
    let (block, copies) = (layout("(8,8):(8,1)"), layout("(16,8):(1,16)"));
    let (threads, values) = (layout("(32,8):(1,32)"), layout("(4,1):(1,0)"));
    let tiler: Tiler = "(16:1,(2,4):(1,16))".parse().expect("a tiler");
    let column: Slicer = "(_,(3,_))".parse().expect("a slicer");
    bench(&mut group, "coalesce", || black_box(&tile).coalesce());
    bench(&mut group, "filter", || black_box(&tile).filter());
    bench(&mut group, "compose", || black_box(&tile).compose(black_box(&fragment)));
    bench(&mut group, "complement", || black_box(&block).complement(8192));
    bench(&mut group, "right_inverse", || black_box(&fragment).right_inverse());
    bench(&mut group, "left_inverse", || black_box(&fragment).left_inverse());
    bench(&mut group, "nullspace", || black_box(&values).nullspace());
    bench(&mut group, "logical_divide", || black_box(&tile).logical_divide(tiler.clone()));
    bench(&mut group, "zipped_divide", || black_box(&tile).zipped_divide(tiler.clone()));
    bench(&mut group, "logical_product", || black_box(&block).logical_product(&copies));
    bench(&mut group, "blocked_product", || black_box(&block).blocked_product(&copies));
    bench(&mut group, "raked_product", || black_box(&threads).raked_product(&values));
    bench(&mut group, "tile_to_shape", || black_box(&block).tile_to_shape((128, 64), None));
    bench(&mut group, "ordered", || Layout::ordered((8, 16, 8, 8), (3, 1, 0, 2)));
    bench(&mut group, "fragment_like", || black_box(&fragment).fragment_like());
    bench(&mut group, "recast", || black_box(&block).recast(16, 128));
    bench(&mut group, "slice", || black_box(&tile).slice_and_offset(column.clone()));
    bench(&mut group, "max_common_vector", || black_box(&tile).max_common_vector(&fragment));
    bench(&mut group, "max_alignment", || black_box(&tile).max_alignment());
    bench(&mut group, "domain_distribute", || domain_distribute(tile.shape(), black_box(256)));
    group.finish();
}

/// Benchmarks the layout of a register tile of 4×4 subtiles, which kernels build while they are emitted.
fn thread_value(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layout/thread_value");
    let base = || {
        let layout = Layout::new(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))).expect("a layout");
        TvLayout::new("base", (16, 16), layout).and_then(|tile| tile.packed(2)).expect("within the tile")
    };
    let tiled = || TvLayout::tiled(&base(), 4, 4).expect("a small tile");
    let tile = tiled();
    bench(&mut group, "tiled", tiled);
    bench(&mut group, "along", || black_box(&tile).along(1));
    bench(&mut group, "elements", || black_box(&tile).elements(5));
    bench(&mut group, "first owner", || tiled().owner((17, 3)));
    bench(&mut group, "owner", || black_box(&tile).owner((17, 3)));
    group.finish();
}

fn access(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("layout/access");
    let rows = ComposedLayout::new(Swizzle::BYTES_128, 0, layout("(32,8):(128,2)"));
    let addresses = warp_accesses(&rows, 2, 8).expect("16 bytes a lane").remove(0);
    bench(&mut group, "warp_accesses", || warp_accesses(black_box(&rows), 2, 8));
    bench(&mut group, "bank_conflicts", || bank_conflicts(black_box(&addresses).iter().copied(), 16));
    group.finish();
}

criterion_group!(benches, evaluation, algebra, thread_value, access);
criterion_main!(benches);
