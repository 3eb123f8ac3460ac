//! Tables and JSON.

use serde::Serialize;

use super::{
    contender::{Kind, Refusal, Unit},
    epilogue::Epilogue,
    precision::Dtype,
    problem::Timed,
    shapes::{Layout, Size},
};
use crate::bench::{provenance::Provenance, samples::geometric_mean};

/// The times of all contenders for a product.
pub(super) struct Report {
    pub(super) dtype: Dtype,
    pub(super) layout: Layout,
    pub(super) size: Size,
    pub(super) epilogue: Epilogue,
    pub(super) timed: Vec<Timed>,
    pub(super) refused: Vec<Refusal>,
}

/// A contender's times, and their comparison with others.
#[derive(Serialize)]
struct Row<'r> {
    dtype: String,
    layout: String,
    m: usize,
    n: usize,
    k: usize,
    epilogue: Epilogue,
    kind: Kind,
    unit: Unit,
    name: &'r str,
    median_us: f64,
    p10_us: f64,
    p90_us: f64,
    tflops: f64,
    /// The times of cuBLASLt's fastest algorithm, of its default algorithm, and of the ceiling for this product, divided by this
    /// contender's time.
    of_best: Option<f64>,
    of_default: Option<f64>,
    of_ceiling: Option<f64>,
    clock_mhz: Option<f64>,
    #[serde(flatten)]
    provenance: &'r Provenance,
}

impl Report {
    /// Describes the product.
    fn title(&self) -> String {
        format!("{} {} {}{}", self.dtype, self.layout, self.size, self.epilogue.suffix())
    }

    /// Returns the medians of the fastest rival and of the default rival.
    fn rivals(&self) -> Option<[f64; 2]> {
        let mut medians =
            self.timed.iter().filter(|timed| timed.kind == Kind::Rival).map(|timed| timed.samples.median());
        let default = medians.next()?;
        Some([medians.fold(default, f64::min), default])
    }

    fn ceiling(&self, unit: Unit) -> Option<f64> {
        self.timed.iter().find(|timed| timed.kind == Kind::Ceiling && timed.unit == unit).map(Timed::rate)
    }

    fn row<'r>(&self, timed: &'r Timed, provenance: &'r Provenance) -> Row<'r> {
        let ([m, n, k], samples) = (self.size.0, &timed.samples);
        let median = samples.median();
        let rivals = self.rivals().filter(|_| !matches!(timed.kind, Kind::Ceiling | Kind::Plain));
        Row {
            dtype: self.dtype.to_string(),
            layout: self.layout.to_string(),
            m,
            n,
            k,
            epilogue: self.epilogue,
            kind: timed.kind,
            unit: timed.unit,
            name: &timed.name,
            median_us: median,
            p10_us: samples.quantile(0.1),
            p90_us: samples.quantile(0.9),
            tflops: timed.rate(),
            of_best: rivals.map(|[best, _]| best / median),
            of_default: rivals.map(|[_, default]| default / median),
            of_ceiling: self.ceiling(timed.unit).map(|ceiling| timed.rate() / ceiling),
            clock_mhz: timed.clock_mhz,
            provenance,
        }
    }

    /// Prints one JSON object per contender.
    pub(super) fn print_json(&self, provenance: &Provenance) -> serde_json::Result<()> {
        for timed in &self.timed {
            println!("{}", serde_json::to_string(&self.row(timed, provenance))?);
        }
        for Refusal { name, why } in &self.refused {
            eprintln!("{}: {name}: {why}", self.title());
        }
        Ok(())
    }

    pub(super) fn print_table(&self, provenance: &Provenance) {
        println!(
            "\n{:<50} {:>9} {:>8} {:>7} {:>7} {:>7}  10 % … 90 %",
            self.title(),
            "µs",
            "TFLOP/s",
            "best",
            "default",
            "ceiling"
        );
        let ratio = |ratio: Option<f64>| ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
        for timed in &self.timed {
            let row = self.row(timed, provenance);
            let clock = row.clock_mhz.map(|mhz| format!(", {mhz:.0} MHz")).unwrap_or_default();
            println!(
                "  {:<48} {:>9.1} {:>8.1} {:>7} {:>7} {:>7}  {:.1} … {:.1}{clock}",
                row.name,
                row.median_us,
                row.tflops,
                ratio(row.of_best),
                ratio(row.of_default),
                ratio(row.of_ceiling),
                row.p10_us,
                row.p90_us
            );
        }
        for Refusal { name, why } in &self.refused {
            println!("  {name}: {why}");
        }
    }
}

/// Prints how the chosen kernels compare with cuBLASLt, by factor type and epilogue.
pub(super) fn print_means(reports: &[Report]) {
    let mut groups: Vec<(Dtype, Epilogue, Unit)> = Vec::new();
    let chosen = |report: &Report, unit| {
        let timed = report.timed.iter().find(|timed| timed.kind == Kind::Chosen && timed.unit == unit)?;
        let [best, default] = report.rivals()?;
        Some([best, default].map(|rival| rival / timed.samples.median()))
    };
    for report in reports {
        for unit in [Unit::Wgmma, Unit::MmaSync] {
            let group = (report.dtype, report.epilogue, unit);
            if chosen(report, unit).is_some() && !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    println!();
    for (dtype, epilogue, unit) in groups {
        let of_group = reports.iter().filter(|report| (report.dtype, report.epilogue) == (dtype, epilogue));
        let ratios: Vec<_> = of_group.filter_map(|report| chosen(report, unit)).collect();
        let [best, default] = [0, 1].map(|i| geometric_mean(ratios.iter().map(|ratios| ratios[i])));
        println!(
            "{dtype}{}, {unit}, {} products, geometric mean: {best:.3} of the best algorithm of cuBLASLt, {default:.3} of its default",
            epilogue.suffix(),
            ratios.len()
        );
    }
}
