// Package directory holds who takes part: organizations, partners, terminals,
// API keys and sessions, what each may look like, which terminal serves what, and
// the rates at which an organization converts.
//
// Invariants:
//  1. A record is never changed in place. A decide function takes the old one
//     and returns the next one with the event that explains it; an event without
//     a name means that nothing changes and nothing is to be written.
//  2. Nothing is deleted. A partner or a terminal is switched off, a key is
//     revoked, an organization is archived, and an archived one stays so.
//  3. A record holds no password, key or token, only their hashes, and prints
//     nothing but its identity.
//  4. Created is the booked time of the record's first event. It comes from the
//     store's envelope and is no part of what a decision writes.
//  5. What ParseSettings and ParseNotification once took they take for ever:
//     stored terminals are parsed again at every start.
//  6. An organization has at most one rate for an ordered pair of currencies, and
//     its journal has every value that the rate ever had.
//
// Callers: actors/directory (which makes decisions durable and keeps the view),
// ledger/payment (routing, fees, conversion), actors/provider, api.
//
// Rejected: a generic record of named attributes. Every reader would have to
// check again what the one writer can check once. Also rejected: a JSON struct
// for the settings, because encoding/json takes AMOUNT for amount.
package directory
