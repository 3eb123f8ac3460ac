//! Functions of the section "Module Management".

use super::image::{self, Options};
use super::pointers::{In, Out, Text};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::module::{Image, Module};
use crate::driver::registry::Handle;
use crate::host::HostPtr;

fn load(out: Out<Handle>, image: &Image, options: &Options) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(options.finish(Module::load(image))?.handle)
}

entries! {
    fn cuModuleLoad(out: Out<Handle>, path: Text) {
        load(out, &image::read_file(&path.get()?)?, &Options::default())
    }

    fn cuModuleLoadData(out: Out<Handle>, image: HostPtr) {
        load(out, &image::read(image)?, &Options::default())
    }

    fn cuModuleLoadDataEx(out: Out<Handle>, image: HostPtr, count: u32, keys: In<u32>, values: Out<usize>) {
        load(out, &image::read(image)?, &Options::read(count, keys, values)?)
    }

    fn cuModuleLoadFatBinary(out: Out<Handle>, image: HostPtr) {
        load(out, &image::read(image)?, &Options::default())
    }

    fn cuModuleUnload(module: Handle) {
        Module::unload(module)
    }

    fn cuModuleGetLoadingMode(out: Out<u32>) {
        // CU_MODULE_EAGER_LOADING
        out.set(1)
    }

    fn cuModuleGetFunction(out: Out<Handle>, module: Handle, name: Text) {
        out.set(Module::of(module)?.function(&name.get()?)?.handle)
    }

    fn cuModuleGetFunctionCount(out: Out<u32>, module: Handle) {
        out.set(Module::of(module)?.code.entries().count() as u32)
    }

    fn cuModuleEnumerateFunctions(out: Out<Handle>, count: u32, module: Handle) {
        let module = Module::of(module)?;
        let handles = module.code.entries().take(count as usize).map(|entry| Ok(module.function(entry.name())?.handle));
        out.set_all(handles.collect::<Fallible<Vec<_>>>()?.into_iter())
    }

    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        let (found, size) = Module::of(module)?.variable(&name.get()?)?;
        address.set_if(found);
        bytes.set_if(size as usize);
        Ok(())
    }
}
