//! NumPy's `.npz` files: zip archives of `.npy` files. (`npyz` reads them too, but requires all compression methods of zip archives.)

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use zip::{ZipArchive, result::ZipError};

/// An open `.npz` file.
pub(crate) struct Npz(ZipArchive<BufReader<File>>);

impl Npz {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self(ZipArchive::new(BufReader::new(File::open(path)?))?))
    }

    /// Returns the elements of an array; `None` if the array does not exist.
    pub(crate) fn array<T: npyz::Deserialize>(&mut self, name: &str) -> io::Result<Option<Vec<T>>> {
        let mut bytes = Vec::new();
        match self.0.by_name(&format!("{name}.npy")) {
            Ok(mut file) => file.read_to_end(&mut bytes)?,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        npyz::NpyFile::new(bytes.as_slice())?.into_vec().map(Some)
    }
}
