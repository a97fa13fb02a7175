// Package damage has the error for damage on the disk, which posting/store and the packages below
// it share.
//
// Invariants:
//  1. An Error reports only that the disk does not hold what was written to it. A full disk, a
//     failed system call or a mistake of the caller is another error.
//  2. Its text is one line that names the file if it is known, and advises to restore from a
//     backup.
//
// Callers: posting/store, which exports the type as store.DamageError, and
// posting/store/badgerfile.
//
// Rejected: a sentinel error. The operator needs the path, and callers that add a position need
// the text without the advice.
package damage
