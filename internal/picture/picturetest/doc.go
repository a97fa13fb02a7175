// Package picturetest makes pictures for tests. There is one picture for each kind of PNG and JPEG that is expensive to
// decode. Each picture is about as expensive as an uploaded file may be.
//
// Invariants:
//  1. A picture has at most MaxUpload bytes, and at least three quarters of MaxUpload.
//  2. The pictures are the same in each run. A process makes them only once.
//
// Callers: tests and benchmarks of internal/picture and cmd/mizan/serving.
//
// Rejected: We could keep photographs in the repository, but each would take 5 MiB. Pictures of a single color would not do,
// because they take little time to decode.
package picturetest
