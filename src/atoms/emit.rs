//! Emits matrix instructions on register fragments.

use super::mma::{MmaAtom, MmaOperand, ScaleVector};
use crate::{
    atoms::mma_type::MmaType,
    ptx::{Addition, Builder, Scalar, Val},
};

/// The metadata that one lane provides for a sparse operand A. [`Sparsity`](super::Sparsity) defines the layout of its bits.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'k> {
    /// The register that contains the metadata.
    pub bits: Val<'k, u32>,
    /// Selects the lanes, in each group of four, whose registers are read. The selector must be less than
    /// [`Sparsity::selectors`](super::Sparsity::selectors).
    pub selector: u32,
}

/// The scales that one lane provides for A or B.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'k> {
    /// The register that contains the scales.
    pub bits: Val<'k, u32>,
    /// The index of the first scale byte in the register: 0 to 3 for one scale, 0 or 2 for two scales, and 0 for four scales.
    pub byte: u32,
    /// Selects the lanes, in each group of four, whose registers are read. For A, 0 selects lanes 0 and 1, and 1 selects lanes 2 and 3. For
    /// B, the value is the index of the selected lane, 0 to 3.
    pub thread: u32,
}

impl<'k> Builder<'k> {
    /// Emits the instruction of `atom`, which computes D = A·B + C, and returns the registers of this thread's fragment of D.
    /// [`MmaAtom::fragment`] specifies the elements of each register.
    ///
    /// Packed elements are passed as pairs ([`f16x2`](crate::ptx::f16x2), [`bf16x2`](crate::ptx::bf16x2)) or as bits (`u32`, `i32`,
    /// [`B32`](crate::ptx::B32)). tf32 elements are passed as [`tf32`](crate::ptx::tf32) or as bits. All lanes of the warp must execute the
    /// instruction, unless the atom is a single-thread atom.
    ///
    /// The builder rejects an incorrect number or type of registers, atoms that are not [emitted](MmaAtom::is_emitted), and sparse or
    /// block-scaled atoms.
    ///
    /// ```
    /// use warpwright::{atoms::mma_atom, prelude::*};
    /// let atom = mma_atom("SM80_16x8x8_F32TF32TF32F32_TN")?;
    /// let kernel = Kernel::<(Out<f32>,)>::build("ones(d)", Target::SM_80, |k, (d,)| {
    ///     k.block([32]);
    ///     k.grid([1]);
    ///     let one = Val::from(tf32::ONE);
    ///     let sums: Vec<Val<f32>> = k.mma(atom, &[one; 4], &[one; 2], &[Val::from(0.5f32); 4]);
    ///     k.slice(d, 32).at(k.tid_x()).store(sums[0]);
    /// })?;
    /// let device = warpwright::run::open_default();
    /// # use warpwright::run::Device;
    /// let mut d = device.output::<f32>(32)?;
    /// device.launch(&kernel, (&mut d,))?;
    /// assert_eq!(device.download(&d)?, [8.5; 32]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "fma!")]
    #[doc(alias = "mma.sync")]
    #[track_caller]
    pub fn mma<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        c: &[Val<'k, C>],
    ) -> Vec<Val<'k, D>> {
        self.checked_product(atom, (a, b, c), None, None)
    }

    /// Emits [`mma`](Self::mma) with a sparse A, whose registers contain the stored elements. The builder rejects dense or block-scaled
    /// atoms and selectors that are out of range.
    #[doc(alias = "mma.sp")]
    #[track_caller]
    pub fn mma_sparse<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        c: &[Val<'k, C>],
        metadata: Metadata<'k>,
    ) -> Vec<Val<'k, D>> {
        self.checked_product(atom, (a, b, c), Some(metadata), None)
    }

    /// Emits [`mma`](Self::mma) with block-scaled A and B. `scales` contains the scales of A and then those of B. The builder rejects
    /// sparse atoms, atoms without block scaling, and scales with a byte or thread out of range.
    ///
    /// The arithmetic has not been verified on hardware; see [`BlockScale`](super::BlockScale).
    #[doc(alias = "block_scale")]
    #[track_caller]
    pub fn mma_scaled<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        c: &[Val<'k, C>],
        scales: [Scale<'k>; 2],
    ) -> Vec<Val<'k, D>> {
        self.checked_product(atom, (a, b, c), None, Some(scales))
    }

    /// Emits [`mma`](Self::mma) with a sparse A and block-scaled A and B; see [`mma_sparse`](Self::mma_sparse) and
    /// [`mma_scaled`](Self::mma_scaled).
    ///
    /// The arithmetic has not been verified on hardware, and the simulator does not support these instructions; see
    /// [`BlockScale`](super::BlockScale).
    #[track_caller]
    pub fn mma_sparse_scaled<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
        c: &[Val<'k, C>],
        metadata: Metadata<'k>,
        scales: [Scale<'k>; 2],
    ) -> Vec<Val<'k, D>> {
        self.checked_product(atom, (a, b, c), Some(metadata), Some(scales))
    }

    /// Emits the instruction of `atom` with the registers of C as both C and D, so that it computes C += A·B.
    ///
    /// Inside an emitted loop, the innermost loop must carry the registers of C. The builder rejects later uses of their previous values,
    /// as well as the operands and atoms that [`mma`](Self::mma) rejects.
    #[track_caller]
    pub fn mma_in_place<A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        c: &mut [Val<'k, C>],
        a: &[Val<'k, A>],
        b: &[Val<'k, B>],
    ) {
        let d = fits::<C>(atom, MmaOperand::D, c.len());
        match d.and_then(|()| check(atom, (a, b, c), None, None)) {
            Ok(addition) => self.product_in_place(format_args!("{}", atom.mnemonic()), c, a, b, addition),
            Err(why) => self.refuse(why),
        }
    }

    /// Transposes a 2×2 block of words owned by two lanes, and returns this lane's row of the result.
    ///
    /// The indices of the two lanes differ only in the bit selected by the mask `lane_bit`, which must be a power of two. Each lane passes
    /// its row of the block as `row`. The lane whose index has this bit clear receives the first words of both rows, and the other lane
    /// receives the second words. All lanes of the warp must execute the emitted code.
    #[doc(alias = "SM50_Shuffle_U32_2x2Trans")]
    #[track_caller]
    pub fn transpose_2x2<T: Scalar>(self, row: [Val<'k, T>; 2], lane_bit: u32) -> [Val<'k, T>; 2] {
        let upper = (self.laneid() & lane_bit).ne(0);
        let received = self.shfl_bfly(upper.select(row[0], row[1]), lane_bit);
        [upper.select(received, row[0]), upper.select(row[1], received)]
    }

    #[track_caller]
    fn checked_product<D: Scalar, A: Scalar, B: Scalar, C: Scalar>(
        self,
        atom: &MmaAtom,
        (a, b, c): Factors<'_, 'k, A, B, C>,
        metadata: Option<Metadata<'k>>,
        scales: Option<[Scale<'k>; 2]>,
    ) -> Vec<Val<'k, D>> {
        let d = self.fresh_values(atom.registers(MmaOperand::D) as usize);
        match check(atom, (a, b, c), metadata, scales).and_then(|addition| {
            fits::<D>(atom, MmaOperand::D, d.len())?;
            Ok(addition)
        }) {
            Ok(addition) => self.product(format_args!("{}", atom.mnemonic()), &d, a, b, c, addition),
            Err(why) => self.refuse(why),
        }
        d
    }
}

/// A, B and C.
type Factors<'v, 'k, A, B, C> = (&'v [Val<'k, A>], &'v [Val<'k, B>], &'v [Val<'k, C>]);

