// Package directory defines the participants and their settings: organizations (tenants of the service), partners
// (merchants), users, terminals (a partner's connections to a provider), API keys, sessions, limits, blocklists, and an
// organization's conversion rates. It also defines settlements with banks and providers, and the platform's record, which
// all organizations share.
//
// Invariants:
//  1. A record is never changed in place. A decide function (a function that decides about a request) returns a changed
//     copy of the record and the event of the change. If the event has no name, nothing changes, and the caller must write
//     nothing.
//  2. Nothing is deleted. Partners, users and terminals are switched off, and keys and sessions are revoked.
//     Administration tokens are retired, and organizations are archived for good.
//  3. Of the passwords, keys and tokens of people and clients, a record contains only hashes. A printed record shows only
//     its identity. Credentials for providers and signing secrets are in a terminal's parameters or in Partner.Secret.
//     Mask, which replaces secrets in responses, is never used as a credential.
//  4. Created is the time at which the record's first event was booked. The store keeps this time beside the record
//     (schema.RowMetadata), so decide functions do not set it.
//  5. ParseSettings and ParseNotification accept every input that an earlier release accepted, because every start parses
//     the stored terminals again.
//  6. An organization has at most one rate for an ordered pair of currencies. The organization's journal contains every
//     value that the rate has ever had.
//  7. A settlement is decided and booked in one step and never changes. The settlement's record determines its ledger
//     entry, its guards (conditions on funds and counters) and its claim (a unique key).
//  8. Only the bound and the field Active of a limit can change, so a limit always applies to the same transactions. The
//     data of payers are normalised in the same way for limits and for the blocklist (NormalEmail and others), so that they
//     can be compared. A keyed fingerprint identifies a card; the card's number never reaches this package.
//  9. An organization's blocklist has one record for each value. The record's id is derived from the value. Removing the
//     value and listing it again change this record.
//  10. The owner of a session has an epoch, a number that grows when the owner's sessions must end, such as after a change
//     of the password or the roles. A session is valid only as long as the owner's epoch is the one in which the session
//     began. So one change of the owner's record ends all of the owner's sessions.
//  11. Each record type has a table of columns (package schema). This table alone declares the fields of the stored form,
//     of requests and of responses. A decide function reports all wrong fields, each once, in one error made by Join.
//  12. Partners and terminals have the same rule for notification URLs. The URL is checked when it is set or changed. The
//     IP addresses to which the URL's host name resolves are checked each time a notification is sent. An empty URL or
//     secret is refused.
//
// Callers: actors/directory (stores and keeps the records), ledger/payment (routing, fees, conversion),
// actors/provider, api.
//
// Rejected: records without Go fields (package schema's Row), because routing and limits read these fields for each
// payment. A struct with JSON tags for the settings was rejected because encoding/json accepts AMOUNT for amount. Revoking
// each session of a user who is switched off was rejected because there may be many sessions, and a session that begins
// during the revocation would be missed.
package directory
