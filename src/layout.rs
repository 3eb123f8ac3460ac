//! CuTe-style layouts: nested shapes and strides, their algebra, and swizzles.
#![forbid(unsafe_code)]
