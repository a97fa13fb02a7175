// Package auth finds out who sends a request, and refuses callers without a valid credential. A partner (a
// merchant) has an API key, a person has a session, and the operator has the administration token.
//
// Invariants:
//  1. A key or session is looked up only inside the organization that the request names.
//  2. Every invalid credential gets the same refusal after the same work: to parse, to hash, to look up, and to check the
//     organization and the source address. If one check fails, the later checks are made all the same.
//  3. Only an authenticated caller gets a different refusal: status 403 if the caller's partner is deactivated, or if the
//     caller's role lacks the right. The only request that a session of a deactivated partner may make is to end the session.
//  4. A session of role partner is subject to the rules for the partner's key, including source addresses and deactivation.
//     Only the key may write.
//  5. This package does not store, log or repeat a credential.
//
// Callers: api and its packages admin, ledger, payments and web. Package auth reaches actors/directory through the interface
// Directory, so it depends on no actor and no HTTP library.
//
// Rejected: one kind of token for all kinds of callers. A partner's key must never be accepted as an administration token, nor
// the other way round.
package auth
