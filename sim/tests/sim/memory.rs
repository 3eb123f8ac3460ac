//! Memory that the host shares, and host accesses of any alignment.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use warpwright_sim::{Arch, Checks, Launch, Mapping, Memory, MemoryError, Module, Sim};

/// Returns words of the host that live as long as the process.
fn words(count: usize) -> &'static [AtomicU32] {
    Box::leak((0..count).map(|_| AtomicU32::new(0)).collect())
}

/// A kernel that computes `*p += 1`, and a variable that the host can access.
const INCREMENT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared = 5;
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}";

fn increment(memory: &mut Memory, address: u64) {
    let module = Module::parse(INCREMENT).expect("valid PTX");
    Sim::new().launch(&module, "k", &Launch::default(), &[address.into()], memory).expect("it runs");
}

#[test]
fn copies_of_any_alignment() {
    let mut memory = Memory::new();
    let address = memory.alloc(64);
    for start in 0..8u64 {
        for length in 0..20 {
            memory.fill(address, 0xee).expect("allocated");
            let bytes: Vec<u8> = (1..=length).collect();
            memory.write(address + start, &bytes).expect("in bounds");
            let mut all = [0; 64];
            memory.read(address, &mut all).expect("in bounds");
            let mut expected = [0xee; 64];
            expected[start as usize..][..bytes.len()].copy_from_slice(&bytes);
            assert_eq!(all, expected, "{length} bytes at {start}");
            let mut back = vec![0; bytes.len()];
            memory.read(address + start, &mut back).expect("in bounds");
            assert_eq!(back, bytes);
        }
    }
}

#[test]
fn kernels_and_the_host_share_words() {
    let mut memory = Memory::with_host_addresses();
    let host = words(4);
    // The first address is rejected, as if the host already used it.
    let mut asked = vec![];
    let map = |address| {
        asked.push(address);
        (asked.len() > 1).then_some(host)
    };
    let address = memory.map(16, map).expect("the second address is free");
    assert_eq!(asked, [1 << 36, 2 << 36]);
    assert_eq!(address, 2 << 36);
    host[1].store(41, Relaxed);
    increment(&mut memory, address + 4);
    assert_eq!(host[1].load(Relaxed), 42);
    assert_eq!(memory.allocation(address + 15), Some((address, 16)));
    assert_eq!(memory.allocation(address + 16), None);

    // A freed host address is reused; device addresses are not.
    memory.free(address).expect("allocated");
    assert_eq!(memory.map(16, |at| (at == address).then_some(host)), Ok(address));
    let device = memory.alloc(4);
    assert!(device >= 1 << 47);
    memory.free(device).expect("allocated");
    assert_eq!(memory.free(device), Err(MemoryError::Freed { address: device, size: 4 }));
    assert!(memory.map(16, |_| None).is_err());
    assert!(Memory::new().map(16, |_| Some(host)).is_err());
}

#[test]
fn registered_host_words_have_a_separate_address() {
    let mut memory = Memory::new();
    let host = words(2);
    let address = memory.register_host(host);
    increment(&mut memory, address + 4);
    assert_eq!((host[0].load(Relaxed), host[1].load(Relaxed)), (0, 1));
    assert_eq!(memory.allocation(address), Some((address, 8)));
}

#[test]
fn managed_variables_are_mapped() {
    let mut memory = Memory::with_host_addresses();
    let module = Module::parse(INCREMENT).expect("valid PTX");
    let host = words(1);
    memory.load_mapped(&module, |_, bytes| (bytes == 4).then_some(host));
    assert_eq!(host[0].load(Relaxed), 5);
    assert_eq!(memory.symbol(&module, "shared"), Ok(1 << 36));
    assert_eq!(module.variable_names().collect::<Vec<_>>(), ["shared"]);
    assert_eq!(module.target(), "sm_80");
}

#[test]
fn names_of_architectures_and_checks() {
    assert_eq!("sm_90a".parse(), Ok(Arch::Sm90));
    assert_eq!("sm_103f".parse(), Ok(Arch::Sm100));
    let error = "sm_42".parse::<Arch>().expect_err("it does not exist");
    assert_eq!(
        error.to_string(),
        "expected `sm_75`, `sm_80`, `sm_86`, `sm_89`, `sm_90`, `sm_100` or `sm_120`, found `sm_42`"
    );
    assert_eq!("shared-races, global_race".parse(), Ok(Checks::SHARED_RACES | Checks::GLOBAL_RACES));
    assert_eq!("none".parse(), Ok(Checks::empty()));
    assert!("everything".parse::<Checks>().is_err());
}

/// Ranges that are not reserved, and mappings that are not in their range or overlap, are errors, and change nothing.
#[test]
fn mappings_in_reserved_ranges() {
    let mut memory = Memory::new();
    let plain = memory.alloc(64);
    let start = memory.reserve(3 * Memory::RANGE).expect("room");
    let at = |start| Mapping { start, words: words(4), read_only: false };
    let empty = Mapping { start, words: &[], read_only: false };

    memory.remap(start, 3 * Memory::RANGE, &[at(start), at(start + 16), empty]).expect("side by side");
    increment(&mut memory, start + 16);
    let wrong: [(u64, u64, &[Mapping]); 7] = [
        (0, 64, &[]),
        (plain, 64, &[]),
        (start + 4, 64, &[]),
        (start, 4 * Memory::RANGE, &[]),
        (start, Memory::RANGE, &[at(start + Memory::RANGE)]),
        (start, 2 * Memory::RANGE, &[at(start + Memory::RANGE - 8)]),
        (start, Memory::RANGE, &[at(start), at(start + 8)]),
    ];
    for (start, bytes, mappings) in wrong {
        let found = memory.remap(start, bytes, mappings);
        assert!(matches!(found, Err(MemoryError::Unknown { .. })), "{start:#x}, {bytes}: {found:?}");
    }
    for (start, bytes) in [(0, 1), (plain, 64), (start + 1, 1), (start, 4 * Memory::RANGE), (u64::MAX, 1)] {
        assert!(memory.unreserve(start, bytes).is_err(), "{start:#x}, {bytes}");
    }
    let mut word = [0; 4];
    memory.read(start + 16, &mut word).expect("still mapped");
    assert_eq!(u32::from_le_bytes(word), 1);

    memory.unreserve(start, 3 * Memory::RANGE).expect("reserved");
    assert!(memory.read(start + 16, &mut word).is_err());
    assert!(memory.alloc_at(start + 4, 64).is_err());
    assert!(memory.alloc_at(0, 64).is_err());
    memory.alloc_at(start, 64).expect("no longer reserved");
}
