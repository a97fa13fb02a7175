// Package contract carries out requests that create or change contracts of participatory finance, such as leases and
// deposits. It runs one actor (an object that handles one message at a time) per contract that is being changed. The
// actor decides with package ledger/contract, and submits its decision as a Change (rows that become durable
// together) to the journal's writer. One kind of actor serves all products (kinds of contract).
//
// Invariants:
//  1. A decision is based on the state that the writer has acknowledged. If the writer refuses a Change because the
//     record has a newer version, the actor reads the newer version and decides again.
//  2. A caller gets a response only after the Change is durable. If a request has an idempotency key, its Change also
//     stores the reply, and a repeated request gets the stored reply. A screening needs no stored reply: it never
//     changes, so a repeated request gets the stored screening itself.
//  3. A request finds a contract only if the request is for the contract's own product and reading (secular or
//     religious).
//  4. Items with a due date, such as instalments, are handled at the record's due instant. The dates of a contract
//     are handled in order, and each only once, even after a crash. Dates that are overdue when an action is
//     requested are handled before the action. Dates that are overdue after the action are handled directly after the
//     action, because while the clock stands still nothing would wake the actor for them.
//  5. An actor stays in memory only while a caller waits for it, because the contract's state is in the store.
//  6. The writer numbers contracts without gaps, separately for each organization and prefix of numbers.
//  7. A booking on a due date is never refused and never overflows a total. The command that sets the due dates adds
//     the amounts of all these bookings to a counter of the asset. If the counter would exceed its bound, the command
//     is refused.
//  8. For an issue of certificates, one Change writes both the register of holders and the record. A decision
//     reads the register and the record at the same version.
//  9. A batched action is requested once and then continues by itself, with one Change per batch. A counter holds the
//     number of batched actions that have not booked their last batch. No month is closed while the counter is above
//     zero.
//  10. A contract is shown with the values that it has on the present day of the clock. A cached reply shows the
//     values of the day on which the reply was booked.
//
// Callers: api (Service), cmd (New).
//
// Rejected: An actor for the creation of a contract was not chosen, because there are no other requests that it could
// put in order: no request can know a contract that does not exist yet, and the claim of the idempotency key already
// detects a repeated request.
package contract
