//! The element types of products, on the GPU and on the host.

use std::fmt;

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use warpwright::{
    gpu::{CublasLtElement, CublasLtTypes, Gpu},
    kernels::{Epilogue, FusedGemmArgs, Gemm, GemmArgs, GemmSum, PartialGemmArgs, SplitKSumArgs},
    prelude::{e4m3, e5m2, tf32},
    ptx::{BuildError, Kernel},
    run::StorageFor,
    tensor::TensorElement,
    tiles::{Convert, Product},
};

use super::{ceilings, contender::Boxed};
use crate::bench::Fallible;

/// The type of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Dtype {
    /// Results of bf16
    Bf16,
    /// Results of f16
    F16,
    /// Results of f32
    Tf32,
    /// Results of bf16
    E4m3,
    /// Results of bf16
    E5m2,
    /// Results of i32
    S8,
    /// Results of i32
    U8,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Tf32 => "tf32",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::S8 => "s8",
            Self::U8 => "u8",
        })
    }
}

/// A host type whose values are copied to the GPU unchanged.
pub(super) trait Stored: DeviceRepr + ValidAsZeroBits + CublasLtElement + Copy + 'static {}
impl<T: DeviceRepr + ValidAsZeroBits + CublasLtElement + Copy + 'static> Stored for T {}

/// Loads a ceiling.
pub(super) type LoadCeiling<P> = fn(&Gpu) -> Fallible<Boxed<P>>;

/// A kernel, or the reason that it cannot be built.
pub(super) type Built<T, D> = Result<Kernel<GemmArgs<T, D>>, BuildError>;

/// A kernel with an epilogue, or the reason that it cannot be built.
pub(super) type BuiltFused<T, D> = Result<Kernel<FusedGemmArgs<T, D>>, BuildError>;

/// The kernels that compute the parts of a product and their sum.
pub(super) type SplitK<P> = (
    Kernel<PartialGemmArgs<<P as Precision>::Factor, <P as Precision>::Sum>>,
    Kernel<SplitKSumArgs<<P as Precision>::Sum, <P as Precision>::Result>>,
);

/// The types of a product.
pub(super) trait Precision: 'static {
    type Factor: TensorElement + Product<Self::Factor, Self::Sum>;
    type Sum: GemmSum + Convert<Self::Sum> + Convert<Self::Result>;
    type Result: TensorElement;
    /// The types of factors, sums and results on the host.
    type StoredFactor: Stored + StorageFor<Self::Factor>;
    type StoredSum: Stored + StorageFor<Self::Sum>;
    type StoredResult: Stored + StorageFor<Self::Result>;

    const DTYPE: Dtype;
    /// cuBLASLt's products with the same types, and their names.
    const RIVALS: &'static [(&'static str, CublasLtTypes)];
    /// The `mma.sync` ceiling, if one exists for these types.
    const MMA_SYNC: Option<LoadCeiling<Self>>;
    /// The maximum error of a correct element, relative to its magnitude or to √k, whichever is greater.
    const TOLERANCE: f32;

    /// Builds a kernel.
    fn kernel(gemm: Gemm) -> Built<Self::Factor, Self::Result>;
    /// Builds a kernel with an epilogue.
    fn fused(gemm: Gemm, epilogue: Epilogue) -> BuiltFused<Self::Factor, Self::Result>;
    /// Builds a kernel for gated products.
    fn gated(gemm: Gemm) -> Built<Self::Factor, Self::Result>;
    /// Builds the kernels that compute the parts of a product and their sum.
    fn split(gemm: Gemm) -> Result<SplitK<Self>, BuildError>;
    /// Builds a kernel with sums that are promoted to f32, for 8-bit types whose sums would otherwise have fewer bits.
    fn promoted(_gemm: Gemm) -> Option<Built<Self::Factor, Self::Result>> {
        None
    }
    /// Builds a kernel with an epilogue and with promoted sums.
    fn fused_promoted(_gemm: Gemm, _epilogue: Epilogue) -> Option<BuiltFused<Self::Factor, Self::Result>> {
        None
    }
    /// Converts a random normal number to a factor.
    fn factor(normal: f32) -> Self::StoredFactor;
    /// Returns the number that a factor represents.
    fn number(factor: Self::StoredFactor) -> f64;
    /// Returns the number that a result represents.
    fn result(result: Self::StoredResult) -> f32;
    /// Converts a number to a result.
    fn rounded(number: f32) -> Self::StoredResult;
}

