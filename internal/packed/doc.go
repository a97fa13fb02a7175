// Package packed checks stored msgpack before the library decodes it.
//
// Invariants:
//  1. Bytes that pass WellFormed are one map that contains every length it announces, so that
//     no decoder can be made to allocate more than the input holds.
//  2. It allocates nothing and does not recurse.
//
// Callers: packages that decode records (actors/directory, actors/payment, snapshots).
//
// Rejected: trusting the row's checksum alone. It detects a damaged disk, but not a row that
// was written wrong, and the checker must survive both.
package packed
