//! Functions of the section "Module Management": the linker.

use super::image::{self, Options};
use super::pointers::{In, Out, Text};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::context;
use crate::driver::linker::Linker;
use crate::driver::module::Image;
use crate::driver::registry::Handle;
use crate::host::HostPtr;
use crate::report;

/// The kinds of input that contain PTX (`CUjitInputType`): PTX, and fat binaries.
const PTX: u32 = 1;
const FATBIN: u32 = 2;

fn add(linker: Handle, kind: u32, image: impl FnOnce() -> Fallible<Image>, options: &Options) -> Fallible {
    let linker = Linker::of(linker)?;
    match kind {
        PTX | FATBIN => options.finish(linker.add(&image()?)),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

entries! {
    fn cuLinkCreate_v2(count: u32, keys: In<u32>, values: Out<usize>, out: Out<Handle>) {
        context::current()?;
        Options::read(count, keys, values)?.finish(Ok(()))?;
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        out.set(Linker::create().handle)
    }

    fn cuLinkAddData_v2(
        linker: Handle, kind: u32, data: HostPtr, size: usize, _name: Text, count: u32, keys: In<u32>, values: Out<usize>,
    ) {
        // The text may end before its size, or without a NUL.
        let image = || match kind {
            PTX => {
                let text = data.read(size, |bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string());
                Ok(Image::Text(text))
            }
            _ => image::read(data),
        };
        add(linker, kind, image, &Options::read(count, keys, values)?)
    }

    fn cuLinkAddFile_v2(linker: Handle, kind: u32, path: Text, count: u32, keys: In<u32>, values: Out<usize>) {
        let path = path.get()?;
        add(linker, kind, || image::read_file(&path), &Options::read(count, keys, values)?)
    }

    fn cuLinkComplete(linker: Handle, image: Out<usize>, size: Out<usize>) {
        let (address, bytes) = Linker::of(linker)?.complete().map_err(|error| {
            report::say(&format!("modules could not be linked: {}", error.log));
            error.code
        })?;
        image.set(address)?;
        size.set_if(bytes);
        Ok(())
    }

    fn cuLinkDestroy(linker: Handle) {
        Linker::destroy(linker)
    }
}
