// Package trend decides from samples of a long run whether something grows: memory, handles, goroutines, threads or disk space.
//
// Invariants:
//  1. The verdict is by the slope of a line through the samples and by its confidence bounds, not by the last sample: memory goes
//     up and down with the garbage collector, so two instants tell nothing.
//  2. Samples that follow one another are alike, so there is less to learn from them than from as many independent ones. They are
//     averaged in blocks, and the bounds are widened by what correlation is left between the blocks.
//  3. Something grows if even the lower bound of its slope is above what is allowed. A run too short or too noisy for a verdict
//     has wide bounds, and they are reported.
//
// Callers: tests in bench/faults/load.
//
// Rejected: comparing the end with the beginning; and a test of ranks (Mann and Kendall), which tells whether something grows, but
// not by how much, so that a kilobyte an hour fails.
package trend
