//! Bugs planted in the PTX of a kernel: the simulator finds every missing wait, wrong parity, missing arrival and missing fence.

use warpwright::{
    prelude::*,
    ptx::SwizzleMode,
    sim::{Arg, FindingKind, Launch, Memory, Module, Sim, SimError, TensorMap, TensorSwizzle, TensorType},
    tiles::{consumers, producer},
};

use super::problem::{Problem, numbers, transposed, typed};

type Args = (In<bf16>, In<bf16>, Out<bf16>);

const M: u32 = 64;
const N: u32 = 192;
const K: u32 = 320;

/// D = A·Bᵀ in tiles of 64×64 by one block: five steps for each of three tiles through two stages, stored through one slot.
fn kernel() -> Kernel<Args> {
    let kernel = Kernel::<Args>::build("gemm(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
        k.block([256]);
        k.grid([1]);
        let (a, b) = (k.global(a, row_major(M, K)), k.global(b, row_major(N, K)));
        let d = k.global(d, row_major(M, N));
        let ring = k.ring::<(St<'_, bf16, 4, 4>, St<'_, bf16, 4, 4>), 2, 1>();
        let outbox = k.outbox::<bf16, 4, 1, 1>();
        k.specialize(
            producer(40, |p| {
                k.for_(N / 64, |j| {
                    p.run(&ring, K / 64, |step, stage| stage.fill((a.tile(0, step), b.tile(j, step))));
                });
            }),
            consumers::<1, _>(160, |c| {
                k.for_(N / 64, |j| {
                    let zeros = [k.zeros::<Rt<f32, 1, 4>>()];
                    let sums = c.run(&ring, K / 64, zeros, |sums, (a, b)| sums.mma_abt(a, b));
                    c.store(&outbox, sums, |_| d.tile(0, j));
                });
            }),
        );
    });
    kernel.unwrap()
}

/// The outcome of running a text of the kernel.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Correct,
    Wrong,
    Found(FindingKind),
    /// The text was rejected, or the run exceeded its limit.
    Stopped(String),
}

/// Runs a text of the kernel.
fn run(kernel: &Kernel<Args>, text: &str, problem: &Problem) -> End {
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => return End::Stopped(error.to_string()),
    };
    let mut memory = Memory::new();
    let upload = |memory: &mut Memory, numbers: &[f64]| {
        let bytes: Vec<u8> = typed::<bf16>(numbers).iter().flat_map(|x| x.to_le_bytes()).collect();
        let address = memory.alloc(bytes.len());
        memory.write(address, &bytes).unwrap();
        address
    };
    let a = upload(&mut memory, &problem.a);
    let b = upload(&mut memory, &transposed(&problem.b, problem.depth, problem.n));
    let d = upload(&mut memory, &vec![77.0; problem.m * problem.n]);
    let buffers = [a, b, d];
    let mut args = buffers.map(Arg::from).to_vec();
    for map in &kernel.entry().maps {
        let evaluate = |dims: &[warpwright::ptx::Dim]| -> Vec<u64> {
            dims.iter().map(|dim| dim.evaluate(&|_| 0).expect("the extents are constants")).collect()
        };
        assert_eq!(map.swizzle, SwizzleMode::B128);
        let map = TensorMap {
            ty: TensorType::Bf16,
            address: buffers[map.parameter],
            dims: evaluate(&map.dims),
            strides: evaluate(&map.strides).iter().map(|stride| 2 * stride).collect(),
            tile: map.box_dims.clone(),
            element_strides: vec![1; map.dims.len()],
            swizzle: TensorSwizzle::B128,
            nan_fill: false,
        };
        args.push(Arg::bytes(map.encode().unwrap()));
    }
    let entry = kernel.entry();
    let shape = Launch {
        grid: [1; 3],
        block: [256, 1, 1],
        dynamic_shared_bytes: entry.dynamic_shared_bytes,
        cluster: None,
    };
    match Sim::new().step_limit(1 << 20).launch(&module, "gemm", &shape, &args, &mut memory) {
        Ok(report) => match report.findings.first() {
            Some(finding) => End::Found(finding.kind),
            None => {
                let mut bytes = vec![0; 2 * problem.m * problem.n];
                memory.read(d, &mut bytes).unwrap();
                let found = bytes.chunks(2).map(|x| bf16::from_le_bytes([x[0], x[1]])).collect();
                let expected = typed::<bf16>(&problem.product());
                if numbers::<bf16>(found) == numbers(expected) { End::Correct } else { End::Wrong }
            }
        },
        Err(SimError::Fault(finding)) => End::Found(finding.kind),
        Err(other) => End::Stopped(other.to_string()),
    }
}

