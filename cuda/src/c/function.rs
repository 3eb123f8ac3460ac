//! Functions of the section "Execution Control": function attributes.

use super::pointers::{Out, StaticText};
use crate::c::entries;
use crate::code::Code;
use crate::driver::library::function_of;
use crate::driver::registry::Handle;

entries! {
    fn cuFuncGetAttribute(out: Out<i32>, attribute: i32, function: Handle) {
        out.set(function_of(function)?.attribute(attribute)?)
    }

    fn cuFuncSetAttribute(function: Handle, attribute: i32, value: i32) {
        function_of(function)?.set_attribute(attribute, value)
    }

    fn cuFuncSetCacheConfig(function: Handle, _config: u32) {
        function_of(function).map(drop)
    }

    fn cuFuncSetSharedMemConfig(function: Handle, _config: u32) {
        function_of(function).map(drop)
    }

    fn cuFuncGetModule(out: Out<Handle>, function: Handle) {
        out.set(function_of(function)?.module()?.handle)
    }

    fn cuFuncGetName(out: Out<StaticText>, function: Handle) {
        out.set(StaticText::of(&function_of(function)?.c_name))
    }

    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        let function = function_of(function)?;
        let param = function.params.get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set(param.offset)?;
        size.set_if(param.size);
        Ok(())
    }

    fn cuFuncGetParamCount(function: Handle, out: Out<usize>) {
        out.set(function_of(function)?.params.len())
    }

    fn cuFuncIsLoaded(out: Out<u32>, function: Handle) {
        function_of(function)?;
        // CU_FUNCTION_LOADING_STATE_LOADED
        out.set(1)
    }

    fn cuFuncLoad(function: Handle) {
        function_of(function).map(drop)
    }
}
