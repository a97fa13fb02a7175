// Package admin serves the API's routes for administration. They manage organizations, partners (merchants),
// terminals (a partner's connections to a provider), keys, users, rates, settlements, limits, the block list,
// deliveries of notifications, backups, the sandbox's clock, and the sessions of people who log in.
//
// Invariants:
//  1. A write is executed only once for an Idempotency-Key. Its reply is stored together with the change, and is sent again if
//     the request is repeated. A reply that contains an API key or a token is stored encrypted.
//  2. The refusal of a request names all wrong fields, in the order in which the documentation lists the fields.
//  3. In a patch, null clears a field (RFC 7396). A patch may contain an immutable field only with its present value.
//  4. Secrets, passwords and card numbers are never shown, and are never part of an error.
//
// Callers: package api.
//
// Rejected: ignoring immutable fields in a patch. The client would believe that the fields had been changed.
package admin
