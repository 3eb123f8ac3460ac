//! `tensormap.replace` and `tensormap.cp_fenceproxy`.

use crate::exec::memory::{addresses, load_elements, store_elements};
use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::tensor_map::MAGIC;
use crate::machine::warp::Warp;
use crate::program::code::{MapCopy, MapReplace, Space};
use crate::report::fault::Outcome;

/// Writes a field, and marks the bytes as a tensor map.
pub(crate) fn replace<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &MapReplace,
    m: u32,
) -> Outcome<()> {
    let map = addresses(warp, op.addr);
    let values = warp.regs.get(op.value).map(|value| op.field.stored(value));
    let mut write = |offset: u64, bytes: u8, values: &Lanes64| {
        warp.regs.put_d(op.temporary, m, values);
        let at = map.map(|address| address.wrapping_add(offset));
        store_elements::<CHECKED>(cluster, warp, op.space, bytes, &at, op.temporary, m)
    };
    write(0, 4, &[u64::from(MAGIC); 32])?;
    match op.field.place() {
        Some((offset, bytes)) => write(offset, bytes, &values),
        None => Ok(()),
    }
}

/// Copies a map word by word. All lanes specify the same addresses, so one lane performs the copy.
pub(crate) fn copy<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &MapCopy,
    m: u32,
) -> Outcome<()> {
    let (to, from) = (addresses(warp, op.to), addresses(warp, op.from));
    let Some(lane) = lanes(m).next() else { return Ok(()) };
    for word in 0..MAP_WORDS {
        let at = |all: &Lanes64| all.map(|address| address.wrapping_add(4 * word));
        load_elements::<CHECKED>(cluster, warp, Space::Shared, 4, &at(&from), op.temporary, 1 << lane)?;
        store_elements::<CHECKED>(cluster, warp, Space::Global, 4, &at(&to), op.temporary, 1 << lane)?;
    }
    Ok(())
}

/// The number of words of a tensor map.
const MAP_WORDS: u64 = 32;
