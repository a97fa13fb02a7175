// Package power simulates power cuts of a whole machine. A real server works in a file system (ext4, xfs) on a
// simulated block device (package disk). At a cut the device loses, tears and reorders the writes that were not
// flushed. After each cut, the remaining store is compared with every response that clients got.
//
// Invariants, each checked after every cut:
//  1. The file system mounts, and `mizan audit verify` finds no fault in the store. The command compares the store with every
//     response that any client has received so far.
//  2. The server starts again and becomes ready.
//  3. A backup that was acknowledged is whole, and so is a data directory whose restore was acknowledged. A restore that was cut
//     short can be repeated, unless it has left a complete directory; then the repetition reports that the directory is in the
//     way.
//  4. At the end of a campaign (a series of cuts), a merchant's server was notified, for each transaction, of the last status
//     that a response has shown, if merchants are notified of this status. The power cuts do not affect the merchant's server.
//
// A cut comes at a random write or flush of the device, at a random instant, or when a client has just got a response. Cuts
// come under load, while the server starts, stops or creates its store, during a backup, and during a restore. A campaign
// prints its seed; MIZAN_SEED repeats its choices, but not the order in which the kernel writes. MIZAN_SOAK=30m runs new
// campaigns for thirty minutes. MIZAN_POWER_KIND=xfs restricts the campaigns to one file system, and MIZAN_POWER_PLACE=restore
// restricts the cuts to places of that name.
//
// Two tests show that the campaign can find lost data. A server whose syncs are skipped loses data that it has acknowledged,
// and the campaign notices this loss. A small program that syncs nothing loses its data too (package disk).
//
// Callers: none; there are only tests. The tests need root, /dev/fuse, loop devices and mkfs, and are skipped on machines that
// lack one of these.
//
// Rejected: one design would inject faults into the kernel's loop device. It was not chosen because this needs kernel modules
// that most machines lack. Another design would reset a virtual machine. It was not chosen because the host's cache survives a
// reset, so too little would be lost.
package power
