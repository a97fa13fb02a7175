// Package trial tries one fault on one server: it starts the real binary on a copy of a data directory, puts it under load, lets the
// caller do harm, and checks that everything that was acknowledged is kept.
//
// Invariants:
//  1. Each case has a directory of its own, a copy of a template with transactions, backups and several tables. So a case can be
//     repeated alone.
//  2. A check starts the server without the fault, makes requests, stops it, and runs `mizan audit verify` with every response that a
//     client got before and after the fault.
//  3. A server that ended by itself has named the cause in words: in one line that begins with "mizan:", or, if Go's runtime was
//     denied what it cannot work without, in the runtime's own words.
//  4. Nothing is left of a case: no process, no file, no mount.
//
// Callers: tests in the folders of bench/faults.
//
// Rejected: one long-lived server for all cases. After the first fault nobody could tell which fault caused a later damage.
package trial
