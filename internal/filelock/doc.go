// Package filelock locks open files against other processes, by the system call flock.
//
// Invariants:
//  1. A lock is exclusive. A lock lasts until it is released or its process ends, so a killed process leaves nothing locked.
//  2. A signal does not interrupt a wait for a lock.
//
// Callers: posting/store (data directory), internal/secret (keyring), cmd/mizan/audit (state of `mizan audit watch`),
// snapshots/backup (unfinished backups and restores), cmd/mizan/simulator (data directory).
//
// Rejected: Lock files, whose presence is the lock, were considered. They were not chosen because such files outlive a process
// that is killed.
package filelock
