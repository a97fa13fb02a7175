// Package assert stops the process on bugs of this project.
//
// After a broken invariant the next write could be wrong, so nothing more may be written: That
// panics, the writer does not recover the panic, and the store stays as the last good
// write left it. Other errors (bad input, a full disk, a slow provider) are values and are never
// asserted.
//
// Callers: every package. Rejected: a build tag that turns assertions off; the checks are cheap
// compared with a synced write, and the release would be the one build that was never tested.
package assert
