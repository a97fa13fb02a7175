// Package orders loads the server of a campaign that breaks the server on purpose: it has clients that order
// transactions, and a book that records the responses.
//
// Invariants:
//  1. Every response is recorded, in the form that `mizan audit verify --answers` reads, and so is every request without a response.
//  2. A wrong response is an error of the book: all responses about one txid are about one transaction, with an outcome that its card
//     allows, and a final status never changes.
//  3. Whole card numbers and verification values are not in the recorded requests and responses.
//
// Callers: bench/crash, bench/faults/trial and their tests.
//
// Rejected: the load of package bench. It measures, so it makes requests that succeed, and keeps figures instead of responses.
package orders
