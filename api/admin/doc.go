// Package admin serves the API's routes for administration. They manage organizations, partners (merchants),
// terminals (a partner's connections to a provider), keys, users, rates, settlements, limits, the block list,
// deliveries of notifications, backups, the sandbox's clock, and the sessions of people who log in.
//
// Invariants:
//  1. A write is made once for its Idempotency-Key. The reply is stored with the change, and is sent again if the
//     request is repeated. A reply with an API key or a token is stored encrypted.
//  2. The refusal of a request names all its wrong fields, in the order in which the documentation lists them.
//  3. In a patch, null clears a field (RFC 7396). A patch may contain an immutable field only with its present value.
//  4. Secrets, passwords and card numbers are never shown, and are never part of an error.
//
// Callers: package api.
//
// Rejected: another design would ignore the immutable fields of a patch. It was not chosen because the client would believe that
// the fields had been changed.
package admin
