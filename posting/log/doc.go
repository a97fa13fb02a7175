// Package log writes groups (changes that become durable together) to disk, one after the other, so that they survive a
// crash. The content of one group is one frame. The log is authoritative. The store's tables are only an index over the
// groups in the log. After a crash, rows that are missing in the tables are restored from the log.
//
// A log is a directory of segments, which are files of a fixed size. A file is allocated and filled with zeros before it
// becomes a segment, so that an append changes no metadata of the file system. When the frames of a segment are no longer
// needed, its file is reused for a new segment. A segment has a header block, two blocks for marks, and frames. Each frame
// begins at a multiple of 4 KiB.
//
// Invariants:
//  1. When Append returns nil, the frame and all frames before it are durable. If Append returns an error, it is unknown
//     whether the frame is durable, so nothing more is appended. The next Replay keeps the frame if it is intact, and makes
//     it durable. With Options.SyncsLater, a frame becomes durable only when Sync or Confirm returns nil.
//  2. A frame contains its number, its hash and the hash of the frame before it. Replay returns frames without a gap. Before
//     Replay returns a frame, it checks the frame's checksums, and that the frame contains the hash of the previous frame.
//  3. A crash can tear only the last frame, because there is one write at a time. A torn frame was never acknowledged, and
//     Replay leaves it out. If a good frame follows a bad one, the log is damaged. A log that ends before the frame that a
//     mark names is damaged too. With Options.SyncsLater, a crash can tear any frame that was not durable. Replay returns the
//     frames before the first of them, and the next frame begins a segment.
//  4. Frames never share a block, so a torn write of one frame cannot reach another.
//  5. A block's old content, from an earlier use of the file or from a torn frame, is never taken for a frame. The checksums
//     of headers depend on random bytes. These bytes are chosen anew each time a file becomes a segment, and they are unknown
//     outside of the log.
//  6. An append needs no new disk space, unless it begins a segment. In this case the whole segment is allocated before
//     anything is written into it.
//
// Marks distinguish a log whose end was lost from a log whose last frame was torn by a crash. With each frame, Append also
// writes a mark into the same segment. The mark says that the previous frame was acknowledged. The last mark of a full
// segment says that the next segment exists. If somebody replaces the last segment by an older copy, the marks in the copy
// agree with its frames, so they do not show the loss. For this case Confirm writes the mark of the last frame into a
// separate file. So Replay detects that the copy lacks a confirmed frame. If all lost frames were written after the last
// Confirm, Replay does not detect the loss. Confirm may run while a frame is appended.
//
// Callers: posting/store.
//
// Rejected: We considered two existing logs, etcd's wal and hashicorp/raft-wal. Both allocate segments without writing them,
// and never reuse a segment. So each sync also writes the file system's journal (145 instead of 101 µs for 4 KiB:
// BenchmarkSync). Neither of them detects that the last segment is missing. In etcd's wal, old content of a file could have a
// correct checksum. raft-wal needs a second database for its list of segments. O_DIRECT with O_DSYNC takes as long as
// fdatasync here, and requires aligned memory.
package log
