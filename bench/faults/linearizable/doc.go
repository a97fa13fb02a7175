// Package linearizable tests that the responses of a real server are linearizable: some order of the clients' concurrent
// requests explains all responses, although the server is killed and started again. The tests record histories (requests with
// their responses). They use the package porcupine to check each history against a model of the specification.
//
// Invariants:
//  1. The models are written from the specification. amountsModel describes accounts and volume limits. txidModel says that
//     each txid has one transaction. keyModel says that each Idempotency-Key has one response. contractModel says which
//     transitions a contract may make.
//  2. A history is about one account, volume limit, txid (a merchant's own id of a transaction), key or contract, which is
//     created for the history, so that its first state is known. A history ends after maxRequests requests, so that the search
//     for an order that explains the responses ends soon.
//  3. An operation lasts from the sending of the request to the end of the response. If there is no response, or if the response
//     leaves open whether the work was done, the operation lasts forever: it may take effect at any later time, or never.
//  4. If the response to a request says that nothing was done, the request is left out of the history. If the request had an
//     effect nevertheless, no order explains the other responses.
//  5. At the end `mizan audit verify` compares the closed store with every response, and finds no fault.
//  6. Each model refuses handwritten histories, each of which breaks one rule (TestEachModelFindsWhatIsNotAllowed).
//
// Callers: none. The package's tests are a campaign (a series of random cases). MIZAN_SOAK=30m go test -run '^TestSoak' runs
// the campaign for thirty minutes. The campaign prints its seed, and MIZAN_SEED repeats its choices, but not how concurrent
// requests interleave.
//
// Rejected: another design would record one history of all operations. It was not chosen because the time of the
// search is exponential in the number of operations that overlap, and because after a kill each client has an
// operation that overlaps with all later ones.
package linearizable
