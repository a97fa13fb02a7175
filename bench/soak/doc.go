// Package soak has what a long run shows over time: its rows, the windows in which a payment cost the least and the most, and
// their picture. It measures nothing itself.
//
// Invariants:
//  1. The memory does not grow with the number of payments. A run of any length has a bounded number of rows: after every
//     RowsPerLength rows the interval doubles, and each row says how long it is.
//  2. A picture loads nothing, runs nothing, and has no text that was not escaped. It has its own background and is readable
//     in a light and in a dark scheme, and its lines differ in more than their color.
//  3. A figure that could not be measured is absent, not zero.
//
// Callers: bench.
//
// Rejected: a library for charts. What is needed is a few lines over one axis, and the libraries draw
// in one scheme of colors or need a browser.
package soak
