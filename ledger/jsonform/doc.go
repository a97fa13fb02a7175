// Package jsonform writes records in the JSON form of the API's responses (specification, "Transaction"): transactions,
// contracts, subscriptions, screenings and entries.
//
// Invariants:
//  1. The API writes its responses with these encoders. The checker (snapshots/check) encodes the stored records with them,
//     too, and compares the output with the stored responses (cached replies). So a field is declared once, and the checker
//     compares a new field without being changed.
//  2. An encoder uses only its arguments. Data that depends on the client or on the time of the response, such as the
//     language, is passed in a view (TransactionView).
//  3. Equal arguments give equal bytes, because the order of the fields is fixed.
//  4. Encoding a transaction allocates no memory except the buffer, unless keys are added to the transaction's metadata.
//
// Callers: api/payments, api/contracts, api/web/journal; actors/payment (notifications);
// snapshots/check/answers; snapshots/fixture.
//
// Rejected: encoders beside the handlers in api, because the checker must not import api. It would need a copy of every
// encoder, and the copies would lack each new field until somebody added it there, too.
package jsonform
