//! A warp's registers, and loops over its lanes that compile to vector code.

use crate::lanes::FULL;
use crate::lanes::Lanes32;
use crate::lanes::Lanes64;
use crate::lanes::mask_of;
use crate::lanes::spread;
use crate::program::code::{D, P, R, Reg, Slots};

/// The register file of one warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regs {
    pub(crate) r: Vec<Lanes32>,
    pub(crate) d: Vec<Lanes64>,
    pub(crate) p: Vec<u32>,
}

impl Regs {
    /// Resets the register file to `slots` zeroed slots.
    pub(crate) fn reset(&mut self, slots: Slots) {
        self.r.clear();
        self.r.resize(slots.r as usize, [0; 32]);
        self.d.clear();
        self.d.resize(slots.d as usize, [0; 32]);
        self.p.clear();
        self.p.resize(slots.p as usize, 0);
    }

    /// Returns the lanes in which any register differs from `other`.
    pub(crate) fn differs(&self, other: &Self) -> u32 {
        let r = self.r.iter().zip(&other.r).fold(0, |all, (a, b)| all | mask_of(|lane| a[lane] != b[lane]));
        let d = self.d.iter().zip(&other.d).fold(r, |all, (a, b)| all | mask_of(|lane| a[lane] != b[lane]));
        self.p.iter().zip(&other.p).fold(d, |all, (a, b)| all | (a ^ b))
    }

    #[inline(always)]
    pub(crate) fn r(&self, slot: R) -> &Lanes32 {
        &self.r[slot.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn d(&self, slot: D) -> &Lanes64 {
        &self.d[slot.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn p(&self, slot: P) -> u32 {
        self.p[slot.0 as usize]
    }

    /// Returns the lanes in which a possibly negated predicate holds.
    #[inline(always)]
    pub(crate) fn predicate(&self, slot: P, negated: bool) -> u32 {
        self.p(slot) ^ if negated { FULL } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn put_r(&mut self, slot: R, mask: u32, values: &Lanes32) {
        let to = &mut self.r[slot.0 as usize];
        if mask == FULL {
            *to = *values;
            return;
        }
        let keep = spread(mask);
        for lane in 0..32 {
            to[lane] = (to[lane] & !keep[lane]) | (values[lane] & keep[lane]);
        }
    }

    #[inline(always)]
    pub(crate) fn put_d(&mut self, slot: D, mask: u32, values: &Lanes64) {
        let to = &mut self.d[slot.0 as usize];
        if mask == FULL {
            *to = *values;
            return;
        }
        for lane in 0..32 {
            if mask >> lane & 1 == 1 {
                to[lane] = values[lane];
            }
        }
    }

    #[inline(always)]
    pub(crate) fn put_p(&mut self, slot: P, mask: u32, values: u32) {
        let to = &mut self.p[slot.0 as usize];
        *to = (*to & !mask) | (values & mask);
    }

    /// Returns a register of any class as 64-bit values; for a 128-bit register, returns its low half.
    pub(crate) fn get(&self, reg: Reg) -> Lanes64 {
        match reg {
            Reg::R(r) => self.r(r).map(u64::from),
            Reg::D(d) | Reg::Q(d) => *self.d(d),
            Reg::P(p) => {
                let bits = self.p(p);
                std::array::from_fn(|lane| u64::from(bits >> lane & 1))
            }
        }
    }

    /// Returns one lane of a register of any class.
    pub(crate) fn lane(&self, reg: Reg, lane: usize) -> u64 {
        match reg {
            Reg::R(r) => u64::from(self.r(r)[lane]),
            Reg::D(d) | Reg::Q(d) => self.d(d)[lane],
            Reg::P(p) => u64::from(self.p(p) >> lane & 1),
        }
    }

    /// Writes one lane of a register of any class.
    pub(crate) fn set_lane(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg {
            Reg::R(r) => self.r[r.0 as usize][lane] = value as u32,
            Reg::D(d) | Reg::Q(d) => self.d[d.0 as usize][lane] = value,
            Reg::P(p) => self.put_p(p, 1 << lane, (value as u32 & 1) << lane),
        }
    }

    /// Writes a register of any class from 64-bit values.
    pub(crate) fn put(&mut self, reg: Reg, mask: u32, values: &Lanes64) {
        match reg {
            Reg::R(r) => self.put_r(r, mask, &values.map(|v| v as u32)),
            Reg::D(d) | Reg::Q(d) => self.put_d(d, mask, values),
            Reg::P(p) => self.put_p(p, mask, mask_of(|lane| values[lane] & 1 == 1)),
        }
    }

    #[inline(always)]
    pub(crate) fn map_r(&mut self, m: u32, d: R, a: R, f: impl Fn(u32) -> u32) {
        let a = self.r(a);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane]);
        }
        self.put_r(d, m, &out);
    }

    #[inline(always)]
    pub(crate) fn map_rr(&mut self, m: u32, d: R, a: R, b: R, f: impl Fn(u32, u32) -> u32) {
        let (a, b) = (self.r(a), self.r(b));
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane]);
        }
        self.put_r(d, m, &out);
    }

    #[inline(always)]
    pub(crate) fn map_rrr(&mut self, m: u32, d: R, s: [R; 3], f: impl Fn(u32, u32, u32) -> u32) {
        let [a, b, c] = s.map(|r| self.r(r));
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane], c[lane]);
        }
        self.put_r(d, m, &out);
    }

    #[inline(always)]
    pub(crate) fn map_d(&mut self, m: u32, d: D, a: D, f: impl Fn(u64) -> u64) {
        let a = self.d(a);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane]);
        }
        self.put_d(d, m, &out);
    }

    #[inline(always)]
    pub(crate) fn map_dd(&mut self, m: u32, d: D, a: D, b: D, f: impl Fn(u64, u64) -> u64) {
        let (a, b) = (self.d(a), self.d(b));
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane]);
        }
        self.put_d(d, m, &out);
    }

    #[inline(always)]
    pub(crate) fn map_ddd(&mut self, m: u32, d: D, s: [D; 3], f: impl Fn(u64, u64, u64) -> u64) {
        let [a, b, c] = s.map(|r| self.d(r));
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane], c[lane]);
        }
        self.put_d(d, m, &out);
    }

    /// Writes a 64-bit function of 32-bit values.
    #[inline(always)]
    pub(crate) fn widen(&mut self, m: u32, d: D, a: R, f: impl Fn(u32) -> u64) {
        let a = self.r(a);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane]);
        }
        self.put_d(d, m, &out);
    }

    /// Writes a 32-bit function of 64-bit values.
    #[inline(always)]
    pub(crate) fn narrow(&mut self, m: u32, d: R, a: D, f: impl Fn(u64) -> u32) {
        let a = self.d(a);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = f(a[lane]);
        }
        self.put_r(d, m, &out);
    }
}
