// Package clients makes requests to a server that faults (such as kills) will interrupt, and records every response.
// As a merchant it makes payments, payouts, refunds, and holds (payments that at first only reserve the money), which
// it captures or cancels. As a bank it takes contracts from their creation to their end.
//
// Invariants:
//  1. Each request is recorded in the form that `mizan audit verify --answers` reads, even if no response came. A client
//     sends its next request only when the record of its previous request is complete.
//  2. A response that no server may give is an error. Examples are a 5xx other than 503, a 401 although the credentials are
//     correct, and a 404 about a record that an earlier response has shown.
//  3. Requests about one transaction or contract are sent one after the other, so that a contract's actions come in the
//     order of its lifecycle.
//
// Callers: tests in bench/faults.
//
// Rejected: Two existing kinds of clients were considered. The load of package bench was not chosen because it measures,
// and makes only requests that succeed. The clients of package bench/orders, which compare the outcome of each payment with
// the payment's card, were not chosen because they make only payments and payouts.
package clients
