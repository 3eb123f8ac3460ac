//! Thread termination, traps, breakpoints and suspension (`exit`, `trap`, `brkpt`, `nanosleep`), register counts (`setmaxnreg`) and
//! dependent launches (`griddepcontrol`).

use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    val::Val,
};

impl<'k> Builder<'k> {
    /// Terminates the thread.
    #[track_caller]
    pub fn exit(self) {
        self.leave("exit");
    }

    /// Aborts the kernel and reports an error to the host.
    #[track_caller]
    pub fn trap(self) {
        self.emit(format_args!("trap"), &[]);
    }

    /// Suspends execution for a debugger.
    #[track_caller]
    pub fn brkpt(self) {
        self.emit(format_args!("brkpt"), &[]);
    }

    /// Suspends the thread for approximately `nanoseconds` nanoseconds. The actual time is at most twice that long and never exceeds 1 ms.
    #[track_caller]
    pub fn nanosleep(self, nanoseconds: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("nanosleep.u32"), &[nanoseconds.into().operand(self)]);
    }

    /// Increases the number of registers per thread of the warpgroup to `registers`, and waits until they are available. `registers` must
    /// be a multiple of 8 from 24 to 256. All threads of the warpgroup must execute the instruction. Requires sm_90a, sm_100a or sm_120a.
    ///
    /// The kernel must already have declared its initial number of registers: with [`max_registers`](Self::max_registers), or with
    /// [`min_blocks`](Self::min_blocks) and either [`block`](Self::block) or [`max_block`](Self::max_block). Otherwise, the builder rejects
    /// the instruction, because ptxas would ignore it.
    #[doc(alias = "setmaxnreg.inc")]
    #[track_caller]
    pub fn setmaxnreg_inc(self, registers: u32) {
        self.setmaxnreg("inc", registers);
    }

    /// Decreases the number of registers per thread of the warpgroup to `registers`. The requirements of
    /// [`setmaxnreg_inc`](Self::setmaxnreg_inc) apply.
    #[doc(alias = "setmaxnreg.dec")]
    #[track_caller]
    pub fn setmaxnreg_dec(self, registers: u32) {
        self.setmaxnreg("dec", registers);
    }

    #[track_caller]
    fn setmaxnreg(self, direction: &str, registers: u32) {
        if !(24..=256).contains(&registers) || !registers.is_multiple_of(8) {
            self.refuse(format!("setmaxnreg: expected a multiple of 8 from 24 to 256, found {registers}"));
            return;
        }
        if !self.has_register_budget() {
            self.refuse(
                "setmaxnreg requires the number of registers at the start: call `max_registers`, or `block` and `min_blocks`, first"
                    .into(),
            );
        }
        let count = Operand::Imm(Immediate::new(registers));
        self.emit(format_args!("setmaxnreg.{direction}.sync.aligned.u32"), &[count]);
    }

    /// Returns whether the kernel's declarations determine its initial number of registers; otherwise, ptxas ignores `setmaxnreg`.
    fn has_register_budget(self) -> bool {
        let entry = &self.body().entry;
        let threads = entry.block.or(entry.max_block);
        entry.max_registers.is_some() || threads.is_some() && entry.min_blocks.is_some()
    }

    /// Enables programmatic dependent launch. A launch of this kernel may then start before the preceding kernel in the stream has
    /// finished. The emitted code waits until that kernel has finished, and then allows the next kernel to start. Instructions before this
    /// call, such as the initialization of barriers, can overlap with the end of the preceding kernel.
    ///
    /// All threads must execute the emitted code. The builder rejects the call after an instruction that may access global memory, and
    /// within conditions, loops and roles. Requires sm_90 or later.
    #[doc(alias = "programmatic dependent launch")]
    #[doc(alias = "PDL")]
    #[track_caller]
    pub fn programmatic_launch(self) {
        if self.body().open_blocks.len() > 1 {
            self.refuse("expected a programmatic launch outside of conditions, loops and roles".into());
        }
        let access = self.body().global_access().map(str::to_owned);
        if let Some(access) = access {
            self.refuse(format!(
                "expected no access to global memory before a programmatic launch, found `{access}`"
            ));
        }
        self.body().entry.programmatic = true;
        // Wait first: the completion of a kernel then implies the completion of all kernels before it.
        self.griddepcontrol_wait();
        self.griddepcontrol_launch_dependents();
    }

    /// Waits until all prerequisite grids are complete and their writes are visible. Returns immediately if this is not a dependent launch.
    /// Requires sm_90 or later.
    #[doc(alias = "griddepcontrol.wait")]
    #[doc(alias = "cudaGridDependencySynchronize")]
    #[track_caller]
    pub fn griddepcontrol_wait(self) {
        self.emit(format_args!("griddepcontrol.wait"), &[]);
    }

    /// Allows dependent grids to start once all blocks have executed this instruction or have exited. Requires sm_90 or later.
    #[doc(alias = "griddepcontrol.launch_dependents")]
    #[doc(alias = "cudaTriggerProgrammaticLaunchCompletion")]
    #[track_caller]
    pub fn griddepcontrol_launch_dependents(self) {
        self.emit(format_args!("griddepcontrol.launch_dependents"), &[]);
    }
}
