//! Textures and surfaces.

use crate::program::code::{D, R, Reg};

/// How an instruction sees an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The dimensions of a slice, layer or face.
    pub(crate) dimensions: usize,
    /// The first operand is the number of a layer, or of a cube.
    pub(crate) layered: bool,
    /// Coordinates are a direction.
    pub(crate) cube: bool,
}

impl Geometry {
    /// Returns the number of coordinates, without the layer.
    pub(crate) fn coordinates(self) -> usize {
        if self.cube { 3 } else { self.dimensions }
    }
}

/// `tex`, `tld4`.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) geometry: Geometry,
    pub(crate) texture: D,
    pub(crate) layer: Option<R>,
    pub(crate) coordinates: Box<[R]>,
    /// The coordinates are indices of texels.
    pub(crate) by_index: bool,
    /// The channel of four neighbors that `tld4` returns.
    pub(crate) gathered: Option<u8>,
    pub(crate) d: [R; 4],
    /// Hold the channels of a texel.
    pub(crate) temporaries: [D; 4],
}

/// What happens to surface accesses outside of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It is an error.
    Trap,
    /// The nearest texel is accessed.
    Clamp,
    /// Loads are 0, stores do nothing.
    Zero,
}

/// `suld.b`, `sust.b`.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceAccess {
    pub(crate) geometry: Geometry,
    pub(crate) surface: D,
    pub(crate) layer: Option<R>,
    /// The first is in bytes.
    pub(crate) coordinates: Box<[R]>,
    pub(crate) outside: Outside,
    pub(crate) stores: bool,
    /// The bytes of an element.
    pub(crate) bytes: u8,
    /// The registers have 16 bits.
    pub(crate) half: bool,
    /// One register for each element.
    pub(crate) regs: Box<[Reg]>,
}