/// Checks the operands against the atom and returns the instruction's additional operands, or an error message.
fn check<'k, A: Scalar, B: Scalar, C: Scalar>(
    atom: &MmaAtom,
    (a, b, c): Factors<'_, 'k, A, B, C>,
    metadata: Option<Metadata<'k>>,
    scales: Option<[Scale<'k>; 2]>,
) -> Result<Addition<'k>, String> {
    if !atom.is_emitted() {
        return Err(format!("`mma` does not support atom {atom}"));
    }
    fits::<A>(atom, MmaOperand::A, a.len())?;
    fits::<B>(atom, MmaOperand::B, b.len())?;
    fits::<C>(atom, MmaOperand::C, c.len())?;
    let sparse = sparse_operand(atom, metadata)?;
    let scales = match (atom.block_scale(), scales) {
        (None, None) => None,
        (Some(scale), Some([a, b])) => {
            check_scale(atom, "A", a, scale.vector(), 2)?;
            check_scale(atom, "B", b, scale.vector(), 4)?;
            Some([a, b].map(|scale| (scale.bits, [scale.byte, scale.thread])))
        }
        (Some(_), None) => return Err(format!("{atom}: expected scales of A and B, found none")),
        (None, Some(_)) => return Err(format!("{atom}: expected no scales, found scales")),
    };
    Ok(Addition { sparse, scales, bare: atom.group().threads() == 1 })
}

