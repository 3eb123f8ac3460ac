//! Instructions on the registers of fragments. Each register is a word that contains one or more elements and is written in place.

use std::panic::Location;

use arrayvec::ArrayVec;

use super::memory::vector;
use crate::ptx::{
    body::RegId,
    checked::CheckedPtr,
    error::BuildErrorKind,
    fold::Number,
    kernel::Builder,
    mnemonic::MnemonicText,
    operand::Operand,
    ptr::{Ptr, Shared, Space},
    types::{Element, RegClass, Scalar},
    val::Val,
};

impl<'k> Builder<'k> {
    /// Returns the current handle to `register`.
    pub(crate) fn current(self, register: RegId) -> RegId {
        self.body().current(register)
    }

    /// Rejects registers that the innermost emitted loop does not carry: accumulating into them would add up the results of all iterations.
    #[track_caller]
    pub(crate) fn check_carried(self, registers: &[RegId]) {
        for &register in registers {
            if !self.body().is_carried(register) {
                self.fail(BuildErrorKind::NotCarried { register: register.to_string() });
            }
        }
    }

    /// Returns registers for results that a tile will own and overwrite in place: those that `compute` returns, or copies if
    /// other values may use them too.
    #[track_caller]
    pub(crate) fn all_owned<T: Scalar>(self, compute: impl FnOnce() -> Vec<Val<'k, T>>) -> Vec<RegId> {
        let before = self.body().registers_of(T::CLASS);
        self.own(compute(), before)
    }

    /// Returns a register for each value: the value's own register if its index is at least `before` and it occurs for the first time, and
    /// a copy otherwise.
    #[track_caller]
    fn own<T: Scalar>(self, values: Vec<Val<'k, T>>, before: u32) -> Vec<RegId> {
        let mut own: Vec<RegId> = Vec::with_capacity(values.len());
        // Most values are in the order of their registers.
        let mut newest = before;
        for value in values {
            let fresh = value.reg().map(|(register, _)| register).filter(|register| {
                let is_newest = register.index >= newest;
                is_newest || register.index >= before && own.iter().all(|other| other.index != register.index)
            });
            own.push(self.register_or_copy(fresh, value));
            newest = newest.max(own[own.len() - 1].index + 1);
        }
        own
    }

    /// Returns a register for one result, as [`all_owned`](Self::all_owned) does for several.
    #[track_caller]
    pub(crate) fn owned<T: Scalar>(self, compute: impl FnOnce() -> Val<'k, T>) -> RegId {
        let before = self.body().registers_of(T::CLASS);
        let value = compute();
        let fresh = value.reg().map(|(register, _)| register).filter(|register| register.index >= before);
        self.register_or_copy(fresh, value)
    }

    #[track_caller]
    fn register_or_copy<T: Scalar>(self, fresh: Option<RegId>, value: Val<'k, T>) -> RegId {
        fresh.unwrap_or_else(|| self.copy_of(value).in_register(self))
    }

    /// Writes `value` to the register `to`.
    #[track_caller]
    pub(crate) fn move_into<T: Scalar>(self, to: RegId, value: Val<'k, T>) {
        let constant = value.immediate().filter(|_| T::IMMEDIATE || to.class == T::CLASS || T::BYTES >= 4);
        let value = constant.unwrap_or_else(|| Operand::Reg(value.in_register(self)));
        self.emit(["mov.", bits(to.class)], &[Operand::Reg(to.in_place()), value]);
    }

    /// Copies the register `from` to `to`, which must have the same width.
    #[track_caller]
    pub(crate) fn move_register(self, to: RegId, from: RegId) {
        let operands = [to, from].map(|register| Operand::Reg(register.in_place()));
        self.emit(["mov.", bits(to.class)], &operands);
    }

    /// Writes `yes` to `to` if `condition` is true, and `no` otherwise. The registers must have the same width.
    #[track_caller]
    pub(crate) fn select_register(self, to: RegId, yes: RegId, no: RegId, condition: Val<'k, bool>) {
        let mnemonic = ["selp.", bits(to.class)];
        let [to, yes, no] = [to, yes, no].map(|register| Operand::Reg(register.in_place()));
        self.emit(mnemonic, &[to, yes, no, condition.operand(self)]);
    }

