//! `warpwright bench rows`.

mod backward;
mod contender;
mod dropout;
mod element;
mod forward;
mod models;
mod permute;
mod pointwise;
mod reference;
mod selection;
mod table;

use std::time::Duration;

use warpwright::{
    gpu::Gpu,
    prelude::{bf16, f16},
    tiles::Convert,
};

use super::{Fallible, samples::Sampling};
use contender::{Buffers, Contender};
use element::{Dtype, Element};

/// Times the kernels on rows of matrices, alongside a copy by the driver
///
/// The kernels read a matrix of random normal numbers with as many rows as fit in the given size. All contenders are launched in turn, in a
/// different order each round; the table shows the median, the bytes that must be read and written per second, and this rate relative to that
/// of the driver's copy of the matrix. Some rows of each result are compared with f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise, or without a GPU.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Kernels, separated by commas; all by default
    #[arg(value_delimiter = ',')]
    kernels: Vec<String>,
    /// Lengths of rows, separated by commas
    #[arg(
        long,
        default_value = "512,1024,2048,4096,8192,16384,32768,65536,1000,4097,8190,32001",
        value_delimiter = ','
    )]
    sizes: Vec<u32>,
    /// Element types, separated by commas: bf16, f16, f32
    #[arg(long, default_value = "bf16,f32", value_delimiter = ',')]
    dtype: Vec<Dtype>,
    /// Size of the matrix in MiB
    #[arg(long, default_value_t = 1024)]
    mib: usize,
    /// Number of samples per contender
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// Milliseconds of warm-up before each table
    #[arg(long, default_value_t = 100)]
    warm_up_ms: u64,
    /// Also time other tilings
    #[arg(long)]
    sweep: bool,
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        for &dtype in &self.dtype {
            match dtype {
                Dtype::Bf16 => self.tables_of::<bf16>(&gpu)?,
                Dtype::F16 => self.tables_of::<f16>(&gpu)?,
                Dtype::F32 => self.tables_of::<f32>(&gpu)?,
            }
        }
        Ok(())
    }

    fn tables_of<E: Element>(&self, gpu: &Gpu) -> Fallible<()>
    where
        f32: Convert<E>,
    {
        let sampling = Sampling { rounds: self.rounds, warm_up: Duration::from_millis(self.warm_up_ms) };
        for &n in &self.sizes {
            let mut buffers = Buffers::<E>::new(gpu, self.mib << 20, n)?;
            let mut contenders = vec![Contender::driver(&buffers)];
            contenders.extend(forward::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(pointwise::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(backward::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(models::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(dropout::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(selection::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(permute::contenders(gpu, &buffers, &self.kernels)?);
            for contender in &contenders {
                contender.verify(gpu, &mut buffers)?;
            }
            let stream = gpu.stream();
            let samples = sampling.take(&stream, contenders.len(), |contender, _| {
                (contenders[contender].launch)(&stream, &mut buffers)
            })?;
            table::print(&buffers, &contenders, &samples);
        }
        Ok(())
    }
}
