// Package linearizable records histories: the requests of concurrent clients and the responses of a real server, while
// the server is killed and started again. It checks each history against a model (with the package porcupine).
//
// Invariants:
//  1. A model is written from the specification: accounts and volume limits (amountsModel), one transaction for a txid
//     (txidModel), one response for an Idempotency-Key (keyModel), and the transitions of a contract (contractModel).
//  2. A history has the operations on one account, limit, txid, key or contract, so that the search for an order that
//     explains the responses ends soon. The account, limit, txid, key or contract is new, so its first state is known.
//     A history ends after maxOperations.
//  3. An operation lasts from the sending of the request to the end of the response. If there is no response, or one that
//     does not tell whether the work was done, the operation lasts for ever: it may take effect at any later time, or never.
//  4. A request whose response says that nothing was done is no operation of the history, so the model notices if
//     something was done after all.
//  5. At the end the closed store passes `mizan audit verify` against every response.
//  6. Each model refuses histories, written by hand, that break one rule each (TestEachModelFindsWhatIsNotAllowed).
//
// Callers: none; its tests are the campaign. MIZAN_SOAK=30m go test -run '^TestSoak' runs it for that time. It prints its
// seed, and MIZAN_SEED repeats its choices, but not how concurrent requests interleave.
//
// Rejected: one history of everything. The search takes exponential time in the number of operations that overlap, and
// after a kill each client has one that overlaps with all later ones.
package linearizable
