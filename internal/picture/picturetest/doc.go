// Package picturetest makes pictures that are as expensive to upload as their kind may be.
//
// Invariants:
//  1. A picture has at most MaxUpload bytes, and at least three quarters of that.
//  2. The pictures are always the same, and are made once in a process.
//
// Callers: tests and benchmarks of internal/picture and cmd/mizan/serving.
//
// Rejected: photographs in the repository, because each would have 5 MiB; pictures of one colour, which take a decoder
// little time.
package picturetest
