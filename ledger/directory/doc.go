// Package directory defines the participants and their settings: organizations (tenants of the service), partners
// (merchants), users, terminals (a partner's connections to a provider), API keys, sessions, limits, blocklists, and
// an organization's conversion rates. It also defines settlements with banks and providers, and the record that all
// organizations share.
//
// Invariants:
//  1. A record is never changed in place. A decide function (a function that decides about a request) takes the old
//     record and returns the next record with the event of the change. If the event has no name, nothing changes and
//     the caller must write nothing.
//  2. Nothing is deleted. Partners, users and terminals are switched off, and keys and sessions are revoked.
//     Administration tokens are retired, and organizations are archived for good.
//  3. A record has only hashes of the passwords, keys and tokens of people and clients. When it is printed, it shows only its
//     identity. Credentials for providers and signing secrets are in a terminal's parameters or in Partner.Secret. Mask,
//     which replaces secrets in responses, is never used as a credential.
//  4. Created is the booked time of the record's first event. The store keeps this time beside the record
//     (schema.Envelope), and decide functions do not set it.
//  5. ParseSettings and ParseNotification accept every input that an earlier release accepted, because stored
//     terminals are parsed again at every start.
//  6. An organization has at most one rate for an ordered pair of currencies. Its journal has every value
//     that the rate has ever had.
//  7. A settlement is decided and booked in one step and never changes. Its record determines its entry, its guards
//     (conditions on funds and counters) and its claim (a unique key).
//  8. A limit always applies to the same transactions: only its bound and Active change.
//     Payers' data, limits and the blocklist use one normalised form (NormalEmail and others)
//     so that they can be compared. A keyed fingerprint identifies a card; the card's number never
//     reaches this package.
//  9. A value on an organization's blocklist has one record, whose id is derived from the value.
//     Removing the value changes that record, and so does listing the value again.
//  10. The owner of a session has an epoch, a number that grows when the owner's password or roles change. A session
//     is valid only in the epoch in which it began. So one change of the owner's record ends all of the owner's
//     sessions.
//  11. A type of record is a table of columns (package schema). Each field of the stored form, of requests and of
//     responses is declared in this table and nowhere else. A decision reports all wrong fields, each once, in one
//     error made by Join.
//  12. Partners and terminals have the same rule for notification URLs. The rule is checked when the URL is
//     set or changed. The IP addresses to which the URL's host name resolves are checked when a notification is
//     sent. An empty URL or secret is refused.
//
// Callers: actors/directory (stores and keeps the records), ledger/payment (routing, fees, conversion),
// actors/provider, api.
//
// Rejected: Another design would have records without Go fields (package schema's Row). It was not chosen because
// routing and limits read these fields for each payment. A JSON struct for the settings was not chosen because
// encoding/json accepts AMOUNT for amount. In a further design, switching a user off would revoke each of the user's
// sessions. It was not chosen because there may be many sessions, and a session that begins during the revocation
// would be missed.
package directory
