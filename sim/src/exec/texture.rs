//! `tex`, `tld4`, `suld` and `sust`.

use crate::exec::global;
use crate::lanes::{Lanes32, Lanes64, lanes, mask_of};
use crate::machine::Cluster;
use crate::machine::texture::{CORNERS, Image, Selected, Texture, face, weights};
use crate::machine::warp::Warp;
use crate::program::code::{Access, Addr, Base, D, Fetch, Geometry, Outside, R, Reg, Space, SurfaceAccess};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// The texels that a lane selects in each dimension of an image.
type Selection = [Selected; 3];

/// Executes a texture fetch in the lanes of `m`.
pub(crate) fn fetch<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Fetch,
    m: u32,
) -> Outcome<()> {
    let handles = *warp.regs.d(op.texture);
    let mut rest = m;
    while rest != 0 {
        let (lane, same) = same_handle(&handles, rest);
        let Some(&texture) = cluster.machine.memory.texture(handles[lane]) else {
            return Err(no_object(lane, handles[lane], "texture"));
        };
        fetch_from::<CHECKED>(cluster, warp, op, &texture, same)?;
        rest &= !same;
    }
    Ok(())
}

/// Returns the first lane of a mask, and the lanes with the same handle.
fn same_handle(handles: &Lanes64, m: u32) -> (usize, u32) {
    let lane = m.trailing_zeros() as usize;
    (lane, mask_of(|other| handles[other] == handles[lane]) & m)
}

fn no_object(lane: usize, handle: u64, what: &str) -> Box<Fault> {
    Fault::at(FindingKind::InvalidAddress, lane, format!("{handle:#x} is the handle of no {what}"))
}

fn fetch_from<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Fetch,
    texture: &Texture,
    m: u32,
) -> Outcome<()> {
    let selections: [Selection; 32] = std::array::from_fn(|lane| select(warp, op, texture, lane));
    if let Some(channel) = op.gathered {
        // Counterclockwise from the lower left.
        for (&d, corner) in op.d.iter().zip([0b10, 0b11, 0b01, 0b00]) {
            let texels = texels::<CHECKED>(cluster, warp, op, texture, &selections, corner, m)?;
            warp.regs.put_r(d, m, &texels[usize::from(channel)]);
        }
        return Ok(());
    }
    let found = if texture.sampler.linear && !op.by_index {
        combined::<CHECKED>(cluster, warp, op, texture, &selections, m)?
    } else {
        texels::<CHECKED>(cluster, warp, op, texture, &selections, 0, m)?
    };
    for (&d, words) in op.d.iter().zip(&found) {
        warp.regs.put_r(d, m, words);
    }
    Ok(())
}

/// Returns the texels that the coordinates of a lane select.
fn select(warp: &Warp, op: &Fetch, texture: &Texture, lane: usize) -> Selection {
    let word = |r: R| warp.regs.r(r)[lane];
    let layer = op.layer.map_or(0, word);
    let mut selection = [texture.select_layer(0); 3];
    let mut along = |axis: usize, word: u32| {
        selection[axis] = match op.by_index {
            true => texture.select_index(axis, word as i32),
            false => texture.select(axis, f32::from_bits(word), op.gathered.is_some()),
        };
    };
    if op.geometry.cube {
        let direction = std::array::from_fn(|axis| f32::from_bits(word(op.coordinates[axis])));
        let (face, place) = face(direction);
        place.into_iter().enumerate().for_each(|(axis, at)| along(axis, at.to_bits()));
        selection[2] = texture.select_layer(u64::from(layer) * FACES + face);
        return selection;
    }
    op.coordinates.iter().enumerate().for_each(|(axis, &r)| along(axis, word(r)));
    if op.layer.is_some() {
        selection[2] = texture.select_layer(layer.into());
    }
    selection
}

/// The number of faces of a cube.
const FACES: u64 = 6;

/// Returns the weighted sums of neighboring texels.
fn combined<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Fetch,
    texture: &Texture,
    selections: &[Selection; 32],
    m: u32,
) -> Outcome<[Lanes32; 4]> {
    let weights = selections.each_ref().map(weights);
    let mut found = [[[0; 32]; 4]; CORNERS];
    for (corner, found) in found.iter_mut().enumerate() {
        let weighed = mask_of(|lane| weights[lane][corner] != 0) & m;
        if weighed != 0 {
            *found = texels::<CHECKED>(cluster, warp, op, texture, selections, corner, weighed)?;
        }
    }
    Ok(std::array::from_fn(|channel| {
        std::array::from_fn(|lane| {
            let corners = weights[lane].into_iter().zip(&found).filter(|(weight, _)| *weight != 0);
            let texels = corners.map(|(weight, words)| (weight, f32::from_bits(words[channel][lane])));
            texture.image.ty.weighted_sum(texels).to_bits()
        })
    }))
}

