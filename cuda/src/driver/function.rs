//! Kernels of modules, and their attributes.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use warpwright_sim as sim;

use crate::code::{Code, Fallible};
use crate::driver::device;
use crate::driver::module::Module;
use crate::driver::registry::{Handle, Registry};

/// A kernel.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) handle: Handle,
    pub(crate) name: String,
    /// The name as a C string, for programs.
    pub(crate) c_name: CString,
    pub(crate) params: Vec<sim::Param>,
    pub(crate) static_shared: u32,
    /// The maximum number of threads per block, according to `.maxntid` and `.reqntid`.
    pub(crate) max_threads: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    registers: i32,
    /// The architecture in `.target`, such as 90.
    target: i32,
    /// The maximum dynamic shared memory in bytes that the program has set.
    dynamic_shared: AtomicI32,
    large_clusters: AtomicI32,
    carveout: AtomicI32,
    module: Weak<Module>,
}

static FUNCTIONS: Registry<Function> = Registry::new(5);

/// The number of registers per thread that kernels report unless `.maxnreg` specifies it. The simulator does not allocate registers.
const REGISTERS: i32 = 32;

/// The maximum number of threads per block.
const MAX_THREADS: u64 = 1024;

/// The maximum shared memory per block in bytes, unless the kernel opts in.
const SHARED: i32 = 48 << 10;

impl Function {
    pub(crate) fn new(module: &Arc<Module>, name: &str) -> Option<Arc<Self>> {
        let entry = module.code.entry(name)?;
        let volume = |v: &[u64]| v.iter().product::<u64>();
        let max = entry.directive("maxntid").map_or(MAX_THREADS, volume);
        let required = entry.reqntid().map_or(MAX_THREADS, |v| volume(&v.map(u64::from)));
        let static_shared = entry.static_shared_bytes() as u32;
        let digits: String = module.code.target().chars().filter(char::is_ascii_digit).collect();
        let new = |handle| Self {
            handle,
            name: name.to_string(),
            c_name: CString::new(name).unwrap_or_default(),
            params: entry.params(),
            static_shared,
            max_threads: max.min(required).min(MAX_THREADS) as u32,
            cluster: entry.reqnctapercluster(),
            registers: entry
                .directive("maxnreg")
                .and_then(|n| n.first())
                .map_or(REGISTERS, |&n| (n as i32).min(REGISTERS)),
            target: digits.parse().unwrap_or(0),
            dynamic_shared: AtomicI32::new((SHARED - static_shared as i32).max(0)),
            large_clusters: AtomicI32::new(0),
            carveout: AtomicI32::new(-1),
            module: Arc::downgrade(module),
        };
        Some(FUNCTIONS.add(new))
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        FUNCTIONS.get(handle)
    }

    /// Invalidates the handle of a kernel.
    pub(crate) fn forget(function: &Arc<Self>) {
        // Succeeds, because the kernel was added when it was created.
        let _ = FUNCTIONS.remove(function.handle);
    }

    pub(crate) fn module(&self) -> Fallible<Arc<Module>> {
        self.module.upgrade().ok_or(Code::INVALID_HANDLE)
    }

    pub(crate) fn registers(&self) -> i32 {
        self.registers
    }

    pub(crate) fn max_dynamic_shared(&self) -> i32 {
        self.dynamic_shared.load(Relaxed)
    }

    pub(crate) fn allows_large_clusters(&self) -> bool {
        self.large_clusters.load(Relaxed) != 0
    }

    /// Returns the value of a `CUfunction_attribute`.
    pub(crate) fn attribute(&self, attribute: i32) -> Fallible<i32> {
        let cluster = |axis: usize| self.cluster.map_or(0, |cluster| cluster[axis] as i32);
        Ok(match attribute {
            0 => self.max_threads as i32,     // MAX_THREADS_PER_BLOCK
            1 => self.static_shared as i32,   // SHARED_SIZE_BYTES
            2 | 3 => 0,                       // CONST_SIZE_BYTES, LOCAL_SIZE_BYTES
            4 => self.registers,              // NUM_REGS
            5 => self.target,                 // PTX_VERSION
            6 => self.binary_version(),       // BINARY_VERSION
            7 => 0,                           // CACHE_MODE_CA
            8 => self.max_dynamic_shared(),   // MAX_DYNAMIC_SHARED_SIZE_BYTES
            9 => self.carveout.load(Relaxed), // PREFERRED_SHARED_MEMORY_CARVEOUT
            10 => 0,                          // CLUSTER_SIZE_MUST_BE_SET
            11..=13 => cluster(attribute as usize - 11),
            14 => i32::from(self.allows_large_clusters()),
            15 => 0, // CLUSTER_SCHEDULING_POLICY_PREFERENCE
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    fn binary_version(&self) -> i32 {
        let (major, minor) = crate::config::config().arch.capability();
        (10 * major + minor) as i32
    }

    pub(crate) fn set_attribute(&self, attribute: i32, value: i32) -> Fallible {
        match attribute {
            8 => {
                let most = device::limits().shared_opt_in - self.static_shared as i32;
                if !(0..=most).contains(&value) {
                    return Err(Code::INVALID_VALUE);
                }
                self.dynamic_shared.store(value, Relaxed);
            }
            9 if (-1..=100).contains(&value) => self.carveout.store(value, Relaxed),
            14 => self.large_clusters.store(value, Relaxed),
            // A preference for the scheduling of clusters, which the simulator ignores.
            15 => {}
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }
}
