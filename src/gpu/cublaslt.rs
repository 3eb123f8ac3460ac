//! GEMMs computed by cuBLASLt, for comparison, using up to 16 algorithms that its heuristic suggests.

use std::{ffi::c_void, fmt, mem::MaybeUninit, sync::Arc};

use cudarc::{
    cublaslt::{
        result::{self, CublasError},
        sys,
    },
    driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, sys::CUstreamCaptureStatus},
};
use half::{bf16, f16};

/// An error that occurs when a GEMM is planned or run with cuBLASLt.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CublasLtError {
    /// The cuBLASLt library is not installed.
    #[error("cuBLASLt: the library could not be loaded")]
    Missing,
    /// cuBLASLt returned an error.
    #[error("cuBLASLt: {0}")]
    Call(#[from] CublasError),
    /// The context could not be made current, the workspace could not be allocated, or the stream could not be queried.
    #[error("cuBLASLt: the driver failed: {0}")]
    Workspace(#[from] DriverError),
    /// A buffer belongs to another context than the stream.
    #[error(
        "cuBLASLt: {matrix}: expected a buffer in the context of the stream, found one in another context"
    )]
    OtherContext {
        /// `A`, `B` or `D`.
        matrix: &'static str,
    },
    /// The size of a buffer differs from the planned size.
    #[error("cuBLASLt: {matrix}: expected {expected} elements, found {found}")]
    Length {
        /// `A`, `B`, `D` or `bias`.
        matrix: &'static str,
        /// The number of elements that the plan requires.
        expected: usize,
        /// The number of elements in the buffer.
        found: usize,
    },
    /// The stream is being captured into a graph, which would repeat the product after the buffers' borrows have ended.
    #[error(
        "cuBLASLt: expected a stream that is not being captured, found one that is captured into a graph"
    )]
    Captured,
    /// The index of the algorithm is out of bounds.
    #[error("cuBLASLt: expected an algorithm below {offered}, found {found}")]
    Algorithm {
        /// The number of algorithms.
        offered: usize,
        /// The index of the algorithm.
        found: usize,
    },
}

/// The maximum number of algorithms to request from the heuristic.
const ALGORITHMS: usize = 16;

/// The size of the workspace in bytes, as NVIDIA recommends for Hopper (cuBLAS documentation, "cublasSetWorkspace").
const WORKSPACE: usize = 32 << 20;

/// The order of an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The matrix is row-major.
    Normal,
    /// The matrix is column-major.
    Transposed,
}

/// The types of the operands, the accumulators and the result of a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CublasLtTypes {
    /// bf16, accumulated in f32.
    Bf16,
    /// f16, accumulated in f32.
    F16,
    /// f32, accumulated in f32 without tensor cores.
    F32,
    /// f32, reduced to tf32 in the tensor cores and accumulated in f32.
    Tf32,
    /// e4m3 operands without scales, accumulated in f32, with a bf16 result.
    E4m3 {
        /// Whether partial sums may stay in the tensor cores, with less precision than f32 (`CUBLASLT_MATMUL_DESC_FAST_ACCUM`).
        fast_accumulation: bool,
    },
    /// i8 operands, accumulated in i32, with an i32 result.
    I8,
}

impl CublasLtTypes {
    /// Returns the types of the operands and of the result, with their sizes in bytes.
    const fn elements(self) -> [(sys::cudaDataType_t, usize); 2] {
        use sys::cudaDataType_t::{
            CUDA_R_8F_E4M3, CUDA_R_8I, CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_32I,
        };
        match self {
            Self::Bf16 => [(CUDA_R_16BF, 2), (CUDA_R_16BF, 2)],
            Self::F16 => [(CUDA_R_16F, 2), (CUDA_R_16F, 2)],
            Self::F32 | Self::Tf32 => [(CUDA_R_32F, 4), (CUDA_R_32F, 4)],
            Self::E4m3 { .. } => [(CUDA_R_8F_E4M3, 1), (CUDA_R_16BF, 2)],
            Self::I8 => [(CUDA_R_8I, 1), (CUDA_R_32I, 4)],
        }
    }

