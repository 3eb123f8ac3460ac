//! The output of device-side `printf`.

use std::collections::BTreeMap;

/// A listener for the strings that a kernel prints.
pub(crate) type OnPrint<'a> = dyn Fn(&str) + Send + Sync + 'a;

/// The maximum total length in bytes of the strings that are kept.
const MAX_BYTES: usize = 16 << 20;

/// Strings in order, up to a maximum total length.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    texts: Vec<String>,
    bytes: usize,
    /// Whether strings were omitted after the last one.
    cut: bool,
}

impl Printed {
    /// Appends a string, unless it or an earlier string exceeds the maximum length.
    pub(crate) fn push(&mut self, text: String) {
        self.cut |= self.bytes + text.len() > MAX_BYTES;
        if !self.cut {
            self.bytes += text.len();
            self.texts.push(text);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && !self.cut
    }
}

/// The output of the clusters of a grid.
#[derive(Debug, Default)]
pub(crate) struct GridPrinted {
    clusters: BTreeMap<u64, Printed>,
    bytes: usize,
    /// The first cluster whose output is omitted, if any.
    cut: Option<u64>,
}

impl GridPrinted {
    /// Adds the output of a cluster, and omits the output of clusters past the maximum length.
    pub(crate) fn insert(&mut self, cluster: u64, printed: Printed) {
        if printed.is_empty() {
            return;
        }
        self.bytes += printed.bytes;
        self.clusters.insert(cluster, printed);
        while let Some(last) = self.clusters.last_entry()
            && self.bytes - last.get().bytes >= MAX_BYTES
        {
            self.cut = Some(self.cut.map_or(*last.key(), |cut| cut.min(*last.key())));
            self.bytes -= last.remove().bytes;
        }
    }

    /// Returns the strings in cluster order, up to cluster `last` and the maximum length, followed by a notice if any strings are omitted.
    pub(crate) fn into_texts(mut self, last: u64) -> Vec<String> {
        let mut all = Printed::default();
        self.clusters.retain(|cluster, _| *cluster <= last);
        for cluster in self.clusters.into_values() {
            cluster.texts.into_iter().for_each(|text| all.push(text));
            all.cut |= cluster.cut;
        }
        if all.cut || self.cut.is_some_and(|cut| cut <= last) {
            all.texts.push(format!("(output after the first {} bytes is omitted)\n", all.bytes));
        }
        all.texts
    }
}
