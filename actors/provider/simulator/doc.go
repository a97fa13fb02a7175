// Package simulator is the sandbox's provider: a simulated rail (payment network) that moves no money. A
// charge's card number or money_storage type (payment method) selects its outcome. The simulator also plays
// captures, voids, refunds and chargebacks, sends payers to a challenge page, and keeps its own log.
//
// The log has one line of JSON per call; record.go documents its fields. The lines of all calls that arrive during a sync
// are a batch: one write and one sync make them durable (batch.go). Zero bytes follow the last line while the log is open,
// so that a write changes no metadata (padding.go); Close cuts them off. A checkpoint, a file beside the log, has what a
// start needs to know about the older lines (checkpoint.go).
//
// Invariants:
//  1. A call is complete and durable in the log before its outcome is returned. The result of an inquiry or a report
//     is returned only after the lines on which it relies are durable. Readers see lines that are still in memory.
//  2. A call that is not in the log never happened. If the write of a batch fails (the disk may be full) and what it left
//     can be removed durably, the outcome of the batch's calls is "not sent". So is the outcome of the calls whose lines
//     follow in memory. If the sync fails, the outcome of these calls is "unknown", their lines are cut off and later calls
//     are "not sent", because a sync that succeeds after a failed one proves nothing.
//  3. A line is a call, a payer's decision or a reissue (of a payload to be signed). So each call
//     of an operation on a charge adds one line of that operation. Inquiries write nothing.
//  4. An inquiry's result depends only on the lines and the clock. A charge's newest line has the
//     charge's whole state; the field "before" links each line to the charge's previous line.
//  5. Terminal and reference together identify a charge: a transaction that tries several terminals has a
//     separate charge at each.
//  6. A call with the operation and request of an earlier call is logged with the outcome of the earlier one,
//     gets the same result and changes nothing. A repeated Pay or PayOut is recognised only while its charge is
//     among the last indexBound ones. A search of the log for each new reference that the sieve (a Bloom
//     filter) wrongly takes for a known one would slow down all payments.
//  7. Calls of one charge are handled one after another.
//  8. Memory is bounded: the last indexBound charges, a sieve of fixed size, the last chargebackBound chargebacks and
//     two batches of maxBatch bytes. The rest is read from the log. Everything except the batches is about durable lines
//     only.
//  9. A damaged line is never misread: later readers accept only lines that would be written again byte for byte.
//     Open verifies the sums of the lines that no checkpoint covers. The others are verified after Open, at verifyRate;
//     damage is reported (Options.OnDamage), and the next Open refuses the log.
//  10. A power cut or a kill can only tear the last batch, which Open then cuts off from its first torn line on. A
//     line says where its batch begins, so it shows that what precedes the batch was durable: if that is torn, it is
//     damage. Blocks of zeros in the last batch count as torn, even if the batch's calls were answered.
//  11. A checkpoint is only a shortcut: if it is missing, damaged or not of this log, Open reads the whole log.
//  12. No line contains a card's number, holder or CVV, or what a payer submitted. A charge that has
//     waited for its payer therefore needs the card again.
//  13. A token, with which a card is charged again (tokens.go), says nothing about the card except how its
//     charge went. No line has the token, because it can be derived from the charge.
//  14. Only the holder of a challenge's token can see and decide the challenge. No line has the token, but
//     return_url may contain an address of the service's pages, so only the file's owner may read the log.
//
// Callers: cmd/mizan with --sandbox, api for the challenge page, tests of actors.
//
// Rejected: an embedded database, or rows in the platform's store. The simulator plays the other side, whose
// memory must survive our failures; a shared store would lose both and prove nothing. Also rejected: no sync (a
// power cut lost calls whose outcome the ledger had booked, and the checker's rule on provider calls failed from
// then on); lines with changes only (an inquiry would read all lines of a charge, and one damaged line would
// make the others useless); a timer that delays each sync until more calls have arrived (yielding the processor groups
// as many, and a lone call never waits).
package simulator
