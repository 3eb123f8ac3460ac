//! Emitting matrix instructions on register fragments.

use super::mma::{MmaAtom, MmaOperand, ScaleVector};
use crate::{
    atoms::mma_type::MmaType,
    ptx::{Addition, Builder, Scalar, Val},
};

/// Metadata of a sparse A, as one lane holds it: [`Sparsity`](super::Sparsity) says which bits go where.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'k> {
    /// The register.
    pub bits: Val<'k, u32>,
    /// Whose registers count, of each four lanes: less than [`Sparsity::selectors`](super::Sparsity::selectors).
    pub selector: u32,
}

/// Scales of A or B, as one lane holds them.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'k> {
    /// The register.
    pub bits: Val<'k, u32>,
    /// Where the scales begin: any byte for one scale, 0 or 2 for two, 0 for four.
    pub byte: u32,
    /// Whose registers count, of each four lanes: 0 or 1 for A (lanes 0 and 1, or 2 and 3), 0 … 3 for B.
    pub thread: u32,
}

impl<'k> Builder<'k> {
    /// D = A·B + C on the fragments of one lane: [`MmaAtom::fragment`] says which elements the registers hold.
    ///
    /// Packed operands are pairs ([`f16x2`](crate::ptx::f16x2), [`bf16x2`](crate::ptx::bf16x2)), or bits
    /// (`u32`, `i32`, [`B32`](crate::ptx::B32)) for every type of up to 32 bits; tf32 is bits too. Too many or too few registers,
    /// or registers of another type, are an error of the caller's line.
    ///
    /// ```
    /// use warpwright::{atoms::mma_atom, prelude::*};
    /// let atom = mma_atom("SM80_16x8x8_F32TF32TF32F32_TN")?;
    /// let kernel = Kernel::<(Out<f32>,)>::build("ones(d)", Target::SM_80, |k, (d,)| {
    ///     k.block([32]);
    ///     k.grid([1]);
    ///     let one = Val::from(1.0f32.to_bits());
    ///     let sums: Vec<Val<f32>> = k.mma(atom, &[one; 4], &[one; 2], &[Val::from(0.5f32); 4]);
    ///     k.slice(d, 32).at(k.tid_x()).store(sums[0]);
    /// })?;
    /// let device = warpwright::run::first();
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

    /// [`mma`](Self::mma) with a sparse A, whose registers hold the elements that are stored.
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

    /// [`mma`](Self::mma) with A and B scaled in blocks. Its arithmetic is not verified: see [`BlockScale`](super::BlockScale).
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

    /// [`mma`](Self::mma) with a sparse A, and A and B scaled in blocks. Its arithmetic is not verified.
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

    /// C += A·B in C's own registers, which the innermost emitted loop must carry: older handles to them are refused.
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

    /// Transposes the 2×2 words that this lane and the one whose number differs in `lane_bit` hold, a row each: the lane
    /// without the bit gets both first words, the other both second ones.
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

/// Whether the instruction takes these operands, and what it takes besides.
fn check<'k, A: Scalar, B: Scalar, C: Scalar>(
    atom: &MmaAtom,
    (a, b, c): Factors<'_, 'k, A, B, C>,
    metadata: Option<Metadata<'k>>,
    scales: Option<[Scale<'k>; 2]>,
) -> Result<Addition<'k>, String> {
    if !atom.is_emitted() {
        return Err(format!("{atom}: kernels cannot emit it on registers"));
    }
    fits::<A>(atom, MmaOperand::A, a.len())?;
    fits::<B>(atom, MmaOperand::B, b.len())?;
    fits::<C>(atom, MmaOperand::C, c.len())?;
    let sparse = match (atom.sparsity(), metadata) {
        (None, None) => None,
        (Some(sparsity), Some(Metadata { bits, selector })) if selector < sparsity.selectors() => {
            Some((bits, selector))
        }
        (Some(sparsity), Some(Metadata { selector, .. })) => {
            return Err(format!(
                "{atom}: wanted a selector below {}, found {selector}",
                sparsity.selectors()
            ));
        }
        (Some(_), None) => return Err(format!("{atom}: wanted the metadata of a sparse A, found none")),
        (None, Some(_)) => return Err(format!("{atom}: wanted no metadata, as A is dense, but found some")),
    };
    let scales = match (atom.block_scale(), scales) {
        (None, None) => None,
        (Some(scale), Some([a, b])) => {
            check_scale(atom, "A", a, scale.vector(), 2)?;
            check_scale(atom, "B", b, scale.vector(), 4)?;
            Some([a, b].map(|scale| (scale.bits, [scale.byte, scale.thread])))
        }
        (Some(_), None) => return Err(format!("{atom}: wanted scales of A and B, found none")),
        (None, Some(_)) => return Err(format!("{atom}: wanted no scales, but found some")),
    };
    Ok(Addition { sparse, scales, bare: atom.group().threads() == 1 })
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
        return Err(format!("{atom}: wanted the byte of {count} scales of {operand}, found {}", scale.byte));
    }
    if scale.thread >= threads {
        return Err(format!(
            "{atom}: wanted a thread below {threads} for the scales of {operand}, found {}",
            scale.thread
        ));
    }
    Ok(())
}

/// Whether `count` registers of type `T` are an operand.
fn fits<T: Scalar>(atom: &MmaAtom, operand: MmaOperand, count: usize) -> Result<(), String> {
    let (ty, class, registers) =
        (atom.operand_type(operand), atom.register_class(operand), atom.registers(operand));
    let typed = match T::PTX {
        "f16" | "f16x2" => ty == MmaType::F16,
        "bf16" | "bf16x2" => ty == MmaType::Bf16,
        _ => true,
    };
    if count == registers as usize && T::CLASS == class && typed {
        return Ok(());
    }
    let (wanted, found) = (class.decl(), T::PTX);
    Err(format!("{atom}: {operand:?} is {registers} registers `{wanted}` of {ty}, found {count} of {found}"))
}
