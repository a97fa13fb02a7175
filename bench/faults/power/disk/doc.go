// Package disk is a block device that tests can cut from its power: what was not flushed is then lost, torn or kept out of order, as a
// real disk with a volatile cache may do. The device is a file of a FUSE file system that this process serves; a loop device on
// that file carries a real file system (ext4, xfs).
//
// Invariants:
//  1. What a flush has acknowledged is durable. It contains every write that was acknowledged before the flush began.
//  2. After a cut the device acknowledges nothing: each write and each flush fails.
//  3. When the power returns, the device contains what was durable, and of the writes that were not flushed any part, in whole sectors,
//     as the caller's Loss chooses. Writes that both survive stay in their order where they overlap.
//  4. After the power has returned, a write through a file opened before fails, so that a loop device of the time before the cut can't change the disk.
//
// Callers: bench/faults/power. Only tests import this package.
//
// Rejected: device mapper targets (dm-flakey, dm-log-writes), which lose whole writes only, and which many kernels lack.
package disk
