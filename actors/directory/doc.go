// Package directory keeps the platform's master data: organizations, partners (merchants), keys, logins and
// settings. It makes the changes durable that package ledger/directory decides. For every request it identifies
// the caller and looks up records in memory, without reading the store.
//
// Each organization (a tenant of the service) has an actor (an object that handles one message at a time) that
// decides and commits its changes. The platform, which holds the administration tokens, has an actor too. A
// durable change is first published to the view (the records in memory), and then the change's caller gets a
// response. Publishing a record swaps one pointer, so readers take no lock. The view's maps only grow, except
// that finished sessions are dropped.
//
// Invariants:
//  1. The view shows only durable state, and it shows a change before the change's caller gets a response.
//  2. Only an organization's own actor writes the organization's part of the view. After a panic the actor
//     reads this part from the store again before its next decision.
//  3. Authentication takes the same steps whether or not the organization, key or partner exists or is in
//     force. For this purpose one table holds the keys of all organizations, and another table holds their
//     partners.
//  4. A partner number is durable before it is used and is given out once; a crash may lose a number.
//  5. A password is hashed on the goroutine of its request, never by an actor. Concurrent hashes have two
//     bounds, one for logins and one for administration.
//  6. Concurrent hashes for logins are shared out fairly among networks and source addresses (internal/fair).
//     So a flood of logins locks out neither the administration nor other addresses.
//  7. The value of a key or token is returned once. Only the sealed (encrypted) reply to a write with an
//     Idempotency-Key keeps a copy of the value.
//  8. The Change (all that one decision stores) of a write with an Idempotency-Key claims the key before
//     anything else, in the platform's name space.
//  9. The sealed reply to such a write is a record directly behind the event that the reply reports. Only the
//     journal's writer knows the event's booked time and number, so both are read from the event.
//  10. Settlements are not in the view. Only their organization's actor claims their references, so a reference
//     that is free when the actor checks it is still free when the actor books.
//  11. Limits and Blocked read no store and take no lock. The one exception is a read lock for looking up a
//     card's first digits. The slice that Limits returns is replaced, never changed.
//  12. A failed login reveals nothing by its response or timing. This also holds for a right password from an
//     address that the partner does not allow.
//  13. No request waits until the last use of its key or session is stored. So after a kill the stored time of
//     the last use may be too early: by up to an hour for a key, and by up to five minutes for a session.
//  14. Connection and signing secrets are sealed and bound to their record. A record whose secret cannot be
//     decrypted is loaded without the secret.
//  15. A dry run (WithDryRun) is refused if the write itself would be refused. A dry run uses up no partner
//     number, password hash or idempotency key.
//  16. A setting of the process says whether notifications may go to private addresses. Addresses that were
//     accepted under another setting stay in force.
//
// Callers: api; actors/payment (partners, terminals, rates); actors/alerts (operators' contacts); cmd/mizan
// (tokens, sandbox); bench (creates many merchants).
//
// Rejected: A new snapshot of the organization for each change was considered; it was not chosen because each
// revocation would copy all keys, up to 100,000. Reading keys from the store was not chosen because it costs
// more than the rest of a request. sync.Map was not chosen for the largest tables because it needs four objects
// per entry, which cost the garbage collector a tenth of the server's time. Answering a repeated write from
// current records was not chosen because they may have changed, and because none of them holds a key's value.
package directory