/// Returns the channels of the texels at a corner of the selection. Lanes outside the image receive the border color.
fn texels<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Fetch,
    texture: &Texture,
    selections: &[Selection; 32],
    corner: usize,
    m: u32,
) -> Outcome<[Lanes32; 4]> {
    let Texture { image, .. } = texture;
    let texel = |lane: usize| {
        let [x, y, z] = std::array::from_fn(|axis| selections[lane][axis].texels[corner >> axis & 1]);
        Some(image.address([x?, y?, z?]))
    };
    let at: [Option<u64>; 32] = std::array::from_fn(texel);
    let inside = mask_of(|lane| at[lane].is_some()) & m;
    let channels = usize::from(image.channels);
    if inside != 0 {
        let all = filled(&at, inside);
        let access = access(image.ty.bytes() as u8, image.channels, false);
        let regs = op.temporaries.map(Reg::D);
        global::load::<CHECKED>(cluster, warp, &access, &regs[..channels], &all, inside)?;
    }
    let bits = op.temporaries.map(|D(d)| warp.regs.d(D(d)));
    Ok(std::array::from_fn(|channel| {
        std::array::from_fn(|lane| match inside >> lane & 1 {
            1 => texture.channel(channel, bits[channel][lane]),
            _ => texture.border(channel),
        })
    }))
}

/// Returns an address for every lane. Lanes outside `m` receive the address of the first lane of `m`.
fn filled(at: &[Option<u64>; 32], m: u32) -> Lanes64 {
    let first = at[m.trailing_zeros() as usize & 31].unwrap_or(0);
    std::array::from_fn(|lane| if m >> lane & 1 == 1 { at[lane].unwrap_or(first) } else { first })
}

fn access(bytes: u8, count: u8, half: bool) -> Access {
    Access {
        space: Space::Global,
        bytes,
        count,
        signed: false,
        half,
        float: false,
        strong: false,
        synchronizes: false,
        relaxed: false,
        meets_blocks: false,
        addr: Addr { base: Base::Frame, offset: 0 },
    }
}

/// Executes a surface load or store in the lanes of `m`.
pub(crate) fn surface<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &SurfaceAccess,
    m: u32,
) -> Outcome<()> {
    let handles = *warp.regs.d(op.surface);
    let mut rest = m;
    while rest != 0 {
        let (lane, same) = same_handle(&handles, rest);
        let Some(&image) = cluster.machine.memory.surface(handles[lane]) else {
            return Err(no_object(lane, handles[lane], "surface"));
        };
        access_surface::<CHECKED>(cluster, warp, op, &image, same)?;
        rest &= !same;
    }
    Ok(())
}

fn access_surface<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &SurfaceAccess,
    image: &Image,
    m: u32,
) -> Outcome<()> {
    let mut at = [None; 32];
    for lane in lanes(m) {
        at[lane] = place(warp, op, image, lane)?;
    }
    let inside = mask_of(|lane| at[lane].is_some()) & m;
    let access = access(op.bytes, op.regs.len() as u8, op.half);
    if !op.stores {
        op.regs.iter().for_each(|&reg| warp.regs.put(reg, m & !inside, &[0; 32]));
    }
    match inside {
        0 => Ok(()),
        _ if op.stores => {
            global::store::<CHECKED>(cluster, warp, &access, &op.regs, &filled(&at, inside), inside)
        }
        _ => global::load::<CHECKED>(cluster, warp, &access, &op.regs, &filled(&at, inside), inside),
    }
}

/// Returns the address that a lane accesses, or `None` if it is outside the image and the access is omitted.
fn place(warp: &Warp, op: &SurfaceAccess, image: &Image, lane: usize) -> Outcome<Option<u64>> {
    let word = |r: R| i64::from(warp.regs.r(r)[lane] as i32);
    let mut wanted = [0; 3];
    op.coordinates.iter().zip(&mut wanted).for_each(|(&r, at)| *at = word(r));
    if let Some(layer) = op.layer {
        wanted[2] = word(layer);
    }
    let bytes = i64::from(op.bytes) * op.regs.len() as i64;
    let [width, height, depth] = image.extent.map(|extent| extent as i64);
    let most = [width * image.texel() as i64 - bytes, height - 1, depth - 1];
    let clamped: [i64; 3] = std::array::from_fn(|axis| wanted[axis].clamp(0, most[axis].max(0)));
    if wanted[0] % bytes != 0 {
        let message = format!("misaligned access: {bytes} bytes of a surface at byte {} of a row", wanted[0]);
        return Err(Fault::at(FindingKind::MisalignedAccess, lane, message));
    }
    match op.outside {
        _ if clamped == wanted && most[0] >= 0 => {}
        Outside::Clamp => {}
        Outside::Zero => return Ok(None),
        Outside::Trap => return Err(outside(op.geometry, image, wanted, bytes, lane)),
    }
    let [x, y, z] = clamped.map(|at| at as u64);
    Ok(Some(image.address([0, y, z]) + x))
}

#[cold]
fn outside(geometry: Geometry, image: &Image, [x, y, z]: [i64; 3], bytes: i64, lane: usize) -> Box<Fault> {
    let [width, height, depth] = image.extent;
    let rest = match (geometry.dimensions, geometry.layered) {
        (1, false) => String::new(),
        (1, true) => format!(", layer {z}"),
        (_, true) => format!(", row {y}, layer {z}"),
        (2, false) => format!(", row {y}"),
        _ => format!(", row {y}, slice {z}"),
    };
    let message = format!(
        "surface out of bounds: {bytes} bytes at byte {x} of a row{rest}, of a surface of {width}×{height}×{depth} texels of {} bytes",
        image.texel()
    );
    Fault::at(FindingKind::GlobalOutOfBounds, lane, message)
}
