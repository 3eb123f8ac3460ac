//! Tensor maps as arguments: a tensor in a buffer, encoded by the launch.

use arrayvec::ArrayVec;

#[cfg(feature = "cuda")]
use crate::gpu;
use crate::ptx::{Dim, Element, Entry, In, InOut, Out, ParamKind, SwizzleMode, TensorMap};
#[cfg(feature = "sim")]
use crate::sim;

use super::{
    argument::{Argument, Kind, Value, sealed::Sealed},
    buffer::Buffer,
    error::RunError,
    plan::parameter_name,
};

/// A tensor in a buffer, and the box that one copy moves. Dimension 0 is the innermost dimension, along which elements are adjacent.
///
/// [`of`](Self::of) converts it to an argument for a [`TensorMap`] parameter; the launch checks that the tensor is in the buffer, and
/// encodes the map. Launches on a [`Device`](super::Device) accept this argument; kernels loaded for an application's own streams do not.
///
/// ```
/// use warpwright::{prelude::*, ptx::{Hints, TensorMap}, run::{Device, Simulator, TensorBox}};
///
/// // The box at (16, 8) of a 40×20 matrix, whose rows have 40 elements.
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
    /// The number of elements along each dimension, from 1 to 2³². There are 1 to 5 dimensions.
    pub dims: Vec<u64>,
    /// The strides in elements along dimensions 1 and up. In bytes, they must be multiples of 16 and less than 2⁴⁰.
    pub strides: Vec<u64>,
    /// The number of elements of the box along each dimension, from 1 to 256. The length of a row must be a multiple of 16 bytes.
    pub box_dims: Vec<u32>,
    /// The distance between copied elements along each dimension, from 1 to 8; 1 if the elements are contiguous.
    pub element_strides: Vec<u32>,
    /// The swizzle in shared memory, whose width limits the rows of the box.
    pub swizzle: SwizzleMode,
    /// Whether floating-point elements that are out of bounds are NaN instead of zero.
    pub nan_fill: bool,
}

