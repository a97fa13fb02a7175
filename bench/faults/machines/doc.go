// Package machines gives processes under test what machines of their own would have: a network, a disk and a clock, each of which
// can fail by itself. It needs root on Linux, and no service of the host: everything ends with the test process, except a mounted
// disk after a kill of that process.
//
//   - A Host is a network namespace with one address. Network carries the packets between hosts, through devices that the test
//     process reads and writes (TUN). It can delay and lose packets on the way from one host to another. A cut drops packets at
//     the receiver with nft, in one direction or both.
//   - A Disk is an ext4 file system in a file. It can be filled, and it can stop for a time (FIFREEZE): no write and no sync then
//     returns.
//   - A Clock is the time of day that one process sees. It can be set forward and back while the process runs. The monotonic
//     clock is not changed, as on a machine whose clock is set.
//
// Invariants:
//  1. A packet reaches its receiver unchanged, once at most, and never while the direction is cut. Order is kept only between
//     packets with the same delay.
//  2. Nothing is visible in the network namespace of the test process, so tests on the same machine cannot disturb each other.
//  3. If the machine lacks something, Unavailable names it.
//
// Callers: bench/faults/cluster. Only tests import this package.
//
// Rejected: netem can delay packets, but many kernels lack it. A proxy of TCP connections (toxiproxy) cannot lose single packets,
// and hides from a node that the other end of a connection is silent. libfaketime cannot change what a Go program sees, because
// it reads the clock without libc.
package machines
