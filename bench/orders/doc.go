// Package orders makes the load for campaigns (test runs that break a server on purpose). It has clients that order
// transactions from the server, and a book that records the responses.
//
// Invariants:
//  1. Every response is recorded, in the form that `mizan audit verify --answers` reads. Every request without a
//     response is recorded too.
//  2. A wrong response is an error of the book. Responses are right if all responses about one txid (a merchant's own
//     id of a transaction) are about one transaction, the outcome is one that the card allows, and a final status
//     never changes.
//  3. The recorded requests and responses contain no whole card numbers and no verification values.
//
// Callers: bench/crash, bench/faults/trial and their tests.
//
// Rejected: another design would use the load of package bench. It was not chosen because package bench measures: it
// makes requests that succeed, and keeps figures instead of responses.
package orders
