//! Tiles on Hopper: tensor copies (TMA), rings of stages between specialized warpgroups, warpgroup MMAs (`wgmma`), and schedules of
//! resident blocks. `wgmma` requires sm_90a.

mod all_to_all;
mod assembly;
mod clear;
mod exchange;
mod in_flight;
mod left_factor;
mod matrix;
mod outbox;
mod reduce_scatter;
mod ring;
mod roles;
mod rounds;
mod schedule;
mod stage;
mod tensor_copy;
mod turns;

pub use all_to_all::AllToAll;
pub use assembly::{Assembly, Contribution};
pub use in_flight::{Accumulators, InFlight};
pub use left_factor::{Frozen, LeftFactor};
pub use matrix::{SharedFactor, SharedMatrix};
pub use outbox::Outbox;
pub use reduce_scatter::ReduceScatter;
pub use ring::Ring;
pub(super) use ring::WARPS;
pub use roles::{Consumer, Consumers, Producer, ProducerRole, consumers, producer};
pub use rounds::Footprint;
pub use schedule::{Part, Persistent, Schedule, Sharing};
pub use stage::{EmptyStage, FillingStage, Received};
pub(crate) use tensor_copy::Source;
pub use tensor_copy::{BoxSource, BoxSources, FirstRows, Joined, Multicast};
pub use turns::{Baton, Turn, Turns};
