// Package proof has a script that runs in an auditor's browser. It verifies that an event is in an organization's
// journal, and that a journal extends an older version of itself. The only key that the script uses is the one that
// the auditor pasted.
//
// Invariants:
//  1. The script trusts nothing but the key. It checks the signature of the head (the signed root hash of the
//     journal's hash tree), and reads the event from bytes that the root hash covers. If a check fails, the script
//     fails with a code that names the check.
//  2. Like ledger.ParseCanonical, the script accepts only the canonical encoding of an event. It accepts only events
//     that the page can show.
//  3. The script makes no requests, stores nothing and shows nothing: the page does all three.
//
// Callers: api/console/auditor (serves the script), tests (run the script in Node).
//
// Rejected: a library for signed notes or hash trees. No such library for browsers is well known, and an auditor can
// read a script of this length.
package proof
