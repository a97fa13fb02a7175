// Package log makes frames durable, one after the other. A frame is the content of one group, and the log is the truth about
// groups: the store behind it is an index, which is brought up to date from the log after a crash.
//
// A log is a directory of segments: files of one size that are allocated and written before they are used, so that
// an append changes no metadata of the file system, and that are used again when nobody needs their frames any more.
// A segment has a header block, two blocks for marks, and frames, each of which begins a block of 4 KiB.
//
// Invariants:
//  1. When Append returns nil, the frame is durable, and so are all before it. Nothing is appended after an error: it is
//     unknown whether that frame is durable. The next Open decides, and makes durable what it believes.
//  2. A frame names its number, the hash of the frame before it and its own. Replay returns frames without a gap, each with
//     the predecessor that it names, and only after its checksums were compared.
//  3. A crash can only tear the last frame, since there is one write at a time. A torn frame was never acknowledged and is cut
//     off. A bad frame with a good one behind it is damage; so is a log that ends before the frame that a mark names.
//  4. A frame never shares a block with another one, so a torn write of one can't reach another.
//  5. What a block contains from an earlier use of its segment, or from the payload of a frame that was cut off, is never
//     taken for a frame: the checksums of headers depend on random bytes that are new at each use and that nobody sees.
//  6. An append needs no space on the disk, unless it begins a segment; then the segment exists before anything is written.
//
// Marks keep a lost end of the log from looking like a crash. The write of a frame also writes a mark, into the same segment, that the frame
// before it was acknowledged. When a segment is full, its mark says that the next one exists. Confirm says so of the last frame in a file of
// its own, because an older copy of the last segment agrees with its own marks. So such a copy is noticed if a frame that it does not have was
// confirmed; the frames since the last Confirm are not. Confirm may run while a frame is appended.
//
// Callers: posting/store.
//
// Rejected: etcd's wal and hashicorp/raft-wal. Both allocate segments without writing them and never use one again, so
// each sync also writes the file system's journal (145 instead of 101 µs for 4 KiB: BenchmarkSync). Neither notices that the last
// segment is gone. One checks frames with a checksum that old content of the file could satisfy, the other has a
// second database for its list of segments. Rejected: O_DIRECT with O_DSYNC, which takes as long as fdatasync here and
// requires aligned memory.
package log
