//! Emits `wgmma.mma_async`.

use arrayvec::ArrayVec;

use super::{
    emit::{Metadata, fits, sparse_operand},
    mma::{Group, Major, MmaAtom, MmaOperand, Source},
    mma_type::MmaType,
};
use crate::ptx::{Builder, MatrixDescriptor, Scalar, Val, WgmmaA, WgmmaTail};

/// The options of a `wgmma`. By default, A·B is added to D, and both A and B are K-major.
#[derive(Clone, Copy, Debug)]
pub struct WgmmaOptions<'k> {
    /// Whether A·B is added to D (`scale-d`). If false, A·B replaces D, and D need not be initialized.
    pub accumulate: Val<'k, bool>,
    /// Whether A is negated. Only floating-point types can be negated.
    pub negate_a: bool,
    /// Whether B is negated. Only floating-point types can be negated.
    pub negate_b: bool,
    /// The storage order of A. 16-bit types in shared memory may be M-major.
    pub major_a: Major,
    /// The storage order of B. 16-bit types may be N-major.
    pub major_b: Major,
    /// The metadata of A, if A is sparse.
    pub metadata: Option<Metadata<'k>>,
}

impl Default for WgmmaOptions<'_> {
    fn default() -> Self {
        Self {
            accumulate: true.into(),
            negate_a: false,
            negate_b: false,
            major_a: Major::K,
            major_b: Major::K,
            metadata: None,
        }
    }
}

impl<'k> Builder<'k> {
    /// Emits the `wgmma` of `atom`, which computes D = A·B + D or, if `options.accumulate` is false, D = A·B.
    ///
    /// [`MmaAtom::fragment`] specifies the elements of each register. Operands in shared memory are passed as [`MatrixDescriptor`]s. All
    /// threads of the warpgroup must execute the instruction. Requires sm_90a.
    ///
    /// The instruction is asynchronous: D may be accessed only after a [commit](Self::wgmma_commit_group) and a
    /// [wait](Self::wgmma_wait_group). After writes to the registers of D or A, a [`wgmma_fence`](Self::wgmma_fence) is required before
    /// the `wgmma`.
    ///
    /// D must have registers of its own: allocate them with [`wgmma_accumulators`](Self::wgmma_accumulators), or carry them as loop state.
    /// The builder rejects a D that contains constants or registers that other values use. It also rejects registers, storage orders and
    /// negations that the atom does not support.
    ///
    /// ```
    /// use warpwright::{atoms::{WgmmaOptions, mma_atom}, prelude::*, ptx::{MatrixDescriptor, MatrixLayout, ProxySpace, SwizzleMode}};
    ///
    /// // A 64×8 product of matrices of ones with K = 16: every element is 16.
    /// let atom = mma_atom("SM90_64x8x16_F32BF16BF16_SS")?;
    /// let kernel = Kernel::<(Out<f32>,)>::build("ones(d)", Target::SM_90A, |k, (d,)| {
    ///     let block = k.block([128]);
    ///     k.grid([1]);
    ///     let ones = k.shared_aligned::<bf16>(64 * 16, 128);
    ///     k.for_(0..8u32, |i| ones.at(i * 128 + block.thread()).store(bf16::ONE));
    ///     k.fence_proxy_async(ProxySpace::Shared);
    ///     block.sync();
    ///     // Core matrices of 8×8 elements, along K first.
    ///     let layout = MatrixLayout { leading_bytes: 128, stride_bytes: 256, ..Default::default() };
    ///     let matrix = MatrixDescriptor::new(ones, layout);
    ///     let mut sums = k.wgmma_accumulators::<f32>(atom);
    ///     k.wgmma_fence();
    ///     let options = WgmmaOptions { accumulate: false.into(), ..Default::default() };
    ///     k.wgmma(atom, &mut sums, matrix, matrix, options);
    ///     k.wgmma_commit_group();
    ///     k.wgmma_wait_group(0);
    ///     k.slice(d, 128).at(block.thread()).store(sums[0]);
    /// })?;
    /// # use warpwright::run::Device;
    /// # let device = warpwright::run::Simulator::new();
    /// # let mut d = device.output::<f32>(128)?;
    /// # device.launch(&kernel, (&mut d,))?;
    /// # assert_eq!(device.download(&d)?, [16.0; 128]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "wgmma.mma_async")]
    #[track_caller]
    pub fn wgmma<'v, D: Scalar, A: Scalar>(
        self,
        atom: &MmaAtom,
        d: &mut [Val<'k, D>],
        a: impl Into<WgmmaA<'v, 'k, A>>,
        b: MatrixDescriptor<'k>,
        options: WgmmaOptions<'k>,
    ) where
        'k: 'v,
    {
        let a = a.into();
        match check(atom, d, a, options) {
            Ok(tail) => self.wgmma_in_place(atom.mnemonic(), d, a, b, tail),
            Err(why) => self.refuse(why),
        }
    }

