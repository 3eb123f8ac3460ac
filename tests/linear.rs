//! Linear attention: every kernel compared with f64 and with the definition in its paper, on every device, and assembled without
//! advisories.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/half.rs"]
mod half;
#[path = "support/require.rs"]
mod require;

mod linear {
    mod decayed;
    mod hedgehog;
    mod matrices;
    mod special;
    mod state_space;
    mod taylor;
}
