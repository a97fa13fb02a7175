// Package floor measures lone durable writes to the disk of the data directory: no payment is answered faster than the
// disk makes one such write durable. It also computes the ratios between payments and such lower bounds (floors).
// Unlike payments per second, the ratios can be compared between machines.
//
// Invariants:
//  1. A write goes to a file that was allocated and written before, so it changes no metadata of the file system: it costs
//     the disk one flush and nothing else.
//  2. The file is in the data directory, and so on the same file system, but has no name there, so nothing is left
//     behind, however the process ends.
//  3. A ratio compares the totals of all rounds; it is not the mean of the rounds' ratios. It is reported with the
//     median of the rounds' ratios, which shows the ratio without outliers, and with the lowest and the highest, which
//     show how much the rounds vary.
//
// Callers: bench, which alternates rounds of payments, of a bare echo and of lone writes.
//
// Rejected: pwrite with O_DSYNC or O_DIRECT, which takes as long, and writes of other sizes: 4 KiB is the smallest frame (a
// group of changes) in the journal's log, and a block of most file systems.
package floor
