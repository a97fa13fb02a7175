// Package clients makes requests to a server that faults will interrupt. As a merchant it makes payments, payouts, holds
// (payments that at first only reserve the money) with their captures and cancels, and refunds; as a bank it takes contracts
// from their creation to their end. It records every response.
//
// Invariants:
//  1. Each request is recorded in the form that `mizan audit verify --answers` reads, also if no response came. A record is
//     complete when its client sends its next request.
//  2. A response that no server may give is an error: a server fault other than 503, a refusal of correct credentials, a record that a
//     response has shown and that is not found any more.
//  3. Requests about one transaction or contract are sent one after the other, so that a contract's actions come in the
//     order of its lifecycle.
//
// Callers: tests in bench/faults.
//
// Rejected: the load of package bench, which measures and makes only requests that succeed. The clients of package
// bench/orders, which make only payments and payouts, but check their outcomes by their cards.
package clients
