//! Planted bugs, each with a corrected counterpart: every check reports the bug at its line, and reports nothing for the counterpart, in
//! the fixed order and in random orders.

mod clusters;
mod copies;
mod heap;
mod lanes;
mod memory;
mod pipelines;
mod products;
mod races;
mod refusals;
mod threads;
mod undefined;

use super::support::{bytes, kernel, parse};
use warpwright_sim::{
    Arg, Checks, FindingKind, Launch, Memory, Report, Sim, SimError, TensorMap, TensorSwizzle, TensorType,
};

/// A kernel with a bug, and the corrected kernel. Each line that a finding must name has the comment `HERE`.
struct Pair {
    name: &'static str,
    kind: FindingKind,
    grid: u32,
    /// The number of blocks of a cluster.
    cluster: u32,
    block: u32,
    bug: &'static str,
    twin: &'static str,
}

/// Returns a pair of one block.
const fn pair(
    name: &'static str,
    kind: FindingKind,
    block: u32,
    bug: &'static str,
    twin: &'static str,
) -> Pair {
    Pair { name, kind, grid: 1, cluster: 1, block, bug, twin }
}

/// Returns a pair with this number of blocks and of threads per block.
const fn blocks(
    name: &'static str,
    kind: FindingKind,
    (grid, block): (u32, u32),
    bug: &'static str,
    twin: &'static str,
) -> Pair {
    Pair { grid, ..pair(name, kind, block, bug, twin) }
}

const PARAMS: &str = ".param .u64 out, .param .u64 in, .param .align 64 .b8 map[128]";

/// `%r0` is the thread index, `%r1` the block index, `%r2` the shared address of the thread's word, `%r3` that of the next thread's word,
/// `%rd0` and `%rd1` the buffers, `%rd3` and `%rd4` the addresses of the words in them by the thread's index in the grid.
const HEAD: &str = ".reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .pred %p<8>; .reg .f32 %f<32>;
.shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r4, %ntid.x;
mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r2, %r5, %r6;
xor.b32 %r7, %r0, 1; shl.b32 %r7, %r7, 2; add.u32 %r3, %r5, %r7;
mad.lo.u32 %r8, %r1, %r4, %r0; mul.wide.u32 %rd2, %r8, 4; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 16; setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r1, 0;
";

/// The contents of a module in addition to the kernel.
const OUTSIDE: &str =
    ".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .b8 text[5] = {119, 114, 111, 110, 0};
";

/// Enough instructions for every counterpart.
const STEP_LIMIT: u64 = 1_000_000;

fn text(body: &str) -> String {
    let text = kernel(PARAMS, &format!("{HEAD}{body}\nret;"));
    text.replacen(".visible", &format!("{OUTSIDE}.visible"), 1)
}

/// Fills 4 KB of shared memory and describes it: `%rd10` is the descriptor of a K-major tile without swizzle.
macro_rules! tile {
    ($($body:literal)*) => {
        concat!(
            "mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 32, %r5; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
             st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; st.shared.v4.u32 [%r10+16], {%r9, %r9, %r9, %r9};
             fence.proxy.async.shared::cta; bar.sync 0;
             shr.u32 %r11, %r5, 4; cvt.u64.u32 %rd10, %r11; or.b64 %rd10, %rd10, 0x0000000800080000;
             mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
             ",
            $($body),*
        )
    };
}
use tile;

/// The number of words of each of the two buffers.
const WORDS: usize = 1024;

fn launch(sim: &Sim<'_>, pair: &Pair, body: &str) -> Result<Report, SimError> {
    let module = parse(&text(body));
    let mut memory = Memory::new();
    let (out, input) = (memory.alloc(4 * WORDS), memory.alloc(4 * WORDS));
    memory.write(input, &bytes(&(0..WORDS as u32).collect::<Vec<_>>())).expect("in bounds");
    let map = TensorMap {
        ty: TensorType::U32,
        address: input,
        dims: vec![32, 32],
        strides: vec![128],
        tile: vec![8, 8],
        element_strides: vec![1, 1],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    };
    let args = [Arg::from(out), input.into(), Arg::try_from(&map).expect("a valid map")];
    let cluster = (pair.cluster > 1).then_some([pair.cluster, 1, 1]);
    let shape = Launch { grid: [pair.grid, 1, 1], block: [pair.block, 1, 1], cluster, ..Launch::default() };
    sim.launch(&module, "k", &shape, &args, &mut memory)
}

