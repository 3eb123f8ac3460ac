//! The attention kernels: every mask, head size and tile against f64, on every device, and assembled without advisories.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/philox.rs"]
mod philox;
#[path = "support/require.rs"]
mod require;

mod attention {
    mod backward;
    mod cached;
    mod dropout;
    mod extras;
    mod masks;
    mod numbers;
    mod orders;
    mod packed;
    mod problem;
    mod reference;
    mod scaled;
    mod sizes;
    mod table;
    mod tiles;
}
