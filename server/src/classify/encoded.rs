//! Bodies that come compressed, although the gateway asks for none: unpacked on their way, for the look at them alone. The caller
//! gets the bytes as they came.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};

/// The most that is unpacked of one body: a small one can hold a very large one.
const MOST: usize = 64 * 1024 * 1024;
/// The brotli decoder's buffer.
const BUFFER: usize = 16 * 1024;

/// A `Content-Encoding` (RFC 9110, 8.4.1) that can be read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
}

impl Coding {
    /// The coding of a body; none where it is unknown, or more than one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
        let coding = codings.next().map_or(Some(Self::Identity), |value| {
            let name = value.as_bytes().trim_ascii();
            let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
            if name.is_empty() || is(b"identity") {
                Some(Self::Identity)
            } else if is(b"gzip") || is(b"x-gzip") {
                Some(Self::Gzip)
            } else if is(b"deflate") {
                Some(Self::Deflate)
            } else {
                is(b"br").then_some(Self::Brotli)
            }
        });
        coding.filter(|_| codings.next().is_none())
    }
}

/// Who takes the unpacked bytes. An error says that no more are wanted.
pub(super) struct Bounded<W> {
    pub(super) to: W,
    taken: usize,
}

/// What takes bytes, however they come.
pub(super) trait Take {
    /// The next bytes.
    fn take(&mut self, bytes: &[u8]);
}

impl<W: Take> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.taken = self.taken.saturating_add(bytes.len());
        if self.taken > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.to.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unpacks what is fed to it, into a taker. What can't be unpacked ends the look.
pub(super) struct Unpacker<W: Take> {
    decoder: Decoder<W>,
    failed: bool,
}

enum Decoder<W: Take> {
    Plain(Bounded<W>),
    Gzip(Box<MultiGzDecoder<Bounded<W>>>),
    /// The first byte tells which of two things `deflate` means here.
    Undecided(Option<Bounded<W>>),
    Zlib(Box<ZlibDecoder<Bounded<W>>>),
    Deflate(Box<DeflateDecoder<Bounded<W>>>),
    Brotli(Box<DecompressorWriter<Bounded<W>>>),
}

impl<W: Take> Unpacker<W> {
    pub(super) fn new(coding: Coding, to: W) -> Self {
        let to = Bounded { to, taken: 0 };
        let decoder = match coding {
            Coding::Identity => Decoder::Plain(to),
            Coding::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(to))),
            Coding::Deflate => Decoder::Undecided(Some(to)),
            Coding::Brotli => Decoder::Brotli(Box::new(DecompressorWriter::new(to, BUFFER))),
        };
        Self { decoder, failed: false }
    }

    /// The next bytes as they came.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if let Decoder::Plain(to) = &mut self.decoder {
            to.to.take(bytes);
            return;
        }
        if self.failed || bytes.is_empty() {
            return;
        }
        self.decide(bytes);
        // Flushed, so that an event is seen when it comes and not with the next one.
        let unpacked = match &mut self.decoder {
            Decoder::Plain(_) | Decoder::Undecided(_) => Ok(()),
            Decoder::Gzip(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Decoder::Zlib(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Decoder::Deflate(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Decoder::Brotli(decoder) => decoder.write_all(bytes),
        };
        self.failed = unpacked.is_err();
    }

    /// RFC 9110 means the zlib format; some send the bare one.
    fn decide(&mut self, bytes: &[u8]) {
        if let Decoder::Undecided(to) = &mut self.decoder
            && let (Some(first), Some(to)) = (bytes.first(), to.take())
        {
            let is_zlib = first & 0x0f == 8 && first >> 4 <= 7;
            self.decoder = if is_zlib {
                Decoder::Zlib(Box::new(ZlibDecoder::new(to)))
            } else {
                Decoder::Deflate(Box::new(DeflateDecoder::new(to)))
            };
        }
    }

    /// Whether all that was fed could be unpacked.
    pub(super) const fn is_whole(&self) -> bool {
        !self.failed
    }

    /// Who takes the bytes; none only where there was no byte yet and nothing to take.
    pub(super) fn taker(&self) -> Option<&W> {
        Some(match &self.decoder {
            Decoder::Plain(to) => &to.to,
            Decoder::Gzip(decoder) => &decoder.get_ref().to,
            Decoder::Undecided(to) => &to.as_ref()?.to,
            Decoder::Zlib(decoder) => &decoder.get_ref().to,
            Decoder::Deflate(decoder) => &decoder.get_ref().to,
            Decoder::Brotli(decoder) => &decoder.get_ref().to,
        })
    }

    /// The same, to be changed.
    pub(super) fn taker_mut(&mut self) -> Option<&mut W> {
        Some(match &mut self.decoder {
            Decoder::Plain(to) => &mut to.to,
            Decoder::Gzip(decoder) => &mut decoder.get_mut().to,
            Decoder::Undecided(to) => &mut to.as_mut()?.to,
            Decoder::Zlib(decoder) => &mut decoder.get_mut().to,
            Decoder::Deflate(decoder) => &mut decoder.get_mut().to,
            Decoder::Brotli(decoder) => &mut decoder.get_mut().to,
        })
    }
}

struct Kept {
    bytes: Vec<u8>,
    most: usize,
}

impl Take for Kept {
    fn take(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

/// Whether [`readable`] unpacks a body with these headers, so that its coding is no longer true of what it gives.
pub fn is_unpacked(headers: &HeaderMap) -> bool {
    Coding::of(headers).is_some()
}

/// A body as people read it: unpacked as far as it can be, at most so many bytes of it. As it came where its coding is unknown.
pub fn readable(headers: &HeaderMap, body: &[u8], most: usize) -> Vec<u8> {
    let kept = Kept { bytes: Vec::new(), most };
    match Coding::of(headers) {
        None | Some(Coding::Identity) => body.get(..most).unwrap_or(body).to_vec(),
        Some(coding) => {
            let mut unpacker = Unpacker::new(coding, kept);
            unpacker.feed(body);
            let unpacked = unpacker.taker_mut().map(|kept| std::mem::take(&mut kept.bytes)).unwrap_or_default();
            // It is not what it calls itself.
            if unpacked.is_empty() { body.get(..most).unwrap_or(body).to_vec() } else { unpacked }
        }
    }
}

#[cfg(test)]
#[path = "encoded_tests.rs"]
mod tests;
