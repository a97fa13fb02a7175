// Package power simulates power cuts of a whole machine. A real server works in a file system (ext4, xfs) on a
// simulated block device (package disk). At a cut the device loses, tears and reorders the writes that were not
// flushed. After each cut, the remaining store is compared with every response that clients got.
//
// Invariants, each checked after every cut:
//  1. The file system mounts, and `mizan audit verify` finds no fault in the store. It compares the store with every response that any
//     client has received so far.
//  2. The server starts again and becomes ready.
//  3. A backup that was acknowledged is whole, and so is a data directory whose restore was acknowledged. A restore that was cut
//     short can be repeated, unless it has left a complete directory; then the repetition reports that the directory is in the
//     way.
//  4. At the end of a campaign (a series of cuts), a merchant's server has been notified of the last status of each transaction
//     that a response has shown, if merchants are notified of that status. The merchant's server does not lose its power.
//
// A cut comes at a random write or flush of the device, at a random instant, or when a client has just got a response.
// It comes under load, while the server starts, stops or creates its store, during a backup, or during a restore. A
// campaign prints its seed; MIZAN_SEED repeats its choices, but not the order in which the kernel writes.
// MIZAN_SOAK=30m runs new campaigns for that time, MIZAN_POWER_KIND=xfs on one file system only, and
// MIZAN_POWER_PLACE=restore with cuts at the places of that name only.
//
// Two tests show that the campaign can find lost data. A server whose syncs are skipped loses data that it has
// acknowledged, and is caught. A small program that syncs nothing loses its data too (package disk).
//
// Callers: none; there are only tests. They need root, /dev/fuse, loop devices and mkfs, and are skipped elsewhere.
//
// Rejected: one design would inject faults into the kernel's loop device. It was not chosen because it needs modules
// that most machines lack. Another design would reset a virtual machine. It was not chosen because the host's cache
// survives a reset, so too little would be lost.
package power
