//! Compression once at build time, at the highest quality: the server only picks a file.

use std::io::Write;

use anyhow::{Context, Result};
use brotli::enc::BrotliEncoderParams;
use flate2::{Compression, write::GzEncoder};

/// Brotli at quality 11 with a window that spans the whole module.
pub fn brotli(mut bytes: &[u8]) -> Result<Vec<u8>> {
    let params = BrotliEncoderParams { quality: 11, lgwin: 22, size_hint: bytes.len(), ..Default::default() };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut bytes, &mut out, &params).context("brotli failed")?;
    Ok(out)
}

/// Gzip at level 9, for the few clients without brotli.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish().context("gzip failed")
}
