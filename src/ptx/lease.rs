//! Leases: where in a kernel a handle to shared memory, to products in flight or to a role may be used.
//!
//! A handle proves something about the point of the kernel at which it was created: that data has arrived, that a stage is free, that a
//! thread has a role. The proof ends with the branch or loop in which the handle was created, and when the handle is given back. Types
//! express this only in part, because a closure can move a handle out of an emitted branch, and handles that are derived from others can
//! be copied.

use std::panic::Location;

use super::kernel::Builder;

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
    /// The body of the loop that carries the handle, where it has another lease.
    carried_in: Option<u32>,
    /// The handle's lease before the loop that carries it. It ends with this lease, and this lease ends with it.
    before: Option<Lease>,
}

impl Builder<'_> {
    /// Returns a lease for a handle that is created in the current lexical block.
    pub(crate) fn lease(self) -> Lease {
        let block = self.innermost_block();
        self.lease_in(block, None)
    }

    fn lease_in(self, block: u32, before: Option<Lease>) -> Lease {
        let leases = &mut self.body().leases;
        leases.push(Terms { block, ended: None, carried_in: None, before });
        Lease(leases.len() as u32 - 1)
    }

    fn terms(self, Lease(number): Lease) -> Terms {
        self.body().leases[number as usize]
    }

    /// Rejects the use of a handle after the branch or loop in which it was created, after it was given back, or in and after a loop that
    /// carries it, where another handle represents it.
    #[track_caller]
    pub(crate) fn check_lease(self, lease: Lease) {
        if self.terms(lease).carried_in.is_some() {
            self.refuse(
                "expected the tile, stage or product that the loop carries, found the one from before the loop".into(),
            );
        } else {
            self.check_moved_lease(lease);
        }
    }

    #[track_caller]
    fn check_moved_lease(self, lease: Lease) {
        let mut of_handle = Some(lease);
        while let Some(lease) = of_handle {
            let Terms { ended, before, .. } = self.terms(lease);
            if let Some(at) = ended {
                return self.refuse(format!(
                    "expected a tile, stage or product that has not been given back, found one that was given back at {at}"
                ));
            }
            of_handle = before;
        }
        let block = self.terms(lease).block;
        let is_open = self.body().open_blocks.contains(&block);
        if !is_open {
            self.refuse(
                "expected a tile, stage, product or role of the enclosing code, found one from a branch, loop or role that has ended"
                    .into(),
            );
        }
    }

    /// Rejects the use of a handle in a branch or loop inside the block in which it was created, because the block continues as if the
    /// handle had been used.
    #[track_caller]
    pub(crate) fn check_lease_here(self, lease: Lease) {
        self.check_lease(lease);
        if self.terms(lease).block != self.innermost_block() {
            self.refuse(
                "expected a stage or product to be filled, waited for or given back where it was created, found this in a nested branch or loop"
                    .into(),
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
        let mut ended = Some(lease);
        while let Some(lease) = ended {
            self.expire_lease(lease);
            ended = self.terms(lease).before;
        }
    }

    /// Replaces the lease of a handle whose state changes here.
    #[track_caller]
    pub(crate) fn renew_lease(self, lease: &mut Lease) {
        self.end_lease(*lease);
        *lease = self.lease();
    }

    /// Returns the lease of a handle in the loop that is about to begin and that carries the handle.
    #[track_caller]
    pub(super) fn carried_lease(self, lease: Lease) -> Lease {
        // The body is the next block. Views of the same tile have the same lease.
        let body = self.body().next_block();
        match self.terms(lease).carried_in {
            Some(found) if found == body => self.check_moved_lease(lease),
            _ => self.check_lease(lease),
        }
        let Lease(number) = lease;
        self.body().leases[number as usize].carried_in = Some(body);
        self.lease_in(body, Some(lease))
    }

    /// Returns the lease of a handle after the loop or branch that returns it here.
    pub(super) fn lease_after(self, lease: Lease) -> Lease {
        let block = self.body().enclosing_block();
        self.lease_in(block, Some(lease))
    }
}
