// Package simulator is the sandbox's provider: a simulated rail (payment network) that moves no money. A
// charge's card number or money_storage type (payment method) selects its outcome. The simulator also plays
// captures, voids, refunds and chargebacks, sends payers to a challenge page, and keeps its own log.
//
// The log has one line of JSON per call, written with one write(2) before the call is answered; record.go
// documents its fields.
//
// Invariants:
//  1. A call is complete and durable in the log before its outcome is returned; all calls in flight
//     share one sync (flush.go). The result of an inquiry or a report is returned only after the lines on
//     which it relies are durable.
//  2. A call that is not in the log never happened: if its line cannot be written, a partial line is
//     cut off and the outcome is "not sent". If the sync fails, the outcome of calls in flight is "unknown",
//     their lines are cut off and later calls are "not sent": after a failed sync, a sync that succeeds
//     proves nothing.
//  3. A line is a call, a payer's decision or a reissue (of a payload to be signed). So a charge
//     has one line of an operation for each call of that operation. Inquiries write nothing.
//  4. An inquiry's result depends only on the lines and the clock. A charge's newest line has the
//     charge's whole state; the field "before" links each line to the charge's previous line.
//  5. Terminal and reference together identify a charge: a transaction that tries several terminals has a
//     separate charge at each.
//  6. A call with the operation and request of an earlier call is logged with the outcome of the earlier one,
//     gets the same result and changes nothing. A repeated Pay or PayOut is recognised only while its charge is
//     among the last indexBound; a search of the log for each new reference that the sieve (a Bloom
//     filter) wrongly takes for a known one would slow all payments down.
//  7. Calls of one charge are handled one after another.
//  8. Memory is bounded: the last indexBound charges, a sieve of fixed size and the last chargebackBound
//     chargebacks. The rest is read from the log.
//  9. A damaged line is never misread: Open verifies every line's sum, and later readers accept only lines that
//     would be written again byte for byte.
//  10. No line contains a card's number, holder or CVV, or what a payer submitted. A charge that has
//     waited for its payer therefore needs the card again.
//  11. A token that charges a card again (tokens.go) says nothing about the card except how it was charged. No
//     line has the token, because it can be derived from the charge.
//  12. Only the holder of a challenge's token can see and decide the challenge. No line has the token, but
//     return_url may contain an address of the service's pages, so only the file's owner may read the log.
//
// Callers: cmd/mizan with --sandbox, api for the challenge page, tests of actors.
//
// Rejected: an embedded database, or rows in the platform's store. The simulator plays the other side, whose
// memory must survive our failures; a shared store would lose both and prove nothing. Also rejected: no sync (a
// power cut lost calls whose outcome the ledger had booked, and the checker's rule on provider calls failed from
// then on), and lines with changes only (an inquiry would read all lines of a charge, and one damaged line would
// make the others useless).
package simulator
