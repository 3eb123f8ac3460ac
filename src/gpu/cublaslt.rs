//! Products of matrices by cuBLASLt, to compare with: all algorithms that its heuristic offers.

use std::{ffi::c_void, fmt, mem::MaybeUninit, sync::Arc};

use cudarc::{
    cublaslt::{
        result::{self, CublasError},
        sys,
    },
    driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError},
};

/// An error of cuBLASLt, or of the driver while a product is planned.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CublasLtError {
    /// The library cuBLASLt is not on the machine.
    #[error("cuBLASLt: the library could not be loaded")]
    Missing,
    /// cuBLASLt returned an error.
    #[error("cuBLASLt: {0}")]
    Call(#[from] CublasError),
    /// The workspace could not be allocated.
    #[error("cuBLASLt: the driver could not allocate the workspace: {0}")]
    Workspace(#[from] DriverError),
    /// A buffer has another size than the product was planned for.
    #[error("cuBLASLt: {matrix}: expected {expected} elements, found {found}")]
    Length {
        /// A, B or D.
        matrix: &'static str,
        /// The number of elements that the plan requires.
        expected: usize,
        /// The number of elements in the buffer.
        found: usize,
    },
    /// There is no algorithm with this number.
    #[error("cuBLASLt: expected an algorithm below {offered}, found {found}")]
    Algorithm {
        /// The number of algorithms.
        offered: usize,
        /// The number given.
        found: usize,
    },
}

/// The number of algorithms to ask for.
const ALGORITHMS: usize = 16;

/// The workspace in bytes, as NVIDIA recommends for Hopper (cuBLAS documentation, "cublasSetWorkspace").
const WORKSPACE: usize = 32 << 20;

/// The order of a factor in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The matrix is row-major.
    Normal,
    /// The transpose is row-major.
    Transposed,
}

/// A planned product D = A·B of bf16 matrices, accumulated in f32; D is row-major.
pub struct CublasLtProduct {
    sizes: [usize; 3],
    handle: sys::cublasLtHandle_t,
    description: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithms: Vec<sys::cublasLtMatmulAlgo_t>,
    workspace: CudaSlice<u8>,
    stream: Arc<CudaStream>,
}

impl CublasLtProduct {
    /// Plans D = A·B for A m×k and B k×n in these orders.
    ///
    /// # Errors
    /// If the library is missing, cuBLASLt offers no algorithm, or the workspace of 32 MiB cannot be allocated.
    pub fn new(
        stream: &Arc<CudaStream>,
        [m, n, k]: [usize; 3],
        [a, b]: [Order; 2],
    ) -> Result<Self, CublasLtError> {
        use sys::{
            cublasLtMatmulDescAttributes_t as Attribute, cublasLtMatmulPreferenceAttributes_t as Preference,
        };
        let bf16 = sys::cudaDataType_t::CUDA_R_16BF;
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(CublasLtError::Missing);
        }
        stream.context().bind_to_thread()?;
        let handle = result::create_handle()?;
        let description = result::create_matmul_desc(
            sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            sys::cudaDataType_t::CUDA_R_32F,
        )?;
        // cuBLAS is column-major: it computes Dᵀ = Bᵀ·Aᵀ, where a row-major matrix is its own transpose.
        let transposed = |order: Order| u32::from(order == Order::Transposed);
        for (attribute, value) in [
            (Attribute::CUBLASLT_MATMUL_DESC_TRANSA, transposed(b)),
            (Attribute::CUBLASLT_MATMUL_DESC_TRANSB, transposed(a)),
        ] {
            // SAFETY: the attributes are 32-bit enumerations.
            unsafe {
                result::set_matmul_desc_attribute(description, attribute, (&raw const value).cast(), 4)
            }?;
        }
        let layout = |rows: usize, cols: usize, order: Order| {
            let (rows, cols) = if order == Order::Normal { (rows, cols) } else { (cols, rows) };
            result::create_matrix_layout(bf16, cols as u64, rows as u64, cols as i64)
        };
        let layouts = [layout(k, n, b)?, layout(m, k, a)?, layout(m, n, Order::Normal)?];
        let preference = result::create_matmul_pref()?;
        let mut found = [MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::zeroed(); ALGORITHMS];
        let mut count = 0;
        // SAFETY: all handles are live, and `found` has room for as many results as requested.
        let status = unsafe {
            result::set_matmul_pref_attribute(
                preference,
                Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                std::ptr::from_ref(&WORKSPACE).cast(),
                size_of::<usize>(),
            )?;
            let [b, a, d] = layouts;
            let status = sys::cublasLtMatmulAlgoGetHeuristic(
                handle,
                description,
                b,
                a,
                d,
                d,
                preference,
                ALGORITHMS as i32,
                found.as_mut_ptr().cast(),
                &raw mut count,
            );
            result::destroy_matmul_pref(preference)?;
            status
        };
        status.result()?;
        // SAFETY: cuBLASLt wrote the first `count` results.
        let found = found[..count as usize].iter().map(|found| unsafe { found.assume_init() });
        let usable = found.filter(|found| found.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        let algorithms = usable.map(|found| found.algo).collect();
        let workspace = stream.alloc_zeros(WORKSPACE)?;
        Ok(Self {
            sizes: [m, n, k],
            handle,
            description,
            layouts,
            algorithms,
            workspace,
            stream: Arc::clone(stream),
        })
    }

    /// Returns the number of algorithms.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Queues the product with an algorithm, the default being 0. The elements are the bits of bf16.
    ///
    /// # Errors
    /// If a buffer has another size than planned, or cuBLASLt fails.
    pub fn run(
        &mut self,
        algorithm: usize,
        a: &CudaSlice<u16>,
        b: &CudaSlice<u16>,
        d: &mut CudaSlice<u16>,
    ) -> Result<(), CublasLtError> {
        let [m, n, k] = self.sizes;
        for (matrix, expected, found) in
            [("A", [m, k], a.len()), ("B", [k, n], b.len()), ("D", [m, n], d.len())]
        {
            // No buffer has as many elements as a product that overflows.
            let expected = expected[0].saturating_mul(expected[1]);
            if expected != found {
                return Err(CublasLtError::Length { matrix, expected, found });
            }
        }
        let offered = self.algorithms.len();
        let algorithm =
            self.algorithms.get(algorithm).ok_or(CublasLtError::Algorithm { offered, found: algorithm })?;
        let (one, zero) = (1.0f32, 0.0f32);
        let [b_layout, a_layout, d_layout] = self.layouts;
        let (a, _a) = a.device_ptr(&self.stream);
        let (b, _b) = b.device_ptr(&self.stream);
        let (d, _d) = d.device_ptr_mut(&self.stream);
        let (workspace, _workspace) = self.workspace.device_ptr_mut(&self.stream);
        // SAFETY: the buffers have the sizes of the layouts, as checked above, and their guards order the work on them; everything else is
        // owned by `self`.
        unsafe {
            result::matmul(
                self.handle,
                self.description,
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
        write!(f, "product of {m}×{k} and {k}×{n} with {} algorithms", self.algorithms.len())
    }
}

impl Drop for CublasLtProduct {
    fn drop(&mut self) {
        // SAFETY: each handle is destroyed once. A failure leaves it to the end of the process.
        unsafe {
            for layout in self.layouts {
                let _ = result::destroy_matrix_layout(layout);
            }
            let _ = result::destroy_matmul_desc(self.description);
            let _ = result::destroy_handle(self.handle);
        }
    }
}