    /// Returns uninitialized accumulator registers for the `wgmma` of `atom`. The first `wgmma` must overwrite them: its option
    /// [`accumulate`](WgmmaOptions::accumulate) must be false.
    #[track_caller]
    pub fn wgmma_accumulators<D: Scalar>(self, atom: &MmaAtom) -> Vec<Val<'k, D>> {
        self.fresh_values(atom.registers(MmaOperand::D) as usize)
    }
}

/// Checks the operands against the atom and returns the operands that follow B, or the reason for a mismatch.
fn check<'k, D: Scalar, A: Scalar>(
    atom: &MmaAtom,
    d: &[Val<'k, D>],
    a: WgmmaA<'_, 'k, A>,
    options: WgmmaOptions<'k>,
) -> Result<WgmmaTail<'k>, String> {
    if atom.group() != Group::Warpgroup {
        return Err(format!("{atom}: expected an atom of a warpgroup; `mma` emits this one"));
    }
    fits::<D>(atom, MmaOperand::D, d.len())?;
    let repeats = || (0..d.len()).any(|i| d[..i].iter().any(|other| d[i].has_register_of(other)));
    if repeats() || d.iter().any(Val::is_shared) {
        return Err(format!(
            "{atom}: expected accumulators in registers of their own, found constants or shared registers: use `wgmma_accumulators`"
        ));
    }
    match (atom.source(MmaOperand::A), a) {
        (Source::Registers, WgmmaA::Registers(values)) => fits::<A>(atom, MmaOperand::A, values.len())?,
        (Source::Shared, WgmmaA::Shared(_)) => {}
        (Source::Registers, WgmmaA::Shared(_)) => {
            return Err(format!("{atom}: expected A in registers, found a descriptor"));
        }
        (Source::Shared, WgmmaA::Registers(_)) => {
            return Err(format!("{atom}: expected a descriptor of A, found registers"));
        }
    }
    let mut immediates = ArrayVec::new();
    let signs = [options.negate_a, options.negate_b];
    match atom.operand_type(MmaOperand::D) {
        MmaType::S32 if signs.contains(&true) => {
            return Err(format!("{atom}: expected integers without a sign change, found a negation"));
        }
        MmaType::S32 => {}
        _ => immediates.extend(signs.map(|negated| if negated { -1 } else { 1 })),
    }
    for (operand, major) in [(MmaOperand::A, options.major_a), (MmaOperand::B, options.major_b)] {
        let majors = atom.majors(operand);
        if !majors.contains(&major) {
            return Err(format!(
                "{atom}: expected {operand:?} in one of the orders {majors:?}, found {major:?}"
            ));
        }
        if majors.len() > 1 {
            immediates.push(i32::from(major == Major::Mn));
        }
    }
    let sparse = sparse_operand(atom, options.metadata)?;
    Ok(WgmmaTail { sparse, accumulate: options.accumulate, immediates })
}
