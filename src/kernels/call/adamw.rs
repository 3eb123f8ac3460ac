//! The AdamW optimizer.

use super::operands::{portable_target, refused};
use crate::{
    kernels::{AdamW, AdamWArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// The step number and the hyperparameters of an [`AdamW`] step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWStep {
    /// The step number, starting from 1.
    pub step: u32,
    /// The learning rate.
    pub learning_rate: f32,
    /// β₁, the decay rate of the running average of the gradients: at least 0 and less than 1.
    pub beta1: f32,
    /// β₂, the decay rate of the running average of the squared gradients: at least 0 and less than 1.
    pub beta2: f32,
    /// ε, which is added to the square root of the bias-corrected running average of the squared gradients.
    pub epsilon: f32,
    /// The weight decay: each step subtracts `learning_rate` · `weight_decay` · p from each parameter p.
    pub weight_decay: f32,
}

impl AdamWStep {
    /// Returns a step with PyTorch's default hyperparameters: β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸, and a weight decay of 0.01.
    pub const fn new(step: u32, learning_rate: f32) -> Self {
        Self { step, learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }
    }
}

/// Performs an AdamW step on `count` parameters p with gradients g, as described in [`AdamW`]. The step updates three buffers in place: p,
/// the running averages of the gradients (`mean`), and the running averages of the squared gradients (`square`). Before the first step,
/// `mean` and `square` must be zero.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (mut p, g) = (device.upload(&[1.0f32; 4])?, device.upload(&[0.25f32; 4])?);
/// let (mut mean, mut square) = (device.zeros::<f32>(4)?, device.zeros::<f32>(4)?);
/// let step = call::AdamWStep { weight_decay: 0.0, ..call::AdamWStep::new(1, 0.5) };
/// call::adamw(&kernels, &step, 4, &mut p, &g, (&mut mean, &mut square))?;
/// // The first step has the size of the learning rate.
/// assert!(device.download(&p)?.iter().all(|p| (p - 0.5).abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if β₁ or β₂ is out of range, or if the step number is 0.
pub fn adamw<'a, P, G>(
    on: impl Into<Queue<'a>>,
    step: &AdamWStep,
    count: u32,
    p: impl Into<BufferMut<'a, P>>,
    g: impl Into<BufferRef<'a, G>>,
    (mean, square): (impl Into<BufferMut<'a, f32>>, impl Into<BufferMut<'a, f32>>),
) -> Result<Called, CallError>
where
    P: Convert<f32>,
    G: Convert<f32>,
    f32: Convert<P>,
{
    const CALL: &str = "adamw";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let AdamWStep { step, learning_rate, beta1, beta2, epsilon, weight_decay } = *step;
    if step == 0 {
        return Err(refused(CALL, "a step of at least 1", step));
    }
    for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
        if !(0.0..1.0).contains(&beta) {
            return Err(refused(CALL, format!("{name} from 0 to less than 1"), beta));
        }
    }
    // 1 − βᵗ can be as small as 1 − β, so it is computed in f64.
    let correction = |beta: f32| (1.0 - f64::from(beta).powf(f64::from(step))) as f32;
    // All elements form one row.
    let (m, n, ld) = (1, count, count);
    queue.launch::<_, _, AdamWArgs<P, G>>(
        CALL,
        [n, ld],
        |sizes| AdamW::for_rows(target, sizes),
        |adamw| adamw.kernel(target),
        (
            p.into(),
            g.into(),
            mean.into(),
            square.into(),
            ld,
            m,
            n,
            learning_rate,
            beta1,
            beta2,
            epsilon,
            weight_decay,
            correction(beta1),
            correction(beta2),
        ),
    )
}
