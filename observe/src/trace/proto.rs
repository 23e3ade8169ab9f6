//! Perfetto's own form: a `Trace` is a repeated `TracePacket`, each a `TrackDescriptor` or a
//! `TrackEvent`. Written by hand, field by field, because a few fields of four messages are all that
//! is needed; their numbers are those of Perfetto's published .proto files, which never change them.

use super::model::{Arrow, ArrowEnd, Mark, Paint, Slice, Track, Value};
use std::io::{self, Write};

/// `Trace.packet`.
const PACKET: u32 = 1;
/// `TracePacket`: timestamp, `trusted_packet_sequence_id`, `track_event`, `track_descriptor`.
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const TRACK_DESCRIPTOR: u32 = 60;
/// `TrackDescriptor`: uuid, name, process, parent.
const UUID: u32 = 1;
const NAME: u32 = 2;
const PROCESS: u32 = 3;
const PARENT: u32 = 5;
/// `ProcessDescriptor`: pid, `process_name`.
const PID: u32 = 1;
const PROCESS_NAME: u32 = 6;
/// `TrackEvent`: annotations, type, track, categories, name, flows.
const ANNOTATION: u32 = 4;
const TYPE: u32 = 9;
const TRACK: u32 = 11;
const CATEGORY: u32 = 22;
const EVENT_NAME: u32 = 23;
const FLOW: u32 = 47;
const LAST_FLOW: u32 = 48;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// `DebugAnnotation`: values, name.
const FLAG: u32 = 2;
const NUMBER: u32 = 3;
const TEXT: u32 = 6;
const VALUE_NAME: u32 = 10;

/// The one sequence that all packets are of.
const OURS: u64 = 1;

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n as u8 & 0x7f) | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn number(mut self, field: u32, n: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(n);
        self
    }

    fn fixed(mut self, field: u32, n: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&n.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, inner: &Self) -> Self {
        self.bytes(field, &inner.0)
    }
}

pub(super) struct TrackEvents<'a> {
    out: &'a mut dyn Write,
}

impl<'a> TrackEvents<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        self.out.write_all(&Message::default().message(PACKET, packet).0)
    }

    fn event(&mut self, at_us: u64, event: &Message) -> io::Result<()> {
        let packet = Message::default()
            .number(TIMESTAMP, at_us * 1_000)
            .number(SEQUENCE, OURS)
            .message(TRACK_EVENT, event);
        self.packet(&packet)
    }
}

/// The name of a track among all.
const fn uuid(track: Track) -> u64 {
    track.process << 8 | track.row
}

fn annotated(event: Message, values: &[(&'static str, Value)]) -> Message {
    values.iter().fold(event, |event, (name, value)| {
        let annotation = Message::default().text(VALUE_NAME, name);
        let annotation = match value {
            Value::Number(n) => annotation.number(NUMBER, *n),
            Value::Flag(flag) => annotation.number(FLAG, u64::from(*flag)),
            Value::Text(text) => annotation.text(TEXT, text),
        };
        event.message(ANNOTATION, &annotation)
    })
}

fn flowing(event: Message, arrows: &[Arrow]) -> Message {
    arrows.iter().fold(event, |event, arrow| match arrow.end {
        ArrowEnd::Begins | ArrowEnd::Passes => event.fixed(FLOW, arrow.id),
        ArrowEnd::Arrives => event.fixed(LAST_FLOW, arrow.id),
    })
}

impl Paint for TrackEvents<'_> {
    fn process(&mut self, process: u64, name: &str) -> io::Result<()> {
        let of = Message::default().number(PID, process).text(PROCESS_NAME, name);
        let descriptor =
            Message::default().number(UUID, uuid(Track { process, row: 0 })).message(PROCESS, &of);
        self.packet(&Message::default().message(TRACK_DESCRIPTOR, &descriptor))
    }

    fn row(&mut self, track: Track, name: &str) -> io::Result<()> {
        let descriptor = Message::default()
            .number(UUID, uuid(track))
            .text(NAME, name)
            .number(PARENT, uuid(Track { row: 0, ..track }));
        self.packet(&Message::default().message(TRACK_DESCRIPTOR, &descriptor))
    }

    fn begin(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let event = Message::default()
            .number(TYPE, SLICE_BEGIN)
            .number(TRACK, uuid(slice.track))
            .text(CATEGORY, "tick")
            .text(EVENT_NAME, slice.name);
        let event = flowing(annotated(event, slice.values), slice.arrows);
        self.event(slice.at_us, &event)
    }

    fn end_of(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let event = Message::default().number(TYPE, SLICE_END).number(TRACK, uuid(slice.track));
        self.event(slice.at_us + slice.long_us, &event)
    }

    fn mark(&mut self, mark: &Mark<'_>) -> io::Result<()> {
        let event = Message::default()
            .number(TYPE, INSTANT)
            .number(TRACK, uuid(mark.track))
            .text(CATEGORY, "event")
            .text(EVENT_NAME, mark.name);
        self.event(mark.at_us, &annotated(event, mark.values))
    }
}
