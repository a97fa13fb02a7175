// Package trial tries one fault on one server. It starts the real binary on a copy of a data directory and puts it under load.
// The caller injects the fault. Then the package checks that nothing is lost that the server had acknowledged.
//
// Invariants:
//  1. Each case has a directory of its own, a copy of a template with transactions, backups and several tables. So one case can
//     be repeated without the others.
//  2. A check starts the server without the fault, makes requests, stops it, and runs `mizan audit verify` with every response
//     that a client got before and after the fault.
//  3. A server that ends by itself names the cause in one line that begins with "mizan:". If the operating system refused a
//     resource to Go's runtime, the runtime's own message is enough.
//  4. A case leaves nothing behind: no process, no file, no mount.
//
// Callers: tests in the folders of bench/faults.
//
// Rejected: another design would keep one server running for all cases. It was not chosen because nobody would know which of
// the earlier faults had caused the damage.
package trial
