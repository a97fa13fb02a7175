// Package disk has a block device for tests that cut the power. After a cut, writes that were not flushed are lost,
// torn or kept out of order, as on a real disk with a volatile cache. The device is a file of a FUSE file system that
// this process serves; a loop device turns this file into a block device for a real file system (ext4, xfs).
//
// Invariants:
//  1. When a flush is acknowledged, every write that was acknowledged before the flush began is durable.
//  2. After a cut the device acknowledges nothing: each write and each flush fails.
//  3. When the power returns, the device contains what was durable. It also contains some whole sectors of the writes
//     that were not flushed; the caller's Loss decides which. Where two surviving writes overlap, the later one wins.
//  4. After the power has returned, a write fails if it comes through a file that was opened before the cut. So an
//     old loop device can't change the disk.
//
// Callers: bench/faults/power. Only tests import this package.
//
// Rejected: another design would use targets of the device mapper (dm-flakey, dm-log-writes). It was not chosen
// because these targets lose only whole writes, and because many kernels lack them.
package disk
