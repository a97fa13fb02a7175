// Package packed checks stored msgpack before the library decodes it.
//
// Invariants:
//  1. Bytes that pass WellFormed are one complete map: no length in them announces more than
//     the input holds, so no decoder can be made to allocate more than that.
//  2. WellFormed allocates nothing and does not recurse.
//
// Callers: packages that decode stored records (ledger/payment/codec, actors/subscription, actors/notifier).
//
// Rejected: trusting the row's checksum alone. It detects a damaged disk, but not a row that
// was written wrong, and the snapshot checker (snapshots/check) must survive both.
package packed