/// Runs the kernel with each line that starts with `mnemonic` replaced in turn, and returns the lines with their ends.
#[track_caller]
fn mutants(mnemonic: &str, mutate: &dyn Fn(&str) -> String) -> Vec<(String, End)> {
    let (kernel, problem) = (kernel(), Problem::new::<bf16, bf16>(M as usize, N as usize, K as usize));
    let text = kernel.ptx();
    assert_eq!(run(&kernel, &text, &problem), End::Correct);
    let lines: Vec<&str> = text.lines().collect();
    let is_mutated = |line: &str| {
        let line = line.trim();
        let guarded = line.strip_prefix('@').and_then(|line| line.split_once(char::is_whitespace));
        guarded.map_or(line, |(_, line)| line.trim()).starts_with(mnemonic)
    };
    let mutated: Vec<_> = (0..lines.len()).filter(|&at| is_mutated(lines[at])).collect();
    assert!(!mutated.is_empty(), "no line starts with {mnemonic}\n{text}");
    let run = |at: usize| {
        let mutant = mutate(lines[at]);
        let lines: Vec<&str> =
            (0..lines.len()).map(|i| if i == at { mutant.as_str() } else { lines[i] }).collect();
        (format!("line {}: {}", at + 1, lines[at].trim()), run(&kernel, &lines.join("\n"), &problem))
    };
    mutated.into_iter().map(run).collect()
}

/// Asserts that the simulator finds each mutant, as one of these kinds.
#[track_caller]
fn found(mnemonic: &str, mutate: &dyn Fn(&str) -> String, kinds: &[FindingKind]) {
    for (line, end) in mutants(mnemonic, mutate) {
        let is_found = matches!(&end, End::Found(kind) if kinds.contains(kind));
        assert!(is_found, "{line}: {end:?}, expected one of {kinds:?}");
    }
}

fn removed(_: &str) -> String {
    String::new()
}

/// The operands of an instruction.
fn operands(line: &str) -> Vec<&str> {
    let line = line.trim().trim_end_matches(';');
    let (_, operands) = line.split_once(char::is_whitespace).expect("an instruction with operands");
    operands.split(',').map(str::trim).collect()
}

#[test]
fn missing_waits_at_barriers() {
    use FindingKind::{AsyncProxyRace, MbarrierMisuse, UninitializedSharedRead, WgmmaInFlight};
    let kinds = [AsyncProxyRace, MbarrierMisuse, UninitializedSharedRead, WgmmaInFlight];
    found("mbarrier.try_wait", &|line| format!("mov.pred {}, 1;", operands(line)[0]), &kinds);
}

#[test]
fn wrong_parities() {
    use FindingKind::{
        AsyncProxyRace, MbarrierMisuse, MbarrierNeverCompletes, UninitializedSharedRead, WgmmaInFlight,
    };
    let kinds =
        [AsyncProxyRace, MbarrierMisuse, MbarrierNeverCompletes, UninitializedSharedRead, WgmmaInFlight];
    let mutate = |line: &str| {
        let parity = operands(line)[2];
        let line = line.replace(parity, "%other");
        format!("{{ .reg .b32 %other; xor.b32 %other, {parity}, 1;\n{line}\n}}")
    };
    found("mbarrier.try_wait", &mutate, &kinds);
}

/// A stage that is never released, and one that is never filled.
#[test]
fn missing_arrivals() {
    found("mbarrier.arrive", &removed, &[FindingKind::MbarrierNeverCompletes, FindingKind::MbarrierMisuse]);
}

#[test]
fn missing_waits_for_products() {
    let kinds = [FindingKind::WgmmaInFlight, FindingKind::AsyncProxyRace];
    found("wgmma.wait_group", &removed, &kinds);
    found("wgmma.commit_group", &removed, &kinds);
}

#[test]
fn missing_waits_for_stores() {
    use FindingKind::{AsyncGroupLeaked, AsyncProxyRace, MbarrierMisuse, MissingProxyFence, SharedRace};
    found("cp.async.bulk.commit_group", &removed, &[AsyncProxyRace, AsyncGroupLeaked]);
    found("cp.async.bulk.wait_group", &removed, &[AsyncProxyRace, AsyncGroupLeaked]);
    found("fence.proxy.async", &removed, &[MissingProxyFence]);
    found("bar.sync", &removed, &[AsyncProxyRace, MbarrierMisuse, MissingProxyFence, SharedRace]);
}
