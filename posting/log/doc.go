// Package log writes groups (changes that become durable together) to disk, one after the other, so that they survive a
// crash. The content of one group is one frame. The log is authoritative. The store's tables are only an index over its
// groups: after a crash, the rows that the tables lack are restored from the log.
//
// A log is a directory of segments, which are files of one size. A file is allocated and filled with zeros before it becomes
// a segment, so that an append changes no metadata of the file system. When the frames of a segment are no longer needed, its
// file is used for another segment. A segment has a header block, two blocks for marks, and frames. Each frame begins at a
// multiple of 4 KiB.
//
// Invariants:
//  1. When Append returns nil, the frame and all frames before it are durable. After an error it is unknown
//     whether the frame is durable, so nothing more is appended. The next Replay keeps the frame if it is
//     intact, and makes it durable.
//  2. A frame contains its number, its hash and the hash of the frame before it. Replay returns frames without a gap. Before
//     it returns a frame, it checks the frame's checksums and the hash of the previous frame.
//  3. A crash can only tear the last frame, because there is one write at a time. A torn frame was never acknowledged, and
//     Replay leaves it out. A bad frame with a good one behind it is damage. A log that ends before the frame that a mark
//     names is damage too.
//  4. Frames never share a block, so a torn write of one frame cannot reach another.
//  5. Old content of a block is never taken for a frame, whether it is from an earlier use of the file or from a torn frame.
//     The checksums of headers depend on random bytes, which are new each time a file becomes a segment, and unknown outside
//     of the log.
//  6. An append needs no space on the disk, unless it begins a segment. In this case the new segment is made
//     before anything is written into it.
//
// Marks distinguish a log that has lost its end from a log whose last frame a crash has torn. With each frame, Append also
// writes a mark into the same segment, which says that the previous frame was acknowledged. The last mark of a full segment
// says that the next segment exists. If somebody replaces the last segment by an older copy, the copy's marks agree with its
// frames, so marks do not show the loss. For this case Confirm writes the mark of the last frame into a separate file, and
// Replay detects that the copy lacks a confirmed frame. The loss of frames after the last Confirm is not detected. Confirm
// may run while a frame is appended.
//
// Callers: posting/store.
//
// Rejected: Two existing logs, etcd's wal and hashicorp/raft-wal, were considered; they were not chosen because both allocate
// segments without writing them and never reuse one, so that each sync also writes the file system's journal (145 instead of
// 101 µs for 4 KiB: BenchmarkSync). Neither detects that the last segment is gone. In etcd's wal, old content of a file could
// have a correct checksum. raft-wal has a second database for its list of segments. O_DIRECT with O_DSYNC was not chosen
// because it takes as long as fdatasync here and requires aligned memory.
package log
