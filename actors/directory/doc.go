// Package directory makes the decisions of ledger/directory durable. For every request it identifies the caller
// and looks up records in memory, without reading the store.
//
// Each organization has an actor that decides and commits its changes. The platform, which holds the
// administration tokens, has one too. A durable change is published to a view in memory, and then its caller
// gets a response. Publishing a record swaps one pointer, so readers take no lock. The view's maps only grow,
// except that finished sessions are dropped.
//
// Invariants:
//  1. The view shows only durable state, and it shows a change before the change's caller gets a response.
//  2. Only an organization's own actor writes the organization's part of the view; after a panic the actor reads
//     that part from the store again before its next decision.
//  3. Authentication takes the same steps whether or not the organization, key or partner exists or is in force:
//     one table holds the keys of all organizations, and another one their partners.
//  4. A partner number is durable before it is used and is given out once; a crash may lose a number.
//  5. A password is hashed on its request's goroutine, never by an actor, and logins and administration each have
//     their own bound on concurrent hashes.
//  6. The hashes for logins that run at once are shared out fairly among networks and source addresses
//     (internal/fair), so a flood of logins locks out neither the administration nor other addresses.
//  7. The value of a key or token is returned once; only the sealed reply to a write with an Idempotency-Key
//     keeps a copy of it.
//  8. The Change (all that one decision stores) of a write with an Idempotency-Key claims the key before
//     anything else, in the platform's name space.
//  9. The sealed reply to such a write is a record directly behind the event that the reply reports. The event's
//     booked time and number, which only the journal's writer knows, are read from that event.
//  10. Settlements are not in the view. Only their organization's actor claims their references, so a
//     reference that is free when the actor checks it is still free when the actor books.
//  11. Limits and Blocked read no store and take no lock, except that a lookup of a card's first digits takes a
//     read lock; the slice that Limits returns is replaced, never changed.
//  12. A failed login reveals nothing by its response or timing, even if a right password comes from
//     an address from which its partner may not log in.
//  13. No request waits until the last use of its key or session is stored. After a kill the stored time of that
//     use is up to an hour too early for a key, and up to five minutes for a session.
//  14. Connection and signing secrets are sealed and bound to their record; a record whose secret cannot be
//     decrypted is loaded without the secret.
//  15. A dry run (WithDryRun) is refused if the write itself would be refused, and uses up no partner
//     number, password hash or idempotency key.
//  16. Whether notifications may go to private addresses is a setting of the process; addresses that were
//     accepted under another setting stay in force.
//
// Callers: api; actors/payment (partners, terminals, rates) and actors/alerts (operators' contacts) through
// interfaces; cmd/mizan (tokens at start, the sandbox); bench (many merchants at once).
//
// Rejected: a new snapshot of the organization per change (with 100,000 keys a revocation copies them all);
// reading keys from the store (costs more than the rest of a request); sync.Map for the largest tables (four
// objects per entry, a tenth of the server's time in the garbage collector); answering a repeated write from
// current records (they may have changed, and none holds a key's value).
package directory
