// Package orders makes the load for campaigns (test runs that break a server on purpose). Its clients order transactions from
// the server, and its book records the responses.
//
// Invariants:
//  1. Every response is recorded, in the form that `mizan audit verify --answers` reads. Every request without a
//     response is recorded too.
//  2. The book reports each wrong response as an error. Responses are right if all responses about one txid (a merchant's own
//     id of a transaction) are about one transaction, the outcome is possible for the card, and a final status never changes.
//  3. The recorded requests and responses contain no whole card numbers and no verification values.
//
// Callers: bench/crash, bench/faults/trial and their tests.
//
// Rejected: another design would use the load of package bench. It was not chosen because package bench only measures: all its
// requests succeed, and it counts the responses without storing them.
package orders
