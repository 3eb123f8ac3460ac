//! Products with an epilogue or with promoted sums.

use std::rc::Rc;

use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, GpuKind},
};

use super::{
    contender::{Boxed, Kind},
    described,
    epilogue::{Epilogue, Vectors},
    instructions,
    kernels::{self, Code},
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::Fallible;

/// Loads the kernel chosen for a product and, if an epilogue follows, also the kernel chosen for the product without it; in a sweep, also
/// the kernels with all tiles.
pub(super) fn contenders<P: Precision>(
    gpu: &Gpu,
    kind: &GpuKind,
    promoted: bool,
    sweep: bool,
    layout: Layout,
    size: Size,
    epilogue: Epilogue,
) -> Fallible<Vec<Boxed<P>>> {
    let product = epilogue.product(size);
    let gemm = kernels::for_contiguous::<P>(chosen::<P>(kind, promoted, layout, product), product);
    let kernel = if promoted { kernels::promoted_kernel::<P>(gemm)? } else { P::kernel(gemm)? };
    let sums = if promoted { ", sums promoted" } else { "" };
    let plain = |role: &str, kind| {
        let name = format!("{role}{}{sums}{}", described(&gemm), instructions(&gemm));
        kernels::of_kernel(gpu, name, kind, gemm, Rc::new(gpu.load(&kernel)?), product)
    };
    if epilogue == Epilogue::None {
        return Ok(vec![plain("warpwright ", Kind::Chosen)?]);
    }
    let mut contenders = vec![
        fused(gpu, gemm, Kind::Chosen, promoted, size, epilogue)?,
        plain("product alone, ", Kind::Plain)?,
    ];
    if sweep {
        let candidates = kernels::candidates::<P>(gemm.target, layout, product);
        for gemm in candidates.into_iter().filter(|gemm| has_tile(gemm, epilogue)) {
            contenders.push(fused(gpu, gemm, Kind::Variant, promoted, size, epilogue)?);
        }
    }
    Ok(contenders)
}

/// Returns whether the kernel with the epilogue has the tile, cluster and parts of the kernel for the product alone.
fn has_tile(gemm: &Gemm, epilogue: Epilogue) -> bool {
    match epilogue {
        Epilogue::Swiglu => gemm.for_gated_products() == *gemm,
        // The sums of tiles with 192 columns leave no registers for C.
        _ => !(epilogue.of_kernel().c && gemm.tile.size()[1] == 192),
    }
}

/// Returns the kernel chosen for a product.
fn chosen<P: Precision>(kind: &GpuKind, promoted: bool, Layout([a, b]): Layout, product: Size) -> Gemm {
    let size = product.0.map(|size| size as u32);
    if promoted {
        Gemm::for_promoted::<P::Factor>(size, kind)
    } else {
        Gemm::for_problem::<P::Factor, P::Result>(a, b, size, kind)
    }
}

/// Loads the kernel with an epilogue, where `gemm` is the kernel for the product without it.
fn fused<P: Precision>(
    gpu: &Gpu,
    gemm: Gemm,
    kind: Kind,
    promoted: bool,
    size: Size,
    epilogue: Epilogue,
) -> Fallible<Boxed<P>> {
    let gemm = Gemm { activation: epilogue.activation(), ..gemm };
    let ([_, n, _], [_, cols, _]) = (size.0, epilogue.product(size).0);
    let (gemm, form, code) = if epilogue == Epilogue::Swiglu {
        let gemm = Gemm { any_ldd: !kernels::is_whole::<P::Result>(n as u32), ..gemm.for_gated_products() };
        let kernel = P::gated(gemm)?;
        (gemm, form(kernel.name()), Code::Plain(Rc::new(gpu.load(&kernel)?)))
    } else {
        let of_kernel = epilogue.of_kernel();
        let gemm = match kind {
            Kind::Chosen if !promoted => gemm.for_epilogue(size.0[2] as u32),
            _ => gemm,
        };
        let kernel = match promoted {
            true => kernels::if_8_bits::<P, _>(P::fused_promoted(gemm, of_kernel))??,
            false => P::fused(gemm, of_kernel)?,
        };
        let vectors = Vectors::new(&gpu.stream(), epilogue, n)?;
        (gemm, form(kernel.name()), Code::Fused(Box::new(gpu.load(&kernel)?), vectors))
    };
    let name = format!("warpwright {form}{}", instructions(&gemm));
    kernels::of_code(gpu, name, kind, gemm, code, size, cols)
}

/// Returns the part of a kernel's name that follows types and orders, such as `128x128_bias_relu`. It begins with the tile, which may be
/// smaller than that of the plain product.
fn form(kernel: &str) -> String {
    let is_tile = |part: &&str| part.starts_with(|first: char| first.is_ascii_digit());
    let parts: Vec<_> = kernel.split('_').skip_while(|part| !is_tile(part)).collect();
    parts.join("_")
}

#[cfg(test)]
mod tests {
    use super::form;

    #[test]
    fn forms_begin_with_the_tile() {
        assert_eq!(
            form("gemm_bf16_row_col_128x128_cluster2x1_bias_gelu_tanh"),
            "128x128_cluster2x1_bias_gelu_tanh"
        );
        assert_eq!(form("gemm_e4m3_bf16_row_col_64x128_gated_silu"), "64x128_gated_silu");
    }
}
