//! The checks before instructions that access watched registers or registers used by products in flight, or that convert addresses.

use crate::check::{products, undefined};
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::Look;
use crate::program::spaces::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::report::Checks;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Checks an instruction that the lanes `mask` of `group` are about to execute.
pub(crate) fn look(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    look: &Look,
    group: u32,
    mask: u32,
) -> Outcome<()> {
    let checks = cluster.machine.checks;
    if let Some(watch) = &look.watch
        && checks.intersects(Checks::UNDEFINED)
    {
        undefined::follow(cluster, warp, watch, group, mask)?;
    }
    if mask == 0 {
        return Ok(());
    }
    if let Some(touches) = &look.products
        && checks.contains(Checks::WGMMA_IN_FLIGHT)
    {
        products::follow(cluster, warp, touches)?;
    }
    if let Some(register) = look.converts
        && checks.contains(Checks::ADDRESS_CONVERSIONS)
    {
        let values = warp.regs.d(register);
        let window = SHARED_WINDOW..LOCAL_WINDOW;
        // Null pointers may be converted; only their use is an error.
        if let Some(lane) = lanes(mask).find(|&lane| values[lane] != 0 && !window.contains(&values[lane])) {
            let message = format!(
                "address conversion: {:#x} is converted to shared space, which does not contain it",
                values[lane]
            );
            cluster.note(Fault::at(FindingKind::AddressConversion, lane, message))?;
        }
    }
    Ok(())
}
