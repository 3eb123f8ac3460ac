//! Leases: where in a kernel a handle to shared memory, to products in flight or to a role may be used.
//!
//! A handle proves something about the point of the kernel at which it was created: that data has arrived, that a stage is free, that a
//! thread has a role. The proof ends with the branch or loop in which the handle was created, and when the handle is given back. Types
//! express this only in part, because a closure can move a handle out of an emitted branch, and handles that are derived from others can
//! be copied.

use std::panic::Location;

use super::{
    kernel::Builder,
    state::{Visited, Visitor},
};

/// The identity of a handle's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease(u32);

/// What is known about a lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The lexical block in which the handle may be used.
    block: u32,
    /// The source line that gave the handle back.
    ended: Option<&'static Location<'static>>,
    /// The lease of the handle that a loop carries in the place of this one's handle.
    of: Option<Lease>,
}

impl<'k> Builder<'k> {
    /// Returns a lease for a handle that is created in the current lexical block.
    pub(crate) fn lease(self) -> Lease {
        let block = self.innermost_block();
        self.lease_in(block, None)
    }

    fn lease_in(self, block: u32, of: Option<Lease>) -> Lease {
        let leases = &mut self.body().leases;
        leases.push(Terms { block, ended: None, of });
        Lease(leases.len() as u32 - 1)
    }

    fn terms(self, Lease(number): Lease) -> Terms {
        self.body().leases[number as usize]
    }

    /// Rejects the use of a handle after the branch or loop in which it was created, or after it was given back.
    #[track_caller]
    pub(crate) fn check_lease(self, lease: Lease) {
        let Terms { block, ended, .. } = self.terms(lease);
        if let Some(at) = ended {
            self.refuse(format!("expected a tile, stage or product that has not been given back, found one that was given back at {at}"));
        } else if !self.body().open_blocks.contains(&block) {
            self.refuse("expected a tile, stage or product of the enclosing code, found one from a branch or loop that has ended".into());
        }
    }

    /// Rejects the use of a handle in a branch or loop inside the block in which it was created, because the block continues as if the
    /// handle had been used.
    #[track_caller]
    pub(crate) fn check_lease_here(self, lease: Lease) {
        self.check_lease(lease);
        if self.terms(lease).block != self.innermost_block() {
            self.refuse(
                "expected a stage or product to be filled or waited for where it was created, found this in a nested branch or loop".into(),
            );
        }
    }

    /// Rejects a stage that was filled in the place of another.
    #[track_caller]
    pub(crate) fn check_same_lease(self, expected: Lease, found: Lease) {
        if expected != found {
            self.refuse("expected the filled stage that was passed to the closure, found another".into());
        }
    }

    /// Ends a lease whose handle may no longer be used, even if it was dropped.
    #[track_caller]
    pub(crate) fn expire_lease(self, Lease(number): Lease) {
        let at = self.here();
        self.body().leases[number as usize].ended.get_or_insert(at);
    }

    /// Ends a lease: the handle is given back. Rejects this in a loop that began after the handle was created, because the loop would give
    /// the handle back in every iteration.
    #[track_caller]
    pub(crate) fn end_lease(self, lease: Lease) {
        self.check_lease(lease);
        let block = self.terms(lease).block;
        let body = self.body();
        let depth = body.open_blocks.iter().position(|&open| open == block).unwrap_or(0);
        let in_loop = body.open_blocks[depth + 1..].iter().any(|open| body.open_loops.contains(open));
        drop(body);
        if in_loop {
            self.refuse(
                "expected a tile, stage or product to be given back or waited for once, found this in a loop that begins after it was \
                 created: let the loop carry it"
                    .into(),
            );
        }
        let (at, mut ended) = (self.here(), Some(lease));
        while let Some(Lease(number)) = ended {
            let terms = &mut self.body().leases[number as usize];
            terms.ended = Some(at);
            ended = terms.of;
        }
    }

    /// Replaces the lease of a handle whose state changes here.
    #[track_caller]
    pub(crate) fn renew_lease(self, lease: &mut Lease) {
        self.end_lease(*lease);
        *lease = self.lease();
    }
}

impl<'k> Visitor<'_, 'k> {
    /// Visits the lease of a handle. In a loop that carries the handle, and after it, the handle has another lease.
    #[track_caller]
    pub(crate) fn lease(&mut self, lease: &mut Lease) {
        let k = self.kernel();
        match self.visited() {
            Visited::BeforeLoop => {
                k.check_lease(*lease);
                // The body is the next block.
                let block = k.body().next_block();
                *lease = k.lease_in(block, Some(*lease));
            }
            Visited::EndOfBlock => k.check_lease(*lease),
            Visited::AfterBlock => {
                let block = k.body().enclosing_block();
                *lease = k.lease_in(block, None);
            }
        }
    }
}
