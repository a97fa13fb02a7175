// Package soak summarizes the measurements of a long run of payments; it measures nothing itself. The summary contains one row
// of figures for each interval, and a picture of the rows. It also contains two windows of ten seconds: the first window of the
// run, and the window in which a payment cost the most CPU time.
//
// Invariants:
//  1. The memory of the summary does not depend on the number of payments. It grows only with the logarithm of the run's
//     length, because the interval doubles after every RowsPerLength rows. Each row contains the length of its interval.
//  2. A picture loads nothing and runs nothing, and all its text is escaped. A picture has its own background, and is readable
//     in a light and in a dark color scheme. The lines of a chart differ in their dashes as well as in their color.
//  3. A figure that could not be measured is absent, not zero.
//
// Callers: bench.
//
// Rejected: another design would use a library for charts. It was not chosen because the picture needs only a few lines over
// one axis, and because such libraries support only one color scheme or need a browser.
package soak
