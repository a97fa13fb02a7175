// Package filelock locks open files against other processes (flock).
//
// Invariants:
//  1. A lock is exclusive and lasts until it is released or its process ends, so a kill leaves
//     nothing locked.
//  2. A signal does not end a wait for a lock.
//
// Callers: posting/store (the data directory), internal/secret (the keyring),
// cmd/mizan/audit (the state of `mizan audit watch`), snapshots/backup (unfinished backups and restores).
//
// Rejected: lock files whose presence is the lock. They outlive a kill.
package filelock
