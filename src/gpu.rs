//! Runs PTX on NVIDIA GPUs through cudarc.
#![allow(unsafe_code)]
