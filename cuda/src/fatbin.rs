//! Fat binaries: containers with code for several architectures, as cubins or PTX.
//!
//! NVIDIA does not document the format. This implementation follows public tools that read it (cuda-fatbin-decompression, gpuocelot, ZLUDA)
//! and files written by nvcc 13.0.

use std::io::Read as _;

/// The first word of a container.
pub(crate) const MAGIC: u32 = 0xba55_ed50;

/// The first word of the structure that nvcc's host code passes: magic, version, address of the container.
pub(crate) const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// The entry kinds.
const PTX: u16 = 1;

/// The size of a container's header in bytes.
pub(crate) const HEADER: usize = 16;

/// The reason why a container has no usable code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FatbinError {
    #[error("the container of a fat binary is malformed: {0}")]
    Malformed(&'static str),
    #[error("the PTX of a fat binary could not be decompressed: {0}")]
    Compression(String),
    #[error(
        "the fat binary contains only machine code (cubins: {cubins}), no PTX: build with `-gencode arch=compute_NN,code=compute_NN`, \
         where NN is at most the device's architecture"
    )]
    NoPtx { cubins: usize },
    #[error(
        "the fat binary contains PTX for other architectures than the device's ({}): simulate a newer device (`--arch`), or build with \
         `-gencode arch=compute_NN,code=compute_NN`, where NN is at most the device's architecture",
        architectures(.0)
    )]
    OtherPtx(Vec<u32>),
}

/// Returns the names of the architectures as a list.
fn architectures(numbers: &[u32]) -> String {
    numbers.iter().map(|number| format!("sm_{number}")).collect::<Vec<_>>().join(", ")
}

/// Returns the size of a container in bytes, as its header specifies.
pub(crate) fn size(header: &[u8]) -> Option<usize> {
    let header_size = u16_at(header, 6)?;
    let rest = u64_at(header, 8)?;
    usize::try_from(rest).ok()?.checked_add(header_size.into())
}

/// Returns the PTX texts in a container for the architectures that `accept` selects, newest first.
pub(crate) fn ptx(container: &[u8], accept: impl Fn(&str) -> bool) -> Result<Vec<String>, FatbinError> {
    let malformed = FatbinError::Malformed;
    let mut at = u16_at(container, 6).ok_or(malformed("its header is too short"))? as usize;
    let (mut found, mut others, mut cubins) = (vec![], vec![], 0);
    while at < container.len() {
        let entry = &container[at..];
        let header = u32_at(entry, 4).ok_or(malformed("an entry is too short"))? as usize;
        let padded = u64_at(entry, 8).and_then(|size| usize::try_from(size).ok());
        let padded = padded.ok_or(malformed("an entry is too short"))?;
        let end = header.checked_add(padded).filter(|&end| end <= entry.len() && end > 0);
        let payload = end.and_then(|end| entry.get(header..end)).ok_or(malformed("an entry is too long"))?;
        match u16_at(entry, 0) {
            Some(PTX) => {
                let (text, arch) = (text(&Entry::read(entry, payload))?, u32_at(entry, 28).unwrap_or(0));
                if accept(&text) {
                    found.push((arch, text));
                } else {
                    others.push(arch);
                }
            }
            _ => cubins += 1,
        }
        at += header + padded;
    }
    found.sort_by_key(|(arch, _)| std::cmp::Reverse(*arch));
    match (found.is_empty(), others.is_empty()) {
        (true, true) => Err(FatbinError::NoPtx { cubins }),
        (true, false) => Err(FatbinError::OtherPtx(others)),
        (false, _) => Ok(found.into_iter().map(|(_, text)| text).collect()),
    }
}

/// The code of an entry.
struct Entry<'a> {
    payload: &'a [u8],
    /// The sizes of the compressed and of the decompressed code.
    compressed: usize,
    decompressed: usize,
}

impl<'a> Entry<'a> {
    fn read(entry: &[u8], payload: &'a [u8]) -> Self {
        let compressed = u32_at(entry, 16).unwrap_or(0) as usize;
        let decompressed = u64_at(entry, 56).unwrap_or(0).try_into().unwrap_or(0);
        Self { payload, compressed, decompressed }
    }
}

/// The maximum size in bytes of decompressed text.
const MOST: usize = 1 << 30;

/// The first bytes of data compressed by zstd.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn text(entry: &Entry<'_>) -> Result<String, FatbinError> {
    let compression = |error: String| FatbinError::Compression(error);
    let bytes = if entry.decompressed == 0 || entry.compressed == 0 {
        entry.payload.to_vec()
    } else if entry.decompressed > MOST {
        return Err(FatbinError::Malformed("an entry is too long"));
    } else {
        let stored = entry.payload.get(..entry.compressed).unwrap_or(entry.payload);
        if stored.starts_with(&ZSTD) {
            let mut out = vec![];
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(stored).map_err(|e| compression(e.to_string()))?;
            decoder.take(MOST as u64).read_to_end(&mut out).map_err(|e| compression(e.to_string()))?;
            out
        } else {
            lz4_flex::block::decompress(stored, entry.decompressed).map_err(|e| compression(e.to_string()))?
        }
    };
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an entry of a container.
    fn entry(kind: u16, arch: u32, payload: &[u8], compressed: usize, decompressed: usize) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes[16..20].copy_from_slice(&(compressed as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&arch.to_le_bytes());
        bytes[56..64].copy_from_slice(&(decompressed as u64).to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, HEADER as u8, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn texts_by_architecture() {
        let text = b".version 8.0 // sm_80 sm_80 sm_80 sm_80";
        let packed = lz4_flex::block::compress(text);
        let all = container(&[
            entry(2, 90, b"\x7fELF", 0, 0),
            entry(PTX, 80, &packed, packed.len(), text.len()),
            entry(PTX, 90, b"sm_90\0\0", 0, 0),
            entry(PTX, 100, b"sm_100", 0, 0),
        ]);
        assert_eq!(size(&all), Some(all.len()));
        let found = ptx(&all, |text| !text.contains("sm_100")).expect("well formed");
        assert_eq!(found, ["sm_90", std::str::from_utf8(text).expect("ASCII")]);
        assert_eq!(ptx(&all, |_| false), Err(FatbinError::OtherPtx(vec![80, 90, 100])));
        let cubin = container(&[entry(2, 90, b"\x7fELF", 0, 0)]);
        assert_eq!(ptx(&cubin, |_| true), Err(FatbinError::NoPtx { cubins: 1 }));
    }

    #[test]
    fn malformed_containers_are_errors() {
        let whole =
            container(&[entry(PTX, 80, b"text", 0, 0), entry(PTX, 90, b"not compressed", 14, 1 << 20)]);
        assert!(matches!(ptx(&whole, |_| true), Err(FatbinError::Compression(_))));
        let first = container(&[entry(PTX, 80, b"text", 0, 0)]);
        for length in HEADER + 1..first.len() {
            assert!(matches!(ptx(&first[..length], |_| true), Err(FatbinError::Malformed(_))), "{length}");
        }
        let mut endless = first;
        endless[HEADER + 4..HEADER + 16].fill(0);
        assert!(matches!(ptx(&endless, |_| true), Err(FatbinError::Malformed(_))));
        assert_eq!(size(&[]), None);
    }
}
