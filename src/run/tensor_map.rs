//! Tensor maps as arguments: a tensor in a buffer, encoded by the launch.

mod buffer_box;
mod mapped;

#[cfg(feature = "cuda")]
use crate::gpu;
use crate::ptx::{Entry, ParamKind, SwizzleMode};
#[cfg(feature = "sim")]
use crate::sim;

use super::{
    error::RunError,
    plan::{Seen, parameter_name},
};

pub(super) use buffer_box::{BufferBox, STAND_IN_BYTES, buffer_box};
pub use mapped::Mapped;

/// A tensor in a buffer, and the box that one copy moves.
///
/// Dimension 0 is the innermost dimension; its elements are adjacent.
///
/// [`of`](Self::of) returns an argument for a [`TensorMap`](crate::ptx::TensorMap) parameter; the launch checks that the buffer contains
/// the tensor, and encodes the map.
///
/// ```
/// use warpwright::{prelude::*, ptx::{Hints, TensorMap}, run::{Device, Simulator, TensorBox}};
///
/// // The 16×8 box at (16, 8) of a matrix with 20 rows of 40 elements.
/// let kernel = Kernel::<(TensorMap<In<f32>>, Out<f32>)>::build("corner(x, y)", Target::SM_90, |k, (x, y)| {
///     let block = k.block([128]);
///     k.grid([1]);
///     let (tile, full) = (k.shared_aligned::<f32>(16 * 8, 128), k.mbarriers(1));
///     k.if_(block.thread().eq(0), || {
///         full.init(1);
///         k.fence_mbarrier_init();
///         full.arrive_expect_tx(16 * 8 * 4);
///         x.load(tile, [16, 8], full, Hints::default());
///     });
///     block.sync();
///     full.wait(0);
///     k.slice(y, 128).at(block.thread()).store(tile.at(block.thread()).load());
/// })?;
/// let device = Simulator::new();
/// let x = device.upload(&(0..800).map(|i| i as f32).collect::<Vec<_>>())?;
/// let mut y = device.output::<f32>(128)?;
/// device.launch(&kernel, (TensorBox::new([40, 20], [16, 8]).of(&x), &mut y))?;
/// assert_eq!(device.download(&y)?[..2], [336.0, 337.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "CUtensorMap")]
#[doc(alias = "cuTensorMapEncodeTiled")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorBox {
    /// The number of elements along each dimension, from 1 to 2³². There are 1 to 5 dimensions, or 3 to 5 in im2col mode.
    pub dims: Vec<u64>,
    /// The strides in elements along dimensions 1 and up. In bytes, they must be multiples of 16 and less than 2⁴⁰.
    pub strides: Vec<u64>,
    /// The number of elements of the box along each dimension, from 1 to 256. The size of a box row must be a multiple of 16 bytes.
    pub box_dims: Vec<u32>,
    /// The distance between copied elements along each dimension, from 1 to 8. It must be 1 along dimension 0, where the GPU always copies
    /// adjacent elements.
    pub element_strides: Vec<u32>,
    /// The swizzle in shared memory. A box row must not be longer than the swizzle span of 32, 64 or 128 bytes.
    pub swizzle: SwizzleMode,
    /// Whether out-of-bounds floating-point elements are read as NaN instead of zero.
    pub nan_fill: bool,
    /// The pixels that one copy moves in im2col mode, or `None` in tiled mode. In im2col mode, the first entry of `box_dims` is the number
    /// of channels that one copy moves per pixel, and the other entries are 1.
    pub column: Option<PixelColumn>,
}

/// The pixels that one copy in im2col mode moves (PTX ISA, "Im2col mode").
///
/// The innermost dimension of the tensor is the channel, followed by one to three spatial dimensions and the image. The coordinates of a
/// copy select its first pixel, which must be in the bounding box. From there, the copy moves `pixels` consecutive pixels of the bounding
/// boxes of the images.
///
/// For parameters that a kernel may write, the bounding box must be inside the image, because the GPU aborts stores through any other
/// bounding box (observed on an H100).
#[doc(alias = "im2col")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PixelColumn {
    /// For each spatial dimension, the first pixel of the bounding box, as an offset from the first pixel of the image. For a convolution,
    /// this is the negated padding.
    pub lower_corner: Vec<i32>,
    /// For each spatial dimension, the last pixel of the bounding box, as an offset from the last pixel of the image.
    pub upper_corner: Vec<i32>,
    /// The number of pixels, from 1 to 1024.
    pub pixels: u32,
}

impl PixelColumn {
    /// Returns whether the bounding box extends past the images.
    fn is_padded(&self) -> bool {
        self.lower_corner.iter().any(|&lower| lower < 0) || self.upper_corner.iter().any(|&upper| upper > 0)
    }
}

