//! A finished kernel without its Rust parameter types, for rendering, export and launches.

use std::{collections::HashSet, hash::Hash};

use super::{
    body::{Asserted, Mark},
    dim::Dim,
    divisor::lcm,
    error::BuildErrorKind,
    extent::Extent,
    inst::{BufferMap, MapUse},
    params::ParamDecl,
    render,
    target::{Target, Version},
    types::RegClass,
};

/// An assumption, checked by every launch, that the value of an integer parameter is a multiple of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// The index of the parameter.
    pub parameter: usize,
    /// The assumed divisor of the parameter's value.
    pub divisor: u32,
}

/// An upper bound, checked by every launch, on the value of an integer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The index of the parameter.
    pub parameter: usize,
    /// The largest allowed value.
    pub max: u32,
}

/// A finished kernel without its parameter types: the PTX text and the information required to launch it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name of the entry point.
    pub name: String,
    /// The target of the PTX text.
    pub target: Target,
    /// The lowest `.version` that supports the instructions and the target.
    pub version: Version,
    /// The description of the kernel, or an empty string if it has none.
    pub description: String,
    /// The parameters, in order.
    pub params: Vec<ParamDecl>,
    /// The declared number of threads per block in x, y and z: `.reqntid`.
    pub block: Option<[u32; 3]>,
    /// The declared maximum extents of a block in x, y and z, in threads: `.maxntid`.
    pub max_block: Option<[u32; 3]>,
    /// The declared minimum number of resident blocks per multiprocessor: `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// The declared maximum number of 32-bit registers per thread: `.maxnreg`.
    pub max_registers: Option<u32>,
    /// The declared number of blocks per cluster in x, y and z: `.reqnctapercluster`.
    pub cluster: Option<[u32; 3]>,
    /// Whether the kernel may start before the preceding kernel in the stream has finished. If so, the kernel contains an instruction that
    /// waits for the preceding kernel.
    pub programmatic: bool,
    /// The declared grid rule: the number of blocks per launch in x, y and z.
    pub grid: Option<[Dim; 3]>,
    /// The assumptions about divisors of parameters, which every launch checks.
    pub assumptions: Vec<Assumption>,
    /// The upper bounds on parameters, which every launch checks.
    pub limits: Vec<Limit>,
    /// The extents of the kernel's views. Every launch checks that the buffers are long enough for them.
    pub extents: Vec<Extent>,
    /// The uses of the tensor-map parameters. Every launch checks that its arguments support these uses.
    pub map_uses: Vec<MapUse>,
    /// The additional tensor maps that every launch creates and passes after the parameters.
    pub maps: Vec<BufferMap>,
    /// The number of `unsafe` builder calls: accesses through a [`Ptr`](super::Ptr), raw PTX and assumptions. If it is 0, all accesses to
    /// global memory are within the kernel's buffers and the module's variables.
    pub unsafe_accesses: u32,
    /// The size of statically declared shared memory, in bytes.
    pub static_shared_bytes: u32,
    /// The size of dynamic shared memory that a launch must request, in bytes.
    pub dynamic_shared_bytes: u32,
    /// The size of declared local memory per thread, in bytes.
    pub local_bytes: u64,
    /// The number of emitted instructions.
    pub instructions: u32,
    /// The number of declared registers of each class, in the order of [`RegClass::ALL`].
    pub registers: [u32; RegClass::ALL.len()],
    pub(crate) text: String,
    pub(crate) marks: Vec<Mark>,
    pub(crate) asserted: Vec<Asserted>,
    pub(crate) local_arrays: u32,
    pub(crate) print_formats: u32,
    pub(crate) declarations: String,
    pub(crate) module_declarations: Vec<Declaration>,
}

