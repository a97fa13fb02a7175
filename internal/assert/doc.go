// Package assert stops the process on the project's own mistakes.
//
// A broken invariant means that the next thing written could be wrong, so
// nothing more may be written: That panics, the panic is not recovered by the
// writer, and the store stays as the last good group left it. Errors of the
// world (bad input, a full disk, a slow provider) are values and never come here.
//
// Callers: every package. Rejected: a build tag that turns assertions off; the
// checks are cheap next to a synced write, and a release without them is the
// one build that was never tested.
package assert
