//! How a journal lies on disk: one folder a process, or one for all; one file a segment.

use super::frame::Format;
use crate::order::{Incarnation, Node};

/// The framing of a journal's segments. What the segment says about itself is its first record,
/// a [`Header`](super::Record::Header); the framing's own meta is empty.
pub const JOURNAL_FORMAT: Format = Format { magic: *b"MARCHJNL", versions: 2..=2 };

/// Largest record of a journal, in bytes: a snapshot of a whole core fits many times.
pub const JOURNAL_RECORD_MAX: usize = 256 << 20;

/// How the name of a journal's file ends.
pub const JOURNAL_SUFFIX: &str = ".journal";

/// The name of a segment's file: `<node>-<incarnation>-<segment>.journal`.
#[must_use]
pub fn journal_file_name(node: Node, segment: u32) -> String {
    format!("{}-{}-{segment:06}{JOURNAL_SUFFIX}", node.name, node.incarnation)
}

/// Whose segment a file of this name is, and which; none if it is not the name of one.
#[must_use]
pub fn parse_journal_file_name(name: &str) -> Option<(Node, u32)> {
    let stem = name.strip_suffix(JOURNAL_SUFFIX)?;
    let (rest, segment) = stem.rsplit_once('-')?;
    let (name, incarnation) = rest.rsplit_once('-')?;
    let incarnation: Incarnation = incarnation.parse().ok()?;
    Some((Node { name: name.parse().ok()?, incarnation }, segment.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::NodeKind;

    #[test]
    fn a_file_name_says_whose_segment_it_is_and_other_names_do_not() {
        let node = Node::new(NodeKind::Cell, 3, 1207);
        let name = journal_file_name(node, 12);
        assert_eq!(name, "cell-3-1207-000012.journal");
        assert_eq!(parse_journal_file_name(&name), Some((node, 12)));
        for other in ["cell-3-000012.journal", "cell-3-x-0.journal", "a.journal", "cell-3-1-0"] {
            assert_eq!(parse_journal_file_name(other), None, "{other}");
        }
    }
}
