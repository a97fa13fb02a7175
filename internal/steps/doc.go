// Package steps counts the work of parsers that read untrusted bytes: JSON, forms, headers, query strings and cursors. With
// these counts, fuzz targets check that a parser's work is linear in the size of its input.
//
// Invariants:
//  1. A parser reports each byte that it examines. A byte that is examined twice is reported twice.
//  2. Outside tests nothing is counted: Add loads a nil pointer and returns. Add allocates nothing.
//  3. Counting begins when a test binary initializes its packages, before any goroutine reports work. Counting never ends.
//
// Callers: internal/jsonwalk, api; the tests of both.
//
// Rejected: Time is no good measure of work, because it is unreliable on a busy machine, and shows quadratic work only with
// megabytes of input. Coverage counters count a call of bytes.IndexByte as one step, however many bytes the call reads. A
// counter in each parser's state is not possible, because most parsers are functions without state.
package steps
