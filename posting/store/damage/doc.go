// Package damage has the error that reports damage on the disk. posting/store and the packages below it share this
// error.
//
// Invariants:
//  1. An Error reports only that the disk no longer has what was written to it. A full disk, a failed system call or a
//     mistake of the caller is reported with another error.
//  2. The text of an Error is one line. It names the file if the file is known, and advises to restore from a backup.
//
// Callers: posting/store, which exports the type as store.DamageError, and
// posting/store/badgerfile.
//
// Rejected: another design would use a sentinel error (one fixed value). It was not chosen because the operator needs
// the path of the file, and because callers that add a position need the text without the advice.
package damage
