//! A finished kernel without its Rust parameter types: what renders, exports and launches.

use super::{
    body::Mark,
    dim::Dim,
    divisor::lcm,
    error::BuildErrorKind,
    extent::Extent,
    params::{ParamDecl, Params},
    target::{Target, Version},
    types::RegClass,
};

/// A promise about an integer parameter that a launch checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Number of the parameter.
    pub parameter: usize,
    /// What divides its value.
    pub divisor: u32,
}

/// A finished kernel: its text and what a launch must know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Name of the entry point.
    pub name: String,
    /// `.target`.
    pub target: Target,
    /// Lowest `.version` that the instructions and the target need.
    pub version: Version,
    /// What it does, if the kernel said so.
    pub description: String,
    /// Parameters in order.
    pub params: Vec<ParamDecl>,
    /// Threads of a block, `.reqntid`.
    pub block: Option<[u32; 3]>,
    /// `.maxntid`.
    pub max_block: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Blocks of a launch.
    pub grid: Option<[Dim; 3]>,
    /// What a launch must check.
    pub promises: Vec<Promise>,
    /// What the kernel's views access of its buffers; a launch checks that the buffers are long enough.
    pub extents: Vec<Extent>,
    /// Accesses, views and raw lines that an `unsafe` call vouches for: with 0, the kernel cannot leave its buffers.
    pub unsafe_accesses: u32,
    /// Bytes of statically declared shared memory.
    pub static_shared_bytes: u32,
    /// Bytes of dynamic shared memory that a launch must ask for.
    pub dynamic_shared_bytes: u32,
    /// Bytes of local memory that a thread declares.
    pub local_bytes: u64,
    /// Emitted instructions.
    pub instructions: u32,
    /// Declared registers by class.
    pub registers: [u32; RegClass::ALL.len()],
    pub(crate) text: String,
    pub(crate) marks: Vec<Mark>,
    pub(crate) local_arrays: u32,
    pub(crate) print_formats: u32,
    pub(crate) declarations: String,
    pub(crate) module_declarations: Vec<Declaration>,
}

/// A module-scope declaration that a kernel needs: a device variable, a string, an external function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Entry {
    /// An empty kernel from a signature such as `"scale(x, y, n)"`, and what is wrong with the signature.
    pub(crate) fn new<A: Params>(signature: &str, target: Target) -> (Self, Option<BuildErrorKind>) {
        let (name, names) = match signature.split_once('(') {
            None => (signature.trim(), None),
            Some((name, rest)) => (name.trim(), Some(rest.trim_end().trim_end_matches(')'))),
        };
        let mut params = A::declarations();
        let mut problem = (!is_identifier(name)).then(|| BuildErrorKind::BadName { name: name.to_string() });
        if let Some(names) = names {
            let names: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
            if let Some(bad) = names.iter().find(|n| !is_identifier(n)) {
                problem = Some(BuildErrorKind::BadName { name: (*bad).to_string() });
            } else if names.len() != params.len() {
                let wanted = params.len();
                let found = names.len();
                problem = Some(BuildErrorKind::Refused(format!(
                    "the signature `{signature}` names {found} parameters, but the kernel has {wanted}"
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
            grid: None,
            promises: Vec::new(),
            extents: Vec::new(),
            unsafe_accesses: 0,
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            local_bytes: 0,
            instructions: 0,
            registers: [0; RegClass::ALL.len()],
            text: String::with_capacity(16 << 10),
            marks: Vec::with_capacity(512),
            local_arrays: 0,
            print_formats: 0,
            declarations: String::new(),
            module_declarations: Vec::new(),
        };
        (entry, problem)
    }

    /// Names of the parameters, in order.
    pub fn param_names(&self) -> Vec<String> {
        self.params.iter().map(|p| p.name.clone()).collect()
    }

    /// What every launch must have divide the value of a parameter: the promises about it together, 1 if there is none.
    pub fn promised_divisor(&self, parameter: usize) -> u64 {
        let promises = self.promises.iter().filter(|p| p.parameter == parameter);
        promises.fold(1, |divisor, p| lcm(divisor, p.divisor.into()))
    }

    /// Name of a parameter in the PTX text.
    pub(crate) fn param_symbol(&self, index: usize) -> String {
        format!("{}_{}", self.name, self.params[index].name)
    }

    /// All declared registers.
    pub fn register_count(&self) -> u32 {
        self.registers.iter().sum()
    }

    /// Static and dynamic shared memory of a block, in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.static_shared_bytes + self.dynamic_shared_bytes
    }
}

/// Whether PTX takes `name` as an identifier that is also one in C (PTX ISA, "Identifiers").
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.len() > usize::from(name.starts_with('_'))
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
