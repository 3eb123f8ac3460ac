//! Textures and surfaces: the texels that are fetched, their interpolation, and findings.

use pretty_assertions::assert_eq;
use warpwright_sim::{
    AddressMode, Arg, FindingKind, Image, Launch, Memory, Sampler, Sim, SimError, TexelType, Texture,
};

use super::support::{bytes, kernel, one_block, parse, words};

const PARAMS: &str = ".param .u64 out, .param .u64 object, .param .u64 x";

/// The start of kernels: thread `%r0` has 16 bytes of output at `%rd2`, the object `%rd1`, and its 16 bytes of `x` in `%r1` to `%r4` and
/// `%f1` to `%f4`.
const START: &str = ".reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b16 %h<8>;
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [object]; ld.param.u64 %rd3, [x];
    mov.u32 %r0, %tid.x; mad.wide.u32 %rd2, %r0, 16, %rd0; mad.wide.u32 %rd4, %r0, 16, %rd3;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4];
    mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;";

const SAMPLER: Sampler = Sampler {
    modes: [AddressMode::Clamp; 3],
    linear: false,
    normalized: false,
    unit_range: false,
    border: [0.0; 4],
};

/// Returns an image whose rows are contiguous.
fn image(start: u64, ty: TexelType, channels: u8, extent: [u64; 3]) -> Image {
    let row = extent[0] * ty.bytes() * u64::from(channels);
    Image { start, ty, channels, extent, pitch: [row, row * extent[1]] }
}

/// Runs a body on a texture or surface of some bytes, and returns the output of each thread and the bytes.
fn run(
    body: &str,
    contents: &[u8],
    x: &[[u32; 4]],
    object: impl Fn(&mut Memory, u64) -> u64,
) -> Result<(Vec<[u32; 4]>, Vec<u8>), SimError> {
    let module = parse(&kernel(PARAMS, &format!("{START}\n{body}\nret;")));
    let mut memory = Memory::new().record_writes();
    let (out, texels, coordinates) =
        (memory.alloc(16 * x.len()), memory.alloc(contents.len()), memory.alloc(16 * x.len()));
    memory.write(texels, contents).expect("in bounds");
    memory.write(coordinates, &bytes(x.as_flattened())).expect("in bounds");
    let handle = object(&mut memory, texels);
    let args = [Arg::from(out), Arg::from(handle), Arg::from(coordinates)];
    Sim::new().launch(&module, "k", &one_block(x.len() as u32), &args, &mut memory)?;
    let (mut result, mut left) = (vec![0; 16 * x.len()], contents.to_vec());
    memory.read(out, &mut result).expect("in bounds");
    memory.read(texels, &mut left).expect("in bounds");
    let result = words(&result).chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]).collect();
    Ok((result, left))
}

/// Fetches at floating-point coordinates.
fn fetch(
    instruction: &str,
    contents: &[u8],
    at: &[[f32; 4]],
    image: impl Fn(u64) -> Image,
    sampler: Sampler,
) -> Vec<[u32; 4]> {
    let body = format!("{instruction} st.global.v4.u32 [%rd2], {{%r5, %r6, %r7, %r8}};");
    let x: Vec<[u32; 4]> = at.iter().map(|at| at.map(f32::to_bits)).collect();
    let texture =
        |memory: &mut Memory, start| memory.create_texture(Texture { image: image(start), sampler });
    run(&body, contents, &x, texture).unwrap_or_else(|error| panic!("{error}")).0
}

/// Returns the first channel of each result as a number.
fn first(found: &[[u32; 4]]) -> Vec<f32> {
    found.iter().map(|texel| f32::from_bits(texel[0])).collect()
}

#[test]
fn images_without_texels_have_only_a_border() {
    let sampler = Sampler { border: [7.0; 4], ..SAMPLER };
    for linear in [false, true] {
        let sampler = Sampler { linear, ..sampler };
        let empty = |start| image(start, TexelType::F32, 1, [0, 4, 0]);
        assert_eq!(first(&fetch(TEX_2D, &[0; 16], &[[0.5; 4]], empty, sampler)), [7.0]);
    }
}

