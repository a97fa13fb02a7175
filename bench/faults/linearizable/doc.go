// Package linearizable tests that the responses of a real server are linearizable: some order of the clients' concurrent
// requests explains all responses, although the server is killed and started again. The tests record histories (requests with
// their responses). They check each history against a model of the specification with the package porcupine.
//
// Invariants:
//  1. The models are written from the specification. amountsModel is about accounts and volume limits, txidModel about one
//     transaction for a txid, keyModel about one response for an Idempotency-Key, and contractModel about the transitions of a
//     contract.
//  2. A history is about one account, volume limit, txid (a merchant's own id of a transaction), key or contract, which is
//     created for the history, so that its first state is known. A history ends after maxRequests requests. So the search for an
//     order that explains the responses ends soon.
//  3. An operation lasts from the sending of the request to the end of the response. If there is no response, or if the response
//     leaves open whether the work was done, the operation lasts forever: it may take effect at any later time, or never.
//  4. If the response to a request says that nothing was done, the request is left out of the history. If it had an effect
//     nevertheless, no order explains the other responses.
//  5. At the end the closed store passes `mizan audit verify` against every response.
//  6. Each model refuses handwritten histories, each of which breaks one rule (TestEachModelFindsWhatIsNotAllowed).
//
// Callers: none; the package's tests are the campaign. MIZAN_SOAK=30m go test -run '^TestSoak' runs the campaign for
// that time. The campaign prints its seed, and MIZAN_SEED repeats its choices, but not how concurrent requests
// interleave.
//
// Rejected: another design would record one history of all operations. It was not chosen because the time of the
// search is exponential in the number of operations that overlap, and because after a kill each client has an
// operation that overlaps with all later ones.
package linearizable
