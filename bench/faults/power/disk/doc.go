// Package disk has a block device whose power tests can cut: writes that were not flushed are then lost, torn or kept out of
// order, as on a real disk with a volatile cache. The device is a file of a FUSE file system that this process serves; a loop
// device on that file carries a real file system (ext4, xfs).
//
// Invariants:
//  1. What a flush has acknowledged is durable. It contains every write that was acknowledged before the flush began.
//  2. After a cut the device acknowledges nothing: each write and each flush fails.
//  3. When the power returns, the device contains what was durable, and those whole sectors of the unflushed writes that survive
//     the caller's Loss. Where two surviving writes overlap, the later one wins.
//  4. After the power has returned, writes fail through a file that was opened before the cut, so that an old loop
//     device can't change the disk.
//
// Callers: bench/faults/power. Only tests import this package.
//
// Rejected: device mapper targets (dm-flakey, dm-log-writes), which lose whole writes only, and which many kernels lack.
package disk
