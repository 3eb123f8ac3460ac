//! The checks of a launch's shape against the limits of an H200.

use pretty_assertions::assert_eq;
use warpwright::gpu::{CudaVersion, DeviceProperties, FunctionAttributes, LaunchConfig, LaunchError};

fn h200() -> DeviceProperties {
    DeviceProperties {
        ordinal: 0,
        name: "NVIDIA H200".to_owned(),
        capability: (9, 0),
        driver: CudaVersion { major: 13, minor: 0 },
        multiprocessors: 132,
        memory_bytes: 150_000_000_000,
        l2_bytes: 62_914_560,
        clock_khz: 1_980_000,
        shared_bytes_per_multiprocessor: 233_472,
        shared_bytes_per_block: 49_152,
        shared_bytes_per_block_opt_in: 232_448,
        registers_per_multiprocessor: 65_536,
        max_threads_per_block: 1024,
        max_block: [1024, 1024, 64],
        max_grid: [2_147_483_647, 65_535, 65_535],
    }
}

fn attributes() -> FunctionAttributes {
    FunctionAttributes { max_threads: 512, shared_bytes: 2048, ..FunctionAttributes::default() }
}

fn check(config: LaunchConfig) -> Result<(), LaunchError> {
    config.check("k", &attributes(), &h200())
}

#[test]
fn shapes_up_to_the_limits_pass() {
    for config in [
        LaunchConfig::new([2_147_483_647, 65_535, 65_535], [512, 1, 1]),
        LaunchConfig::new([1; 3], [1, 8, 64]),
        LaunchConfig::new([1; 3], [32, 1, 1]).dynamic_shared(232_448 - 2048),
        LaunchConfig::new([16, 1, 1], [32, 1, 1]).cluster([16, 1, 1]),
        LaunchConfig::new([4, 6, 3], [32, 1, 1]).cluster([2, 3, 1]).cooperative(),
    ] {
        assert_eq!(check(config), Ok(()), "{config:?}");
    }
}

#[test]
fn each_rule_has_its_message() {
    let base = LaunchConfig::new([4, 1, 1], [32, 1, 1]);
    let text = |config| check(config).expect_err("a violated rule").to_string();
    assert_eq!(
        text(LaunchConfig { grid: [4, 0, 1], ..base }),
        "grid: expected extents of at least 1, found [4, 0, 1]"
    );
    assert_eq!(
        text(LaunchConfig { block: [0; 3], ..base }),
        "block: expected extents of at least 1, found [0, 0, 0]"
    );
    assert_eq!(
        text(LaunchConfig { grid: [1, 65_536, 1], ..base }),
        "grid: expected extents of at most [2147483647, 65535, 65535], found [1, 65536, 1]"
    );
    assert_eq!(
        text(LaunchConfig { block: [1, 1, 65], ..base }),
        "block: expected extents of at most [1024, 1024, 64], found [1, 1, 65]"
    );
    assert_eq!(
        text(LaunchConfig { block: [513, 1, 1], ..base }),
        "kernel `k`: expected at most 512 threads per block, found 513"
    );
    assert_eq!(
        text(base.dynamic_shared(232_448 - 2047)),
        "kernel `k`: expected at most 232448 bytes of shared memory, found 2048 static + 230401 dynamic"
    );
    assert!(matches!(check(base.dynamic_shared(u32::MAX)), Err(LaunchError::SharedMemory { .. })));
    assert_eq!(text(base.cluster([2, 0, 1])), "cluster: expected extents of at least 1, found [2, 0, 1]");
    assert_eq!(text(base.cluster([17, 1, 1])), "cluster [17, 1, 1]: expected at most 16 blocks, found 17");
    assert_eq!(
        text(base.cluster([3, 1, 1])),
        "expected a grid that is a multiple of the cluster [3, 1, 1], found [4, 1, 1]"
    );
    // Three extents whose product exceeds u64.
    let huge = [u32::MAX; 3];
    assert!(matches!(check(base.cluster(huge)), Err(LaunchError::ClusterTooLarge { .. })));
}

#[test]
fn threads_are_also_limited_by_the_device() {
    let generous = FunctionAttributes { max_threads: 4096, ..attributes() };
    let config = LaunchConfig::new([1; 3], [1024, 2, 1]);
    let limit = config.check("k", &generous, &h200());
    assert_eq!(limit, Err(LaunchError::TooManyThreads { kernel: "k".to_owned(), found: 2048, limit: 1024 }));
}

#[test]
fn clusters_need_hopper() {
    let a100 = DeviceProperties { capability: (8, 0), ..h200() };
    let config = LaunchConfig::new([4, 1, 1], [32, 1, 1]).cluster([2, 1, 1]);
    assert_eq!(
        config.check("k", &attributes(), &a100).expect_err("no clusters").to_string(),
        "cluster [2, 1, 1]: expected a device of compute capability 9.0 or later, found 8.0"
    );
}

#[test]
fn a_compiled_in_cluster_binds_the_launch() {
    let attributes = FunctionAttributes { required_cluster: Some([2, 1, 1]), ..attributes() };
    let check = |config: LaunchConfig| config.check("k", &attributes, &h200());
    let base = LaunchConfig::new([4, 1, 1], [32, 1, 1]);
    assert_eq!(check(base), Ok(()));
    assert_eq!(check(base.cluster([2, 1, 1])), Ok(()));
    assert_eq!(
        check(base.cluster([4, 1, 1])).expect_err("another").to_string(),
        "kernel `k`: expected clusters of [2, 1, 1], found [4, 1, 1]"
    );
    let odd = LaunchConfig::new([3, 1, 1], [32, 1, 1]);
    assert!(matches!(check(odd), Err(LaunchError::PartialCluster { .. })));
}
