// Package trend decides from samples of a long run whether something grows: memory, handles, goroutines, threads or disk space.
//
// Invariants:
//  1. The verdict depends on the slope of a line through the samples and on the slope's confidence bounds, not on the last
//     sample: memory goes up and down with the garbage collector, so two instants tell nothing.
//  2. Neighbouring samples are correlated, so they tell less than as many independent ones. Therefore the samples are averaged in
//     blocks, and the bounds are widened according to the correlation that is left between the blocks.
//  3. Something grows if even the lower bound of its slope is above what is allowed. A run too short or too noisy for a verdict
//     has wide bounds, and they are reported.
//
// Callers: tests in bench/faults/load.
//
// Rejected: comparing the end with the beginning; and a test of ranks (Mann and Kendall), which tells whether something grows,
// but not by how much: growth by a kilobyte an hour would fail a test.
package trend