impl TensorBox {
    /// Returns a contiguous tensor and a box without a swizzle.
    pub fn new(dims: impl Into<Vec<u64>>, box_dims: impl Into<Vec<u32>>) -> Self {
        let (dims, box_dims) = (dims.into(), box_dims.into());
        let mut strides: Vec<u64> = Vec::with_capacity(dims.len());
        for dim in dims.iter().take(dims.len().saturating_sub(1)) {
            strides.push(strides.last().unwrap_or(&1).saturating_mul(*dim));
        }
        let element_strides = vec![1; dims.len()];
        Self { dims, strides, box_dims, element_strides, swizzle: SwizzleMode::None, nan_fill: false }
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

    /// Returns the argument: this tensor at the start of `buffer`. Pass `&Buffer<T>` for `TensorMap<In<T>>`, and `&mut Buffer<T>` for
    /// `TensorMap<Out<T>>` and `TensorMap<InOut<T>>`.
    pub fn of<B>(self, buffer: B) -> Mapped<B> {
        Mapped { tensor: self, buffer }
    }

    /// Returns the strides in bytes, and the bytes from the first to the last element; `None` on overflow.
    fn bytes(&self, element_bytes: u32) -> Option<(Vec<u64>, u64)> {
        let size = u64::from(element_bytes);
        let strides: Option<Vec<u64>> = self.strides.iter().map(|stride| stride.checked_mul(size)).collect();
        let strides = strides?;
        let steps = [size].into_iter().chain(strides.iter().copied());
        let spans = self.dims.iter().zip(steps).map(|(dim, step)| dim.saturating_sub(1).checked_mul(step));
        let span = spans.into_iter().try_fold(size, |sum, span| sum.checked_add(span?))?;
        Some((strides, span))
    }

    /// Checks the map of parameter `index` against the kernel's use of it and a buffer of `elements` elements.
    pub(super) fn check(&self, entry: &Entry, index: usize, elements: usize) -> Result<(), RunError> {
        let refuse = |why| Err(refusal(entry, index, why));
        let Some(param) = entry.params.get(index) else { return Ok(()) };
        for used in entry.map_uses.iter().filter(|used| used.parameter == index) {
            if used.im2col {
                return refuse("expected a tensor map in im2col mode, found one of boxes".into());
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
        let row = self.dims.first().map_or(0, |dim| dim.saturating_mul(param.element_bytes.into()));
        if matches!(param.kind, ParamKind::TensorMap { written: true }) && !row.is_multiple_of(16) {
            return refuse(format!(
                "expected rows of a multiple of 16 bytes, because tensor copies write whole units of 16 bytes, found {row} bytes"
            ));
        }
        let Some((_, bytes)) = self.bytes(param.element_bytes) else {
            return Err(RunError::ExtentOverflow {
                kernel: entry.name.clone(),
                parameter: parameter_name(entry, index),
            });
        };
        let (expected, found) = (bytes.div_ceil(param.element_bytes.into()), elements as u64);
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
        let map = sim::TensorMap {
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
        map.encode().map_err(|why| refusal(entry, index, why.to_string()))
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
        gpu::TensorMap::encode(gpu, &tensor).map_err(|why| refusal(entry, index, why.to_string()))
    }
}

/// The maximum number of dimensions of a tensor map.
const MOST_DIMS: usize = 5;

/// The tensor of a map that the launch creates and the kernel's box. It determines the map: kernels with the same text share encoded maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BufferBox {
    /// The index of the map among those of the kernel.
    map: usize,
    /// The start address of the buffer.
    address: u64,
    /// The number of elements along each dimension.
    dims: ArrayVec<u64, MOST_DIMS>,
    /// The strides in elements along dimensions 1 and up.
    strides: ArrayVec<u64, MOST_DIMS>,
    /// The type of the elements, by its Rust name.
    element: &'static str,
    /// The elements of the box along each dimension.
    box_dims: ArrayVec<u32, MOST_DIMS>,
    /// The swizzle in shared memory.
    swizzle: SwizzleMode,
    /// Whether the tensor has no elements. It cannot have a map: the launch passes the map of one zero, or of one element that may be
    /// written, in memory that it allocates.
    pub(super) is_empty: bool,
}

/// The bytes of that memory: the zero in the first half, the written element in the second.
pub(super) const STAND_IN_BYTES: usize = 256;

impl BufferBox {
    /// Returns the index of the buffer's parameter.
    pub(super) fn parameter(&self, entry: &Entry) -> usize {
        entry.maps[self.map].parameter
    }

    /// Returns the address of the tensor, where `stand_in` is that of the memory for tensors without elements.
    pub(super) fn address(&self, entry: &Entry, stand_in: u64) -> u64 {
        let written = entry.params.get(self.parameter(entry)).is_some_and(|param| param.kind.is_written());
        match (self.is_empty, written) {
            (false, _) => self.address,
            (true, false) => stand_in,
            (true, true) => stand_in + STAND_IN_BYTES as u64 / 2,
        }
    }

    /// Returns the tensor with the box of the kernel.
    pub(super) fn tensor(&self) -> TensorBox {
        TensorBox {
            strides: self.strides.to_vec(),
            swizzle: self.swizzle,
            ..TensorBox::new(self.dims.to_vec(), self.box_dims.to_vec())
        }
    }
}

/// The maximum number of coordinates along a dimension: those of tensor copies are signed.
const MOST_COORDINATES: u64 = 1 << 31;

/// Evaluates map `index` of the kernel for a buffer at `address`; `parameter(i)` is the value of integer parameter `i`.
pub(super) fn buffer_box(
    entry: &Entry,
    index: usize,
    address: u64,
    parameter: &impl Fn(usize) -> u64,
) -> Result<BufferBox, RunError> {
    let map = &entry.maps[index];
    let evaluate = |dims: &[Dim]| -> Option<ArrayVec<u64, MOST_DIMS>> {
        dims.iter().map(|dim| dim.evaluate(parameter)).collect()
    };
    let refuse = |why: String| refusal(entry, map.parameter, why);
    let (Some(mut dims), Some(mut strides)) = (evaluate(&map.dims), evaluate(&map.strides)) else {
        return Err(refuse("expected extents of at most 64 bits".into()));
    };
    if let Some(found) = dims.iter().find(|&&dim| dim > MOST_COORDINATES) {
        return Err(refuse(format!(
            "expected at most {MOST_COORDINATES} coordinates along a dimension, found {found}"
        )));
    }
    let is_empty = dims.contains(&0);
    if is_empty {
        dims.fill(1);
    }
    let (element, size) =
        entry.params.get(map.parameter).map_or(("", 1), |param| (param.element, param.element_bytes.into()));
    for (stride, dim) in strides.iter_mut().zip(&dims[1..]) {
        if *dim == 1 {
            // There is no second coordinate, so any stride will do.
            *stride = (*stride * size).next_multiple_of(16).max(16) / size;
        } else if (*stride * size) % 16 != 0 {
            let bytes = *stride * size;
            return Err(refuse(format!(
                "expected rows that are a multiple of 16 bytes apart, found {bytes} bytes"
            )));
        }
    }
    let (box_dims, swizzle) = (map.box_dims.iter().copied().collect(), map.swizzle);
    Ok(BufferBox { map: index, address, dims, strides, element, box_dims, swizzle, is_empty })
}

fn refusal(entry: &Entry, index: usize, why: String) -> RunError {
    RunError::TensorMap { kernel: entry.name.clone(), parameter: parameter_name(entry, index), why }
}

/// A tensor in a buffer as an argument of a launch; [`TensorBox::of`] returns it.
#[derive(Debug)]
pub struct Mapped<B> {
    tensor: TensorBox,
    buffer: B,
}

impl<T: Element> Sealed<TensorMap<In<T>>> for Mapped<&Buffer<T>> {}

impl<T: Element> Argument<TensorMap<In<T>>> for Mapped<&Buffer<T>> {
    fn pass<'a>(self, to: &mut Vec<Value<'a>>)
    where
        Self: 'a,
    {
        to.push(Value(Kind::ReadMap(&self.buffer.store, self.buffer.len(), self.tensor)));
    }
}

macro_rules! written {
    ($($marker:ident)*) => {$(
        impl<T: Element> Sealed<TensorMap<$marker<T>>> for Mapped<&mut Buffer<T>> {}

        impl<T: Element> Argument<TensorMap<$marker<T>>> for Mapped<&mut Buffer<T>> {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                let elements = self.buffer.len();
                to.push(Value(Kind::WriteMap(&mut self.buffer.store, elements, self.tensor)));
            }
        }
    )*};
}

written! { Out InOut }
