// Package damage defines the error with which the store and the packages around it report damage on the disk.
//
// Invariants:
//  1. An Error reports only that the disk no longer has what was written to it. A full disk, a failed system call or a
//     mistake of the caller is reported with a different error.
//  2. The text of an Error is one line. It names the file if the file is known, and advises to restore from a backup.
//
// Callers: posting/store, which exports the type as store.DamageError, posting/store/badgerfile,
// posting/store/values, posting/log and posting/balances.
//
// Rejected: a sentinel error (one fixed value) was not chosen, because the operator needs the path of the file, and
// because callers that add a position to the text need the text without the advice.
package damage