impl TensorBox {
    /// Creates a `TensorBox` for a contiguous tensor, without a swizzle.
    pub fn new(dims: impl Into<Vec<u64>>, box_dims: impl Into<Vec<u32>>) -> Self {
        let (dims, box_dims) = (dims.into(), box_dims.into());
        let mut strides: Vec<u64> = Vec::with_capacity(dims.len());
        for dim in dims.iter().take(dims.len().saturating_sub(1)) {
            strides.push(strides.last().unwrap_or(&1).saturating_mul(*dim));
        }
        let element_strides = vec![1; dims.len()];
        Self {
            dims,
            strides,
            box_dims,
            element_strides,
            swizzle: SwizzleMode::None,
            nan_fill: false,
            column: None,
        }
    }

    /// Creates a `TensorBox` for im2col copies of a contiguous tensor of images, without a swizzle. Each copy moves `channels` channels of
    /// the pixels that `column` describes.
    ///
    /// ```
    /// use warpwright::run::{PixelColumn, TensorBox};
    ///
    /// // 8 images of 20×30 pixels with 16 channels, for a convolution with 3×3 filters and a padding of 1: a copy moves 64 pixels.
    /// let column = PixelColumn { lower_corner: vec![-1; 2], upper_corner: vec![-1; 2], pixels: 64 };
    /// let images = TensorBox::im2col([16, 30, 20, 8], 16, column);
    /// assert_eq!(images.box_dims, [16, 1, 1, 1]);
    /// ```
    #[doc(alias = "cuTensorMapEncodeIm2col")]
    pub fn im2col(dims: impl Into<Vec<u64>>, channels: u32, column: PixelColumn) -> Self {
        let dims = dims.into();
        let mut box_dims = vec![1; dims.len()];
        if let Some(first) = box_dims.first_mut() {
            *first = channels;
        }
        Self { column: Some(column), ..Self::new(dims, box_dims) }
    }

    /// Sets the strides in elements along dimensions 1 and up.
    #[must_use]
    pub fn strides(self, strides: impl Into<Vec<u64>>) -> Self {
        Self { strides: strides.into(), ..self }
    }

    /// Sets the swizzle in shared memory.
    #[must_use]
    pub fn swizzle(self, swizzle: SwizzleMode) -> Self {
        Self { swizzle, ..self }
    }

    /// Returns a launch argument for this tensor, which begins at the start of `buffer`.
    ///
    /// Pass `&Buffer<T>` for `TensorMap<In<T>>`, and `&mut Buffer<T>` for `TensorMap<Out<T>>` and `TensorMap<InOut<T>>`.
    pub fn of<B>(self, buffer: B) -> Mapped<B> {
        Mapped { tensor: self, buffer }
    }

    /// Returns the strides in bytes, and the number of bytes from the first to the last element, inclusive, or `None` on overflow.
    fn bytes(&self, element_bytes: u32) -> Option<(Vec<u64>, u64)> {
        let size = u64::from(element_bytes);
        let strides: Option<Vec<u64>> = self.strides.iter().map(|stride| stride.checked_mul(size)).collect();
        let strides = strides?;
        let steps = [size].into_iter().chain(strides.iter().copied());
        let spans = self.dims.iter().zip(steps).map(|(dim, step)| dim.saturating_sub(1).checked_mul(step));
        let span = spans.into_iter().try_fold(size, |sum, span| sum.checked_add(span?))?;
        Some((strides, span))
    }