/// Returns the marked lines of the whole text.
fn marked(body: &str) -> Vec<u32> {
    let text = text(body);
    (1..).zip(text.lines()).filter(|(_, line)| line.contains("HERE")).map(|(number, _)| number).collect()
}

/// Returns an error that describes the failure of a pair.
fn check(pair: &Pair) -> Result<(), String> {
    let lines = marked(pair.bug);
    let sim = || Sim::new().step_limit(STEP_LIMIT);
    let sims = || (0..4).map(|seed| if seed == 0 { sim() } else { sim().seed(seed) });
    for sim in sims() {
        let finding = match launch(&sim, pair, pair.bug) {
            Err(SimError::Fault(finding)) => *finding,
            Ok(Report { mut notes, .. }) if !notes.is_empty() => notes.swap_remove(0),
            other => return Err(format!("nothing was found: {other:?}")),
        };
        if finding.kind != pair.kind {
            return Err(format!("found {}: {finding}", finding.kind));
        }
        let sides = std::iter::once(finding.site.line).chain(finding.other.as_ref().map(|site| site.line));
        let found: Vec<u32> = sides.collect();
        if !found.iter().any(|line| lines.contains(line)) {
            return Err(format!("found at {found:?}, not at {lines:?}: {finding}"));
        }
        let all = launch(&sim.keep_going(100), pair, pair.bug).map_err(|error| error.to_string())?;
        let list = if pair.kind.is_note() { &all.notes } else { &all.findings };
        if !list.iter().any(|finding| finding.kind == pair.kind) {
            return Err(format!("going on, only {:?} and {:?} were found", all.findings, all.notes));
        }
    }
    for sim in sims() {
        let report = launch(&sim.keep_going(100), pair, pair.twin).map_err(|error| error.to_string())?;
        if let Some(finding) = report.findings.iter().chain(&report.notes).next() {
            return Err(format!("the twin is not clean: {finding}"));
        }
    }
    Ok(())
}

fn all() -> impl Iterator<Item = &'static Pair> {
    let subjects = [
        races::PAIRS,
        memory::PAIRS,
        undefined::PAIRS,
        copies::PAIRS,
        heap::PAIRS,
        pipelines::PAIRS,
        clusters::PAIRS,
        lanes::PAIRS,
        products::PAIRS,
        refusals::PAIRS,
        threads::PAIRS,
    ];
    subjects.into_iter().flatten()
}

#[test]
fn every_bug_is_found_and_every_twin_is_clean() {
    let failures: Vec<String> =
        all().filter_map(|pair| Some(format!("{}: {}", pair.name, check(pair).err()?))).collect();
    assert!(failures.is_empty(), "{} pairs fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn names_of_pairs_are_unique() {
    let mut names: Vec<&str> = all().map(|pair| pair.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_kind_has_a_pair() {
    // These kinds depend on an earlier launch or on writes by the host, and are tested elsewhere.
    let elsewhere = [FindingKind::MissingGridWait, FindingKind::UninitializedGlobalRead];
    let missing: Vec<_> = FindingKind::ALL
        .iter()
        .filter(|kind| !elsewhere.contains(kind) && !all().any(|pair| pair.kind == **kind))
        .collect();
    assert!(missing.is_empty(), "kinds without a planted bug: {missing:?}");
}

#[test]
fn without_checks_only_hardware_faults_are_found() {
    let sim = || Sim::new().checks(Checks::empty()).step_limit(100_000);
    let race = all().find(|pair| pair.kind == FindingKind::SharedRace).expect("one");
    launch(&sim(), race, race.bug).unwrap_or_else(|error| panic!("{error}")).assert_clean();
    let wild = all().find(|pair| pair.kind == FindingKind::GlobalOutOfBounds).expect("one");
    assert!(launch(&sim(), wild, wild.bug).is_err());
}
