// Package jsonform writes records as JSON: the fields of a transaction, contract, subscription, screening or
// entry, as the API's responses show them (specification, "Transaction").
//
// Invariants:
//  1. The API uses these encoders for responses. The checker (snapshots/check) applies them to the stored
//     records and compares the output with the stored responses (cached replies). So a field is declared once,
//     and a new field is compared without a change of the checker.
//  2. An encoder shows only data from its arguments. Data that depends on the client or on the time of the response, such as
//     the language, is passed in a view (TransactionView).
//  3. The order of the fields is part of the form: equal arguments give equal bytes.
//  4. Encoding a transaction allocates only the buffer, unless keys are added to the transaction's metadata.
//
// Callers: api/payments, api/contracts, api/web/journal; actors/payment (notifications);
// snapshots/check/answers; snapshots/fixture.
//
// Rejected: Encoders beside the handlers in api were considered; they were not chosen because the checker may
// not import api. The checker would have a second copy of every form, and each new field would be missing from
// the copy at first.
package jsonform
