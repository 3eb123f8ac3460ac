//! Textures and surfaces.

use crate::program::code::{D, R, Reg};

/// The geometry that an instruction assumes for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The number of dimensions of a slice, layer or face.
    pub(crate) dimensions: usize,
    /// Whether the first operand is the index of a layer or of a cube.
    pub(crate) layered: bool,
    /// Whether the coordinates are a direction, which selects a point on a cube.
    pub(crate) cube: bool,
}

impl Geometry {
    /// Returns the number of coordinates, without the layer.
    pub(crate) fn coordinates(self) -> usize {
        if self.cube { 3 } else { self.dimensions }
    }
}

/// `tex` or `tld4`.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) geometry: Geometry,
    pub(crate) texture: D,
    pub(crate) layer: Option<R>,
    pub(crate) coordinates: Box<[R]>,
    /// Whether the coordinates are indices of texels.
    pub(crate) by_index: bool,
    /// For `tld4`, the channel to return from the four neighbors.
    pub(crate) gathered: Option<u8>,
    pub(crate) d: [R; 4],
    /// Slots for the channels of a texel.
    pub(crate) temporaries: [D; 4],
}

/// How surface accesses outside the image are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// The access is an error.
    Trap,
    /// The nearest texel is accessed.
    Clamp,
    /// Loads return 0, and stores have no effect.
    Zero,
}

/// `suld.b` or `sust.b`.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceAccess {
    pub(crate) geometry: Geometry,
    pub(crate) surface: D,
    pub(crate) layer: Option<R>,
    /// The coordinates; the first is in bytes.
    pub(crate) coordinates: Box<[R]>,
    pub(crate) outside: Outside,
    pub(crate) stores: bool,
    /// The size of an element in bytes.
    pub(crate) bytes: u8,
    /// Whether the registers are 16 bits wide.
    pub(crate) half: bool,
    /// The registers, one for each element.
    pub(crate) regs: Box<[Reg]>,
}
