// Package log makes frames durable, one after the other. A frame has the content of one group (the changes that become durable
// together). The log is authoritative: the store's tables are only an index over its groups, which is brought up to date from the
// log after a crash.
//
// A log is a directory of segments: files of one size that are allocated and written before they are used, so that an
// append changes no metadata of the file system, and that are reused when their frames are no longer needed. A segment
// has a header block, two blocks for marks, and frames. Each frame begins at a multiple of 4 KiB.
//
// Invariants:
//  1. When Append returns nil, the frame is durable, and so are all before it. Nothing is appended after an error: it is unknown
//     whether that frame is durable. The next Replay keeps the frame if it is intact, and makes it durable.
//  2. A frame contains its number, its hash and the hash of the frame before it. Replay returns frames without a gap, each after
//     the predecessor whose hash it contains, and only after its checksums were compared.
//  3. A crash can only tear the last frame, since there is one write at a time. A torn frame was never acknowledged and is cut
//     off. A bad frame with a good one behind it is damage; so is a log that ends before the frame that a mark names.
//  4. A frame never shares a block with another one, so a torn write of one can't reach another.
//  5. What a block contains from an earlier use of its segment, or from the payload of a frame that was cut off, is never taken
//     for a frame: the checksums of headers depend on random bytes that are new at each use of a segment and unknown outside of
//     the log.
//  6. An append needs no space on the disk, unless it begins a segment. Then the new segment is made before anything is written
//     into it.
//
// Marks keep the loss of the log's end from looking like a crash. With a frame, Append also writes a mark into the same segment, which says that the
// frame before was acknowledged. The last mark of a full segment says that the next segment exists. Confirm writes the mark of the last frame into a
// file of its own, because an older copy of the last segment agrees with the marks in it. Such a copy is noticed if it lacks a confirmed frame; the
// loss of frames after the last Confirm is not noticed. Confirm may run while a frame is appended.
//
// Callers: posting/store.
//
// Rejected: etcd's wal and hashicorp/raft-wal. Both allocate segments without writing them and never reuse one, so each sync also
// writes the file system's journal (145 instead of 101 µs for 4 KiB: BenchmarkSync). Neither notices that the last segment is
// gone. One checks frames with a checksum that old content of the file could satisfy, the other has a second database for its
// list of segments. Rejected: O_DIRECT with O_DSYNC, which takes as long as fdatasync here and requires aligned memory.
package log