    /// Returns the compute type, and the type of α and β.
    const fn sums(self) -> (sys::cublasComputeType_t, sys::cudaDataType_t) {
        use sys::{
            cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32I},
            cudaDataType_t::{CUDA_R_32F, CUDA_R_32I},
        };
        match self {
            Self::Bf16 | Self::F16 | Self::F32 | Self::E4m3 { .. } => (CUBLAS_COMPUTE_32F, CUDA_R_32F),
            Self::Tf32 => (CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F),
            Self::I8 => (CUBLAS_COMPUTE_32I, CUDA_R_32I),
        }
    }

    /// Returns the bytes of a number that is rounded to the type of the result.
    fn rounded(self, number: f32) -> Vec<u8> {
        match self {
            Self::Bf16 | Self::E4m3 { .. } => bf16::from_f32(number).to_ne_bytes().into(),
            Self::F16 => f16::from_f32(number).to_ne_bytes().into(),
            Self::F32 | Self::Tf32 => number.to_ne_bytes().into(),
            Self::I8 => (number.round_ties_even() as i32).to_ne_bytes().into(),
        }
    }

    /// Returns the bits of α = 1 and β = 0.
    const fn scales(self) -> [u32; 2] {
        match self {
            Self::I8 => [1, 0],
            _ => [1f32.to_bits(), 0],
        }
    }
}

mod sealed {
    /// Restricts [`CublasLtElement`](super::CublasLtElement) to types of which every bit pattern is valid.
    pub trait Sealed {}
}

/// An element type of the buffers of a [`CublasLtProduct`]: integers and floats of 8 to 32 bits, of which every bit pattern is valid.
pub trait CublasLtElement: sealed::Sealed {}

macro_rules! elements {
    ($($element:ty)*) => {$(
        impl sealed::Sealed for $element {}
        impl CublasLtElement for $element {}
    )*};
}

elements! { i8 u8 i16 u16 i32 u32 f32 half::bf16 half::f16 }

/// The operation that follows the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CublasLtEpilogue {
    /// D = A·B + bias (`CUBLASLT_EPILOGUE_BIAS`).
    Bias,
    /// D = relu(A·B + bias) (`CUBLASLT_EPILOGUE_RELU_BIAS`).
    ReluBias,
    /// D = gelu(A·B + bias) (`CUBLASLT_EPILOGUE_GELU_BIAS`).
    GeluBias,
}

impl CublasLtEpilogue {
    const fn value(self) -> sys::cublasLtEpilogue_t {
        match self {
            Self::Bias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS,
            Self::ReluBias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_RELU_BIAS,
            Self::GeluBias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU_BIAS,
        }
    }
}

/// A cuBLASLt object that is destroyed on drop.
struct Owned<T: Copy> {
    object: T,
    destroy: unsafe fn(T) -> Result<(), result::CublasError>,
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: only this value owns the object. If the call fails, the object is leaked.
        let _ = unsafe { (self.destroy)(self.object) };
    }
}

/// A planned GEMM, D = A·B, with a row-major D and an optional epilogue.
pub struct CublasLtProduct {
    types: CublasLtTypes,
    sizes: [usize; 3],
    // Destroyed in this order.
    layouts: [Owned<sys::cublasLtMatrixLayout_t>; 3],
    description: Owned<sys::cublasLtMatmulDesc_t>,
    handle: Owned<sys::cublasLtHandle_t>,
    algorithms: Vec<sys::cublasLtMatmulAlgo_t>,
    /// The bytes of the bias, to which the description points.
    bias: Option<CudaSlice<u8>>,
    workspace: CudaSlice<u8>,
    stream: Arc<CudaStream>,
}

impl CublasLtProduct {
    /// Plans D = A·B, where A is an m×k matrix and B is a k×n matrix.
    ///
    /// `orders` contains the memory orders of A and B.
    ///
    /// # Errors
    /// Returns an error if the library is missing, cuBLASLt offers no algorithm, or the 32 MiB workspace cannot be allocated.
    pub fn new(
        stream: &Arc<CudaStream>,
        types: CublasLtTypes,
        sizes: [usize; 3],
        orders: [Order; 2],
    ) -> Result<Self, CublasLtError> {
        Self::planned(stream, types, sizes, orders, None)
    }

