// Package assert stops the process when an invariant is broken, which means that this project has a bug.
//
// After a broken invariant the next write could be wrong, so nothing more may be written. The function That panics, and the
// journal's writer does not recover the panic. So the store keeps the state after the last good write. Other errors (bad
// input, a full disk, a slow provider) are error values and are never asserted.
//
// Callers: every package.
//
// Rejected: A build tag that turns assertions off was considered. It was not chosen because the checks cost little compared
// with a synced write, and because the released build would then be the one build that was never tested.
package assert
