//! `warpwright bench rows`.

mod backward;
mod contender;
mod dropout;
mod element;
mod forward;
mod masked;
mod models;
mod permute;
mod pointwise;
mod reductions;
mod reference;
mod selection;
mod table;

use std::time::Duration;

use warpwright::{
    gpu::Gpu,
    prelude::{bf16, f16},
    tiles::Convert,
};

use super::{
    Failed, Fallible,
    rival::Rival,
    samples::{Samples, Sampling},
};
use contender::{Buffers, Contender};
use element::{Dtype, Element};
use table::Line;

/// Times the kernels that process matrix rows, alongside a copy by the driver
///
/// The kernels read a matrix of random normal numbers with as many rows as fit in the given size. All contenders are launched in turn, in a
/// different order each round; the table shows the median, the bytes that must be read and written per second, and this rate relative to
/// that of the driver's copy of the matrix. Some rows of each result are compared with results in f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Kernels, separated by commas; all by default
    #[arg(value_delimiter = ',')]
    kernels: Vec<String>,
    /// Lengths of rows, separated by commas
    #[arg(
        long,
        default_value = "512,1024,2048,4096,8192,16384,32768,65536,1000,4097,8190,32001",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..)
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
    /// A command that times other implementations, such as "python3 benches/rows.py"
    #[arg(long)]
    rival: Option<String>,
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let mut rival = self.rival.as_deref().map(Rival::start).transpose()?;
        let mut missing = self.kernels.clone();
        for &dtype in &self.dtype {
            match dtype {
                Dtype::Bf16 => self.tables_of::<bf16>(&gpu, rival.as_mut(), &mut missing)?,
                Dtype::F16 => self.tables_of::<f16>(&gpu, rival.as_mut(), &mut missing)?,
                Dtype::F32 => self.tables_of::<f32>(&gpu, rival.as_mut(), &mut missing)?,
            }
        }
        match missing.is_empty() {
            true => Ok(()),
            false => {
                let missing = missing.join(", ");
                Err(Failed(format!("expected kernels that exist for these rows, found {missing}")).into())
            }
        }
    }

    /// Prints a table for each size, and removes from `missing` the names of the kernels in it.
    fn tables_of<E: Element>(
        &self,
        gpu: &Gpu,
        mut rival: Option<&mut Rival>,
        missing: &mut Vec<String>,
    ) -> Fallible<()>
    where
        f32: Convert<E>,
    {
        for &n in &self.sizes {
            let mut buffers = Buffers::<E>::new(gpu, self.mib << 20, n)?;
            let mut contenders = vec![Contender::driver(&buffers)];
            contenders.extend(forward::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(masked::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(pointwise::contenders(gpu, &buffers, &self.kernels)?);
            contenders.extend(backward::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(models::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(dropout::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(selection::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(reductions::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            contenders.extend(permute::contenders(gpu, &buffers, &self.kernels, self.sweep)?);
            missing.retain(|name| !contenders.iter().any(|contender| table::kernel(&contender.name) == name));
            for contender in &contenders {
                contender.verify(gpu, &mut buffers)?;
            }
            let others = match rival.as_deref_mut() {
                Some(rival) if contenders.len() > 1 => rival.begin(&request(&buffers, &contenders))?,
                _ => Vec::new(),
            };
            let samples = self.samples(gpu, &mut buffers, &contenders, rival.as_deref_mut(), others.len())?;
            let ours = contenders.into_iter().map(|contender| (contender.name, contender.bytes, false));
            let ours: Vec<_> = ours.collect();
            let others = others.into_iter().map(|name| {
                let same = ours.iter().find(|(ours, ..)| table::kernel(ours) == table::kernel(&name));
                let bytes = same.map_or(f64::NAN, |(_, bytes, _)| *bytes);
                (name, bytes, true)
            });
            let others: Vec<_> = others.collect();
            let lines = ours.into_iter().chain(others).zip(samples);
            let lines: Vec<_> = lines
                .map(|((name, bytes, is_rival), samples)| Line { name, bytes, is_rival, samples })
                .collect();
            table::print(&buffers, &lines);
        }
        Ok(())
    }

    /// Times all contenders and, if there is a rival, the given number of its implementations, in every round.
    fn samples<E: Element>(
        &self,
        gpu: &Gpu,
        buffers: &mut Buffers<E>,
        contenders: &[Contender<E>],
        rival: Option<&mut Rival>,
        others: usize,
    ) -> Fallible<Vec<Samples>> {
        let stream = gpu.stream();
        let warm_up = Duration::from_millis(self.warm_up_ms);
        let mut ours = |rounds, warm_up| {
            Sampling { rounds, warm_up }.take(&stream, contenders.len(), |contender, _| {
                (contenders[contender].launch)(&stream, buffers)
            })
        };
        let Some(rival) = rival else { return Ok(ours(self.rounds, warm_up)?) };
        let mut micros = vec![Vec::new(); contenders.len() + others];
        for round in 0..self.rounds {
            let warm_up = if round == 0 { warm_up } else { Duration::ZERO };
            let ours = ours(1, warm_up)?.into_iter().map(|samples| Ok(samples.median()));
            let others = (0..others).map(|other| rival.time(other));
            for (micros, time) in micros.iter_mut().zip(ours.chain(others)) {
                micros.push(time?);
            }
        }
        Ok(micros.into_iter().map(Samples::new).collect())
    }
}

/// Returns the request that asks a rival for counterparts of these contenders.
fn request<E: Element>(buffers: &Buffers<E>, contenders: &[Contender<E>]) -> String {
    let mut kernels: Vec<&str> =
        contenders.iter().skip(1).map(|contender| table::kernel(&contender.name)).collect();
    kernels.dedup();
    let name = <E as warpwright::ptx::Element>::NAME;
    format!("begin {} {name} {} {}", kernels.join(","), buffers.m, buffers.n)
}
