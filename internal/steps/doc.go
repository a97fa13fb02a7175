// Package steps counts the work of the parsers of untrusted bytes: JSON, forms, headers, query strings and cursors. With
// these counts, fuzz targets check that a parser's work is linear in the size of its input.
//
// Invariants:
//  1. A parser reports each byte that it examines. A byte that is examined twice is reported twice.
//  2. Nothing is counted outside tests: there Add only loads a nil pointer and returns. Add allocates nothing.
//  3. Counting begins when a test binary initializes its packages, before any goroutine reports work. It never ends.
//
// Callers: internal/jsonwalk, api; the tests of both.
//
// Rejected: another design would measure time. It was not chosen because time is unreliable on a busy machine, and
// quadratic work shows only with megabytes of input. Coverage counters were not chosen because they count a call of
// bytes.IndexByte as one step, however many bytes the call reads. A count in each parser's own state was not chosen
// because most parsers are functions without state.
package steps
