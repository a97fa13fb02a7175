// Package auth finds out who makes a request: a partner by its API key, a
// person by a session, the operator by the administration token.
//
// Invariants:
//  1. A key or session is looked up inside the organization that the request
//     names, and nowhere else.
//  2. Every way to be unauthorized ends in the same refusal after the same work:
//     parse, hash, look up, check the organization and the source address. No
//     check is skipped because an earlier one failed.
//  3. Only who is authenticated learns more: 403 for a deactivated partner or a
//     role that may not. Ending its session is all that a deactivated one may do.
//  4. A session of role partner is its partner, as the partner's key is, where it
//     may go at all: source addresses and deactivation count for both. Only the
//     key writes.
//  5. Nothing here keeps, logs or repeats a credential.
//
// Callers: api. Who exists comes from actors/directory through the interface
// Directory, so this package knows no actor and no HTTP library.
//
// Rejected: one token for all kinds of callers. A partner's key must never be
// tried as an administration token, nor the other way round.
package auth