/// Returns the register and the selector of the metadata of a sparse A, `None` for a dense A, or an error message.
pub(super) fn sparse_operand<'k>(
    atom: &MmaAtom,
    metadata: Option<Metadata<'k>>,
) -> Result<Option<(Val<'k, u32>, u32)>, String> {
    match (atom.sparsity(), metadata) {
        (None, None) => Ok(None),
        (Some(sparsity), Some(Metadata { bits, selector })) if selector < sparsity.selectors() => {
            Ok(Some((bits, selector)))
        }
        (Some(sparsity), Some(Metadata { selector, .. })) => {
            Err(format!("{atom}: expected a selector below {}, found {selector}", sparsity.selectors()))
        }
        (Some(_), None) => Err(format!("{atom}: expected the metadata of a sparse A, found none")),
        (None, Some(_)) => Err(format!("{atom}: expected no metadata for a dense A, found metadata")),
    }
}

fn check_scale(
    atom: &MmaAtom,
    operand: &str,
    scale: Scale<'_>,
    vector: ScaleVector,
    threads: u32,
) -> Result<(), String> {
    let count = vector.count();
    if !scale.byte.is_multiple_of(count) || scale.byte > 4 - count {
        return Err(format!(
            "{atom}: expected a byte index valid for {count} scales of {operand}, found {}",
            scale.byte
        ));
    }
    if scale.thread >= threads {
        return Err(format!(
            "{atom}: expected a thread below {threads} for the scales of {operand}, found {}",
            scale.thread
        ));
    }
    Ok(())
}

/// Checks that `count` registers of type `T` match an operand.
pub(super) fn fits<T: Scalar>(atom: &MmaAtom, operand: MmaOperand, count: usize) -> Result<(), String> {
    let (ty, class, registers) =
        (atom.operand_type(operand), atom.register_class(operand), atom.registers(operand));
    let typed = match T::PTX {
        "f16" | "f16x2" => ty == MmaType::F16,
        "bf16" | "bf16x2" => ty == MmaType::Bf16,
        "tf32" => ty == MmaType::Tf32,
        "u32" | "s32" | "b32" | "f32" | "f64" => true,
        // A register of an 8-bit type contains one number; an operand's register contains four.
        _ => false,
    };
    if count == registers as usize && T::CLASS == class && typed {
        return Ok(());
    }
    let packed = match atom.per_register(operand) {
        1 => ty.to_string(),
        elements => format!("{ty}x{elements}"),
    };
    let (wanted, found) = (class.decl(), T::PTX);
    Err(format!(
        "{atom}: {operand:?}: expected {registers} registers `{wanted}` of {packed}, found {count} of {found}"
    ))
}