/// A surface that is narrower than the access.
#[test]
fn accesses_wider_than_a_row_are_outside() {
    let narrow =
        |memory: &mut Memory, start| memory.create_surface(image(start, TexelType::F32, 1, [1, 1, 1]));
    let load = |outside: &str| {
        let body = format!(
            "suld.b.2d.v4.b32.{outside} {{%r5, %r6, %r7, %r8}}, [%rd1, {{%r1, %r2}}]; st.global.v4.u32 [%rd2], {{%r5, %r6, %r7, %r8}};"
        );
        run(&body, &bytes(&[9; 4]), &[[0; 4]], narrow)
    };
    assert_eq!(load("zero").expect("zeros").0, [[0; 4]]);
    let Err(SimError::Fault(finding)) = load("trap") else { panic!("nothing was found") };
    assert_eq!(finding.kind, FindingKind::GlobalOutOfBounds);
}

const TEX_2D: &str = "tex.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2}];";

/// Returns 4×3×2 texels: texel (x, y, z) is x + 10·y + 100·z.
fn ramp() -> Vec<u8> {
    let texels = (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..4).map(move |x| x + 10 * y + 100 * z)));
    texels.flat_map(|value| (value as f32).to_le_bytes()).collect()
}

#[test]
fn the_nearest_texel_and_the_weighted_sum_of_neighbors() {
    let flat = |start| image(start, TexelType::F32, 1, [4, 3, 1]);
    let at = [[0.0, 0.0], [3.75, 2.5], [-5.0, 1.0], [1.5, 1.5], [2.0, 1.0], [1.75, 9.0]];
    let at = at.map(|[x, y]| [x, y, 0.0, 0.0]);
    assert_eq!(first(&fetch(TEX_2D, &ramp(), &at, flat, SAMPLER)), [0.0, 23.0, 10.0, 11.0, 12.0, 21.0]);
    let linear = Sampler { linear: true, ..SAMPLER };
    assert_eq!(first(&fetch(TEX_2D, &ramp(), &at, flat, linear)), [0.0, 23.0, 5.0, 11.0, 6.5, 21.25]);
    let border = Sampler { modes: [AddressMode::Border; 3], border: [8.0; 4], ..linear };
    assert_eq!(first(&fetch(TEX_2D, &ramp(), &at, flat, border)), [6.0, 19.25, 8.0, 11.0, 6.5, 8.0]);

    // In three dimensions, and with coordinates from 0 to 1.
    let deep = |start| image(start, TexelType::F32, 1, [4, 3, 2]);
    let tex = "tex.3d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];";
    assert_eq!(first(&fetch(tex, &ramp(), &[[2.0, 1.0, 1.0, 0.0]], deep, linear)), [56.5]);
    let wrapped = Sampler { modes: [AddressMode::Wrap; 3], normalized: true, ..SAMPLER };
    let at = [[1.125, 0.5, 0.9, 0.0], [-0.125, -0.1, 7.25, 0.0]];
    assert_eq!(first(&fetch(tex, &ramp(), &at, deep, wrapped)), [110.0, 23.0]);
}

