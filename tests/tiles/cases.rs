//! The cases of these tests are counted: launches of a kernel, for a shape, layout and types, whose results are compared.

use std::{
    cell::Cell,
    env, fs,
    io::{self, Write},
    ops::Deref,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use warpwright::{
    ptx::{Kernel, Params, Target},
    run::{AnyDevice, Arguments, Device, Launched, RunError},
};

use crate::devices;

/// The kernels and the cases of all tests that have run so far.
static COUNTS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The tests with cases that have not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A test with cases: ends with its thread.
struct Running;

impl Running {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

thread_local! {
    static TEST: Running = Running::new();
}

/// A device that counts its launches.
pub(super) struct Counted<'d> {
    device: &'d AnyDevice,
    launches: Cell<usize>,
}

impl Deref for Counted<'_> {
    type Target = AnyDevice;

    fn deref(&self) -> &AnyDevice {
        self.device
    }
}

impl Counted<'_> {
    /// Like [`Device::launch`].
    pub(super) fn launch<A: Params>(
        &self,
        kernel: &Kernel<A>,
        arguments: impl Arguments<A>,
    ) -> Result<Launched, RunError> {
        self.launches.set(self.launches.get() + 1);
        self.device.launch(kernel, arguments)
    }
}

/// Returns what `on` returns on every device, which must be the same to the bit. The launches in the simulator are cases.
pub(super) fn everywhere<R: PartialEq + std::fmt::Debug>(on: impl Fn(&Counted<'_>) -> R) -> R {
    everywhere_of(Target::SM_75, on)
}

/// Like [`everywhere`], on the devices that run the code of a target.
pub(super) fn everywhere_of<R: PartialEq + std::fmt::Debug>(
    target: Target,
    on: impl Fn(&Counted<'_>) -> R,
) -> R {
    TEST.with(|_| ());
    devices::everywhere_of(target, |device| {
        let counted = Counted { device, launches: Cell::new(0) };
        let found = on(&counted);
        if matches!(device, AnyDevice::Sim(_)) {
            let counts = [1, counted.launches.get()];
            for (all, count) in COUNTS.iter().zip(counts) {
                all.fetch_add(count, Ordering::SeqCst);
            }
        }
        found
    })
}

/// Waits until no other test has run for a while; tests begin in the order of their names.
fn wait_for_others() {
    let mut idle = 0;
    while idle < 20 {
        thread::sleep(Duration::from_millis(100));
        idle = if RUNNING.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
    }
}

/// Prints the numbers of kernels and cases, and compares them with the documented lower bounds if all tests run.
pub(super) fn check_counts() {
    // A single test thread is the main one, which ran the other tests before.
    if thread::current().name() != Some("main") {
        wait_for_others();
    }
    let counts = [0, 1].map(|at: usize| COUNTS[at].load(Ordering::SeqCst));
    let [kernels, cases] = counts;
    // To the terminal even if the test passes.
    let _ = writeln!(io::stderr(), "tests of tiles: {kernels} kernels in {cases} cases");
    let is_part = |argument: String| !argument.starts_with('-') || argument.starts_with("--skip");
    if env::args().skip(1).any(is_part) {
        return;
    }
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap();
    let (before, after) = text.split_once(" kernels in ").expect("docs/tiles.md states the numbers");
    let stated = [before.split_whitespace().next_back(), after.split_whitespace().next()]
        .map(|number| number.unwrap_or_default().replace(',', "").parse::<usize>().expect("a number"));
    assert!(
        stated[0] <= kernels && stated[1] <= cases,
        "docs/tiles.md states more than {} kernels in {} cases; found {kernels} in {cases}",
        stated[0],
        stated[1]
    );
}
