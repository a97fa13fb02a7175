// Package admin serves the routes of the administration: organizations, partners, terminals,
// keys, users, rates, settlements, limits, block list, deliveries, backups and the sandbox's
// clock; and the sessions of people who log in.
//
// Invariants:
//  1. A write is made once for its Idempotency-Key. The reply is stored with the change, and
//     sent again if the request is repeated. An API key's value or a token in the reply is stored encrypted.
//  2. All wrong fields are refused at once, in the order of the documentation.
//  3. In a patch null clears a field (RFC 7396), and a field that never changes may be sent
//     back as it was shown.
//  4. Secrets, passwords and card numbers are never shown, and never part of an error.
//
// Callers: package api.
//
// Rejected: to ignore fields of a patch that can't be changed. A caller would believe that they were changed.
package admin