    /// Plans D = f(A·B + bias) like [`new`](Self::new).
    ///
    /// `bias` contains one number for each column of D; the numbers are rounded to the type of D.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new), and an error if the length of the bias differs from the number of columns.
    pub fn with_epilogue(
        stream: &Arc<CudaStream>,
        types: CublasLtTypes,
        sizes @ [_, n, _]: [usize; 3],
        orders: [Order; 2],
        epilogue: CublasLtEpilogue,
        bias: &[f32],
    ) -> Result<Self, CublasLtError> {
        if bias.len() != n {
            return Err(CublasLtError::Length { matrix: "bias", expected: n, found: bias.len() });
        }
        let bytes: Vec<_> = bias.iter().flat_map(|&number| types.rounded(number)).collect();
        let bias = stream.clone_htod(&bytes)?;
        Self::planned(stream, types, sizes, orders, Some((epilogue, bias)))
    }

    fn planned(
        stream: &Arc<CudaStream>,
        types: CublasLtTypes,
        [m, n, k]: [usize; 3],
        [a, b]: [Order; 2],
        epilogue: Option<(CublasLtEpilogue, CudaSlice<u8>)>,
    ) -> Result<Self, CublasLtError> {
        use sys::{
            cublasLtMatmulDescAttributes_t as Attribute, cublasLtMatmulPreferenceAttributes_t as Preference,
        };
        let ([(factor, _), (result_type, _)], (sums, scale)) = (types.elements(), types.sums());
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(CublasLtError::Missing);
        }
        stream.context().bind_to_thread()?;
        let handle = Owned { object: result::create_handle()?, destroy: result::destroy_handle };
        let description = result::create_matmul_desc(sums, scale)?;
        let description = Owned { object: description, destroy: result::destroy_matmul_desc };
        // cuBLAS is column-major and reads a row-major matrix as its transpose, so it computes Dᵀ = Bᵀ·Aᵀ.
        let transposed = |order: Order| u32::from(order == Order::Transposed);
        for (attribute, value) in [
            (Attribute::CUBLASLT_MATMUL_DESC_TRANSA, transposed(b)),
            (Attribute::CUBLASLT_MATMUL_DESC_TRANSB, transposed(a)),
        ] {
            // SAFETY: the attributes are 32-bit enumerations.
            unsafe {
                result::set_matmul_desc_attribute(description.object, attribute, (&raw const value).cast(), 4)
            }?;
        }
        if let CublasLtTypes::E4m3 { fast_accumulation } = types {
            let fast = i8::from(fast_accumulation);
            let attribute = Attribute::CUBLASLT_MATMUL_DESC_FAST_ACCUM;
            // SAFETY: the attribute is an 8-bit integer.
            unsafe {
                result::set_matmul_desc_attribute(description.object, attribute, (&raw const fast).cast(), 1)
            }?;
        }
        if let Some((epilogue, bias)) = &epilogue {
            let (value, (address, _guard)) = (epilogue.value(), bias.device_ptr(stream));
            // cuBLASLt adds the bias to each column of Dᵀ, which is a row of D. By default, its elements have the type of D.
            // SAFETY: the attributes are a 32-bit enumeration and a 64-bit pointer.
            unsafe {
                let (attribute, value) =
                    (Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, (&raw const value).cast());
                result::set_matmul_desc_attribute(description.object, attribute, value, 4)?;
                let (attribute, value) =
                    (Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, (&raw const address).cast());
                result::set_matmul_desc_attribute(description.object, attribute, value, 8)
            }?;
        }
        let layout = |element, rows: usize, cols: usize, order: Order| {
            let (rows, cols) = if order == Order::Normal { (rows, cols) } else { (cols, rows) };
            result::create_matrix_layout(element, cols as u64, rows as u64, cols as i64)
                .map(|object| Owned { object, destroy: result::destroy_matrix_layout })
        };
        let layouts =
            [layout(factor, k, n, b)?, layout(factor, m, k, a)?, layout(result_type, m, n, Order::Normal)?];
        let preference =
            Owned { object: result::create_matmul_pref()?, destroy: result::destroy_matmul_pref };
        let mut found = [MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::zeroed(); ALGORITHMS];
        let mut count = 0;
        // SAFETY: all handles are live, and `found` has space for the requested number of results.
        let status = unsafe {
            result::set_matmul_pref_attribute(
                preference.object,
                Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                std::ptr::from_ref(&WORKSPACE).cast(),
                size_of::<usize>(),
            )?;
            let [b, a, d] = layouts.each_ref().map(|layout| layout.object);
            sys::cublasLtMatmulAlgoGetHeuristic(
                handle.object,
                description.object,
                b,
                a,
                d,
                d,
                preference.object,
                ALGORITHMS as i32,
                found.as_mut_ptr().cast(),
                &raw mut count,
            )
        };
        status.result()?;
        // SAFETY: cuBLASLt wrote the first `count` results.
        let found = found[..count as usize].iter().map(|found| unsafe { found.assume_init() });
        let usable = found.filter(|found| found.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        let algorithms = usable.map(|found| found.algo).collect();
        let workspace = stream.alloc_zeros(WORKSPACE)?;
        Ok(Self {
            types,
            sizes: [m, n, k],
            layouts,
            description,
            handle,
            algorithms,
            bias: epilogue.map(|(_, bias)| bias),
            workspace,
            stream: Arc::clone(stream),
        })
    }

