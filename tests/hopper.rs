//! Hopper's tiles, run on every available device.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[allow(dead_code, reason = "each test binary uses its own part")]
#[path = "tiles/numbers.rs"]
mod numbers;
#[path = "support/require.rs"]
mod require;

mod hopper {
    mod assemblies;
    mod batons;
    mod bugs;
    mod gemm;
    mod groups;
    mod launches;
    mod leases;
    mod outbox;
    mod overlap;
    mod parts;
    mod problem;
    mod products;
    mod rejections;
    mod releases;
    mod remote;
    mod rings;
    mod schedules;
    mod shares;
    mod sources;
    mod steps;
    mod turns;
}
