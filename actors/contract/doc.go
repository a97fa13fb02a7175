// Package contract carries out requests that create or change contracts of participatory finance, such as leases and
// deposits. It runs one actor (a goroutine that handles one message at a time) per contract that is being changed.
// The actor decides with package ledger/contract, and submits its decision as a Change (rows that become durable
// together) to the journal's writer. One kind of actor serves all products (kinds of contract).
//
// Invariants:
//  1. A decision is made on the state that the writer has acknowledged. If the writer refuses a Change because
//     the record has a newer version, the actor decides again on the stored state.
//  2. A caller gets a response only after the Change is durable. A request with an idempotency key stores its reply
//     in its own Change, and a repeated request gets the stored reply. A request to screen stores no reply: a stored
//     screening never changes, so the screening itself answers a repeated request.
//  3. A contract is found only in its own product and its own reading (secular or religious).
//  4. Items with a due date, such as instalments, are handled at the record's due instant. The dates of a
//     contract are handled in their order and each only once, even after a crash. Dates that are overdue when an
//     action is requested are handled before the action. Dates that are overdue after the action are handled
//     directly after it, because a clock that stands still would not wake the record.
//  5. An actor stays in memory only while a caller waits for it, because the contract's state is in the store.
//  6. The writer numbers contracts without gaps, separately for each organization and prefix of numbers.
//  7. A booking on a due date is never refused and never overflows a total. The command that sets the due dates
//     reserves amounts for all their bookings in a counter of the asset. The command is refused if the counter would
//     exceed its bound.
//  8. The register of a certificate issue's holders is written in one Change with the record. A decision
//     reads the register and the record at the same version.
//  9. An action in batches continues by itself, with one Change per batch. A counter holds the number of such actions
//     that have been requested and have not booked their last batch. No month is closed while the counter is above
//     zero.
//  10. A contract is shown with its values on the clock's day. A cached reply shows the values of the day on which
//     the reply was booked.
//
// Callers: api (Service), cmd (New).
//
// Rejected: another design would have an actor for the creation of a contract too. It was not chosen because such an
// actor has nothing to put in order: no other request can know a contract that does not exist yet, and the claim of
// the idempotency key already detects a repeated request.
package contract
