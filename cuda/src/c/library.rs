//! Functions of the section "Library Management".

use super::image::{self, Options};
use super::pointers::{In, Out, StaticText, Text};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::device::Device;
use crate::driver::library::{Kernel, Library};
use crate::driver::memory::FIRST_OF_DEVICES;
use crate::driver::module::Image;
use crate::driver::registry::Handle;
use crate::host::HostPtr;

fn load(out: Out<Handle>, image: Image, options: &Options) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(options.finish(Library::load(image))?.handle)
}

entries! {
    fn cuLibraryLoadData(
        out: Out<Handle>, image: HostPtr, keys: In<u32>, values: Out<usize>, count: u32,
        _library_keys: In<u32>, _library_values: Out<usize>, _library_count: u32,
    ) {
        load(out, image::read(image)?, &Options::read(count, keys, values)?)
    }

    fn cuLibraryLoadFromFile(
        out: Out<Handle>, path: Text, keys: In<u32>, values: Out<usize>, count: u32,
        _library_keys: In<u32>, _library_values: Out<usize>, _library_count: u32,
    ) {
        load(out, image::read_file(&path.get()?)?, &Options::read(count, keys, values)?)
    }

    fn cuLibraryUnload(library: Handle) {
        Library::unload(library)
    }

    fn cuLibraryGetKernel(out: Out<Handle>, library: Handle, name: Text) {
        out.set(Library::of(library)?.kernel(&name.get()?)?.handle)
    }

    fn cuLibraryGetKernelCount(out: Out<u32>, library: Handle) {
        out.set(Library::of(library)?.names().len() as u32)
    }

    fn cuLibraryEnumerateKernels(out: Out<Handle>, count: u32, library: Handle) {
        let library = Library::of(library)?;
        let handles = library.names().iter().take(count as usize).map(|name| Ok(library.kernel(name)?.handle));
        out.set_all(handles.collect::<Fallible<Vec<_>>>()?.into_iter())
    }

    fn cuLibraryGetModule(out: Out<Handle>, library: Handle) {
        out.set(Library::of(library)?.module()?.handle)
    }

    fn cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        out.set(Kernel::of(kernel)?.function()?.handle)
    }

    fn cuKernelGetLibrary(out: Out<Handle>, kernel: Handle) {
        out.set(Kernel::of(kernel)?.library()?.handle)
    }

    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        let (found, size) = Library::of(library)?.module()?.variable(&name.get()?)?;
        address.set_if(found);
        bytes.set_if(size as usize);
        Ok(())
    }

    fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        let (found, size) = Library::of(library)?.module()?.variable(&name.get()?)?;
        if found >= FIRST_OF_DEVICES {
            return Err(Code::NOT_FOUND);
        }
        address.set_if(found);
        bytes.set_if(size as usize);
        Ok(())
    }

    fn cuKernelGetAttribute(out: Out<i32>, attribute: i32, kernel: Handle, device: i32) {
        Device::new(device)?;
        out.set(Kernel::of(kernel)?.function()?.attribute(attribute)?)
    }

    fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: Handle, device: i32) {
        Device::new(device)?;
        Kernel::of(kernel)?.function()?.set_attribute(attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, device: i32) {
        Device::new(device)?;
        Kernel::of(kernel).map(drop)
    }

    fn cuKernelGetName(out: Out<StaticText>, kernel: Handle) {
        out.set(StaticText::of(&Kernel::of(kernel)?.name))
    }

    fn cuKernelGetParamCount(kernel: Handle, out: Out<usize>) {
        out.set(Kernel::of(kernel)?.function()?.params.len())
    }

    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        let function = Kernel::of(kernel)?.function()?;
        let param = function.params.get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set(param.offset)?;
        size.set_if(param.size);
        Ok(())
    }
}
