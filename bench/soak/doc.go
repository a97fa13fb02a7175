// Package soak summarizes a long run of payments over time; it measures nothing itself. The summary has rows of
// figures, one for each interval, and a picture of the rows. It also has two windows of ten seconds: the first one,
// and the one in which a payment cost the most CPU.
//
// Invariants:
//  1. The memory does not depend on the number of payments. It grows with the logarithm of the run's length, because
//     the interval doubles after every RowsPerLength rows. Each row says how long its interval was.
//  2. A picture loads nothing and runs nothing, and all its text is escaped. It has a background, and is readable in a light and
//     in a dark color scheme. Its lines differ in more than their color.
//  3. A figure that could not be measured is absent, not zero.
//
// Callers: bench.
//
// Rejected: another design would use a library for charts. It was not chosen because the picture needs only a few
// lines over one axis, while the libraries draw in one scheme of colors or need a browser.
package soak