    /// Returns the number of algorithms.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Returns the version of the library, such as 130100.
    ///
    /// # Errors
    /// Returns an error if the library is missing.
    pub fn version() -> Result<usize, CublasLtError> {
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(CublasLtError::Missing);
        }
        // SAFETY: the function has no preconditions.
        Ok(unsafe { sys::cublasLtGetVersion() })
    }

    /// Queues the GEMM with the algorithm at index `algorithm`; index 0 is the heuristic's first choice.
    ///
    /// The contents of the buffers are interpreted as elements of the planned types.
    ///
    /// # Errors
    /// Returns an error if a buffer belongs to another context or its size differs from the planned size, if `algorithm` is out of bounds,
    /// if the stream is being captured into a graph, or if cuBLASLt fails.
    pub fn run<T: CublasLtElement, D: CublasLtElement>(
        &mut self,
        algorithm: usize,
        a: &CudaSlice<T>,
        b: &CudaSlice<T>,
        d: &mut CudaSlice<D>,
    ) -> Result<(), CublasLtError> {
        let ([m, n, k], [(_, factor), (_, result)]) = (self.sizes, self.types.elements());
        for (matrix, context, expected, found) in [
            ("A", a.context(), [m, k], a.num_bytes() / factor),
            ("B", b.context(), [k, n], b.num_bytes() / factor),
            ("D", d.context(), [m, n], d.num_bytes() / result),
        ] {
            if context != self.stream.context() {
                return Err(CublasLtError::OtherContext { matrix });
            }
            // If the product overflows, it becomes a size that no buffer has.
            let expected = expected[0].saturating_mul(expected[1]);
            if expected != found {
                return Err(CublasLtError::Length { matrix, expected, found });
            }
        }
        let offered = self.algorithms.len();
        let algorithm =
            self.algorithms.get(algorithm).ok_or(CublasLtError::Algorithm { offered, found: algorithm })?;
        if self.stream.capture_status()? != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
            return Err(CublasLtError::Captured);
        }
        let [one, zero] = self.types.scales();
        let [b_layout, a_layout, d_layout] = self.layouts.each_ref().map(|layout| layout.object);
        let (a, _a) = a.device_ptr(&self.stream);
        let (b, _b) = b.device_ptr(&self.stream);
        let (d, _d) = d.device_ptr_mut(&self.stream);
        let _bias = self.bias.as_ref().map(|bias| bias.device_ptr(&self.stream));
        let (workspace, _workspace) = self.workspace.device_ptr_mut(&self.stream);
        // SAFETY: the buffers are in the context of the stream and have the sizes of the layouts, as checked above, all bit patterns of
        // `D` are valid, the bias has one element for each column, as checked when it was planned, and their guards order accesses to
        // them; `self` owns everything else.
        unsafe {
            result::matmul(
                self.handle.object,
                self.description.object,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                b as *const c_void,
                b_layout,
                a as *const c_void,
                a_layout,
                d as *const c_void,
                d_layout,
                d as *mut c_void,
                d_layout,
                std::ptr::from_ref(algorithm),
                workspace as *mut c_void,
                WORKSPACE,
                self.stream.cu_stream().cast(),
            )
        }?;
        Ok(())
    }
}

impl fmt::Debug for CublasLtProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [m, n, k] = self.sizes;
        let (types, count) = (self.types, self.algorithms.len());
        write!(f, "{types:?} product of {m}×{k} and {k}×{n} with {count} algorithms")
    }
}
