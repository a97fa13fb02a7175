// Package bench measures payments and contracts through a real server, transfers through the
// journal alone, and whether the time of a refusal reveals its reason.
//
// The requests are sent by package generator. The workloads here prepare the bytes of a request once, and then
// change only the bytes that differ from one request to the next, such as an id.
//
// Invariants:
//  1. A run whose ledger is wrong fails: the ledger's totals must equal the charged amounts exactly, including the fees
//     that follow from the terminals' rules. Before that check, the run looks up each payment with an unknown outcome
//     by its txid.
//  2. The server is a separate process, syncs its writes, and stores them on a real disk. A report names
//     the file system.
//  3. Each process that a run has started is stopped by its pid, whatever fails.
//  4. Many merchants (partners with terminals and API keys) are created in a data directory that no server
//     has open, by the actor that also creates them for the API. The values of their keys are only in a file
//     beside the store.
//  5. To compare kinds of refusals, requests are sent in random order on one connection, so that other
//     work of the machine affects all kinds equally.
//
// Callers: cmd/mizan.
//
// Rejected: creating merchants through the API; it hashes each partner's password, which takes
// minutes for ten thousand, and writes each record on its own.
package bench
