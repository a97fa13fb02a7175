// Package picturetest makes pictures for tests. There is one picture for each kind of PNG and JPEG that is expensive to
// decode. Each picture is about as expensive as an uploaded file may be.
//
// Invariants:
//  1. A picture has at most MaxUpload bytes, and at least three quarters of MaxUpload.
//  2. The pictures are always the same, and are made once in a process.
//
// Callers: tests and benchmarks of internal/picture and cmd/mizan/serving.
//
// Rejected: another design would keep photographs in the repository. It was not chosen because each photograph would take 5
// MiB. Pictures of one color were not chosen because a decoder needs little time for them.
package picturetest