/// A module-scope declaration that a kernel requires, such as a device variable, a string or an external function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Entry {
    /// Returns the PTX text of a module that contains this kernel, with `.file` and `.loc` directives.
    pub(crate) fn ptx_with_lines(&self) -> String {
        render::module(self.target, &[self], render::Lines::Keep)
    }

    /// Returns the PTX text of a module that contains this kernel, with `.file` and `.loc` directives and with the assumptions that the
    /// simulator checks.
    #[cfg(feature = "sim")]
    pub(crate) fn ptx_with_assumptions(&self) -> String {
        render::module(self.target, &[self], render::Lines::Check)
    }

    /// Creates an empty kernel from a signature such as `"scale(x, y, n)"`. If the signature is invalid, also returns the error.
    pub(crate) fn new(
        signature: &str,
        target: Target,
        mut params: Vec<ParamDecl>,
    ) -> (Self, Option<BuildErrorKind>) {
        let (name, names) = match signature.split_once('(') {
            None => (signature.trim(), None),
            Some((name, rest)) => (name.trim(), Some(rest.trim_end().trim_end_matches(')'))),
        };
        let mut problem = (!is_identifier(name)).then(|| BuildErrorKind::BadName { name: name.to_string() });
        if let Some(names) = names {
            let names: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
            if let Some(bad) = names.iter().find(|n| !is_identifier(n)) {
                problem = Some(BuildErrorKind::BadName { name: (*bad).to_string() });
            } else if let Some(twice) = first_repeated(names.iter().copied()) {
                problem = Some(BuildErrorKind::DuplicateName { name: twice.to_string() });
            } else if names.len() != params.len() {
                let wanted = params.len();
                let found = names.len();
                problem = Some(BuildErrorKind::Refused(format!(
                    "expected {wanted} parameter names in the signature `{signature}`, found {found}"
                )));
            } else {
                for (param, name) in params.iter_mut().zip(names) {
                    param.name = name.to_string();
                }
            }
        }
        let entry = Self {
            name: name.to_string(),
            target,
            version: target.lowest_version(),
            description: String::new(),
            params,
            block: None,
            max_block: None,
            min_blocks: None,
            max_registers: None,
            cluster: None,
            programmatic: false,
            grid: None,
            assumptions: Vec::new(),
            limits: Vec::new(),
            extents: Vec::new(),
            map_uses: Vec::new(),
            maps: Vec::new(),
            unsafe_accesses: 0,
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            local_bytes: 0,
            instructions: 0,
            registers: [0; RegClass::ALL.len()],
            text: String::with_capacity(120 << 10),
            marks: Vec::with_capacity(2 << 10),
            asserted: Vec::new(),
            local_arrays: 0,
            print_formats: 0,
            declarations: String::new(),
            module_declarations: Vec::new(),
        };
        (entry, problem)
    }

    /// Returns the names of the parameters, in order.
    pub fn param_names(&self) -> Vec<String> {
        self.params.iter().map(|p| p.name.clone()).collect()
    }

    /// Returns the least common multiple of the divisors assumed for the parameter with index `parameter`, or 1 if none are assumed.
    pub fn assumed_divisor(&self, parameter: usize) -> u64 {
        let assumptions = self.assumptions.iter().filter(|p| p.parameter == parameter);
        assumptions.fold(1, |divisor, p| lcm(divisor, p.divisor.into()))
    }

    /// Returns the largest value that launches accept for the parameter with index `parameter`, or `None` if the kernel declares no upper
    /// bound for it.
    pub fn largest(&self, parameter: usize) -> Option<u32> {
        self.limits.iter().filter(|limit| limit.parameter == parameter).map(|limit| limit.max).min()
    }

    /// Returns the PTX name of the parameter with this index.
    pub(crate) fn param_symbol(&self, index: usize) -> String {
        format!("{}_{}", self.name, self.params[index].name)
    }

    /// Returns the PTX name of the additional tensor map with this index.
    pub(crate) fn map_symbol(&self, index: usize) -> String {
        let of = self.maps.get(index).map_or(0, |map| map.parameter);
        format!("{}_map{index}", self.param_symbol(of))
    }

    /// Returns a name that the PTX text would declare twice, if any. A parameter would hide a module-scope declaration of the same name.
    pub(crate) fn repeated_symbol(&self) -> Option<String> {
        let own = (0..self.params.len()).map(|i| self.param_symbol(i));
        let maps = (0..self.maps.len()).map(|i| self.map_symbol(i));
        let declared = self.module_declarations.iter().map(|declaration| declaration.name.clone());
        first_repeated(own.chain(maps).chain(declared).chain([self.name.clone()]))
    }

    /// Returns the total number of declared registers, over all classes.
    pub fn register_count(&self) -> u32 {
        self.registers.iter().sum()
    }

    /// Returns the total size of static and dynamic shared memory per block, in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.static_shared_bytes + self.dynamic_shared_bytes
    }
}

/// Returns the first element that equals an earlier one, if any.
fn first_repeated<T: Clone + Eq + Hash>(mut names: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = HashSet::new();
    names.find(|name| !seen.insert(name.clone()))
}

/// Returns whether `name` has the form of an identifier in both PTX and C (PTX ISA, "Identifiers"). The name of the PTX constant `WARP_SZ`
/// is rejected.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    name != "WARP_SZ"
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.len() > usize::from(name.starts_with('_'))
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
