// Package auth finds out who sends a request, and refuses callers without a valid credential. A partner (a
// merchant) has an API key, a person has a session, and the operator has the administration token.
//
// Invariants:
//  1. A key or session is looked up only inside the organization that the request names.
//  2. Every invalid credential ends in the same refusal after the same work. The work is to parse, to hash, to
//     look up, and to check the organization and the source address. No check is skipped because an earlier one
//     failed.
//  3. Only an authenticated caller gets another refusal: status 403 if its partner is deactivated or its role
//     lacks the right. A session of a deactivated partner may make only one request: to end itself.
//  4. The rules for a partner's key also apply to a session of role partner, including source addresses and
//     deactivation. Only the key may write.
//  5. This package does not store, log or repeat a credential.
//
// Callers: api and its packages admin, ledger, payments and web. The interface Directory stands for
// actors/directory, so package auth depends on no actor and no HTTP library.
//
// Rejected: One kind of token for all kinds of callers was considered; it was not chosen because a partner's
// key must never be accepted as an administration token, nor the other way round.
package auth
