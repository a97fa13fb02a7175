// Package jsonform writes the JSON form of records: the fields of a transaction, contract,
// subscription, screening or entry as responses show them (specification, "Transaction").
//
// Invariants:
//  1. The API uses these encoders for responses, and the checker compares the stored responses
//     (cached replies) with what the encoders return for the stored records. So a field is
//     declared once, and a new field is compared without a change of the checker.
//  2. An encoder shows nothing that its arguments do not contain. What depends on the caller or
//     on the time of the response, such as the language, is passed in a view (TransactionView).
//  3. The order of the fields is part of the form: equal arguments give equal bytes.
//  4. A transaction is encoded without allocating more than the buffer, unless keys are added to
//     its metadata.
//
// Callers: api, actors/payment (notifications), snapshots/check/answers.
//
// Rejected: encoders beside the handlers. The checker may not import api, so it would have a
// second copy of every form, from which each new field would be missing at first.
package jsonform
