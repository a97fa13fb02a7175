// Package simulator is the sandbox's provider: a simulated rail (payment network) that moves no money. A
// charge's card number or money_storage type (payment method) selects its outcome. The simulator also
// simulates captures, voids, refunds and chargebacks, sends payers to a challenge page, and keeps its own log.
//
// The log has one line of JSON per call; record.go documents its fields. The lines of all calls that arrive during a sync
// form a batch, which one write and one sync make durable (batch.go). While the log is open, the last line is followed by
// zero bytes, so that a write does not change the file's metadata (padding.go); Close removes the zero bytes. A
// checkpoint is a file beside the log that contains what a start needs to know about the older lines (checkpoint.go).
//
// Invariants:
//  1. A call's outcome is returned only after its line is durable in the log. The result of an inquiry or a report
//     is returned only after the lines on which it relies are durable. Inquiries also take account of lines that are
//     not durable yet, and wait for them.
//  2. A call that is not in the log never happened. If the write of a batch fails, for example because the disk is full,
//     and the bytes that it left can be removed durably, the outcome of the calls in this batch and in the batch after it
//     is "not sent". If the sync fails, the outcome of these calls is "unknown" and their lines are cut off. From then on
//     every call is "not sent", because a sync that succeeds after a failed sync proves nothing.
//  3. A line records a call, a payer's decision or a reissue (of a payload to be signed). Every call adds one line,
//     even if it repeats an earlier call. Inquiries write nothing.
//  4. The lines and the clock alone determine an inquiry's result. A charge's newest line contains the charge's
//     whole state. The field "before" links each line to the charge's previous line.
//  5. Terminal and reference together identify a charge: a transaction that tries several terminals has a
//     separate charge at each.
//  6. A call with the operation and request of an earlier call is a repetition. It gets the outcome of the earlier
//     call and changes nothing. A repeated Pay or PayOut is recognised only while its charge is among the last
//     indexBound charges. For older charges the log is not searched: the Bloom filter mistakes some new
//     references for known ones, and searching the log for each of these would slow down all payments.
//  7. Calls of one charge are handled one after another.
//  8. Memory is bounded: it holds the last indexBound charges, a Bloom filter of fixed size, the last chargebackBound
//     chargebacks and two batches of maxBatch bytes. Everything older is read from the log. Lines that are not
//     durable yet are only in the batches.
//  9. A damaged line is never misread: a line is accepted only if the simulator would write it again byte for byte. Open
//     verifies the checksums of the lines that no checkpoint covers. The other lines are verified in the background, at
//     verifyRate. If one of them is damaged, Options.OnDamage is called, and the next Open refuses the log.
//  10. A power failure or a crash can tear only the last batch. Open cuts off the first torn line of this batch and
//     everything after it. Each line records where its batch begins. All bytes before that offset were durable, so a torn
//     line before it is damage. Blocks of zeros in the last batch count as torn, even if the batch's calls were answered.
//  11. A checkpoint is only a shortcut: if it is missing or damaged, or belongs to another log, Open reads the
//     whole log.
//  12. No line contains a card's number, holder or CVV, or data that a payer submitted. Therefore a charge that has
//     waited for its payer needs the card again.
//  13. A card that was charged once can be charged again with a token (tokens.go). The token reveals nothing about
//     the card except how its charge went. No line contains the token, because it can be derived from the charge.
//  14. Only somebody who has the token of a challenge can see and decide the challenge. No line contains the token. But the
//     return_url in a line may be the address of one of the service's pages, so only the file's owner may read the log.
//
// Callers: cmd/mizan (serve --sandbox), remote (a simulator that several servers use), api (challenge page), tests of actors.
//
// Rejected: Another design would keep the calls in an embedded database or in the platform's store. It was not chosen
// because the simulator stands for another company, whose records must survive our failures. A shared store would lose the
// records of both sides at once, and comparing them would prove nothing. An earlier version did not sync the log. It was
// given up because a power failure lost calls whose outcome was already booked in the ledger, and the checker reported
// faults from then on. Lines that contain only what has changed were not chosen because an inquiry would have to read all
// lines of a charge, and one damaged line would make the others useless. A timer that delays each sync until more calls
// have arrived was not chosen because yielding the processor collects as many calls, and a call that is alone never waits.
package simulator
