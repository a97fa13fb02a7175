// Package directory holds who takes part: organizations, partners, users, terminals,
// API keys and sessions, what each may look like, which terminal serves what, and
// the rates at which an organization converts.
//
// Invariants:
//  1. A record is never changed in place. A decide function takes the old one
//     and returns the next one with the event that explains it; an event without
//     a name means that nothing changes and nothing is to be written.
//  2. Nothing is deleted. A partner, a user or a terminal is switched off, a key
//     or a session is revoked, an administration token is retired, an organization is archived, and an archived one stays so.
//  3. A record holds no password, key or token of who calls us, only their hashes,
//     and prints nothing but its identity. What a terminal needs to be let in
//     elsewhere, or to sign, is in its parameters, or is a partner's secret: what
//     stands there as a mask opens and signs nothing.
//  4. Created is the booked time of the record's first event. It comes from the
//     store's envelope and is no part of what a decision writes.
//  5. What ParseSettings and ParseNotification once took they take for ever:
//     stored terminals are parsed again at every start.
//  6. An organization has at most one rate for an ordered pair of currencies, and
//     its journal has every value that the rate ever had.
//  7. A settlement is decided and done in one step and never changes. Its entry,
//     its funds guard, its counters and its claim all follow from its record.
//  8. A limit goes on bounding what it was made for: only how much and whether
//     change. What payers bring, limits know and the blocklist holds is in one
//     normalised form (NormalEmail and its like), or they would not meet. A card
//     is known by its keyed fingerprint; a number never comes here.
//  9. A value of an organization's blocklist has one record, whose id follows
//     from it: it is taken off and listed again.
//  10. A session is taken only while who began it is of the same epoch: another
//     password or other roles end all of somebody's sessions by one record.
//  11. A decision names every field that is wrong, each once, in one error that Join
//     has made.
//  12. Where notifications may go is one rule for partners and terminals. It is held
//     against an address when that is set or changed; a name is seen through only
//     when something is sent there. An empty address or secret is refused.
//
// Callers: actors/directory (which makes decisions durable and keeps the view),
// ledger/payment (routing, fees, conversion), actors/provider, api.
//
// Rejected: a generic record of named attributes. Every reader would have to
// check again what the one writer can check once. Also rejected: a JSON struct
// for the settings, because encoding/json takes AMOUNT for amount. Also rejected:
// revoking each session of a user who is switched off: there may be many, and one
// that begins meanwhile would be missed.
package directory
