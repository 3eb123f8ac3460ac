//! Functions of single elements.

use warpwright::{
    gpu::Gpu,
    kernels::{Pointwise, PointwiseFunction},
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch, Reference},
    element::Element,
    forward::{TARGET, is_selected, load, shown},
};
use crate::bench::{Failed, Fallible};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn of_both(f: fn(f64, f64) -> f64) -> Reference {
    Box::new(move |rows| rows.x.iter().zip(&rows.r).map(|(&x, &r)| f(x, r)).collect())
}

/// Loads SiLU, SwiGLU and their gradients, if these names contain them.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    let kernels = Pointwise::for_rows(PointwiseFunction::Silu, TARGET, E::SIZE, &[buffers.n]);
    let mut contenders = Vec::new();
    let mut add = |name: &str, matrices: f64, launch: Launch<E>, reference: Reference| {
        contenders.push(Contender {
            name: format!("{name} {}", shown(kernels.tiling)),
            bytes: matrices * buffers.matrix(),
            launch,
            reference: Some(reference),
        });
    };
    if is_selected(names, "silu") {
        let kernel = load(gpu, &kernels.kernel::<E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, m, n, .. }| {
            kernel.launch(stream, (&*x, *n, y, *n, *m, *n)).map_err(Failed::of)
        });
        add("silu", 2.0, launch, of_both(|x, _| x * sigmoid(x)));
    }
    if is_selected(names, "swiglu") {
        let kernel = load(gpu, &kernels.gated_kernel::<E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, m, n, .. }| {
            kernel.launch(stream, (&*x, *n, &*r, *n, y, *n, *m, *n)).map_err(Failed::of)
        });
        add("swiglu", 3.0, launch, of_both(|x, r| x * sigmoid(x) * r));
    }
    if is_selected(names, "silu_backward") {
        let kernel = load(gpu, &kernels.backward_kernel::<E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, m, n, .. }| {
            kernel.launch(stream, (&*x, *n, &*r, *n, y, *n, *m, *n)).map_err(Failed::of)
        });
        add("silu_backward", 3.0, launch, of_both(|x, r| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))) * r));
    }
    if is_selected(names, "swiglu_backward") {
        let kernel = load(gpu, &kernels.gated_backward_kernel::<E>(TARGET)?)?;
        // The gradient with respect to the result is x, whose second read hits the level-2 cache.
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, h, m, n, .. }| {
            let arguments = (&*x, *n, &*r, *n, &*x, *n, y, *n, h, *n, *m, *n);
            kernel.launch(stream, arguments).map_err(Failed::of)
        });
        let derivative = |x: f64, r: f64| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))) * r * x;
        add("swiglu_backward", 4.0, launch, of_both(derivative));
    }
    Ok(contenders)
}
