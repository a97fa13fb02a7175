// Package codec is the stored form of a payment.Record: a version byte, then a msgpack map from
// small numbers to the fields that are not empty.
//
// Invariants:
//  1. A key's number, a flag's bit and the order of an array's fields never change their meaning.
//  2. Decode(Encode(r)) equals r, except for Finished, which is in the store's row around the payload, and for
//     the keys of counters (Volume.BuildKeys), which are derived.
//  3. A decoder skips keys that it does not know, and the unknown values at the end of a longer array: a later
//     release may add both.
//  4. Decode returns an error for any payload that does not have this form. It never panics, and allocates
//     no memory for elements that a payload announces but does not have (internal/packed).
//  5. The same record is always encoded as the same bytes.
//
// Callers: actors/payment, which stores records, and code that reads the store without an actor: api,
// snapshots, bench, and cmd for actors/alerts.
//
// Rejected: methods of payment.Record, which would bring msgpack into the package that decides;
// encoding by reflection and struct tags, which is slower and lets a renamed field
// change what is stored.
package codec
