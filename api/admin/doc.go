// Package admin answers the routes of the administration: organizations, partners,
// terminals, keys, users, rates, settlements, limits, block list, deliveries, backups and
// the sandbox's clock; and the sessions of people who log in.
//
// Invariants:
//  1. A write is made once for its Idempotency-Key. The answer is kept with the change and
//     given again; a key's value and a token are kept sealed.
//  2. All fields that are wrong are refused at once, in the order of the documentation.
//  3. In a patch null takes a field's value away (RFC 7396), and a field that never changes
//     may come back as it was shown.
//  4. Secrets, passwords and card numbers are never shown and never part of an error.
//
// Callers: package api.
//
// Rejected: a patch that ignores fields it does not know as changeable. A caller would
// take the answer for success.
package admin
