// Package packed looks at stored msgpack before the library does.
//
// Invariants:
//  1. Bytes that pass WellFormed are one map whose every announced length is
//     there, so no decoder can be made to allocate more than they hold.
//  2. It allocates nothing and does not recurse.
//
// Callers: whatever decodes records (actors/directory, actors/payment, snapshots).
// Rejected: trusting the row's checksum alone. It finds a damaged disk, not a
// row that was written wrong, and a checker must survive both.
package packed