    /// Returns a copy of the element in slot `slot` of `word`.
    #[track_caller]
    pub(crate) fn extract<T: Element>(self, word: RegId, slot: usize) -> Val<'k, T::Reg> {
        let word = Operand::Reg(word.in_place());
        let constant = |value: u32| Val::<u32>::from(value).operand(self);
        match T::SIZE {
            1 => {
                let extract = if T::MEM == "s8" { "bfe.s32" } else { "bfe.u32" };
                self.result([extract], &[word, constant(8 * slot as u32), constant(8)])
            }
            2 => {
                let halves = [self.fresh(T::Reg::CLASS), self.fresh(T::Reg::CLASS)];
                self.emit(format_args!("mov.b32"), &[Operand::Vector(&halves.map(Operand::Reg)), word]);
                Val::from_reg(halves[slot], self)
            }
            bytes => self.result(format_args!("mov.b{}", 8 * bytes), &[word]),
        }
    }

    /// Writes `value` to slot `slot` of `word`. The other slots are unchanged.
    #[track_caller]
    pub(crate) fn insert<T: Element>(self, word: RegId, slot: usize, value: Val<'k, T::Reg>) {
        let constant = |value: u32| Val::<u32>::from(value).operand(self);
        match T::SIZE {
            1 => {
                let value = Operand::Reg(value.in_register(self));
                let (at, operand) = (constant(8 * slot as u32), Operand::Reg(word.in_place()));
                self.emit(format_args!("bfi.b32"), &[operand, value, operand, at, constant(8)]);
            }
            2 => {
                let halves = [self.fresh(T::Reg::CLASS), self.fresh(T::Reg::CLASS)];
                let mut halves = halves.map(Operand::Reg);
                self.emit(
                    format_args!("mov.b32"),
                    &[Operand::Vector(&halves), Operand::Reg(word.in_place())],
                );
                halves[slot] = Operand::Reg(value.in_register(self));
                self.emit(
                    format_args!("mov.b32"),
                    &[Operand::Reg(word.in_place()), Operand::Vector(&halves)],
                );
            }
            _ => self.move_into(word, value),
        }
    }

    /// Packs `elements` into a fresh word, with the first element in the lowest bits.
    #[track_caller]
    pub(crate) fn word<T: Element>(self, elements: &[Val<'k, T::Reg>]) -> RegId {
        let registers: ArrayVec<Operand<'_>, 4> =
            elements.iter().map(|value| Operand::Reg(value.in_register(self))).collect();
        let permuted = |a: Operand<'static>, b: Operand<'static>, selected: u32| {
            let selected = Val::<u32>::from(selected).operand(self);
            self.result::<u32>(format_args!("prmt.b32"), &[a, b, selected])
        };
        let word: Val<'k, u32> = match *registers {
            // First the low bytes of each pair, then the pairs.
            [a, b, c, d] => {
                let (low, high) = (permuted(a, b, 0x0040), permuted(c, d, 0x0040));
                permuted(low.operand(self), high.operand(self), 0x5410)
            }
            _ => self.result(format_args!("mov.b32"), &[Operand::Vector(&registers)]),
        };
        word.in_register(self)
    }

    /// Returns a word in which every slot contains the element in slot `slot` of `word`. The element must be 8 or 16 bits wide.
    #[track_caller]
    pub(crate) fn repeated<T: Element, W: Scalar>(self, word: RegId, slot: usize) -> Val<'k, W> {
        let word = Operand::Reg(word.in_place());
        let bytes = if T::SIZE == 1 { 0x1111 * slot as u32 } else { [0x1010, 0x3232][slot] };
        let selected = Val::<u32>::from(bytes).operand(self);
        self.result(format_args!("prmt.b32"), &[word, word, selected])
    }

    /// Emits `mnemonic`, which computes `d = a · b + c`. `operands` contains the words of d, a, b and c. The operands are in braces unless
    /// `bare` is true, which instructions of a single thread require.
    #[track_caller]
    pub(crate) fn product_of_words(self, mnemonic: &str, bare: bool, operands: [&[RegId]; 4]) {
        let operands = operands
            .map(|words| if bare { Operand::Reg(words[0].in_place()) } else { Operand::Words(words) });
        self.emit(mnemonic, &operands);
    }

    /// Emits the multiply-add of `T`, which computes `d = a · b + c`, where all four are registers that contain one element. For
    /// floating-point types, the result is rounded once.
    #[track_caller]
    pub(crate) fn mad_of_registers<T: Number>(self, [d, a, b, c]: [RegId; 4]) {
        let operands = [d, a, b, c].map(|register| Operand::Reg(register.in_place()));
        self.emit([T::MAD, ".", T::PTX], &operands);
    }

    /// Emits `mnemonic`, which computes `d = a · b + c` with a sparse A. `operands` contains the words of d, a, b and c.
    #[track_caller]
    pub(crate) fn sparse_product_of_words(
        self,
        mnemonic: &str,
        operands: [&[RegId]; 4],
        metadata: RegId,
        selector: u32,
    ) {
        let [d, a, b, c] = operands.map(Operand::Words);
        let selector = Val::<u32>::from(selector).operand(self);
        self.emit(mnemonic, &[d, a, b, c, Operand::Reg(metadata.in_place()), selector]);
    }
}

