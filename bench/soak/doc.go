// Package soak summarizes a long run of payments over time: rows of figures, one for each interval; the first window of ten
// seconds and the one in which a payment cost the most CPU; and a picture of the rows. It measures nothing itself.
//
// Invariants:
//  1. The memory does not grow with the number of payments, and grows only with the logarithm of the run's length: after
//     every RowsPerLength rows the interval doubles. Each row says how long its interval was.
//  2. A picture loads nothing and runs nothing, and all its text is escaped. It has its own background and is readable in a
//     light and in a dark scheme, and its lines differ in more than their color.
//  3. A figure that could not be measured is absent, not zero.
//
// Callers: bench.
//
// Rejected: a library for charts. What is needed is a few lines over one axis, and the libraries draw
// in one scheme of colors or need a browser.
package soak
