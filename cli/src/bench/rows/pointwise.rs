//! Elementwise functions.

use std::cell::RefCell;

use warpwright::{
    gpu::Gpu,
    kernels::{Pointwise, PointwiseFunction},
    prelude::bf16,
    tiles::Convert,
};

use super::{
    contender::{Buffers, Contender, Launch, Reference},
    element::Element,
    forward::{TARGET, is_selected, load, shown},
};
use crate::bench::{
    Failed, Fallible,
    functions::{gelu, gelu_tanh, sigmoid},
};

fn of_both(f: fn(f64, f64) -> f64) -> Reference {
    Box::new(move |rows| rows.x.iter().zip(&rows.r).map(|(&x, &r)| f(x, r)).collect())
}

/// Loads the kernels with these names: SiLU, SwiGLU, their gradients, GELU, GeGLU and conversions.
pub(super) fn contenders<E: Element>(
    gpu: &Gpu,
    buffers: &Buffers<E>,
    names: &[String],
) -> Fallible<Vec<Contender<E>>>
where
    f32: Convert<E>,
{
    // As the functions of `call` do, all elements are processed as one row.
    let [m, n] = Pointwise::as_one_row([buffers.m, buffers.n], &[buffers.n]);
    let kernels = Pointwise::for_rows(PointwiseFunction::Silu, TARGET, E::SIZE, &[n]);
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
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, .. }| {
            kernel.launch(stream, (&*x, n, y, n, m, n)).map_err(Failed::of)
        });
        add("silu", 2.0, launch, of_both(|x, _| x * sigmoid(x)));
    }
    if is_selected(names, "swiglu") {
        let kernel = load(gpu, &kernels.gated_kernel::<E, E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, .. }| {
            kernel.launch(stream, (&*x, n, &*r, n, y, n, m, n)).map_err(Failed::of)
        });
        add("swiglu", 3.0, launch, of_both(|x, r| x * sigmoid(x) * r));
    }
    if is_selected(names, "silu_backward") {
        let kernel = load(gpu, &kernels.backward_kernel::<E>(TARGET)?)?;
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, .. }| {
            kernel.launch(stream, (&*x, n, &*r, n, y, n, m, n)).map_err(Failed::of)
        });
        add("silu_backward", 3.0, launch, of_both(|x, r| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))) * r));
    }
    if is_selected(names, "swiglu_backward") {
        let kernel = load(gpu, &kernels.gated_backward_kernel::<E>(TARGET)?)?;
        // The gradient with respect to the result is x. Its second read hits the L2 cache.
        let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, h, .. }| {
            let arguments = (&*x, n, &*r, n, &*x, n, y, n, h, n, m, n);
            kernel.launch(stream, arguments).map_err(Failed::of)
        });
        let derivative = |x: f64, r: f64| sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))) * r * x;
        add("swiglu_backward", 4.0, launch, of_both(derivative));
    }
    for (name, function, f) in [
        ("gelu", PointwiseFunction::Gelu, gelu as fn(f64) -> f64),
        ("gelu_tanh", PointwiseFunction::GeluTanh, gelu_tanh),
    ] {
        let kernels = Pointwise { function, ..kernels };
        if is_selected(names, name) {
            let kernel = load(gpu, &kernels.kernel::<E, E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, y, .. }| {
                kernel.launch(stream, (&*x, n, y, n, m, n)).map_err(Failed::of)
            });
            add(name, 2.0, launch, Box::new(move |rows| rows.x.iter().map(|&x| f(x)).collect()));
        }
        if function == PointwiseFunction::Gelu && is_selected(names, "geglu") {
            let kernel = load(gpu, &kernels.gated_kernel::<E, E>(TARGET)?)?;
            let launch: Launch<E> = Box::new(move |stream, Buffers { x, r, y, .. }| {
                kernel.launch(stream, (&*x, n, &*r, n, y, n, m, n)).map_err(Failed::of)
            });
            add("geglu", 3.0, launch, of_both(|x, r| gelu(x) * r));
        }
    }
    if is_selected(names, "cast") {
        contenders.push(cast(gpu, buffers)?);
    }
    Ok(contenders)
}

/// Loads the conversion from f32 to bf16, or from other types to f32.
fn cast<E: Element>(gpu: &Gpu, buffers: &Buffers<E>) -> Fallible<Contender<E>> {
    let to = if E::SIZE == 4 { 2 } else { 4 };
    let [m, n] = Pointwise::as_one_row([buffers.m, buffers.n], &[buffers.n]);
    let kernels = Pointwise::for_rows(PointwiseFunction::Identity, TARGET, E::SIZE.max(to), &[n]);
    let (stream, count) = (gpu.stream(), buffers.m as usize * buffers.n as usize);
    let launch: Launch<E> = if to == 2 {
        let kernel = load(gpu, &kernels.kernel::<E, bf16>(TARGET)?)?;
        let y = RefCell::new(stream.alloc_zeros::<u16>(count)?);
        Box::new(move |stream, Buffers { x, .. }| {
            kernel.launch(stream, (&*x, n, &mut *y.borrow_mut(), n, m, n)).map_err(Failed::of)
        })
    } else {
        let kernel = load(gpu, &kernels.kernel::<E, f32>(TARGET)?)?;
        let y = RefCell::new(stream.alloc_zeros::<f32>(count)?);
        Box::new(move |stream, Buffers { x, .. }| {
            kernel.launch(stream, (&*x, n, &mut *y.borrow_mut(), n, m, n)).map_err(Failed::of)
        })
    };
    let name = format!("cast {}", shown(kernels.tiling));
    let bytes = f64::from(E::SIZE + to) * count as f64;
    Ok(Contender { name, bytes, launch, reference: None })
}