macro_rules! precisions {
    ($(
        $name:ident: $factor:ty as $stored_factor:ty, $sum:ty, $result:ty as $stored_result:ty, $tolerance:literal,
        |$normal:ident| $to_factor:expr, |$bits:ident| $to_number:expr,
        |$of:ident| $to_result:expr, |$from:ident| $rounded:expr,
        [$($rival:literal $types:expr),*], $mma_sync:expr $(, $promoted:ident $fused_promoted:ident)?;
    )*) => {$(
        #[derive(Debug)]
        pub(super) enum $name {}

        impl Precision for $name {
            type Factor = $factor;
            type Sum = $sum;
            type Result = $result;
            type StoredFactor = $stored_factor;
            type StoredSum = $sum;
            type StoredResult = $stored_result;

            const DTYPE: Dtype = Dtype::$name;
            const RIVALS: &'static [(&'static str, CublasLtTypes)] = &[$(($rival, $types)),*];
            const MMA_SYNC: Option<LoadCeiling<Self>> = $mma_sync;
            const TOLERANCE: f32 = $tolerance;

            fn kernel(gemm: Gemm) -> Built<$factor, $result> {
                gemm.kernel::<$factor, $sum, $result>()
            }

            fn fused(gemm: Gemm, epilogue: Epilogue) -> BuiltFused<$factor, $result> {
                gemm.fused_kernel::<$factor, $sum, $result>(epilogue)
            }

            fn gated(gemm: Gemm) -> Built<$factor, $result> {
                gemm.gated_kernel::<$factor, $sum, $result>()
            }

            fn split(gemm: Gemm) -> Result<SplitK<Self>, BuildError> {
                let partial = gemm.partial_kernel::<$factor, $sum>()?;
                Ok((partial, gemm.sum_kernel::<$sum, $result>(Epilogue::default())?))
            }

            $(
                fn promoted(gemm: Gemm) -> Option<Built<$factor, $result>> {
                    Some(gemm.$promoted::<$factor, $result>())
                }

                fn fused_promoted(gemm: Gemm, epilogue: Epilogue) -> Option<BuiltFused<$factor, $result>> {
                    Some(gemm.$fused_promoted::<$factor, $result>(epilogue))
                }
            )?

            fn factor($normal: f32) -> $stored_factor {
                $to_factor
            }

            fn number($bits: $stored_factor) -> f64 {
                $to_number
            }

            fn result($of: $stored_result) -> f32 {
                $to_result
            }

            fn rounded($from: f32) -> $stored_result {
                $rounded
            }
        }
    )*};
}

precisions! {
    Bf16: bf16 as u16, f32, bf16 as u16, 0.02,
        |x| bf16::from_f32(x).to_bits(), |bits| bf16::from_bits(bits).to_f64(),
        |bits| bf16::from_bits(bits).to_f32(), |x| bf16::from_f32(x).to_bits(),
        ["cuBLASLt" CublasLtTypes::Bf16], Some(ceilings::mma_sync);
    F16: f16 as u16, f32, f16 as u16, 0.002,
        |x| f16::from_f32(x).to_bits(), |bits| f16::from_bits(bits).to_f64(),
        |bits| f16::from_bits(bits).to_f32(), |x| f16::from_f32(x).to_bits(),
        ["cuBLASLt" CublasLtTypes::F16], Some(ceilings::mma_sync);
    // Rounded on the host, because tensor cores ignore the other bits.
    Tf32: tf32 as f32, f32, f32 as f32, 0.001,
        |x| tf32::from_f32(x).to_f32(), |x| f64::from(x),
        |x| x, |x| x,
        ["cuBLASLt" CublasLtTypes::Tf32], None;
    // Tensor cores accumulate 8-bit products in sums with fewer bits than f32.
    E4m3: e4m3 as u8, f32, bf16 as u16, 0.05,
        |x| e4m3::from_f32(x).to_bits(), |bits| e4m3::from_bits(bits).to_f32().into(),
        |bits| bf16::from_bits(bits).to_f32(), |x| bf16::from_f32(x).to_bits(),
        [
            "cuBLASLt, fast accumulation" CublasLtTypes::E4m3 { fast_accumulation: true },
            "cuBLASLt" CublasLtTypes::E4m3 { fast_accumulation: false }
        ], None, promoted_kernel fused_promoted_kernel;
    // cuBLASLt does not support products of two e5m2 matrices.
    E5m2: e5m2 as u8, f32, bf16 as u16, 0.05,
        |x| e5m2::from_f32(x).to_bits(), |bits| e5m2::from_bits(bits).to_f32().into(),
        |bits| bf16::from_bits(bits).to_f32(), |x| bf16::from_f32(x).to_bits(),
        [], None, promoted_kernel fused_promoted_kernel;
    S8: i8 as i8, i32, i32 as i32, 0.0,
        |x| (x * 30.0) as i8, |x| x.into(),
        |x| x as f32, |x| x as i32,
        ["cuBLASLt" CublasLtTypes::I8], None;
    // cuBLASLt does not support products of two u8 matrices. With magnitudes below 100, all sums up to k = 16384 are exact in f32.
    U8: u8 as u8, i32, i32 as i32, 0.0,
        |x| (x.abs() * 18.0) as u8, |x| x.into(),
        |x| x as f32, |x| x as i32,
        [], None;
}
