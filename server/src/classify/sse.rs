//! Event streams, line by line, in bounded memory, however they are cut into chunks.

/// An event longer than this is told as too long, without its data.
const LONGEST: usize = 256 * 1024;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// Its `event:` line, empty without one.
    pub(super) name: &'a [u8],
    /// Its `data:` lines, joined; none if they were too long to keep.
    pub(super) data: Option<&'a [u8]>,
}

/// The stream's state: the current line and the current event.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the bytes so far, not a state")]
pub(super) struct Events {
    line: Vec<u8>,
    line_too_long: bool,
    after_cr: bool,
    begun: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    data_too_long: bool,
}

impl Events {
    /// Reads on, and tells each event that is whole.
    pub(super) fn feed(&mut self, mut chunk: &[u8], tell: &mut impl FnMut(Event<'_>)) {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                chunk = rest;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', chunk) else {
                self.keep(chunk);
                return;
            };
            let (head, rest) = chunk.split_at(end);
            self.keep(head);
            self.after_cr = rest.first() == Some(&b'\r');
            chunk = rest.get(1..).unwrap_or_default();
            self.end_line(tell);
        }
    }

    /// Bytes that it holds.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn held(&self) -> usize {
        self.line.capacity() + self.name.capacity() + self.data.capacity()
    }

    /// The stream ended: what stands there without its blank line is told too.
    pub(super) fn finish(&mut self, tell: &mut impl FnMut(Event<'_>)) {
        if !self.line.is_empty() || self.line_too_long {
            self.end_line(tell);
        }
        self.end_event(tell);
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len());
        self.line_too_long |= part.len() > room;
        self.line.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    fn end_line(&mut self, tell: &mut impl FnMut(Event<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        let too_long = std::mem::take(&mut self.line_too_long);
        let mut text = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event(tell);
        } else {
            let colon = memchr::memchr(b':', text).unwrap_or(text.len());
            let (field, value) = text.split_at(colon);
            let value = value.strip_prefix(b":").unwrap_or(value);
            self.field(field, value.strip_prefix(b" ").unwrap_or(value), too_long);
        }
        // The buffer is used again: a stream has many lines.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, field: &[u8], value: &[u8], too_long: bool) {
        match field {
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"data" => {
                if self.has_data && !self.data_too_long {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                if too_long || self.data_too_long || self.data.len().saturating_add(value.len()) > LONGEST {
                    self.data_too_long = true;
                    self.data.clear();
                } else {
                    self.data.extend_from_slice(value);
                }
            }
            _ => {}
        }
    }

    fn end_event(&mut self, tell: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            tell(Event { name: &self.name, data: (!self.data_too_long).then_some(self.data.as_slice()) });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        self.data_too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Told = Vec<(String, Option<String>)>;

    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Told {
        let mut told = Told::new();
        let mut tell = |event: Event<'_>| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            told.push((text(event.name), event.data.map(text)));
        };
        let mut events = Events::default();
        for chunk in chunks {
            events.feed(chunk, &mut tell);
        }
        events.finish(&mut tell);
        told
    }

    fn event(name: &str, data: &str) -> (String, Option<String>) {
        (name.to_owned(), Some(data.to_owned()))
    }

    #[test]
    fn the_three_ends_of_a_line_comments_and_joined_data() {
        let stream = b"\xef\xbb\xbf: hello\ndata:1\r\n\r\nevent: a\rdata: 2\rdata:  3\r\rid: 7\nretry: 5\n\ndata\n\nevent:b\n\ndata: last";
        assert_eq!(read([stream.as_slice()]), [event("", "1"), event("a", "2\n 3"), event("", ""), event("", "last")]);
    }

    #[test]
    fn what_is_too_long_is_told_without_its_data() {
        let long = vec![b'x'; LONGEST + 1];
        let stream = [b"event: big\ndata: ".as_slice(), &long, b"\n\ndata: next\n\n"].concat();
        assert_eq!(read([stream.as_slice()]), [("big".to_owned(), None), event("", "next")]);
    }

    proptest! {
        #[test]
        fn the_same_however_it_is_cut(stream in "(data: ?[a-c]{0,3}|event: x|:|\n|\r|\r\n|\n\n|é){0,40}", cuts in prop::collection::vec(0_usize..200, 0..12)) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut at = 0;
            let mut chunks = Vec::new();
            for cut in cuts {
                chunks.push(&bytes[at..cut]);
                at = cut;
            }
            chunks.push(&bytes[at..]);
            prop_assert_eq!(read(chunks), read([bytes]));
        }

        #[test]
        fn any_bytes(stream in any::<Vec<u8>>()) {
            read([stream.as_slice()]);
        }
    }
}