    /// Checks the map of parameter `index` against the buffer and against the kernel's use of the map.
    pub(super) fn check(&self, entry: &Entry, index: usize, buffer: Seen) -> Result<(), RunError> {
        let refuse = |why| Err(refusal(entry, index, why));
        let Some(param) = entry.params.get(index) else { return Ok(()) };
        let mode = |im2col| if im2col { "in im2col mode" } else { "in tiled mode" };
        for used in entry.map_uses.iter().filter(|used| used.parameter == index) {
            if used.im2col != self.column.is_some() {
                let (expected, found) = (mode(used.im2col), mode(self.column.is_some()));
                return refuse(format!("expected a tensor map {expected}, found one {found}"));
            }
            if used.rank != self.dims.len() {
                return refuse(format!(
                    "expected a tensor map of {} dimensions, found {}",
                    used.rank,
                    self.dims.len()
                ));
            }
        }
        if self.strides.len() + 1 != self.dims.len() {
            return refuse(format!(
                "expected {} strides for {} dimensions, found {}",
                self.dims.len().saturating_sub(1),
                self.dims.len(),
                self.strides.len()
            ));
        }
        if let Some(&stride) = self.element_strides.first().filter(|&&stride| stride != 1) {
            return refuse(format!("expected an element stride of 1 along dimension 0, found {stride}"));
        }
        let row = self.dims.first().map_or(0, |dim| dim.saturating_mul(param.element_bytes.into()));
        if matches!(param.kind, ParamKind::TensorMap { written: true }) && !row.is_multiple_of(16) {
            return refuse(format!(
                "expected rows of a multiple of 16 bytes, because tensor copies write whole units of 16 bytes, found {row} bytes"
            ));
        }
        if let (ParamKind::TensorMap { written: true }, Some(column)) = (&param.kind, &self.column)
            && column.is_padded()
        {
            return refuse(format!(
                "expected a bounding box inside the images, because the GPU stores no padding, found the lower corner {:?} and the upper corner {:?}",
                column.lower_corner, column.upper_corner
            ));
        }
        let Some((_, bytes)) = self.bytes(param.element_bytes) else {
            return Err(RunError::ExtentOverflow {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, index),
            });
        };
        let Seen::Buffer { elements: found, .. } = buffer else { return Ok(()) };
        let expected = bytes.div_ceil(param.element_bytes.into());
        if found < expected {
            let (kernel, parameter) = (entry.name.clone(), parameter_name(entry, index));
            return Err(RunError::TooShort { kernel, parameter, expected, found });
        }
        Ok(())
    }

    /// Encodes the map of parameter `index` for a tensor at `address` in the simulator's memory.
    #[cfg(feature = "sim")]
    pub(super) fn simulated(&self, entry: &Entry, index: usize, address: u64) -> Result<[u8; 128], RunError> {
        use sim::{TensorSwizzle, TensorType as Ty};
        let element = &entry.params[index];
        let ty = match (element.element, element.element_bytes) {
            ("f16", _) => Ty::F16,
            ("bf16", _) => Ty::Bf16,
            ("f32" | "tf32", _) => Ty::F32,
            ("f64", _) => Ty::F64,
            ("i32", _) => Ty::S32,
            ("i64", _) => Ty::S64,
            (_, 1) => Ty::U8,
            (_, 2) => Ty::U16,
            (_, 4) => Ty::U32,
            _ => Ty::U64,
        };
        let tiled = sim::TensorMap {
            ty,
            address,
            dims: self.dims.clone(),
            strides: self.bytes(element.element_bytes).unwrap_or_default().0,
            tile: self.box_dims.clone(),
            element_strides: self.element_strides.clone(),
            swizzle: match self.swizzle {
                SwizzleMode::None => TensorSwizzle::None,
                SwizzleMode::B32 => TensorSwizzle::B32,
                SwizzleMode::B64 => TensorSwizzle::B64,
                SwizzleMode::B128 => TensorSwizzle::B128,
            },
            nan_fill: self.nan_fill,
        };
        let encoded = match self.column.clone() {
            None => tiled.encode(),
            Some(PixelColumn { lower_corner, upper_corner, pixels }) => {
                sim::Im2colMap::of(tiled, lower_corner, upper_corner, pixels).and_then(|map| map.encode())
            }
        };
        encoded.map_err(|why| refusal(entry, index, why.to_string()))
    }

    /// Encodes the map of parameter `index` for a tensor at `address` in the GPU's memory.
    #[cfg(feature = "cuda")]
    pub(super) fn encoded(
        &self,
        gpu: &gpu::Gpu,
        entry: &Entry,
        index: usize,
        address: u64,
    ) -> Result<gpu::TensorMap, RunError> {
        use gpu::{ElementType as Ty, L2Promotion, OutOfBounds, Swizzle};
        let param = &entry.params[index];
        let element = match (param.element, param.element_bytes) {
            ("f16", _) => Ty::F16,
            ("bf16", _) => Ty::Bf16,
            ("f32" | "tf32", _) => Ty::F32,
            ("f64", _) => Ty::F64,
            ("i32", _) => Ty::I32,
            ("i64", _) => Ty::I64,
            (_, 1) => Ty::U8,
            (_, 2) => Ty::U16,
            (_, 4) => Ty::U32,
            _ => Ty::U64,
        };
        let tensor = gpu::TiledTensor {
            address,
            element,
            dims: self.dims.clone(),
            strides: self.bytes(param.element_bytes).unwrap_or_default().0,
            box_dims: self.box_dims.clone(),
            element_strides: self.element_strides.clone(),
            swizzle: match self.swizzle {
                SwizzleMode::None => Swizzle::None,
                SwizzleMode::B32 => Swizzle::B32,
                SwizzleMode::B64 => Swizzle::B64,
                SwizzleMode::B128 => Swizzle::B128,
            },
            l2_promotion: L2Promotion::B128,
            out_of_bounds: if self.nan_fill { OutOfBounds::Nan } else { OutOfBounds::Zero },
        };
        let encoded = match self.column.clone() {
            None => gpu::TensorMap::encode(gpu, &tensor),
            Some(PixelColumn { lower_corner, upper_corner, pixels }) => {
                let images = gpu::Im2colTensor { tensor, lower_corner, upper_corner, pixels };
                gpu::TensorMap::encode_im2col(gpu, &images)
            }
        };
        encoded.map_err(|why| refusal(entry, index, why.to_string()))
    }
}

fn refusal(entry: &Entry, index: usize, why: String) -> RunError {
    RunError::TensorMap { kernel: entry.name.clone(), parameter: parameter_name(entry, index), why }
}
