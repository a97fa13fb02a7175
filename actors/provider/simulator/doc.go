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
//  2. A call that is not in the log never happened. If the write of a batch fails (the disk may be full) and its remains
//     can be removed durably, the outcome of the batch's calls is "not sent". So is the outcome of the calls whose lines
//     follow in memory. If the sync fails, the outcome of these calls is "unknown" and their lines are cut off. Later calls
//     are "not sent", because a sync that succeeds after a failed one proves nothing.
//  3. A line is a call, a payer's decision or a reissue (of a payload to be signed). Each call of an operation on a
//     charge adds one line of that operation. Inquiries write nothing.
//  4. The lines and the clock alone determine an inquiry's result. A charge's newest line has the charge's whole
//     state. The field "before" links each line to the charge's previous line.
//  5. Terminal and reference together identify a charge: a transaction that tries several terminals has a
//     separate charge at each.
//  6. A call with the operation and request of an earlier call is logged with the outcome of the earlier call. It
//     gets the same result and changes nothing. A repeated Pay or PayOut is recognised only while its charge is among
//     the last indexBound charges. Older charges are not searched for in the log, because the sieve (a Bloom filter)
//     wrongly takes some new references for known ones, and a search for each of them would slow down all payments.
//  7. Calls of one charge are handled one after another.
//  8. Memory is bounded: it holds the last indexBound charges, a sieve of fixed size, the last chargebackBound
//     chargebacks and two batches of maxBatch bytes. The rest is read from the log. Only the batches contain lines
//     that are not durable yet.
//  9. A damaged line is never misread: later readers accept only lines that would be written again byte for byte.
//     Open verifies the sums of the lines that no checkpoint covers. The others are verified after Open, at verifyRate;
//     damage is reported (Options.OnDamage), and the next Open refuses the log.
//  10. A power cut or a kill can tear only the last batch. Open cuts this batch off from its first torn line on. Each
//     line says where its batch begins, and all bytes before that place were durable, so a torn line there is damage.
//     Blocks of zeros in the last batch count as torn, even if the batch's calls were answered.
//  11. A checkpoint is only a shortcut: if it is missing or damaged, or belongs to another log, Open reads the
//     whole log.
//  12. No line contains a card's number, holder or CVV, or data that a payer submitted. Therefore a charge that has
//     waited for its payer needs the card again.
//  13. A card is charged again by a token (tokens.go). The token says nothing about the card except how the card's
//     charge went. No line has the token, because it can be derived from the charge.
//  14. Only the holder of a challenge's token can see and decide the challenge. No line has the token. But return_url
//     may contain an address of the service's pages, so only the file's owner may read the log.
//
// Callers: cmd/mizan (with --sandbox), api (challenge page), tests of actors.
//
// Rejected: Another design would keep the calls in an embedded database or in the platform's store. It was not chosen
// because the simulator plays the other side, whose memory must survive our failures; a shared store would lose both
// memories at once, and comparing them would prove nothing. A log without syncs was not kept because a power cut lost
// calls whose outcome the ledger had booked, so the checker reported faults from then on. Lines with changes only
// were not chosen because an inquiry would have to read all lines of a charge, and one damaged line would make the
// others useless. A timer that delays each sync until more calls have arrived was not chosen because yielding the
// processor groups as many calls, and a lone call never waits.
package simulator
