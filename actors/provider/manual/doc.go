// Package manual is the provider adapter for payouts that an operator pays by hand at a bank. It calls nobody:
// the operator finds the payouts in the terminal's list of transactions. A payout is pending, and counts as charged
// a number of seconds after it was submitted, by the business clock. A terminal's provider_params have the number.
//
// Invariants:
//  1. Every answer follows from the operation, the instant of submission that the charge's record has
//     (actors.ChargeState), the terminal's parameters and the clock. The adapter has no memory, so a restart or a
//     repeated call changes no answer. A changed settle_after_seconds also holds for payouts that are pending.
//  2. A payout that was submitted is never refused: the operator may have paid it. So nothing holds, voids or
//     returns it, and one that should be held is charged like any other.
//  3. Money in is refused, with the reason.
//  4. Without readable parameters a payout is not accepted, and the outcome of one that was accepted is unknown.
//  5. The bank's token is never printed or logged.
//
// Callers: cmd/mizan, which passes the adapter to actors by its name.
//
// Rejected: keeping the end of the time in Outcome.Meta. It would be shown to the merchant, and a terminal whose
// time was set wrongly could not be corrected for the payouts that it has.
package manual
