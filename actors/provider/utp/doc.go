// Package utp is the provider that is another platform of the same protocol: the
// service is its initiator (specification, "What the service does"). A terminal's
// provider_params say where the platform is and who we are there.
//
// Each verdict of package actors is read off the other platform's transaction:
//
//	charged, refunded, refunding, reversed   charged
//	rejected                                 refused, with its error_description
//	failed                                   failed
//	action_required                          action
//	payment_suspended, payout_suspended      held
//	anything else                            pending: the vocabulary is open
//
// Invariants:
//  1. A charge is created once. Its txid is our transaction's id, so that even a
//     repeated create would be the same transaction there.
//  2. What is asked for after that has the operation's id as its Idempotency-Key,
//     and its outcome is read off the transaction: a platform that does not know
//     the header is not taken at its first word.
//  3. The other platform's id of a charge, and of its last refund that has ended,
//     are kept by our transaction (Outcome.Meta): nothing has to be remembered here.
//     A charge whose id never arrived is looked for by its txid in the other
//     platform's list, and is unknown there only after all of it was seen.
//     What the payer needs is read there again when its address or deadline is over.
//  4. A connection that was not made has sent nothing. From the moment that there
//     is one, whatever breaks leaves the outcome unknown.
//  5. What comes back is bounded, is strict JSON and is about the transaction that
//     was asked about; else it is no answer. Fields and statuses that are not known
//     are passed over.
//  6. No redirect is followed, no proxy of the environment is used, and a terminal's
//     own certificates are trusted for its own address only.
//  7. No key, card or body is in an error, a verdict or the log. A request's body is
//     overwritten once it is sent.
//  8. Whether money is held first is decided by the other platform's terminal: one
//     that charges at once what was to be held has charged it, and says so.
//  9. Of what a payer brings, a card is passed on, and of everything else its type:
//     the service keeps no more. So what needs further keys (direct_debit) is not
//     accepted.
//
// Callers: cmd/mizan; actors/payment by the interfaces Provider and Examiner.
//
// Rejected: taking an outcome from a notification. It says when to ask, and the
// answer comes over the connection that we have opened. Also rejected: repeating a
// create to find out what became of it; it would need the card's verification
// value, which is gone. Also rejected: a client generated from a description; it
// would ignore the case of names, which the protocol does not.
package utp
