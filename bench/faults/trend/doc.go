// Package trend decides from samples of a long run whether something grows: memory, handles, goroutines, threads or
// disk space.
//
// Invariants:
//  1. The verdict depends on the slope of a line through the samples and on the slope's confidence bounds. Two single
//     instants are not compared, because memory goes up and down with the garbage collector.
//  2. The samples are averaged in blocks, and the bounds are widened according to the correlation that is left
//     between the blocks. This is necessary because neighbouring samples are correlated, and so tell less than the
//     same number of independent samples.
//  3. Something grows if even the lower bound of its slope is above the allowed slope. A run that is too short or too
//     noisy for a verdict has wide bounds, which are reported.
//
// Callers: tests in bench/faults/load.
//
// Rejected: Another design would compare the end of a run with its beginning. It was not chosen because memory goes
// up and down with the garbage collector, so two instants say nothing. A third design would use a test of ranks (Mann
// and Kendall). It was not chosen because such a test tells whether something grows but not by how much, so growth by
// a kilobyte an hour would fail a test.
package trend