impl<'k, T: Element, S: Space, A> CheckedPtr<'k, T, S, A> {
    /// Loads adjacent words with one instruction if they are in bounds; otherwise, nothing is read and the registers are unchanged. The
    /// words must be either all in bounds or all out of bounds, and the address must be known to be aligned to the size of the vector.
    #[track_caller]
    pub(crate) fn load_words(self, words: &[RegId]) {
        let (k, pointer, condition) = (self.kernel(), self.pointer(), self.condition());
        let (address, bytes) = (pointer.operand(), word_bytes(words));
        let cache = if pointer.is_never_written() { ".nc" } else { "" };
        pointer.check_aligned(bytes * words.len() as u32);
        let mnemonic = ["ld", S::PTX, cache, vector(words.len()), ".", word_bits(words)];
        let _located = k.locate(Location::caller());
        k.emit_when(condition, mnemonic, &[one_or_words(words), address]);
    }

    /// Stores adjacent words with one instruction if they are in bounds. The words must be either all in bounds or all out of bounds, and
    /// the address must be known to be aligned to the size of the vector.
    #[track_caller]
    pub(crate) fn store_words(self, words: &[RegId]) {
        let (k, pointer, condition) = (self.kernel(), self.pointer(), self.condition());
        let (address, bytes) = (pointer.operand(), word_bytes(words));
        pointer.check_aligned(bytes * words.len() as u32);
        let mnemonic = ["st", S::PTX, vector(words.len()), ".", word_bits(words)];
        let _located = k.locate(Location::caller());
        k.emit_when(condition, mnemonic, &[address, one_or_words(words)]);
    }
}

impl<'k, T: Element, A> Ptr<'k, T, Shared, A> {
    /// Emits `ldmatrix` for one matrix per word; `trans` is `".trans"` or empty. See [`ldmatrix`](Ptr::ldmatrix).
    #[track_caller]
    pub(crate) fn ldmatrix_words(self, trans: &'static str, words: &[RegId]) {
        self.ldmatrix_form(["ldmatrix", matrices(words), trans, ".shared.b16"], words);
    }

    /// Emits any form of `ldmatrix`.
    #[track_caller]
    pub(crate) fn ldmatrix_form(self, mnemonic: impl MnemonicText, words: &[RegId]) {
        let k = self.kernel();
        self.check_aligned(16);
        k.emit(mnemonic, &[Operand::Words(words), self.operand()]);
    }

    /// Emits `stmatrix` for one matrix per word. See [`stmatrix`](Ptr::stmatrix).
    #[track_caller]
    pub(crate) fn stmatrix_words(self, trans: &'static str, words: &[RegId]) {
        self.stmatrix_form(["stmatrix", matrices(words), trans, ".shared.b16"], words);
    }

    /// Emits any form of `stmatrix`.
    #[track_caller]
    pub(crate) fn stmatrix_form(self, mnemonic: impl MnemonicText, words: &[RegId]) {
        let k = self.kernel();
        self.check_aligned(16);
        k.emit(mnemonic, &[self.operand(), Operand::Words(words)]);
    }
}

/// Returns `words` as an operand. A single word has no braces.
fn one_or_words(words: &[RegId]) -> Operand<'_> {
    match words {
        [one] => Operand::Reg(one.in_place()),
        several => Operand::Words(several),
    }
}

/// Returns the qualifiers of `ldmatrix` and `stmatrix` for one matrix per word. `words` must contain 1, 2 or 4 words.
fn matrices(words: &[RegId]) -> &'static str {
    match words.len() {
        1 => ".sync.aligned.m8n8.x1",
        2 => ".sync.aligned.m8n8.x2",
        _ => ".sync.aligned.m8n8.x4",
    }
}

/// Returns the `mov` type of a word in a register of class `class`: `b32` or `b64`.
pub(super) fn bits(class: RegClass) -> &'static str {
    match class {
        RegClass::B64 | RegClass::F64 => "b64",
        _ => "b32",
    }
}

fn word_bits(words: &[RegId]) -> &'static str {
    words.first().map_or("b32", |word| bits(word.class))
}

fn word_bytes(words: &[RegId]) -> u32 {
    if word_bits(words) == "b64" { 8 } else { 4 }
}
