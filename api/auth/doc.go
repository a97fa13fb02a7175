// Package auth authenticates the caller of a request: a partner by its API key, a person by a
// session, the operator by the administration token.
//
// Invariants:
//  1. A key or session is looked up only inside the organization that the request names.
//  2. Every invalid credential ends in the same refusal after the same work: parse, hash, look
//     up, check the organization and the source address. No check is skipped because an earlier
//     one failed.
//  3. Only an authenticated caller gets another refusal: 403 if its partner is deactivated or its
//     role lacks the right. A session of a deactivated partner can only be ended.
//  4. Where a session of role partner is admitted, it is treated as its partner's key: source
//     addresses and deactivation apply to both. Only the key may write.
//  5. This package does not store, log or repeat a credential.
//
// Callers: api. The interface Directory connects this package with actors/directory, so that
// package auth depends on no actor and no HTTP library.
//
// Rejected: one token for all kinds of callers. A partner's key must never be tried as an
// administration token, nor the other way round.
package auth
