//! Special registers, by name (PTX ISA, "Special Registers").

use crate::arith::Int;
use crate::program::code::{Clock, R, Reg, Special, Value};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::types::Type;
use crate::text::ast::{Operand, OperandKind};

/// Returns a constant special register and its width in bits, if `name` (with component `part`) refers to one.
fn fixed(name: &str, part: Option<&str>) -> Option<(Special, u32)> {
    let axis = match part {
        Some("x") => Some(0),
        Some("y") => Some(1),
        Some("z") => Some(2),
        Some("w") => return fixed(name, Some("x")).map(|_| (Special::Zero, 32)),
        Some(_) => return None,
        None => None,
    };
    let special = match (name, axis) {
        ("%tid", Some(i)) => Special::Tid(i),
        ("%ntid", Some(i)) => Special::Ntid(i),
        ("%ctaid", Some(i)) => Special::Ctaid(i),
        ("%nctaid", Some(i)) => Special::Nctaid(i),
        ("%clusterid", Some(i)) => Special::ClusterId(i),
        ("%nclusterid", Some(i)) => Special::NClusterId(i),
        ("%cluster_ctaid", Some(i)) => Special::ClusterCtaid(i),
        ("%cluster_nctaid", Some(i)) => Special::ClusterNctaid(i),
        (_, Some(_)) => return None,
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%nwarpid", None) => Special::NWarpId,
        ("%smid", None) => Special::SmId,
        ("%nsmid", None) => Special::NSmId,
        ("%gridid", None) => return Some((Special::GridId, 64)),
        ("%lanemask_eq", None) => Special::LaneMaskEq,
        ("%lanemask_le", None) => Special::LaneMaskLe,
        ("%lanemask_lt", None) => Special::LaneMaskLt,
        ("%lanemask_ge", None) => Special::LaneMaskGe,
        ("%lanemask_gt", None) => Special::LaneMaskGt,
        ("%cluster_ctarank", None) => Special::ClusterCtaRank,
        ("%cluster_nctarank", None) => Special::ClusterNctaRank,
        ("%is_explicit_cluster", None) => return Some((Special::IsExplicitCluster, 1)),
        ("%total_smem_size" | "%aggr_smem_size", None) => Special::TotalSmemSize,
        // The simulator reserves no shared memory. These addresses are past the end, so accesses to them are reported.
        ("%reserved_smem_offset_0" | "%reserved_smem_offset_1", None) => Special::TotalSmemSize,
        ("%dynamic_smem_size", None) => Special::DynamicSmemSize,
        ("%reserved_smem_offset_begin" | "%reserved_smem_offset_end" | "%reserved_smem_offset_cap", None) => {
            Special::Zero
        }
        // For cooperative launches, the driver passes the address of the grid barrier here.
        ("%envreg1", None) => Special::Workspace { high: true },
        ("%envreg2", None) => Special::Workspace { high: false },
        ("%current_graph_exec", None) => return Some((Special::Zero, 64)),
        (name, None) => return numbered(name),
    };
    Some((special, 32))
}

/// Returns driver-defined registers and performance counters, which are read as zero.
fn numbered(name: &str) -> Option<(Special, u32)> {
    let below = |number: &str, end: u32| number.parse::<u32>().is_ok_and(|n| n < end);
    let bits = match (name.strip_prefix("%envreg"), name.strip_prefix("%pm")) {
        (Some(number), _) if below(number, 32) => 32,
        (_, Some(number)) if below(number, 8) => 32,
        (_, Some(number)) if number.strip_suffix("_64").is_some_and(|number| below(number, 8)) => 64,
        _ => return None,
    };
    Some((Special::Zero, bits))
}

/// Returns a special register that changes while a warp runs, and its width in bits.
pub(super) fn clock(name: &str) -> Option<(Clock, u32)> {
    Some(match name {
        "%clock" | "%globaltimer_lo" => (Clock::Low, 32),
        "%clock_hi" | "%globaltimer_hi" => (Clock::High, 32),
        "%clock64" | "%globaltimer" => (Clock::Whole, 64),
        _ => return None,
    })
}

impl Decoder<'_, '_, '_> {
    /// Returns the slots of the four components of a special register such as `%tid`.
    pub(super) fn special_vector(&mut self, operand: &Operand) -> Option<[R; 4]> {
        let OperandKind::Name(name) = &operand.kind else { return None };
        let parts = ["x", "y", "z", "w"].map(|part| fixed(name, Some(part)));
        let [Some(x), Some(y), Some(z), Some(w)] = parts else { return None };
        Some([x, y, z, w].map(|(special, _)| self.body.builder.preset_r(Value::Special(special))))
    }

    /// Returns the slot and the type of a constant special register.
    pub(super) fn special(&mut self, operand: &Operand) -> Decoded<Option<(Reg, Type)>> {
        let (name, part) = match &operand.kind {
            OperandKind::Name(name) => (name.as_str(), None),
            OperandKind::Component(parts) => (parts[0].as_str(), Some(parts[1].as_str())),
            _ => return Ok(None),
        };
        if clock(name).is_some() && part.is_none() {
            return Err(self.error_at(operand, format!("only `mov` reads `{name}`")));
        }
        let Some((special, bits)) = fixed(name, part) else { return Ok(None) };
        let value = Value::Special(special);
        Ok(Some(match bits {
            64 => (Reg::D(self.body.builder.preset_d(value)), Type::Int(Int::U64)),
            1 => (Reg::P(self.body.builder.preset_p_of(value)), Type::Pred),
            _ => (Reg::R(self.body.builder.preset_r(value)), Type::Int(Int::U32)),
        }))
    }
}
