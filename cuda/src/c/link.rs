//! Functions of the section "Module Management": the linker.

use super::image::{self, Options};
use super::pointers::{In, Out, Text};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::context;
use crate::driver::linker::Linker;
use crate::driver::module::{Image, LoadError};
use crate::driver::registry::Handle;
use crate::host::HostPtr;
use crate::report;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kinds of input that contain PTX (`CUjitInputType`): PTX, and fat binaries.
const PTX: u32 = 1;
const FATBIN: u32 = 2;

/// The options of each linker. The program may read their logs until it destroys the linker.
static OPTIONS: Mutex<BTreeMap<Handle, Options>> = Mutex::new(BTreeMap::new());

fn options() -> MutexGuard<'static, BTreeMap<Handle, Options>> {
    OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the logs of a linker, and prints the error if linking failed.
fn finish<T>(linker: Handle, result: Result<T, LoadError>) -> Fallible<T> {
    if let Err(error) = &result {
        report::say(&format!("modules could not be linked: {}", error.log));
    }
    let options = options().get(&linker).copied().unwrap_or_default();
    options.finish(result)
}

fn add(linker: Handle, kind: u32, image: impl FnOnce() -> Fallible<Image>) -> Fallible {
    let known = Linker::of(linker)?;
    match kind {
        PTX | FATBIN => finish(linker, known.add(&image()?)),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

entries! {
    fn cuLinkCreate_v2(count: u32, keys: In<u32>, values: Out<usize>, out: Out<Handle>) {
        context::current()?;
        let read = Options::read(count, keys, values)?;
        read.finish(Ok(()))?;
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let handle = Linker::create().handle;
        options().insert(handle, read);
        out.set(handle)
    }

    fn cuLinkAddData_v2(
        linker: Handle, kind: u32, data: HostPtr, size: usize, _name: Text, _count: u32, _keys: In<u32>, _values: Out<usize>,
    ) {
        // The text may be shorter than its size, or may lack a NUL.
        let image = || match kind {
            PTX => {
                let text = data.read(size, |bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string());
                Ok(Image::Text(text))
            }
            _ => image::read(data),
        };
        add(linker, kind, image)
    }

    fn cuLinkAddFile_v2(linker: Handle, kind: u32, path: Text, _count: u32, _keys: In<u32>, _values: Out<usize>) {
        let path = path.get()?;
        add(linker, kind, || image::read_file(&path))
    }

    fn cuLinkComplete(linker: Handle, image: Out<usize>, size: Out<usize>) {
        let (address, bytes) = finish(linker, Linker::of(linker)?.complete())?;
        image.set(address)?;
        size.set_if(bytes);
        Ok(())
    }

    fn cuLinkDestroy(linker: Handle) {
        options().remove(&linker);
        Linker::destroy(linker)
    }
}
