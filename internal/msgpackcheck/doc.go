// Package msgpackcheck checks that stored bytes are complete msgpack (a binary form of JSON) before the msgpack library decodes
// them.
//
// Invariants:
//  1. Bytes that pass WellFormed are one complete map. No length in the bytes promises more data than there is, so no decoder
//     allocates more memory than the size of the data justifies.
//  2. WellFormed allocates nothing and does not recurse.
//
// Callers: ledger/payment/codec, actors/subscription and actors/notifier (decoding stored records),
// actors/provider/simulator/remote (requests and answers).
//
// Rejected: Trusting the row's checksum alone was considered; it was not chosen because the checksum detects a damaged disk,
// but not a row that was written with wrong content. The snapshot checker (snapshots/check) must survive both kinds of bad
// data.
package msgpackcheck
