// Package codec encodes a payment.Record (a transaction) for the store and decodes it. It also has the form of the rows about open
// circuit breakers (OpenCircuit), to which only rule 4 applies. The stored form of a record is a version byte
// followed by a msgpack map, in which the keys are small numbers and the values are the fields that are not empty.
//
// Invariants:
//  1. The meaning of a key, of a bit in the flags, and of a position in an array never changes.
//  2. Decode(Encode(r)) equals r, with two exceptions. Record.FinishedAt is not in the payload, because the store keeps
//     it in the row that contains the payload. The keys of a Volume's counters are not stored, because BuildKeys computes
//     them.
//  3. A decoder skips unknown keys, and unknown values at the end of an array. So a later release may add keys and
//     values.
//  4. Decode returns an error for any payload that does not have this form, and never panics. If a payload announces more
//     elements than it contains, no memory is allocated for them (internal/msgpackcheck).
//  5. Equal records are encoded as equal bytes.
//
// Callers: actors/payment (stores records); and api, snapshots, bench and cmd (for actors/alerts), which read records
// without an actor.
//
// Rejected: encoding and decoding in methods of payment.Record, because then package payment, which only makes decisions,
// would import msgpack. Also rejected: reflection with struct tags, because it is slower, and because renaming a field
// would change the stored form.
package codec
