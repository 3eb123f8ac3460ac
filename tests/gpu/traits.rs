//! Types that are `Send` and `Sync`.

use warpwright::gpu::*;

fn shared<T: Send + Sync + 'static>() {}
fn error<T: std::error::Error + Clone + Send + Sync + 'static>() {}

#[test]
fn handles_and_errors_cross_threads() {
    shared::<Driver>();
    shared::<Gpu>();
    shared::<Module>();
    shared::<Function>();
    shared::<TensorMap>();
    error::<Unavailable>();
    error::<GpuError>();
    error::<LoadError>();
    error::<LaunchError>();
    error::<TensorMapError>();
}
