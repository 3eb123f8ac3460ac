//! Layouts and tilings constructed in kernels. Errors in their construction are recorded as errors of the kernel.

use super::{element::TensorElement, error::TensorError, tiled_copy::TiledCopy, tiled_mma::TiledMma};
use crate::{
    atoms::{CopyAtom, MmaAtom, copy_atom, mma_atom},
    layout::{Layout, Tiler},
    ptx::Builder,
};

impl Builder<'_> {
    /// Parses a layout in CuTe notation, such as `(128,8):(1,129)`.
    ///
    /// The builder rejects text that is not a valid layout.
    #[track_caller]
    pub fn layout(self, text: &str) -> Layout {
        match text.parse() {
            Ok(layout) => layout,
            Err(error) => {
                self.refuse(format!("{error}"));
                Layout::concat([])
            }
        }
    }

    /// Creates a tiled copy of elements of type `T`, given the name of an atom and two layouts in CuTe notation; see [`TiledCopy::new`].
    ///
    /// For example: `k.tiled_copy::<f32>("UniversalCopy<u128>", "32:1", "4:1")`. The builder rejects invalid names and layouts.
    #[doc(alias = "make_tiled_copy")]
    #[track_caller]
    pub fn tiled_copy<T: TensorElement>(self, atom: &str, threads: &str, values: &str) -> TiledCopy {
        let (threads, values) = (self.layout(threads), self.layout(values));
        let bits = 8 * T::SIZE;
        self.tiled_copy_by(atom, bits, |atom| TiledCopy::new(atom, bits, &threads, &values))
    }

    /// Creates a tiled copy to operand A of `mma`, given the name of an atom; see [`TiledCopy::for_a`].
    #[doc(alias = "make_tiled_copy_A")]
    #[track_caller]
    pub fn tiled_copy_a<T: TensorElement>(self, atom: &str, mma: &TiledMma) -> TiledCopy {
        self.tiled_copy_by(atom, 8 * T::SIZE, |atom| TiledCopy::for_a(atom, 8 * T::SIZE, mma))
    }

    /// Creates a tiled copy to operand B of `mma`, given the name of an atom; see [`TiledCopy::for_b`].
    #[doc(alias = "make_tiled_copy_B")]
    #[track_caller]
    pub fn tiled_copy_b<T: TensorElement>(self, atom: &str, mma: &TiledMma) -> TiledCopy {
        self.tiled_copy_by(atom, 8 * T::SIZE, |atom| TiledCopy::for_b(atom, 8 * T::SIZE, mma))
    }

    /// Creates a tiled copy to or from the accumulator of `mma`, given the name of an atom; see [`TiledCopy::for_c`].
    #[doc(alias = "make_tiled_copy_C")]
    #[track_caller]
    pub fn tiled_copy_c<T: TensorElement>(self, atom: &str, mma: &TiledMma) -> TiledCopy {
        self.tiled_copy_by(atom, 8 * T::SIZE, |atom| TiledCopy::for_c(atom, 8 * T::SIZE, mma))
    }

    #[track_caller]
    fn tiled_copy_by(
        self,
        name: &str,
        bits: u32,
        make: impl FnOnce(&'static CopyAtom) -> Result<TiledCopy, TensorError>,
    ) -> TiledCopy {
        let made = copy_atom(name).map_err(|error| error.to_string());
        match made.and_then(|atom| make(atom).map_err(|error| error.to_string())) {
            Ok(copy) => copy,
            Err(error) => {
                self.refuse(error);
                one_element(bits)
            }
        }
    }

    /// Creates a tiled MMA, given the name of an atom and the layout of the atoms in CuTe notation; see [`TiledMma::new`].
    ///
    /// For example: `k.tiled_mma("UniversalFMA<f32>", "(32,8):(1,32)", ..)`. The builder rejects invalid names and layouts.
    #[doc(alias = "make_tiled_mma")]
    #[track_caller]
    pub fn tiled_mma(self, atom: &str, atoms: &str, permutation: impl Into<Tiler>) -> TiledMma {
        let atoms = self.layout(atoms);
        let made = mma_atom(atom).map_err(|error| error.to_string());
        let make = |atom: &'static MmaAtom| TiledMma::new(atom, &atoms, permutation);
        match made.and_then(|atom| make(atom).map_err(|error| error.to_string())) {
            Ok(mma) => mma,
            Err(error) => {
                self.refuse(error);
                one_multiplication()
            }
        }
    }
}

/// Returns the placeholder for a rejected tiled copy.
fn one_element(bits: u32) -> TiledCopy {
    let one = Layout::concat([]).append(1);
    let atom = copy_atom(&format!("UniversalCopy<u{bits}>")).ok();
    atom.and_then(|atom| TiledCopy::new(atom, bits, &one, &one).ok())
        .expect("one element by one thread, of a size that elements have")
}

/// Returns the placeholder for a rejected tiled MMA.
fn one_multiplication() -> TiledMma {
    let one = Layout::concat([]).append(1);
    let atom = mma_atom("UniversalFMA<f32>").ok();
    atom.and_then(|atom| TiledMma::new(atom, &one, ..).ok()).expect("one instruction by one thread")
}
