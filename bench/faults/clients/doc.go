// Package clients is a merchant's and a bank's clients of a server that faults will interrupt: payments, payouts, holds with their
// captures and cancels, refunds, and contracts from their creation to their end. It records every response.
//
// Invariants:
//  1. Each request is recorded in the form that `mizan audit verify --answers` reads, also if no response came. A record is
//     complete when its client sends its next request.
//  2. A response that no server may give is an error: a server fault other than 503, a refusal of correct credentials, a record that a
//     response has shown and that is not found any more.
//  3. Requests about one transaction or contract are sent one after the other, so that a contract's actions come in the order of its life.
//
// Callers: tests in bench/faults.
//
// Rejected: the load of package bench, which measures and makes only requests that succeed. Orders of
// package bench/crash, which has payments and payouts only, but checks their outcomes by their cards.
package clients
