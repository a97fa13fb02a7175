// Package codec encodes a payment.Record (a transaction) for the store and decodes it. The stored form is a version
// byte, then a msgpack map from small numbers to the fields that are not empty.
//
// Invariants:
//  1. The number of a key, the bit of a flag and the order of the fields in an array never change their meaning.
//  2. Decode(Encode(r)) equals r, with two exceptions. Finished is in the store's row around the payload. The keys of
//     counters are derived (Volume.BuildKeys).
//  3. A decoder skips keys that it does not know, and unknown values at the end of an array. So a later release may
//     add keys and values.
//  4. Decode returns an error for any payload that does not have this form. It never panics. It allocates no memory
//     for elements that a payload announces but does not have (internal/packed).
//  5. The same record is always encoded as the same bytes.
//
// Callers: actors/payment (stores records), and readers without an actor: api, snapshots, bench, cmd (for
// actors/alerts).
//
// Rejected: one design would make the codec methods of payment.Record. It was not chosen because the package that
// decides would import msgpack. Another design would encode by reflection and struct tags. It was not chosen because
// reflection is slower, and because a renamed field would change the stored form.
package codec
