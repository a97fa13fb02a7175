// Package durable writes whole files so that neither a killed process nor a power cut leaves half a file. It also syncs files
// that other packages write in parts (SyncData).
//
// Invariants:
//  1. At every moment a name has either its old content or all of the new content. When Create
//     or Replace returns nil, the new content survives a power cut.
//  2. Create never overwrites a file, even if another process creates it at that moment.
//  3. A file's content is never readable for more users than its mode allows. Replace keeps the file's owner, so that
//     an operator who rewrites a server's file does not lock the server out.
//  4. Temporary files have names of a special form, and RemoveLeftovers deletes only files with such names.
//
// Callers: internal/secret (keyring), posting/store (small files and table list), internal/disk and the simulator's log (both
// only SyncData), cmd/mizan (clock, sandbox.json, TLS, audit files), snapshots (backups and restored directories).
//
// Rejected: another design would end Create with a rename, as Replace does. It was not chosen because of two servers that
// start at the same moment: each would assume that its own file is on disk. Create uses a hard link, which is atomic too and
// fails if the name exists.
package durable
