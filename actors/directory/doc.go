// Package directory keeps the platform's master data: organizations, partners (merchants), keys, logins and
// settings. Package ledger/directory decides about changes; this package makes them durable. For every request
// it identifies the caller and looks up records in memory, without reading the store.
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
//     force. For this purpose one table holds the keys of all organizations, and another table holds the
//     partners of all organizations.
//  4. A partner number is reserved durably before it is used, and is never given to a second partner; a crash
//     may lose a number.
//  5. A password is hashed on the goroutine of its request, never by an actor. The number of concurrent hashes
//     is limited, separately for logins and for administration.
//  6. The concurrent hashes for logins are shared fairly among networks and source addresses (internal/fair).
//     So a flood of logins locks out neither the administration nor other addresses.
//  7. The value of a key or token is returned only when it is created. Only the sealed (encrypted) reply to a
//     write with an Idempotency-Key keeps a copy of the value.
//  8. If a write has an Idempotency-Key, the write's Change (all that one decision stores) claims the key
//     before anything else, in the platform's name space.
//  9. If a write has an Idempotency-Key, the event of its sealed reply directly follows the event that the
//     reply is about. Only the journal's writer knows the booked time and number of an event, so the reply
//     takes both from the event that it follows.
//  10. Settlements are not in the view. Only the organization's actor claims the references of settlements, so
//     a reference that is free when the actor checks it is still free when the actor books the settlement.
//  11. The methods Limits and Blocked do not read the store and take no lock. The one exception is a read lock
//     for looking up a card's first digits. The slice that Limits returns is replaced, never changed.
//  12. A failed login reveals nothing by its response or timing. This also holds if the password is right but
//     comes from an address that the partner does not allow.
//  13. No request waits until the last use of its key or session is stored. So after a crash, the stored time
//     of the last use may be too early, by up to an hour for a key and by up to five minutes for a session.
//  14. Connection and signing secrets are sealed and bound to their record. A record whose secret cannot be
//     decrypted is loaded without the secret.
//  15. A dry run (WithDryRun) is refused if the write itself would be refused. A dry run uses up no partner
//     number, password hash or idempotency key.
//  16. A setting of the process says whether notifications may go to private addresses. If the setting changes,
//     addresses that were accepted before are still used.
//
// Callers: api; actors/payment (partners, terminals, rates); actors/alerts (operators' contacts); cmd/mizan
// (tokens, sandbox); bench (creates many merchants).
//
// Rejected: A new snapshot of the organization for each change was not chosen because each revocation would
// copy all keys, up to 100,000. Reading keys from the store was not chosen because it costs more than the rest
// of a request. sync.Map was not chosen for the largest tables because it needs four objects per entry, which
// cost the garbage collector a tenth of the server's time. Answering a repeated write from the current records
// was not chosen because the records may have changed, and because no record contains a key's value.
package directory
