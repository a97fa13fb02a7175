// Package directory defines the participants and their settings: organizations, partners,
// users, terminals, API keys, sessions, limits, blocklists, and an organization's conversion rates.
// It also defines settlements with banks and providers, and the record that all organizations share.
//
// Invariants:
//  1. A record is never changed in place. A decide function takes the old record and returns
//     the next one with the event that explains it; an event without a name means that nothing
//     changes and nothing is to be written.
//  2. Nothing is deleted. A partner, a user or a terminal is switched off, a key or a session
//     is revoked, an administration token is retired, and an organization is archived for good.
//  3. A record has only hashes of callers' passwords, keys and tokens. When it is printed, it shows
//     only its identity. Credentials for providers and signing secrets are in a terminal's parameters or
//     in Partner.Secret. Mask, which replaces secrets in responses, is never used as a credential.
//  4. Created is the booked time of the record's first event. The store keeps this time beside the record
//     (schema.Envelope), and decide functions do not set it.
//  5. ParseSettings and ParseNotification accept forever what they once accepted: stored
//     terminals are parsed again at every start.
//  6. An organization has at most one rate for an ordered pair of currencies, and its journal
//     has every value that the rate ever had.
//  7. A settlement is decided and booked in one step and never changes. Its entry, its guards (conditions on
//     funds and counters) and its claim (a unique key) all follow from its record.
//  8. A limit always applies to the same transactions: only its bound and Active change.
//     Payers' data, limits and the blocklist use one normalised form (NormalEmail and others)
//     so that they can be compared. A card is known by its keyed fingerprint; its number never
//     reaches this package.
//  9. A value on an organization's blocklist has one record, whose id follows from the value.
//     Removing the value changes that record, and so does listing the value again.
//  10. The owner of a session has an epoch, a number that grows when the owner's password or roles
//     change. A session is valid only in the epoch in which it began, so one change of the owner's record
//     ends all of the owner's sessions.
//  11. A type of record is a table of columns (package schema): each field of the stored form, of requests
//     and of responses is declared there and nowhere else. A decision reports every wrong field, each once,
//     in one error made by Join.
//  12. Partners and terminals have the same rule for notification addresses. The rule is checked when the
//     address is set or changed; the addresses to which a host name resolves are checked when a notification is
//     sent. An empty address or secret is refused.
//
// Callers: actors/directory (makes decisions durable and keeps the records in memory), ledger/payment
// (routing, fees, conversion), actors/provider, api.
//
// Rejected: records without Go fields (package schema's Row), because routing and limits read these
// fields for each payment. A JSON struct for the settings, because encoding/json accepts AMOUNT for amount.
// Revoking each session of a user who is switched off: there may be many, and a session that
// begins meanwhile would be missed.
package directory
