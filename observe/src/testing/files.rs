//! Histories as files.

use super::History;
use marchland_common::journal::frame::{FrameWriter, write_header};
use marchland_common::journal::{
    JOURNAL_FORMAT, JOURNAL_RECORD_MAX, Record, encode_record, journal_file_name,
};
use std::path::Path;

/// The bytes of one segment.
pub fn segment(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let salt = write_header(&JOURNAL_FORMAT, &[], &mut bytes);
    let writer = FrameWriter::new(salt, JOURNAL_RECORD_MAX);
    for record in records {
        let payload = encode_record(record).expect("plain values encode");
        writer.write(&payload, &mut bytes).expect("the record is within the limit");
    }
    bytes
}

impl History {
    /// Writes every journal in one segment; clients' into a folder of their own.
    pub fn write(&self, dir: &Path) {
        std::fs::create_dir_all(dir.join("bots")).expect("the folder is ours");
        for (node, records) in &self.journals {
            let name = journal_file_name(*node, 0);
            let is_client = node.name.kind == marchland_common::order::NodeKind::Client;
            let dir = if is_client { dir.join("bots") } else { dir.to_owned() };
            std::fs::write(dir.join(name), segment(records)).expect("the folder is ours");
        }
    }
}
