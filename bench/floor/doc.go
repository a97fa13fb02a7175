// Package floor measures how long the disk of the data directory takes to make one small write durable. No payment can be
// answered faster, so this time is a lower bound (floor). The package also computes ratios, such as payments a second divided by
// single writes a second. Such a ratio can be compared between machines; payments a second can't.
//
// Invariants:
//  1. A measured write goes to a part of a file that was written before, so it changes no metadata of the file system. For the
//     disk, a measured write is the write of one block and one flush.
//  2. The file is in the data directory, and so on the same file system. It is unlinked at once, so nothing is left behind,
//     however the process ends.
//  3. A ratio compares the totals of all rounds; it is not the mean of the rounds' ratios. The report adds three ratios of
//     single rounds: the median, which shows the ratio without outliers, and the lowest and the highest, which show how much
//     the rounds vary.
//
// Callers: bench.
//
// Rejected: Writing with O_DSYNC or O_DIRECT was not chosen because it takes as long as a write and a flush. Other write sizes
// were not chosen because 4 KiB is the block size of most file systems. It is also the size of the smallest frame in the
// journal's log; a frame holds the changes that become durable together.
package floor
