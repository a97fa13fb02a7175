// Package power cuts the power of a whole machine: a real server works in a file system (ext4, xfs) on a block device that loses, tears
// and reorders what was not flushed (package disk), and after each cut everything that its clients were told is compared with what is left.
//
// Invariants, each checked after every cut:
//  1. The file system mounts, and `mizan audit verify` finds no fault in the store. It compares the store with every response that any
//     client has received so far.
//  2. The server starts again and becomes ready.
//  3. A backup that was acknowledged is whole, and so is a data directory whose restore was acknowledged. A restore that was cut
//     short can be repeated, or leaves a directory that is complete and says in words that it is in the way.
//  4. At the end of a campaign a merchant's server, outside of the machine that loses its power, has been told each status that a client was.
//
// The cuts come at a random write or flush of the device, at a random instant, or when a client has just got a response: under load, while the
// server starts, stops or makes its first store, during a backup, and during a restore. A campaign prints its seed; MIZAN_SEED repeats its choices, but not the order in which the
// kernel writes. MIZAN_SOAK=30m runs new campaigns for that time, MIZAN_POWER_KIND=xfs on one file system only, and MIZAN_POWER_PLACE=restore with cuts
// at the places of that name only.
//
// Two tests show that the campaign can find what it looks for: a server whose syncs are skipped loses acknowledged
// responses and is caught, and so does a program that syncs nothing (package disk).
//
// Callers: none; there are only tests. They need root, /dev/fuse, loop devices and mkfs, and are skipped elsewhere.
//
// Rejected: a fault in the kernel's loop device or a virtual machine that is reset. The first needs modules that most machines lack, the second
// keeps the host's cache and loses too little.
package power
