// Package orders is the load of campaigns that break a server on purpose: clients that order transactions, and a book of what they
// were answered.
//
// Invariants:
//  1. Every response is recorded, in the form that `mizan audit verify --answers` reads, and so is every request without a response.
//  2. A wrong response is an error of the book: all responses about one txid are about one transaction, with an outcome that its card
//     allows, and a final status never changes.
//  3. Card numbers and verification values are not in the recorded responses.
//
// Callers: bench/crash, bench/faults/trial and their tests.
//
// Rejected: the load of package bench. It measures, so it makes requests that succeed, and keeps figures instead of responses.
package orders
