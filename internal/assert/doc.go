// Package assert stops the process on the project's own mistakes.
//
// After a broken invariant the next write could be wrong, so nothing more may be
// written: That panics, the writer does not recover the panic, and the store stays as
// the last good group left it. Errors of the world (bad input, a full disk, a slow
// provider) are values and never asserted.
//
// Callers: every package. Rejected: a build tag that turns assertions off; the
// checks are cheap next to a synced write, and a release without them is the
// one build that was never tested.
package assert
