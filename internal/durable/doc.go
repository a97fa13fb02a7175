// Package durable writes whole files so that neither a killed process nor a power cut leaves half a file. It also syncs files
// that other packages write in parts (SyncData).
//
// Invariants:
//  1. At every moment a file has either its complete old content or its complete new content. When Create or Replace returns
//     nil, the new content survives a power cut.
//  2. Create never overwrites a file, even if another process creates the file at the same moment.
//  3. At no moment can more users read a file's content than the file's mode allows. Replace keeps the file's owner, so that an
//     operator who rewrites a server's file does not lock the server out.
//  4. Temporary files have names of a special form, and RemoveLeftovers deletes only files with such names.
//
// Callers: internal/secret (keyring), posting/store (small files and table list), internal/disk and the simulator's log (both
// only SyncData), cmd/mizan (clock, sandbox.json, TLS, audit files), snapshots (backups and restored directories).
//
// Rejected: Ending Create with a rename, like Replace, was considered. It was not chosen because two servers that start at the
// same moment would both assume that their own file is on disk. Create uses a hard link, which is also atomic and fails if the
// name exists.
package durable
