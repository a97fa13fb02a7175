// Package steps counts the work of the parsers of untrusted bytes: JSON, forms, headers, query
// strings and cursors. Fuzz targets use it to check that the work is linear in the size of the
// input, without measuring time.
//
// Invariants:
//  1. A parser reports each byte that it examines, as often as it examines it.
//  2. Nothing is counted outside tests: Add is a load and a branch that is never taken. It
//     allocates nothing.
//  3. Counting begins in a test binary's package initialization, before any goroutine counts,
//     and never ends.
//
// Callers: internal/jsonwalk, api; the tests of both.
//
// Rejected: measuring time, which is unreliable on a busy machine and needs megabytes to show
// quadratic work; coverage counters, which count a call of bytes.IndexByte as one step however
// many bytes it reads; a count in each parser's own state, because most parsers are functions
// without state.
package steps
