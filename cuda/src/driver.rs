//! The driver in safe code: devices, contexts, streams, events, memory, modules, launches.

pub(crate) mod array;
pub(crate) mod attributes;
pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod graph_memory;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod linker;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod operation;
pub(crate) mod order;
pub(crate) mod origin;
pub(crate) mod pool;
pub(crate) mod races;
pub(crate) mod registry;
pub(crate) mod stream;
pub(crate) mod stream_value;
pub(crate) mod tensor_map;
pub(crate) mod virtual_memory;
