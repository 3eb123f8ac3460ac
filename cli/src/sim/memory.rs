//! The buffers of a case in simulated device memory.

use std::collections::HashMap;
use std::path::Path;

use super::case::{Argument, Buffer, Case, Field, Init, TensorMap, size};
use super::{dtype::DType, npy, tensor_map};
use crate::Error;
use warpwright_sim::{Arg, Memory, Module};

/// Device memory with the buffers of a case.
#[derive(Debug, Default)]
pub(super) struct Device<'c> {
    pub(super) memory: Memory,
    buffers: HashMap<&'c str, (u64, &'c Buffer)>,
}

/// An output of the launch.
pub(super) struct Output<'c> {
    name: &'c str,
    dtype: DType,
    shape: &'c [u64],
    bytes: Vec<u8>,
}

impl<'c> Device<'c> {
    /// Creates the memory with its initial contents.
    pub(super) fn load(case: &'c Case, folder: &Path, module: &Module) -> Result<Self, Error> {
        let mut device = Self::default();
        for buffer in case.buffers() {
            device.add(buffer, folder)?;
        }
        for global in &case.globals {
            let Some(file) = &global.file else { continue };
            size(&global.name, global.dtype, &global.shape)?;
            let bytes = npy::read(&folder.join(file), global.dtype, &global.shape)?;
            let bad = |e| Error::of(format_args!("`{}`", global.name), e);
            let address = device.memory.symbol(module, &global.name).map_err(bad)?;
            device.memory.write(address, &bytes).map_err(bad)?;
        }
        Ok(device)
    }

    fn add(&mut self, buffer: &'c Buffer, folder: &Path) -> Result<(), Error> {
        let bytes = size(&buffer.name, buffer.dtype, &buffer.shape)?;
        let bad = |e| Error::of(format_args!("`{}`", buffer.name), e);
        let address = self.memory.try_alloc(bytes).map_err(bad)?;
        if buffer.init == Init::File {
            let file = buffer.file.clone().unwrap_or_else(|| format!("in_{}.npy", buffer.name));
            let bytes = npy::read(&folder.join(file), buffer.dtype, &buffer.shape)?;
            self.memory.write(address, &bytes).map_err(bad)?;
        }
        self.buffers.insert(&buffer.name, (address, buffer));
        Ok(())
    }

    /// Returns the kernel's arguments, in order, with the types of their parameters.
    pub(super) fn arguments(&self, case: &Case, module: &Module) -> Result<Vec<Arg>, Error> {
        let params = module.entry(&case.entry).map_or_else(Vec::new, |entry| entry.params());
        let argument = |(index, arg): (usize, &Argument)| {
            let bytes = match arg {
                Argument::Buffer(buffer) => self.address(&buffer.name).map(|a| a.to_le_bytes().to_vec()),
                Argument::Scalar { dtype, value, .. } => match params.get(index) {
                    Some(param) if !dtype.fits(&param.ty) => {
                        Err(format!("`{}` is a {}, found {}", param.name, param.ty, dtype.name()))
                    }
                    _ => dtype.encode(value),
                },
                Argument::Struct { size, fields, .. } => self.structure(*size, fields),
                Argument::TensorMap(map) => return self.tensor_map(map),
            };
            bytes.map(Arg::bytes).map_err(|e| Error::of(format_args!("argument {index}"), e))
        };
        case.args.iter().enumerate().map(argument).collect()
    }

    fn address(&self, name: &str) -> Result<u64, String> {
        let found = self.buffers.get(name).map(|(address, _)| *address);
        found.ok_or_else(|| format!("expected the name of a buffer, found `{name}`"))
    }

    fn structure(&self, size: usize, fields: &[Field]) -> Result<Vec<u8>, String> {
        /// The maximum total size of kernel parameters in bytes (PTX ISA, "Kernel Function Parameters").
        const MOST: usize = 32_764;
        if size > MOST {
            return Err(format!("expected a struct of at most {MOST} bytes, found {size}"));
        }
        let mut bytes = vec![0; size];
        for field in fields {
            let value = match field {
                Field { of: Some(name), .. } => self.address(name)?.to_le_bytes().to_vec(),
                Field { dtype: Some(dtype), value: Some(value), .. } => dtype.encode(value)?,
                _ => {
                    return Err(format!(
                        "expected `of`, or `value` and `dtype`, in the field at {}; found neither",
                        field.offset
                    ));
                }
            };
            let end = field.offset.checked_add(value.len()).filter(|&end| end <= size);
            let end = end.ok_or_else(|| {
                format!("expected a field within {size} bytes, found one at {} past the end", field.offset)
            })?;
            bytes[field.offset..end].copy_from_slice(&value);
        }
        Ok(bytes)
    }

    fn tensor_map(&self, map: &TensorMap) -> Result<Arg, Error> {
        let bad = |problem: String| Error::of(format_args!("tensor map of `{}`", map.of), problem);
        let &(address, buffer) =
            self.buffers.get(map.of.as_str()).ok_or_else(|| bad("expected the name of a buffer".into()))?;
        tensor_map::encode(map, address, buffer.dtype).map(Arg::bytes).map_err(bad)
    }

    /// Returns the buffers and variables that the case marks as outputs.
    pub(super) fn outputs(&mut self, case: &'c Case, module: &Module) -> Result<Vec<Output<'c>>, Error> {
        let mut outputs = vec![];
        for buffer in case.buffers().filter(|buffer| buffer.out) {
            let (address, _) = self.buffers[buffer.name.as_str()];
            outputs.push(self.output(&buffer.name, buffer.dtype, &buffer.shape, address)?);
        }
        for global in case.globals.iter().filter(|global| global.out) {
            let address = self.memory.symbol(module, &global.name);
            let address = address.map_err(|e| Error::of(format_args!("`{}`", global.name), e))?;
            outputs.push(self.output(&global.name, global.dtype, &global.shape, address)?);
        }
        Ok(outputs)
    }

    fn output(
        &self,
        name: &'c str,
        dtype: DType,
        shape: &'c [u64],
        address: u64,
    ) -> Result<Output<'c>, Error> {
        let mut bytes = vec![0; size(name, dtype, shape)?];
        self.memory.read(address, &mut bytes).map_err(|e| Error::of(format_args!("`{name}`"), e))?;
        Ok(Output { name, dtype, shape, bytes })
    }
}

/// Writes every output as `NAME.npy` to the folder `to`, which is created if necessary.
pub(super) fn write(outputs: &[Output<'_>], to: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(to).map_err(|e| Error::of(to.display(), e))?;
    for output in outputs {
        npy::write(&to.join(format!("{}.npy", output.name)), output.dtype, output.shape, &output.bytes)?;
    }
    Ok(())
}