#[test]
fn layers_cubes_gathers_and_indices() {
    let deep = |start| image(start, TexelType::F32, 1, [4, 3, 2]);
    let layer = "tex.a2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%r0, %f1, %f2, %f2}];";
    let at = [[2.5, 0.5, 0.0, 0.0]; 3];
    assert_eq!(first(&fetch(layer, &ramp(), &at, deep, SAMPLER)), [2.0, 102.0, 102.0]);
    let row = "tex.a1d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%r0, %f1}];";
    assert_eq!(first(&fetch(row, &ramp(), &at, deep, SAMPLER)), [2.0, 102.0, 102.0]);

    // Counterclockwise from the lower left, regardless of the filter.
    let gather = "tld4.r.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2}];";
    let flat = |start| image(start, TexelType::F32, 1, [4, 3, 1]);
    let found = fetch(gather, &ramp(), &[[2.0, 1.0, 0.0, 0.0]], flat, SAMPLER);
    assert_eq!(found[0].map(f32::from_bits), [11.0, 12.0, 2.0, 1.0]);

    // Six faces of 1×1 texels.
    let cube = "tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];";
    let faces: Vec<u8> = (0..6).flat_map(|face| (face as f32).to_le_bytes()).collect();
    let cubes = |start| image(start, TexelType::F32, 1, [1, 1, 6]);
    let at = [
        [1.0, 0.2, 0.3, 0.0],
        [-1.0, 0.9, 0.0, 0.0],
        [0.0, 3.0, 1.0, 0.0],
        [0.0, -1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.1, 0.2, -3.0, 0.0],
    ];
    let clamped = Sampler { normalized: true, ..SAMPLER };
    assert_eq!(first(&fetch(cube, &faces, &at, cubes, clamped)), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);

    // Outside of linear memory, fetches return the border, 0.
    let index = "cvt.rzi.s32.f32 %r9, %f1; tex.1d.v4.f32.s32 {%r5, %r6, %r7, %r8}, [%rd1, {%r9}];";
    let border = Sampler { modes: [AddressMode::Border; 3], ..SAMPLER };
    let at = [[3.0; 4], [4.0; 4], [-1.0; 4]];
    let line = |start| image(start, TexelType::F32, 1, [4, 1, 1]);
    assert_eq!(first(&fetch(index, &ramp(), &at, line, border)), [3.0, 0.0, 0.0]);
}

#[test]
fn the_types_of_texels() {
    let one = |ty: TexelType, channels: u8, contents: &[u8], unit_range: bool| {
        let sampler = Sampler { unit_range, ..SAMPLER };
        fetch(TEX_2D, contents, &[[0.5; 4]], |start| image(start, ty, channels, [1, 1, 1]), sampler)[0]
    };
    let float = |values: [f32; 4]| values.map(f32::to_bits);
    assert_eq!(one(TexelType::U8, 4, &[1, 2, 3, 255], false), [1, 2, 3, 255]);
    assert_eq!(one(TexelType::U8, 4, &[0, 51, 102, 255], true), float([0.0, 0.2, 0.4, 1.0]));
    assert_eq!(one(TexelType::S8, 2, &[0x80, 127], true), float([-1.0, 1.0, 0.0, 1.0]));
    assert_eq!(one(TexelType::S8, 1, &[0x80], false), [-128i32 as u32, 0, 0, 1]);
    assert_eq!(one(TexelType::U16, 2, &[0xff, 0xff, 0, 0x80], false), [0xffff, 0x8000, 0, 1]);
    assert_eq!(one(TexelType::S16, 1, &[1, 0x80], true), float([-1.0, 0.0, 0.0, 1.0]));
    assert_eq!(one(TexelType::F16, 1, &[0, 0x3e], false), float([1.5, 0.0, 0.0, 1.0]));
    assert_eq!(one(TexelType::S32, 4, &bytes(&[7, 8, 9, u32::MAX]), true), [7, 8, 9, u32::MAX]);
}

#[test]
fn surfaces_are_stored_and_loaded() {
    let surface =
        |memory: &mut Memory, start| memory.create_surface(image(start, TexelType::U16, 2, [2, 2, 1]));
    let body = "mul.lo.u32 %r9, %r0, 4; cvt.u16.u32 %h0, %r0;
        suld.b.2d.v2.b16.zero {%h1, %h2}, [%rd1, {%r9, 1}]; sust.b.2d.v2.b16.zero [%rd1, {%r9, 0}], {%h0, %h1};
        suld.b.2d.b32.clamp %r5, [%rd1, {%r9, 7}]; suld.b.2d.b8.zero %h3, [%rd1, {%r9, 1}];
        cvt.u32.u16 %r6, %h1; cvt.u32.u16 %r7, %h2; cvt.u32.u16 %r8, %h3;
        st.global.v4.u32 [%rd2], {%r5, %r6, %r7, %r8};";
    let contents: Vec<u8> = (0..16).collect();
    let (found, left) = run(body, &contents, &[[0; 4]; 3], surface).expect("no finding");
    // The third thread is outside: its stores have no effect, and its loads return 0 or, with `.clamp`, the last texel.
    assert_eq!(found[0], [0x0b0a_0908, 0x0908, 0x0b0a, 0x08]);
    assert_eq!(found[2], [0x0f0e_0d0c, 0, 0, 0]);
    assert_eq!(left[..8], [0, 0, 8, 9, 1, 0, 12, 13]);
    assert_eq!(left[8..], contents[8..]);
}

