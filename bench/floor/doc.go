// Package floor has what a payment can't be cheaper than: a lone durable write to the same disk. And it computes the
// ratios between the payments and such floors, which mean something on any machine, unlike payments per second.
//
// Invariants:
//  1. A write goes to a file that was allocated and written before, so it changes no metadata of the file system: it costs
//     the disk one flush and nothing else.
//  2. The file is in the data directory, and so on the same file system, but has no name there: nothing is left behind,
//     however the process ends.
//  3. A ratio is one of totals: of all rounds together, not the mean of the rounds' ratios. Beside it the median of the rounds
//     shows what the ratio is without the machine's outliers, and the lowest and the highest round how far its noise reaches.
//
// Callers: bench, which alternates rounds of payments, of a bare echo and of lone writes.
//
// Rejected: pwrite with O_DSYNC or O_DIRECT, which takes as long, and writes of other sizes: 4 KiB is the smallest frame of the
// journal's log and a block of most file systems.
package floor
