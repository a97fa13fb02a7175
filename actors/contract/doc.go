// Package contract runs one actor per contract that is being changed. The actor decides with ledger/contract
// and submits the decision as a Change to the writer. One kind of actor serves all products.
//
// Invariants:
//  1. A decision is made on the state that the writer has acknowledged. If the writer refuses a Change because
//     the record has a newer version, the actor decides again on the stored state.
//  2. A caller gets a response when the Change is durable. A request with an idempotency key
//     stores its reply in its own Change, and a repeated request gets that reply. A stored screening never
//     changes, so a request to screen stores no reply: if it is repeated, the screening itself is the reply.
//  3. A contract is found only in its own product and its own reading (secular or religious).
//  4. What falls due on a date, such as an instalment, is handled at the record's due instant. The dates of a
//     contract are handled in their order and each only once, even after a crash. Dates that are overdue when an
//     action is requested are handled before the action. Dates that are overdue after the action are handled
//     directly after it, because a clock that stands still would not wake the record.
//  5. An actor stays in memory only while a caller waits for it, because the contract's state is in the store.
//  6. The writer numbers contracts without gaps, separately for each organization and prefix of numbers.
//  7. A booking on a due date is never refused, and never makes a total too large. For this, the command that
//     sets the due dates reserves room for all their bookings in a counter of the asset. If there is not enough
//     room, that command is refused.
//  8. The register of a certificate issue's holders is written in one Change with the record, and a decision
//     reads both at the same version.
//  9. An action in batches continues by itself, one Change per batch. A counter counts such actions from the
//     request to the last batch, and no month is closed while the counter is above zero.
//  10. A contract is shown with the values that it has on the clock's day; a cached reply shows the
//     values of the day on which the reply was booked.
//
// Callers: api (Service), cmd (New).
//
// Rejected: an actor for the creation of a contract. No other request can know a contract that does not exist yet,
// and the claim of the idempotency key detects a repeated request.
package contract