/// Returns the kind and the message of the finding about a body with a surface of 2×2 words.
fn finding(body: &str) -> Option<(FindingKind, String)> {
    let surface = |memory: &mut Memory, start| {
        let stale = memory
            .create_texture(Texture { image: image(start, TexelType::U32, 1, [2, 2, 1]), sampler: SAMPLER });
        memory.destroy_object(stale);
        memory.create_surface(image(start, TexelType::U32, 1, [2, 2, 1]))
    };
    match run(body, &[0; 16], &[[0; 4]], surface) {
        Ok(_) => None,
        Err(SimError::Fault(finding)) => Some((finding.kind, finding.message)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn accesses_outside_and_wrong_handles_are_found() {
    let found = |body: &str| finding(body).unwrap_or_else(|| panic!("nothing is found in {body}"));
    let (kind, message) = found("sust.b.2d.b32.trap [%rd1, {8, 1}], %r0;");
    assert_eq!(kind, FindingKind::GlobalOutOfBounds);
    assert_eq!(
        message,
        "surface out of bounds: 4 bytes at byte 8 of a row, row 1, of a surface of 2×2×1 texels of 4 bytes"
    );
    assert_eq!(found("suld.b.2d.b32.trap %r5, [%rd1, {4, 2}];").0, FindingKind::GlobalOutOfBounds);
    assert_eq!(found("suld.b.2d.b32.zero %r5, [%rd1, {2, 0}];").0, FindingKind::MisalignedAccess);
    assert_eq!(finding("sust.b.2d.b32.trap [%rd1, {4, 1}], %r0;"), None);
    assert_eq!(finding("sust.b.2d.b32.zero [%rd1, {8, 1}], %r0;"), None);

    // A destroyed texture, a surface where a texture is expected, and an address.
    let tex = |handle: &str| format!("{handle} tex.1d.v4.u32.s32 {{%r5, %r6, %r7, %r8}}, [%rd5, {{%r0}}];");
    for handle in ["mov.u64 %rd5, 1;", "mov.u64 %rd5, %rd1;", "mov.u64 %rd5, %rd0;"] {
        let (kind, message) = found(&tex(handle));
        assert_eq!(kind, FindingKind::InvalidAddress, "{message}");
    }
}

#[test]
fn uninitialized_texels_and_races_are_found() {
    let text = |body: &str| {
        let head = ".reg .b64 %rd<3>; .reg .b32 %r<9>; ld.param.u64 %rd1, [object]; mov.u32 %r0, %ctaid.x;";
        kernel(".param .u64 object", &format!("{head}\n{body}\nret;"))
    };
    let launch = |body: &str, texture: bool| {
        let module = parse(&text(body));
        let mut memory = Memory::new().record_writes();
        let start = memory.alloc(16);
        memory.write(start, &[0; 12]).expect("in bounds");
        let image = image(start, TexelType::U32, 1, [4, 1, 1]);
        let handle = if texture {
            memory.create_texture(Texture { image, sampler: SAMPLER })
        } else {
            memory.create_surface(image)
        };
        let launch = Launch { grid: [2, 1, 1], block: [1, 1, 1], ..Launch::default() };
        match Sim::new().launch(&module, "k", &launch, &[Arg::from(handle)], &mut memory) {
            Ok(_) => None,
            Err(SimError::Fault(finding)) => Some(finding.kind),
            Err(error) => panic!("{error}"),
        }
    };
    let tex = |index: &str| format!("tex.1d.v4.u32.s32 {{%r5, %r6, %r7, %r8}}, [%rd1, {{{index}}}];");
    assert_eq!(launch(&tex("3"), true), Some(FindingKind::UninitializedGlobalRead));
    assert_eq!(launch(&tex("2"), true), None);
    assert_eq!(launch("sust.b.1d.b32.trap [%rd1, {4}], %r0;", false), Some(FindingKind::GlobalRace));
    assert_eq!(launch("shl.b32 %r1, %r0, 2; sust.b.1d.b32.trap [%rd1, {%r1}], %r0;", false), None);
}
